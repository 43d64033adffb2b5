"""The bidding loop with the client that openapi-python-client generates: list, dry run, bid, reject, upload."""

import os
from io import BytesIO

from bidloop_client import AuthenticatedClient
from bidloop_client.api.leads import list_campaign_leads, reject_lead, submit_bid, upload_lead_attachments
from bidloop_client.models import (
    BiddingConfigOverride,
    BiddingHourlyRateStrategy,
    LeadActionAck,
    LeadPage,
    LeadStatus,
    ListedLead,
    QuestionAnswerPair,
    RejectLeadRequest,
    StandardError,
    SubmitBidRequest,
    UploadRequest,
    ValidationCode,
    ValidationError,
)
from bidloop_client.types import File

CAMPAIGN = os.environ["BIDLOOP_CAMPAIGN"]
CLIENT = AuthenticatedClient(base_url=os.environ["BIDLOOP_URL"], token=os.environ["BIDLOOP_KEY"])


def new_leads(wanted: int) -> list[ListedLead]:
    found: list[ListedLead] = []
    offset = 0
    while True:
        page = list_campaign_leads.sync(CAMPAIGN, client=CLIENT, offset=offset, limit=100)
        assert isinstance(page, LeadPage), page
        found += [lead for lead in page.data if lead.status == LeadStatus.NEW]
        offset += len(page.data)
        if len(found) >= wanted or not page.has_more:
            return found


def bid_on(lead: ListedLead, dry_run: bool = False) -> SubmitBidRequest:
    return SubmitBidRequest(
        cover_letter=f"Hello, I can start on “{lead.title}” on Monday.",
        question_answer_pairs=[QuestionAnswerPair(question=question, answer="Yes.") for question in lead.questions],
        dry_run=dry_run,
        bidding_config=BiddingConfigOverride(
            bidding_hourly_rate_strategy=BiddingHourlyRateStrategy.FIXED_RATE, bidding_fixed_hourly_rate=45.5
        ),
    )


def main() -> None:
    first, second = new_leads(2)[:2]

    simulated = submit_bid.sync(CAMPAIGN, first.id, client=CLIENT, body=bid_on(first, dry_run=True))
    assert isinstance(simulated, LeadActionAck) and simulated.dry_run is True, simulated

    file = File(payload=BytesIO(b"Three queues.\n"), file_name="references.txt", mime_type="text/plain")
    uploaded = upload_lead_attachments.sync(CAMPAIGN, first.id, client=CLIENT, body=UploadRequest(files=[file]))
    assert isinstance(uploaded, list) and uploaded[0].original_name == "references.txt", uploaded
    twice = upload_lead_attachments.sync_detailed(CAMPAIGN, first.id, client=CLIENT, body=UploadRequest(files=[file]))
    assert twice.status_code == 400 and isinstance(twice.parsed, StandardError), twice

    mistaken = SubmitBidRequest("Hello", [QuestionAnswerPair("Is this your question?", "No.")])
    refused = submit_bid.sync(CAMPAIGN, first.id, client=CLIENT, body=mistaken)
    assert isinstance(refused, ValidationError), refused
    assert refused.errors[0].code == ValidationCode.QUESTION_MISMATCH, refused

    queued = submit_bid.sync(CAMPAIGN, first.id, client=CLIENT, body=bid_on(first))
    assert isinstance(queued, LeadActionAck) and queued.lead_id == first.id, queued
    repeated = submit_bid.sync_detailed(CAMPAIGN, first.id, client=CLIENT, body=bid_on(first))
    assert repeated.status_code == 409, repeated

    rejected = reject_lead.sync(CAMPAIGN, second.id, client=CLIENT, body=RejectLeadRequest(reason="Too small."))
    assert isinstance(rejected, LeadActionAck) and rejected.success, rejected
    late = reject_lead.sync(CAMPAIGN, second.id, client=CLIENT)
    assert isinstance(late, StandardError) and late.status_code == 400, late

    stranger = AuthenticatedClient(base_url=os.environ["BIDLOOP_URL"], token="lk_" + "0" * 64)
    unknown = list_campaign_leads.sync(CAMPAIGN, client=stranger)
    assert isinstance(unknown, StandardError) and unknown.status_code == 401, unknown
    print("Python: list, dry run, upload, refusals, bid, repeated bid, rejection")


main()
