"""What schemathesis cannot know: leads that exist, their questions, and files with names; and one check of our own."""

import atexit
import collections
import itertools
import json
import os
import urllib.request

import schemathesis
from schemathesis.core.parameters import ParameterLocation

URL = os.environ["BIDLOOP_URL"]
KEY = os.environ["BIDLOOP_KEY"]
CAMPAIGN = os.environ["BIDLOOP_CAMPAIGN"]


def listed():
    """All leads of the campaign."""
    offset = 0
    while True:
        address = f"{URL}/v1/campaigns/{CAMPAIGN}/leads?offset={offset}&limit=100"
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {KEY}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            page = json.load(answer)
        yield from page["data"]
        offset += len(page["data"])
        if not page["hasMore"]:
            return


LEADS = list(listed())
TURNS = itertools.cycle(LEADS)
SENT = itertools.count()


def is_negative(case, location):
    return case.meta is not None and case.meta.is_negative_at(location)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Points a request at a lead that exists, and makes three of four bids and each upload one that can be accepted."""
    if is_negative(case, ParameterLocation.PATH) or not case.path_parameters:
        return
    lead, number = next(TURNS), next(SENT)
    case.path_parameters["campaign_id"] = CAMPAIGN
    if "lead_id" in case.path_parameters:
        case.path_parameters["lead_id"] = lead["id"]
    if is_negative(case, ParameterLocation.BODY) or not isinstance(case.body, dict):
        return
    if "questionAnswerPairs" in case.body and number % 4:
        case.body["questionAnswerPairs"] = [
            {"question": question, "answer": f"Answer {number}"} for question in lead["questions"]
        ]
    if case.media_type == "multipart/form-data" and isinstance(case.body.get("files"), list):
        kwargs["files"] = [
            ("files", (f"{number}-{index}.txt", f"File {index}: {file!r}", "text/plain"))
            for index, file in enumerate(case.body["files"])
        ]


STATUSES = collections.Counter()


@schemathesis.hook
def after_call(context, case, response):
    operation = case.operation.definition.raw["operationId"]
    STATUSES[f"{operation} {response.request.method} {response.status_code}"] += 1


@atexit.register
def report():
    """How often each operation was answered with each status, for the run's log and for its last check."""
    with open(os.environ["BIDLOOP_STATUSES"], "w") as file:
        json.dump(STATUSES, file, indent=1, sort_keys=True)


@schemathesis.check
def refused_by_a_rule(ctx, response, case):
    """A request that fits its schema is refused with 400 only by a rule that the schema cannot hold."""
    locations = (ParameterLocation.PATH, ParameterLocation.QUERY, ParameterLocation.HEADER, ParameterLocation.BODY)
    if response.status_code != 400 or case.meta is None or any(is_negative(case, place) for place in locations):
        return
    refusal = response.json()
    about_the_lead = ("already", "no connected bidder account", "one file too many")
    for fault in refusal.get("errors", []):
        assert "code" in fault or fault["path"][-1] in ("minBoost", "maximumBoost"), refusal
    assert refusal.get("errors") or any(words in refusal["message"] for words in about_the_lead), refusal
