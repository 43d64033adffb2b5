// The workflow of docs/guides/n8n.md by its nodes: which of them run, and what each status of a bid leads to.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";

import { execute } from "./n8n.mjs";

const workflow = JSON.parse(readFileSync(new URL("../../docs/guides/n8n-workflow.json", import.meta.url), "utf8"));
const KEY = Buffer.from("the key of the tests");
const SECRET = `whsec_${KEY.toString("base64")}`;
const CREDENTIALS = [{ id: "bidloopApiKey001", data: { name: "Authorization", value: "Bearer lk_1" } }];
const QUOTA = { statusCode: 402, code: "proposal_limit_reached", currentUsage: 2, limit: 2, currentPeriodEnd: 1797592000 };

function signature(key, id, at, body) {
  return "v1," + createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64");
}

/** Gives the workflow a delivery. `bids` are those that a service got, which answers each with `status` and `answer`. */
async function deliver(t, { event = "job.new", lead = {}, change = {}, status = 200, answer = {}, env = {} } = {}) {
  const bids = [];
  const service = createServer(async (request, response) => {
    bids.push({ key: request.headers.authorization, ...JSON.parse(await buffer(request)) });
    response.writeHead(status).end(JSON.stringify(answer));
  });
  await new Promise((listening) => service.listen(0, "127.0.0.1", listening));
  const bidUrl = `http://127.0.0.1:${service.address().port}/bid`;
  t.after(() => service.close());
  if (change.closed) service.close();

  const body = Buffer.from(JSON.stringify({ event, data: { bidUrl, lead: { title: "A “job”", questions: [], ...lead } } }));
  const id = "msg_1";
  const at = String(Math.floor(Date.now() / 1000));
  const signed = { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signature(KEY, id, at, body) };
  const headers = { ...signed, ...change.headers?.(id, at, body) };
  const answered = [];
  const done = await execute(workflow, { headers, body }, {
    env: { WEBHOOK_SECRET: SECRET, NODE_FUNCTION_ALLOW_BUILTIN: "crypto", ...env },
    credentials: CREDENTIALS,
    respond: (code, text) => answered.push([code, text, bids.length]),
  }).then((ran) => ({ ran }), (fault) => ({ ran: fault.ran ?? [], fault: fault.message }));
  return { ...done, bids, answered };
}

test("a genuine job is answered 200 before it is bid on", async (t) => {
  const { ran, bids, answered } = await deliver(t);
  assert.deepEqual(answered, [[200, "", 0]]);
  assert.deepEqual(bids, [{ key: "Bearer lk_1", coverLetter: "Hello, I can start on “A “job”” on Monday.", questionAnswerPairs: [] }]);
  assert.deepEqual(ran, ["Webhook", "Verify signature", "Verified", "Answer 200", "Decide", "Bid", "Status", "Bid queued"]);
});

const outcomes = {
  409: { ends: "Already decided" },
  400: { answer: { errors: [{ path: ["coverLetter"], message: "too long" }] }, ends: "Bid invalid", says: /invalid: A “job”: \[\{"path":\["coverLetter"\]/ },
  402: { answer: QUOTA, ends: "Quota used up", says: /2 of 2, until 2026-12-18T/ },
  401: { answer: { message: "the key is revoked" }, ends: "Refused", says: /401 the key is revoked/ },
  503: { answer: { message: "later" }, ends: "Refused", says: /503 later/ },
};
for (const [status, { answer, ends, says }] of Object.entries(outcomes)) {
  test(`a bid that is answered ${status} ends in the node ${ends}`, async (t) => {
    const { ran, fault } = await deliver(t, { status: Number(status), answer });
    assert.equal(ran.at(-1), ends);
    says ? assert.match(fault, says) : assert.equal(fault, undefined);
  });
}

test("a bid without an answer ends in an error", async (t) => {
  const { ran, fault } = await deliver(t, { change: { closed: true } });
  assert.equal(ran.at(-1), "No answer");
  assert.equal(fault, "no answer: A “job”");
});

test("a lead with questions and another event are answered 200 and cause no bid", async (t) => {
  for (const delivery of [{ lead: { questions: ["When?"] } }, { event: "bid_complete" }]) {
    const { ran, bids, answered } = await deliver(t, delivery);
    assert.equal(ran.at(-1), "Decide");
    assert.deepEqual([bids.length, answered[0][0]], [0, 200]);
  }
});

test("two signatures are accepted while a secret is rotated", async (t) => {
  const both = (id, at, body) => ({ "webhook-signature": `${signature("other", id, at, body)} ${signature(KEY, id, at, body)}` });
  assert.equal((await deliver(t, { change: { headers: both } })).bids.length, 1);
});

const forgeries = {
  "another key": (id, at, body) => ({ "webhook-signature": signature("other", id, at, body) }),
  "another version": (id, at, body) => ({ "webhook-signature": signature(KEY, id, at, body).replace("v1", "v2") }),
  "a shorter signature": () => ({ "webhook-signature": "v1,AAAA" }),
  "no signature in it": () => ({ "webhook-signature": "v1" }),
  "no header": () => ({ "webhook-signature": undefined }),
  "another id": () => ({ "webhook-id": "msg_2" }),
  "a moment that is no number": (id, _, body) => ({ "webhook-timestamp": "NaN", "webhook-signature": signature(KEY, id, "NaN", body) }),
};
for (const seconds of [-301, 302]) {
  forgeries[`a moment ${seconds} s from now`] = (id, now, body) => {
    const at = String(Number(now) + seconds);
    return { "webhook-timestamp": at, "webhook-signature": signature(KEY, id, at, body) };
  };
}
for (const [name, headers] of Object.entries(forgeries)) {
  test(`a delivery with ${name} is answered 401 and causes no bid`, async (t) => {
    const { ran, bids, answered } = await deliver(t, { change: { headers } });
    assert.deepEqual([ran.at(-1), bids.length, answered[0][0]], ["Answer 401", 0, 401]);
  });
}

test("without a secret nothing is accepted, though everyone can sign with an empty one", async (t) => {
  const empty = (id, at, body) => ({ "webhook-signature": signature("", id, at, body) });
  const { bids, fault, answered } = await deliver(t, { change: { headers: empty }, env: { WEBHOOK_SECRET: "" } });
  assert.match(fault, /WEBHOOK_SECRET is not set/);
  assert.deepEqual([bids, answered], [[], []]);
});

test("every node is reached, named once, and every connection leads to a node", () => {
  const names = workflow.nodes.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  const reached = Object.values(workflow.connections).flatMap(({ main }) => main.flat().map(({ node }) => node));
  assert.deepEqual([...new Set(["Webhook", ...reached])].sort(), names.toSorted());
  for (const from of Object.keys(workflow.connections)) assert.ok(names.includes(from), from);
});
