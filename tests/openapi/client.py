"""Sends requests that have to succeed, each within 10 s.

    client.py get URL [KEY [MEMBER]]    prints the answer, or one member of it
    client.py account SIMULATOR         makes the account of provisioning.json
    client.py jobs SIMULATOR COUNT      publishes jobs, half of them with questions
"""

import json
import sys
import urllib.request


def send(method: str, url: str, body: object = None, key: str | None = None) -> str:
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, content, {"Content-Type": "application/json"}, method=method)
    if key:
        request.add_header("Authorization", f"Bearer {key}")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


def job(number: int) -> dict:
    questions = ["How many years of Rust?", "When can you begin?"][: number % 4]
    pay = {"paymentType": "Hourly", "hourlyRate": {"min": 30, "max": 60}}
    return {"title": f"Job {number}", "description": "Make it work.", "questions": questions, "metadata": pay}


command, url, *more = sys.argv[1:]
if command == "get":
    text = send("GET", url, key=more[0] if more else None)
    print(json.loads(text)[more[1]] if len(more) > 1 else text)
elif command == "account":
    account = {"id": "acct", "name": "Jane", "connectsBalance": 1_000_000_000, "profileHourlyRate": 50}
    send("PUT", f"{url}/sim/accounts/described-account", account)
elif command == "jobs":
    numbers = range(int(more[0]))
    for first in numbers[::200]:
        send("POST", f"{url}/sim/jobs", [job(number) for number in numbers[first : first + 200]])
