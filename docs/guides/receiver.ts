// Receives job.new webhooks, verifies them, answers 200 at once, and bids afterwards.

import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";

type Job = { bidUrl: string; lead: { title: string; questions: string[] } };
type Delivery = { event: "job.new"; data: Job } | { event: "bid_complete"; data: { leadId: string; outcome: string } };

const apiKey = process.env.API_KEY ?? "";
const webhook = new Webhook(process.env.WEBHOOK_SECRET ?? "");

/** Bids, or returns: a lead without an answer causes no bid. */
async function decide({ bidUrl, lead }: Job): Promise<void> {
  if (lead.questions.length > 0) return console.log("left alone:", lead.title);
  const coverLetter = `Hello, I can start on “${lead.title}” on Monday.`;
  const answer = await fetch(bidUrl, {
    method: "POST",
    headers: { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" },
    body: JSON.stringify({ coverLetter, questionAnswerPairs: [] }),
    signal: AbortSignal.timeout(30_000),
  });
  if (answer.ok) console.log("bid queued:", lead.title);
  else console.log("refused:", lead.title, await answer.text());
}

createServer(async (request, response) => {
  let delivery: Delivery;
  try {
    const body = await buffer(request);
    delivery = webhook.verify(body, request.headers as Record<string, string>) as Delivery;
  } catch (forged) {
    return response.writeHead(401).end(String(forged));
  }
  response.end();
  // Sending a bid again after a lost answer is safe: a lead takes one bid.
  if (delivery.event === "job.new") decide(delivery.data).catch((lost) => console.log("no answer:", String(lost)));
}).listen(9000, "127.0.0.1");
