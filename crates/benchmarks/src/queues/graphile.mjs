// Adds jobs that do nothing to graphile-worker's queue and works them off, in its fastest mode: it fetches and completes
// jobs in batches. Arguments: the database's URL and the number of jobs. Prints the seconds that each part took.
import { Logger, run, runMigrations } from "graphile-worker";
import pg from "pg";

const [url, argument] = process.argv.slice(2);
const count = Number(argument);
const AT_ONCE = 1000;
const logger = new Logger(() => () => {});
const pgPool = new pg.Pool({ connectionString: url, max: 25 });
const secondsSince = (started) => (performance.now() - started) / 1000;

await runMigrations({ pgPool, logger });

const add = `SELECT count(*) FROM graphile_worker.add_jobs(array(
  SELECT row('deliver', json_build_object('number', n, 'data', repeat('x', 200)), null, null, null, null, null, null)
    ::graphile_worker.job_spec
  FROM generate_series(1, $1::int) n))`;
const enqueueing = performance.now();
for (let added = 0; added < count; added += AT_ONCE) {
  await pgPool.query(add, [Math.min(AT_ONCE, count - added)]);
}
const enqueue = secondsSince(enqueueing);

const working = performance.now();
let done = 0;
let runner;
await new Promise((resolve, reject) => {
  const deliver = () => {
    done += 1;
    if (done === count) resolve();
  };
  const concurrency = 24;
  const batches = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0, concurrentJobs: concurrency };
  run({
    pgPool, logger, concurrency, pollInterval: 200, noHandleSignals: true, taskList: { deliver }, preset: { worker: batches },
  }).then((started) => { runner = started; }, reject);
});
const work = secondsSince(working);
await runner.stop();
const { rows: [{ left }] } = await pgPool.query("SELECT count(*)::int AS left FROM graphile_worker.jobs");
await pgPool.end();
console.log(JSON.stringify({ enqueue, work, left }));
