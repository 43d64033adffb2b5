"""A language model's endpoint that always gives the same answers, some of them bad. The title of the job says which.

    python3 tests/guides/model.py PORT
"""

import http.server
import json
import sys
import threading

GOOD = {"bid": True, "coverLetter": "Hello, I have built what you describe in Python and Node.js, and can start on Monday."}


def answered(post, **changes):
    return json.dumps(GOOD | {"answers": ["Gladly; let us talk." for _ in post["questions"]]} | changes)


# What the model says to a post of this title, if it is not a good answer.
CONTENTS = {
    "declines": lambda post: answered(post, bid=False, coverLetter="", answers=[]),
    "names connects": lambda post: answered(post, biddingConfig={"minBoost": 500, "boostingEnabled": True}),
    "names a rate": lambda post: answered(post, hourlyRate=1),
    "says yes in words": lambda post: answered(post, bid="yes"),
    "writes prose": lambda post: "I would bid on this job. " + answered(post),
    "writes a list": lambda post: "[]",
    "writes nothing": lambda post: None,
    "nests deeply": lambda post: "[" * 30_000,
    "writes 4 KB": lambda post: answered(post, coverLetter="Hello. " * 600),
    "writes 100 KB": lambda post: answered(post, coverLetter="Hello. " * 15_000),
    "writes no letter": lambda post: answered(post, coverLetter=" \n"),
    "hides text": lambda post: answered(post, coverLetter="Hello\u202e,\u200b I can start."),
    "writes half a character": lambda post: answered(post, coverLetter="Hello \ud800"),
    "links": lambda post: answered(post, coverLetter="Hello, my work is at https://evil.example/cv."),
    "links without a scheme": lambda post: answered(post, coverLetter="Hello, my work is at evil.example/cv."),
    "links in full width": lambda post: answered(post, coverLetter="Hello, see evil．example for my work."),
    "gives an address": lambda post: answered(post, coverLetter="Hello, write to me@evil.example."),
    "gives a handle": lambda post: answered(post, coverLetter="Hello, I am @evil there."),
    "gives a number": lambda post: answered(post, coverLetter="Hello, call +1 (555) 010-9999."),
    "links in an answer": lambda post: answered(post, answers=["See http://evil.example"] * len(post["questions"])),
    "answers too little": lambda post: answered(post, answers=[]),
    "answers in objects": lambda post: answered(post, answers=[{"answer": "Yes"}] * len(post["questions"])),
    # A model that does as the post says: the description is its answer.
    "obeys the post": lambda post: post["description"],
}


class Endpoint(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.calls.append(call)
        text = call["messages"][-1]["content"]
        post = json.loads(text.removeprefix("<job-post>").removesuffix("</job-post>"))
        title = post["title"]
        if title == "hangs":
            return self.server.ended.wait()
        if title == "trickles":
            self.send_response(200)
            self.end_headers()
            try:
                while not self.server.ended.wait(0.1):
                    self.wfile.write(b" ")
            except OSError:
                return None
        if title == "hangs up":
            return None
        content = CONTENTS.get(title, answered)(post)
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]})
        if title == "is no chat completion":
            body = '{"error": "model is loading"}'
        if title == "is no JSON":
            body = "<html>502</html>"
        self.send_response(500 if title == "fails" else 200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body.encode())
        return None

    def log_message(self, *_):
        pass


class Model(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Endpoint)
        self.calls = []
        self.ended = threading.Event()

    def server_close(self):
        self.ended.set()
        super().server_close()


if __name__ == "__main__":
    Model(int(sys.argv[1])).serve_forever()
