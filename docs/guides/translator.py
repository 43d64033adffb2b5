"""A translator: speaks Bidloop's marketplace protocol in front of a marketplace. Python 3.9 or later, nothing else.

Replace the class `Marketplace` with calls to yours. Everything below it is what the protocol asks of any translator.
"""

import email.parser
import email.policy
import http.server
import json
import os
import sqlite3
import sys
import threading
import time
import urllib.parse
import uuid

DATABASE = os.environ.get("TRANSLATOR_DATABASE", "translator.db")
TOKENS = {os.environ.get("TRANSLATOR_TOKEN", "my-token"): "acct_1"}  # which token opens which account


class Refused(Exception):
    """An error of the protocol: a status, a code for programs, a message for people, and more members."""

    def __init__(self, status, code, message, **more):
        super().__init__(message)
        self.status, self.body = status, {"code": code, "message": message, **more}


class Marketplace:
    """Stands in for a real marketplace: a few jobs and one account, in memory."""

    def __init__(self):
        now = int(time.time() * 1000)
        self.jobs = [dict(id=f"job-{n}", ciphertext=f"~{n}", title=f"Rust developer, part {n}", description="…",
                          url=f"https://market.example/jobs/{n}", postedAt=now - (20 - n // 2) * 60_000,
                          questions=["When can you start?"] if n % 2 else None, skills=[{"name": "Rust"}],
                          metadata={"paymentType": "Hourly", "hourlyRate": {"min": 40, "max": 70}})
                     for n in range(1, 21)]  # two jobs share each moment
        self.boosts, self.balance, self.proposals = {"job-3": [7, 30, 12]}, 80, {}

    def jobs_after(self, place, limit):
        """The jobs behind a place, by time and id: two jobs may share a moment, and neither may be left out."""
        def at(job):
            return [job["postedAt"], job["id"]]
        return [(job, at(job)) for job in sorted(self.jobs, key=at) if place is None or at(job) > place][:limit]

    def job(self, job_id):
        return next((job for job in self.jobs if job["id"] == job_id), None)

    def proposal_on(self, job_id):
        return self.proposals.get(job_id)

    def apply(self, proposal):
        """Makes a proposal. Where yours offers an idempotency key of its own, pass Bidloop's on."""
        cost = 14 + proposal["boostConnects"]
        if cost > self.balance:
            raise Refused(402, "insufficient_connects", f"it costs {cost} connects, the account has {self.balance}")
        self.balance -= cost
        made = {"proposalId": f"prop-{uuid.uuid4()}", "connectsSpent": cost, "submittedAt": int(time.time() * 1000)}
        self.proposals[proposal["jobId"]] = made
        return made


MARKET = Marketplace()


class Keys:
    """What was begun and what was answered under each key, on disk: a restart must forget neither."""

    def __init__(self):
        self.lock = threading.Lock()  # one proposal at a time: a second call with a key waits for the first
        self.db = sqlite3.connect(DATABASE, check_same_thread=False, isolation_level=None)
        self.db.execute("CREATE TABLE IF NOT EXISTS keys (account, key, answer, PRIMARY KEY (account, key))")

    def propose(self, account, key, proposal):
        with self.lock:
            row = self.db.execute("SELECT answer FROM keys WHERE account = ? AND key = ?", (account, key)).fetchone()
            if row and row[0]:
                return 200, json.loads(row[0])
            standing = MARKET.proposal_on(proposal["jobId"])
            if row and standing and not self.is_answer_of_a_key(standing):  # its answer was never stored: a crash
                return 201, self.store(account, key, standing)
            if standing:
                raise Refused(409, "already_applied", "there is a proposal", proposalId=standing["proposalId"])
            self.store(account, key, None)
            try:
                made = MARKET.apply(proposal)
            except Refused:  # certainly not made: the key may come again
                self.db.execute("DELETE FROM keys WHERE account = ? AND key = ?", (account, key))
                raise
            return 201, self.store(account, key, made)

    def is_answer_of_a_key(self, answer):
        return self.db.execute("SELECT 1 FROM keys WHERE answer = ?", (json.dumps(answer),)).fetchone()

    def store(self, account, key, answer):
        text = json.dumps(answer) if answer else None
        self.db.execute("INSERT OR REPLACE INTO keys VALUES (?, ?, ?)", (account, key, text))
        return answer


KEYS = Keys()


def feed(query):
    limit, place = min(int(query.get("limit", 100)), 500), None
    if "after" in query:
        try:
            place = json.loads(query["after"])
            assert isinstance(place[0], int) and isinstance(place[1], str)
        except (ValueError, TypeError, LookupError, AssertionError):
            raise Refused(400, "invalid_cursor", "the cursor is not from this feed")
    found = MARKET.jobs_after(place, limit + 1)  # one more, to know whether there are more
    page, more = found[:limit], len(found) > limit
    if page:
        place = page[-1][1]
    return 200, {"jobs": [job for job, _ in page], "cursor": json.dumps(place or [0, ""]), "hasMore": more}


def look_up(job_id):
    job = MARKET.job(job_id)
    if job is None:
        raise Refused(404, "job_not_found", f"no job has the id {job_id}")
    state = {"status": "open", "alreadyHired": False, "warnings": [], "requiredConnects": 14,
             "boosts": sorted(MARKET.boosts.get(job_id, []), reverse=True)}
    return 200, {"job": job, "state": state}


def propose(account, key, body):
    try:
        proposal = json.loads(body)
        wanted = {"jobId": str, "coverLetter": str, "answers": list, "terms": dict, "boostConnects": int,
                  "attachments": list, "acceptWarnings": bool}
        wrong = [name for name, kind in wanted.items() if not isinstance(proposal.get(name), kind)]
    except (ValueError, AttributeError):
        raise Refused(422, "invalid", "the body is not a JSON object")
    if wrong or not key:
        raise Refused(422, "invalid", f"missing or wrong: {', '.join(wrong) or 'the header Idempotency-Key'}")
    look_up(proposal["jobId"])
    return KEYS.propose(account, key, proposal)


def upload(content_type, body):
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    parts = list(message.iter_parts()) if message.is_multipart() else []
    if [part.get_param("name", header="content-disposition") for part in parts] != ["file"]:
        raise Refused(422, "invalid", "expected one part, named file")
    return 201, {"id": f"file-{uuid.uuid4()}"}  # pass parts[0].get_content() on to the marketplace


class Translator(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open
    disable_nagle_algorithm = True  # else an answer in two pieces waits 40 ms

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))  # before any refusal
        try:
            status, result = self.route(body)
        except Refused as refused:
            status, result = refused.status, refused.body
        except Exception as error:  # the protocol's body even then; nothing is known about a proposal
            print("failed:", repr(error), file=sys.stderr, flush=True)
            status, result = 503, {"code": "unavailable", "message": "the marketplace could not be asked"}
        data = json.dumps(result).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = answer

    def route(self, body):
        url = urllib.parse.urlsplit(self.path)
        path = [urllib.parse.unquote(part) for part in url.path.split("/")[1:]]
        if (self.command, path) == ("GET", ["api", "jobs"]):
            return feed(dict(urllib.parse.parse_qsl(url.query)))
        scheme, _, token = (self.headers.get("Authorization") or "").partition(" ")
        account = TOKENS.get(token)
        if account is None or scheme.lower() != "bearer":
            raise Refused(401, "invalid_token", "the token belongs to no account")
        if self.command == "GET" and path[:2] == ["api", "jobs"] and len(path) == 3:
            return look_up(path[2])
        if (self.command, path) == ("GET", ["api", "account"]):
            return 200, {"id": account, "name": "Jane", "connectsBalance": MARKET.balance, "profileHourlyRate": 45}
        if (self.command, path) == ("POST", ["api", "attachments"]):
            return upload(self.headers.get("Content-Type"), body)
        if (self.command, path) == ("POST", ["api", "proposals"]):
            return propose(account, self.headers.get("Idempotency-Key"), body)
        raise Refused(404, "not_found", "no such path")

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 9091))), Translator)
    server.daemon_threads = True
    print(f"The translator listens on http://127.0.0.1:{server.server_port}.", flush=True)
    server.serve_forever()
