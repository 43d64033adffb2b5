// What a receiver of webhooks knows of their bodies. It is compiled, not run.
import type { webhooks } from "./api.js";

type JobNew = webhooks["job.new"]["post"]["requestBody"]["content"]["application/json"];
type BidComplete = webhooks["bid_complete"]["post"]["requestBody"]["content"]["application/json"];

export function summary(event: JobNew | BidComplete): string {
  if (event.event === "job.new") {
    const { lead, bidUrl } = event.data;
    const talent = lead.vendorQualifications?.talentType ?? "ANY";
    const scores = (lead.clientReviews ?? []).map((review) => review.score ?? 0);
    return `${lead.title} (${lead.region ?? "anywhere"}, ${talent}, ${scores.join("/")}): ${bidUrl}`;
  }
  const { outcome, reason, terms } = event.data;
  return outcome === "submitted" ? `${terms?.type} at ${terms?.amount}` : `${outcome}: ${reason?.code}`;
}
