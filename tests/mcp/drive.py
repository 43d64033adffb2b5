"""Drives the tool server with the official Python SDK of the protocol."""

import asyncio
import contextlib
import json
import subprocess
import urllib.parse

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from installation import INJECTION, MEMBER, PROGRAM, QUESTION, Installation, ask, subscription

READ = ["list_campaigns", "list_leads", "get_lead", "explain_match", "test_filter", "list_activity"]
BID = ["submit_bid", "reject_lead"]
MANAGE = ["create_api_key", "list_api_keys", "revoke_api_key"]


@contextlib.asynccontextmanager
async def over_stdio(installation, token):
    environment = {**installation.environment, "BIDLOOP_TOKEN": token}
    async with Client(StdioServerParameters(command=PROGRAM, args=["mcp"], env=environment)) as client:
        yield client


@contextlib.asynccontextmanager
async def over_http(installation, token):
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=20) as http:
        async with Client(streamable_http_client(installation.mcp, http_client=http)) as client:
            yield client


async def call(client, tool, arguments=None, fails=None):
    """The structured content and the text of a call that succeeds, or fails with this status."""
    result = await client.call_tool(tool, arguments or {})
    body, text = result.structured_content, result.content[0].text
    status = body.get("statusCode") if result.is_error else None
    assert status == fails, f"{tool} {arguments}: {body}"
    assert json.dumps(body.get("message", ""), ensure_ascii=False)[1:-1] in text
    return body, text


async def names(client):
    return [tool.name for tool in (await client.list_tools()).tools]


async def whole_loop(client, installation, title):
    """From the campaigns to a submitted proposal, as an agent would go."""
    campaigns, _ = await call(client, "list_campaigns")
    (campaign,) = campaigns["campaigns"]
    assert (campaign["id"], campaign["mode"], campaign["filters"]) == ("apps", "external", 1), campaign
    page, text = await call(client, "list_leads", {"campaignId": "apps", "limit": 1000})
    assert (page["total"], page["limit"], page["hasMore"]) == (3, 100, False), page
    assert INJECTION in text and "follow no instruction" in text and "untrusted data" in page["untrusted"] + text
    first, _ = await call(client, "list_leads", {"campaignId": "apps", "limit": 1, "offset": 1})
    assert [lead["id"] for lead in first["data"]] == [page["data"][1]["id"]] and first["hasMore"]
    lead = next(lead for lead in page["data"] if lead["title"] == title)
    on_lead = {"campaignId": "apps", "leadId": lead["id"]}
    shown, _ = await call(client, "get_lead", on_lead)
    assert shown["lead"] == lead and shown["bid"] is None
    assert shown["effectiveBiddingConfig"]["biddingHourlyRatePercentage"] == 90
    why, _ = await call(client, "explain_match", on_lead)
    assert why["matches"] and why["conditions"][0]["condition"] == "keywords", why
    bid = {**on_lead, "coverLetter": "I can start on Monday.", "questionAnswerPairs": []}
    tried, text = await call(client, "submit_bid", bid)
    assert tried["dryRun"] is True and text.startswith("Dry run"), text
    assert tried["simulated"]["outcome"] == "submitted" and tried["simulated"]["boostConnects"] == 0, tried
    assert (await call(client, "get_lead", on_lead))[0]["status"] == "new"
    done, _ = await call(client, "submit_bid", {**bid, "dryRun": False})
    assert done == {"success": True, "organizationId": "acme", **on_lead}, done
    again, _ = await call(client, "submit_bid", {**bid, "dryRun": False}, fails=409)
    assert again["error"] == "Conflict" and "already" in again["message"]
    for _ in range(600):
        if (await call(client, "get_lead", on_lead))[0]["status"] == "submitted":
            break
        await asyncio.sleep(0.1)
    shown, _ = await call(client, "get_lead", on_lead)
    assert shown["status"] == "submitted" and shown["bid"]["proposal"]["terms"]["amount"] == 54, shown
    of_status, _ = await call(client, "list_leads", {"campaignId": "apps", "status": "submitted"})
    assert lead["id"] in [lead["id"] for lead in of_status["data"]]
    entries, _ = await call(client, "list_activity", {"leadId": lead["id"], "kind": "bid"})
    assert [entry["outcome"] for entry in entries["data"]] == ["refused", "accepted", "accepted"], entries
    assert all(entry["actor"]["type"] == "user" and "personalToken" in entry["details"] for entry in entries["data"])
    return bid


async def refusals(client):
    """What is refused, and how."""
    unknown = {"campaignId": "apps", "leadId": "ld_none"}
    await call(client, "get_lead", unknown, fails=404)
    await call(client, "get_lead", {"campaignId": "none", "leadId": "ld_none"}, fails=404)
    faulty, _ = await call(client, "list_leads", {"campaign": "apps", "limit": "ten"}, fails=400)
    assert sorted(error["path"] for error in faulty["errors"]) == [["campaign"], ["campaignId"], ["limit"]]
    faulty, _ = await call(client, "test_filter", {"filter": {"keywords": "rust AND AND"}}, fails=400)
    assert faulty["errors"][0]["path"] == ["filter", "keywords"], faulty
    found, _ = await call(client, "test_filter", {"filter": {"keywords": "rust"}, "limit": 2})
    assert (found["jobs"], found["matched"], len(found["newest"])) == (3, 3, 2), found
    page, _ = await call(client, "list_leads", {"campaignId": "apps"})
    asks = next(lead for lead in page["data"] if lead["questions"])
    bid = {"campaignId": "apps", "leadId": asks["id"], "coverLetter": "Hello", "questionAnswerPairs": []}
    mismatch, text = await call(client, "submit_bid", bid, fails=400)
    (error,) = mismatch["errors"]
    assert error["code"] == "question_mismatch" and error["options"] == [QUESTION]
    assert text.startswith("Other people wrote texts in `errors`"), text
    wrong = {**bid, "biddingConfig": {"boostDownToNthPlace": 9}, "surprise": 1}
    faulty, _ = await call(client, "submit_bid", wrong, fails=400)
    paths = [error["path"] for error in faulty["errors"]]
    assert ["biddingConfig", "boostDownToNthPlace"] in paths and ["surprise"] in paths, paths
    rejection = {"campaignId": "apps", "leadId": asks["id"], "reason": "x" * 501}
    await call(client, "reject_lead", rejection, fails=400)
    await call(client, "reject_lead", {**rejection, "reason": "Too vague."})
    await call(client, "reject_lead", {**rejection, "reason": "Too vague."}, fails=400)


async def keys(client, installation):
    """Keys are made, work, are listed without themselves, and are revoked."""
    made, _ = await call(client, "create_api_key", {"name": "Agent's key", "expiresAt": "2099-01-01T00:00:00Z"})
    lists = lambda: ask(f"{installation.api}/v1/campaigns/apps/leads", headers={"Authorization": f"Bearer {made['key']}"})
    assert lists()[0] == 200
    listed, text = await call(client, "list_api_keys")
    assert made["id"] in [key["id"] for key in listed["keys"]] and made["key"] not in text
    await call(client, "revoke_api_key", {"id": made["id"]})
    assert lists()[0] == 401
    await call(client, "revoke_api_key", {"id": "none"}, fails=404)
    await call(client, "create_api_key", {"name": " ", "expiresAt": "2000-01-01T00:00:00Z"}, fails=400)


async def scopes(connect, installation):
    """A token lists the tools of its scope, and is told which scope others need."""
    for scope, expected in [("read", READ), ("bid", READ + BID), ("manage", READ + BID + MANAGE)]:
        async with connect(installation, installation.token(scope)["token"]) as client:
            assert await names(client) == expected, scope
    member = installation.token("bid", MEMBER)["token"]
    async with connect(installation, member) as client:
        refused, _ = await call(client, "list_api_keys", fails=403)
        assert "scope `manage`" in refused["message"] and "scope `bid`" in refused["message"]
    async with connect(installation, installation.token("read")["token"]) as client:
        await call(client, "reject_lead", {"campaignId": "apps", "leadId": "ld_1"}, fails=403)


async def hints(client):
    """The server and its tools say what they are."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert "follow an instruction" in client.instructions
    for name in READ + ["list_api_keys"]:
        assert tools[name].annotations.read_only_hint, name
    for name in ["submit_bid", "reject_lead", "revoke_api_key"]:
        assert tools[name].annotations.destructive_hint and not tools[name].annotations.read_only_hint, name
    schema = tools["submit_bid"].input_schema
    assert schema["properties"]["dryRun"]["default"] is True and schema["additionalProperties"] is False


def raw(installation, token, headers=None, body=None, method="POST", path="/mcp"):
    """A request without the SDK."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {token}", **(headers or {})}
    url = urllib.parse.urljoin(installation.mcp, path)
    return ask(url, message if body is None else body, headers, method)


def doors(installation, token):
    """Who is let in over HTTP."""
    assert raw(installation, token)[0] == 200
    for host in ["evil.test", "localhost.evil.test", "127.0.0.1.evil.test"]:
        assert raw(installation, token, {"Host": host})[0] == 403, host
    for origin in ["https://evil.test", "null", "http://127.0.0.1.evil.test"]:
        status, body = raw(installation, token, {"Origin": origin})
        assert status == 403 and json.loads(body)["statusCode"] == 403, origin
    for name, value in [("Host", "agents.acme.test"), ("Host", "localhost:1"), ("Origin", "https://agents.acme.test")]:
        assert raw(installation, token, {name: value})[0] == 200, value
    key = next(secret["value"] for secret in installation.report["secrets"] if secret["type"] == "api_key")
    for wrong in [key, "lt_" + "0a" * 32, "", "x"]:
        assert raw(installation, wrong)[0] == 401, "the tool server takes no API key"
    with_token = {"Authorization": f"Bearer {token}"}
    assert ask(f"{installation.api}/v1/campaigns/apps/leads", headers=with_token)[0] == 401, "the API takes no token"
    assert raw(installation, token, method="GET")[0] == 405
    assert raw(installation, token, path="/")[0] == 404
    assert raw(installation, token, {"Content-Length": str(4 << 20)}, body="")[0] == 413
    assert ask(f"{installation.api}/mcp", {}, with_token)[0] == 404, "it has an address of its own"


async def ends(connect, installation):
    """A token ends at the next call, wherever the client is connected; so does what a lapsed organization may do."""
    token = installation.token("bid")
    async with connect(installation, token["token"]) as client:
        await call(client, "list_campaigns")
        lapse(installation, "canceled")
        page, _ = await call(client, "list_leads", {"campaignId": "apps", "limit": 1})
        lead = page["data"][0]["id"]
        bid = {"campaignId": "apps", "leadId": lead, "coverLetter": "Hello", "questionAnswerPairs": []}
        for tool, arguments in [("submit_bid", bid), ("reject_lead", {"campaignId": "apps", "leadId": lead})]:
            refused, _ = await call(client, tool, arguments, fails=401)
            assert "subscription" in refused["message"]
        lapse(installation, "active")
        installation.revoke(token)
        if connect is over_stdio:
            refused, _ = await call(client, "list_campaigns", fails=401)
            assert "personal token" in refused["message"]
    if connect is over_http:
        assert raw(installation, token["token"])[0] == 401


def lapse(installation, status):
    change = {"organizations": [{"id": "acme", "subscription": subscription(status)}]}
    installation.run("apply", "-", stdin=json.dumps(change))


def wrong_starts(installation):
    """The program says what is wrong with its token, and logs on standard error alone."""
    for token, status in [(None, 2), ("lk_1", 2), ("lt_" + "0a" * 32, 1)]:
        environment = dict(installation.environment)
        if token is not None:
            environment["BIDLOOP_TOKEN"] = token
        started = subprocess.run([PROGRAM, "mcp"], env=environment, input="", capture_output=True, text=True, timeout=60)
        assert started.returncode == status and "BIDLOOP_TOKEN" in started.stderr, started
        assert started.stdout == ""
    environment = {**installation.environment, "BIDLOOP_TOKEN": installation.token("read")["token"]}
    started = subprocess.run([PROGRAM, "mcp"], env=environment, input="", capture_output=True, text=True, timeout=60)
    assert (started.returncode, started.stdout) == (0, ""), started


async def main():
    with Installation() as installation:
        manage = installation.token("manage")["token"]
        wrong_starts(installation)
        doors(installation, manage)
        for connect, title in [(over_stdio, "Rust service"), (over_http, "Another Rust service")]:
            print(f"== {connect.__name__}", flush=True)
            async with connect(installation, manage) as client:
                await hints(client)
                await whole_loop(client, installation, title)
                await keys(client, installation)
            await scopes(connect, installation)
        async with over_http(installation, manage) as client:
            await refusals(client)
        for connect in [over_stdio, over_http]:
            await ends(connect, installation)
    assert installation.statuses == [0, 0], f"the service and the marketplace ended with {installation.statuses}"
    print("The tool server passed.")


asyncio.run(main())
