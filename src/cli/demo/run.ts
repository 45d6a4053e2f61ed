import { randomBytes } from 'node:crypto';
import { appendFileSync, createWriteStream } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ReportRow } from '../../campaign/views.js';
import { assertLoopback, type Environment, loadLocalConfig } from '../../config/index.js';
import { createEvents } from '../../events/events.js';
import { provideRedis } from '../../redis/provide.js';
import { formatReport } from '../../reporting/report-file.js';
import { createVolley } from '../../runtime.js';
import type { Summary } from '../../simulator/index.js';
import type { Volley } from '../../volley.js';
import type { Context } from '../context.js';
import { EXIT, Refusal } from '../exit.js';
import { deleteKeys } from './delete-keys.js';
import { missing, type Outcome } from './judge.js';
import { renderSummary, toldBy } from './picture.js';
import { demoEnvironment, LANES, MESSAGE, WORKERS } from './plan.js';
import { type Started, startSimulatorProcess, startWorkerProcess } from './processes.js';
import { partOf } from './split.js';
import { endings, watch } from './watch.js';

const LIST = fileURLToPath(new URL('../../../../examples/spring-sale.csv', import.meta.url));
const READY_WITHIN_MS = 10_000;

/**
 * The whole path of a campaign on this machine, against a simulator: see `plan.ts`. Everything that was started is ended,
 * whatever happens; the report and the workers' log are kept. Rejects with what was missing.
 */
export async function runDemo(context: Context, signal: AbortSignal): Promise<void> {
  refuseRealService(context.env);
  const began = performance.now();
  const closing: (() => unknown)[] = [];
  try {
    const dir = await mkdtemp(join(tmpdir(), 'volley-demo-'));
    const redis = await provideRedis({
      url: context.env['REDIS_URL'],
      image: context.env['VOLLEY_TEST_REDIS_IMAGE'] ?? 'redis:7',
      announce: context.say,
    });
    closing.push(() => redis.stop());
    const prefix = `volley-demo-${randomBytes(6).toString('hex')}`;
    closing.push(() => deleteKeys(redis.url, prefix));
    const simulator = await startSimulatorProcess(dir);
    closing.push(() => simulator.stop());
    const lanesFile = join(dir, 'lanes.json');
    await writeFile(lanesFile, JSON.stringify(LANES));
    const env = demoEnvironment({ ...simulator, redisUrl: redis.url, prefix, lanesFile });
    const files = { report: join(dir, 'report.csv'), log: join(dir, 'workers.log') };
    const told: string[] = [];
    const onLog = (line: string): void => {
      appendFileSync(files.log, `${line}\n`);
      told.push(toldBy(line));
    };
    const workers = Array.from({ length: WORKERS }, () => startWorkerProcess(env, dir, onLog));
    closing.push(() => Promise.all(workers.map((worker) => worker.stop())));
    context.say(
      `Redis: ${redis.origin}. Simulator: process ${simulator.pid}. Workers: ${workers.map(({ pid }) => pid).join(', ')}.`,
    );

    const volley = createVolley({ config: loadLocalConfig(env), events: createEvents({ level: 'silent' }) });
    closing.push(() => volley.close());
    await workersReady(volley, [simulator, ...workers]);
    const ids = await launch(volley);
    const statuses = await watch(context, volley, ids, told, began, signal, [simulator, ...workers]);
    const reported = await writeReport(volley, ids, files.report);
    const summary = await fetchSummary(simulator.accountBaseUrl);
    const outcome: Outcome = {
      statuses,
      reported,
      summary,
      lanes: await volley.lanes(),
      workers: (await volley.workers()).length,
    };
    const lines = renderSummary(outcome, files, performance.now() - began, context.paint);
    context.stdout.write(`\n${lines.join('\n')}\n`);
    const lacking = missing(outcome);
    if (lacking.length > 0)
      throw new Refusal(
        EXIT.failed,
        'demo',
        `The demo did not show what it should:\n  ${lacking.join('\n  ')}`,
      );
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

/** Its own simulator is all it speaks with; who has set up a real service should know that, and loses nothing. */
function refuseRealService(env: Environment): void {
  for (const name of ['MESSAGING_BASE_URL', 'ACCOUNT_BASE_URL']) {
    const url = env[name];
    if (url) assertLoopback(url);
  }
}

async function workersReady(volley: Volley, processes: readonly Started[]): Promise<void> {
  const late = AbortSignal.timeout(READY_WITHIN_MS);
  const all = async (): Promise<void> => {
    while ((await volley.workers()).length < WORKERS && !late.aborted) await delay(100);
    if (late.aborted) throw new Refusal(EXIT.failed, 'demo', 'The workers did not come up.');
  };
  await Promise.race([all(), ...endings(processes)]);
}

async function launch(volley: Volley): Promise<string[]> {
  const names = { main: 'Spring sale', auto: 'Spring sale, second lane' } as const;
  const made = (['main', 'auto'] as const).map(async (lane) => {
    const outcome = await volley.enqueue({
      recipients: partOf(LIST, lane),
      toColumn: 'to',
      message: MESSAGE,
      lane,
      name: names[lane],
    });
    if (outcome.kind === 'created') return outcome.id;
    throw new Refusal(EXIT.failed, 'demo', `The list could not be imported: ${outcome.kind}.`);
  });
  return Promise.all(made);
}

/** One file for both campaigns. Answers how many lines there are of each status. */
async function writeReport(
  volley: Volley,
  ids: readonly string[],
  path: string,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  async function* rows(): AsyncGenerator<ReportRow> {
    for (const id of ids) {
      for await (const row of volley.report(id)) {
        counts.set(row.status, (counts.get(row.status) ?? 0) + 1);
        yield row;
      }
    }
  }
  await pipeline(formatReport(rows(), 'csv'), createWriteStream(path));
  return counts;
}

async function fetchSummary(origin: string): Promise<Summary> {
  const response = await fetch(`${origin}/_simulator/summary`);
  return (await response.json()) as Summary;
}
