// The bidding loop with the types that openapi-typescript generates: list, dry run, bid, reject, upload.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Lead = components["schemas"]["ListedLead"];
type Bid = components["schemas"]["SubmitBidRequest"];

const { BIDLOOP_URL: baseUrl = "", BIDLOOP_KEY: key = "", BIDLOOP_CAMPAIGN: campaign_id = "" } = process.env;
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

async function newLeads(wanted: number): Promise<Lead[]> {
  const leads: Lead[] = [];
  for (let offset = 0; ; offset += 100) {
    const { data, error } = await client.GET("/v1/campaigns/{campaign_id}/leads", {
      params: { path: { campaign_id }, query: { offset, limit: 100 } },
    });
    assert.ok(data, error?.message);
    leads.push(...data.data.filter((lead) => lead.status === "new"));
    if (leads.length >= wanted || !data.hasMore) return leads;
  }
}

function bidOn(lead: Lead, more: Partial<Bid> = {}): Bid {
  const rate = lead.metadata.hourlyRate?.max ?? lead.clientInfo.avgHourlyRatePaid ?? 40;
  return {
    coverLetter: `Hello, I can start on "${lead.title}" on Monday.`,
    questionAnswerPairs: lead.questions.map((question) => ({ question, answer: "Yes." })),
    biddingConfig: { biddingHourlyRateStrategy: "fixed_rate", biddingFixedHourlyRate: rate },
    ...more,
  };
}

const [first, second] = await newLeads(2);
assert.ok(first && second, "two leads wait for a decision");
const path = { campaign_id, lead_id: first.id };

const dryRun = await client.POST("/v1/campaigns/{campaign_id}/leads/{lead_id}/bid", {
  params: { path },
  body: bidOn(first, { dryRun: true }),
});
assert.equal(dryRun.data?.dryRun, true);

const upload = await client.POST("/v1/campaigns/{campaign_id}/leads/{lead_id}/attachments", {
  params: { path },
  body: { files: ["Three queues that survived their restarts.\n"] },
  bodySerializer: ({ files }) => {
    const form = new FormData();
    files.forEach((text, n) => form.append("files", new Blob([text], { type: "text/plain" }), `reference-${n}.txt`));
    return form;
  },
});
const uploaded: components["schemas"]["LeadAttachment"] | undefined = upload.data?.[0];
assert.equal(uploaded?.contentType, "text/plain");

const mistaken = await client.POST("/v1/campaigns/{campaign_id}/leads/{lead_id}/bid", {
  params: { path },
  body: { coverLetter: "Hello", questionAnswerPairs: [{ question: "Is this your question?", answer: "No." }] },
});
assert.ok(mistaken.error && "errors" in mistaken.error && mistaken.error.errors);
const [fault] = mistaken.error.errors;
assert.ok(fault && "code" in fault);
assert.equal(fault.code, "question_mismatch");

const bid = await client.POST("/v1/campaigns/{campaign_id}/leads/{lead_id}/bid", { params: { path }, body: bidOn(first) });
assert.equal(bid.data?.leadId, first.id);
const again = await client.POST("/v1/campaigns/{campaign_id}/leads/{lead_id}/bid", { params: { path }, body: bidOn(first) });
assert.equal(again.response.status, 409);

const other = { campaign_id, lead_id: second.id };
const rejected = await client.POST("/v1/campaigns/{campaign_id}/leads/{lead_id}/reject", {
  params: { path: other },
  body: { reason: "The budget is too small." },
});
assert.equal(rejected.data?.success, true);
const without = await client.POST("/v1/campaigns/{campaign_id}/leads/{lead_id}/reject", { params: { path: other } });
assert.equal(without.error?.statusCode, 400);
console.log("TypeScript: list, dry run, upload, refusal, bid, repeated bid, rejection");
