#!/usr/bin/env node
// Stands in for n8n where it is not installed: runs the workflow of docs/guides/n8n-workflow.json, whose Code nodes it
// executes as they are. It knows the commands, the nodes and the parameters that the guide uses, and refuses all others.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const AsyncFunction = (async () => {}).constructor;

/** A parameter: a text, or an expression `={{ … }}` over the item. */
function value(text, item, run) {
  const expression = /^=\{\{(.*)\}\}$/s.exec(text)?.[1];
  if (expression === undefined) return text;
  return new Function("$json", "$", `return (${expression})`)(item.json, (name) => ({ first: () => run.outputs[name][0] }));
}

function holds({ conditions, combinator }, item, run) {
  if (combinator !== "and") throw new Error(`the combinator ${combinator} is not known here`);
  return conditions.every(({ leftValue, rightValue, operator }) => {
    const left = value(leftValue, item, run);
    if (typeof left !== operator.type) throw new Error(`${leftValue} is no ${operator.type}`);
    if (operator.operation === "true") return left === true;
    if (operator.operation === "equals") return left === rightValue;
    throw new Error(`the operation ${operator.operation} is not known here`);
  });
}

/** Each returns the items of each output. */
const NODES = {
  "n8n-nodes-base.webhook": ({ parameters: { httpMethod, responseMode, options } }, items) => {
    if (httpMethod !== "POST" || responseMode !== "responseNode" || !options.rawBody) throw new Error("the webhook is set otherwise");
    return [items];
  },
  "n8n-nodes-base.code": async ({ parameters }, items, run) => {
    const load = createRequire(import.meta.url);
    const allowed = (name) => {
      if (!(run.env.NODE_FUNCTION_ALLOW_BUILTIN ?? "").split(",").includes(name)) throw new Error(`Module '${name}' is disallowed`);
      return load(name);
    };
    const helpers = { getBinaryDataBuffer: async (at, name) => Buffer.from(items[at].binary[name].data, "base64") };
    const code = new AsyncFunction("$input", "$env", "require", parameters.jsCode);
    return [await code.call({ helpers }, { first: () => items[0] }, run.env, allowed)];
  },
  "n8n-nodes-base.if": ({ parameters }, items, run) => {
    const wanted = (item) => holds(parameters.conditions, item, run);
    return [items.filter(wanted), items.filter((item) => !wanted(item))];
  },
  "n8n-nodes-base.switch": ({ parameters: { rules, options } }, items, run) => {
    if (options.fallbackOutput !== "extra") throw new Error("the switch has no further output");
    const output = (item) => {
      const found = rules.values.findIndex(({ conditions }) => holds(conditions, item, run));
      return found < 0 ? rules.values.length : found;
    };
    return [...rules.values, null].map((_, at) => items.filter((item) => output(item) === at));
  },
  "n8n-nodes-base.respondToWebhook": ({ parameters: { respondWith, responseBody, options } }, items, run) => {
    run.respond(options.responseCode, respondWith === "text" ? value(responseBody, items[0], run) : "");
    return [items];
  },
  "n8n-nodes-base.httpRequest": async ({ parameters, credentials }, [item], run) => {
    const { data } = run.credentials.find(({ id }) => id === credentials[parameters.genericAuthType].id);
    const { response, timeout } = parameters.options;
    if (!response.response.fullResponse || !response.response.neverError) throw new Error("statuses would be errors");
    try {
      const answer = await fetch(value(parameters.url, item, run), {
        method: parameters.method,
        headers: { "content-type": "application/json", [data.name]: data.value },
        body: value(parameters.jsonBody, item, run),
        redirect: "manual",
        signal: AbortSignal.timeout(timeout),
      });
      return [[{ json: { statusCode: answer.status, body: await answer.json() } }], []];
    } catch (lost) {
      return [[], [{ json: { error: String(lost) } }]];
    }
  },
  "n8n-nodes-base.stopAndError": ({ parameters }, [item], run) => {
    throw new Error(value(parameters.errorMessage, item, run));
  },
  "n8n-nodes-base.noOp": (_, items) => [items],
};

/** Runs a workflow for one call of its webhook, and returns the names of the nodes that ran. An error names its node. */
export async function execute(workflow, { headers, body }, { env, credentials, respond }) {
  const nodes = Object.fromEntries(workflow.nodes.map((node) => [node.name, node]));
  const run = { env, credentials, respond, outputs: {} };
  const first = workflow.nodes.find(({ type }) => type === "n8n-nodes-base.webhook").name;
  const binary = { data: { data: body.toString("base64"), mimeType: "application/json" } };
  const waiting = [[first, [{ json: { headers, params: {}, query: {} }, binary }]]];
  const ran = [];
  while (waiting.length > 0) {
    const [name, items] = waiting.shift();
    const act = NODES[nodes[name].type];
    if (!act) throw new Error(`nodes of the type ${nodes[name].type} are not known here`);
    ran.push(name);
    let outputs;
    try {
      outputs = await act(nodes[name], items, run);
    } catch (fault) {
      throw Object.assign(fault, { node: name, ran });
    }
    run.outputs[name] = outputs.find((one) => one.length > 0) ?? [];
    const connected = workflow.connections[name]?.main ?? [];
    outputs.forEach((output, at) => {
      if (output.length > 0) for (const { node } of connected[at] ?? []) waiting.push([node, output]);
    });
  }
  return ran;
}

function serve({ workflow, credentials }, port) {
  createServer(async (request, response) => {
    const body = await buffer(request);
    const respond = (status, text) => response.writeHead(status).end(text);
    const path = workflow.nodes.find(({ type }) => type === "n8n-nodes-base.webhook").parameters.path;
    if (request.url !== `/webhook/${path}`) return respond(request.url === "/healthz" ? 200 : 404, "");
    try {
      await execute(workflow, { headers: request.headers, body }, { env: process.env, credentials, respond });
    } catch (fault) {
      console.log(`${fault.node}: ${fault.message}`);
      if (!response.headersSent) respond(500, "");
    }
  }).listen(port, "127.0.0.1");
}

function main([command, ...options]) {
  const store = `${process.env.N8N_USER_FOLDER}/stand-in.json`;
  const change = (fields) => writeFileSync(store, JSON.stringify({ ...read(store, {}), ...fields }));
  const input = options.find((one) => one.startsWith("--input="))?.slice("--input=".length);
  if (command === "import:workflow") change({ workflow: read(input) });
  else if (command === "import:credentials") change({ credentials: read(input) });
  else if (command === "update:workflow" && options.includes(`--id=${read(store).workflow.id}`)) change({ active: options.includes("--active=true") });
  else if (command === "start" && read(store).active) serve(read(store), Number(process.env.N8N_PORT ?? 5678));
  else throw new Error(`this stands in for n8n, and does not know: ${[command, ...options].join(" ")}`);
}

function read(file, otherwise) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (fault) {
    if (otherwise === undefined || fault.code !== "ENOENT") throw fault;
    return otherwise;
  }
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) main(process.argv.slice(2));
