"""An agent through the tool server: reads new leads, decides, tries the bid, then bids.

    BIDLOOP_TOKEN=lt_… python3 agent.py CAMPAIGN [BIDS]

It needs the package `mcp`, and `bidloop` in the PATH with the settings of the service.
"""

import asyncio
import os
import sys

from mcp import Client, StdioServerParameters


def decide(lead):
    """The letter of a bid, or None. A language model may stand here.

    Give it the lead as data, apart from your instructions, and take nothing but the letter from its answer: which lead is bid
    on, and that it is tried first, stays in this program.
    """
    if lead["questions"]:
        return None
    return f"Hello, I read “{lead['title']}” and can start on Monday."


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise RuntimeError(f"{tool}: {result.structured_content['message']}")
    return result.structured_content


async def work(client, campaign, bids):
    seen = set()
    while bids:
        page = await call(client, "list_leads", campaignId=campaign, status="new", limit=20)
        for lead in page["data"]:
            letter = None if lead["id"] in seen else decide(lead)
            seen.add(lead["id"])
            if letter is None or not bids:
                continue
            bid = {"campaignId": campaign, "leadId": lead["id"], "coverLetter": letter, "questionAnswerPairs": []}
            await call(client, "submit_bid", **bid)
            print("tried:", lead["title"], flush=True)
            await call(client, "submit_bid", **bid, dryRun=False)
            print("bid queued:", lead["title"], flush=True)
            bids -= 1
        await asyncio.sleep(1)


async def main():
    bidloop = StdioServerParameters(command="bidloop", args=["mcp"], env=dict(os.environ))
    async with Client(bidloop) as client:
        bids = int(sys.argv[2]) if len(sys.argv) > 2 else 1
        await work(client, sys.argv[1], bids)


asyncio.run(main())
