import { randomBytes } from 'node:crypto';
import { appendFileSync, createWriteStream } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createVolley } from '../../app/runtime.js';
import type { Volley } from '../../app/volley.js';
import { assertLoopback, type Environment, loadLocalConfig } from '../../base/config/index.js';
import { createEvents } from '../../base/events/events.js';
import { EXIT } from '../../base/exit-codes.js';
import { connect } from '../../base/redis/connection.js';
import { deleteKeys } from '../../base/redis/keys-with-prefix.js';
import { provideRedis } from '../../base/redis/provide.js';
import { numberReader } from '../../campaign/number.js';
import type { ReportRow } from '../../campaign/recipient-views.js';
import { readCsv } from '../../intake/import/csv/read-csv.js';
import type { RecipientInput } from '../../intake/import/read-objects.js';
import { formatReport } from '../../reporting/report-file.js';
import type { Summary } from '../../tools/simulator/index.js';
import { listenForStop } from '../lifecycle.js';
import { servingConsole } from './console-link.js';
import { type Context, createContext } from './context.js';
import { brokenPromises, type Outcome, renderSummary } from './demo/outcome.js';
import { AUTO_SHARE_OF, COUNTRY, demoEnvironment, LANES, MESSAGE, WORKERS } from './demo/plan.js';
import { type Started, startSimulatorProcess, startWorkerProcess } from './demo/processes.js';
import { remind } from './demo/reminders.js';
import { endings, logLine, watch } from './demo/watch.js';
import { CliError } from './errors.js';

const LIST = fileURLToPath(new URL('../../../../examples/spring-sale.csv', import.meta.url));
/** A machine that is busy with other things takes long to start processes. */
const READY_WITHIN_MS = 60_000;

/**
 * Runs two campaigns and an outbox from import to report on this machine, against a simulator (see `demo/plan.ts`). It always stops the
 * processes that it started, and keeps the report and the workers' log. Rejects with the promises that the run did not keep.
 */
async function runDemo(context: Context, signal: AbortSignal): Promise<void> {
  refuseRealService(context.env);
  const began = performance.now();
  const closing: (() => unknown)[] = [];
  try {
    const dir = await mkdtemp(join(tmpdir(), 'volley-demo-'));
    const redis = await provideRedis({
      url: context.env['REDIS_URL'],
      image: context.env['VOLLEY_TEST_REDIS_IMAGE'] ?? 'redis:7',
      announce: context.note,
      // `npm run demo` sets it.
      install: process.argv.includes('--install'),
      installer: 'npm run demo',
    });
    closing.push(() => redis.stop());
    const prefix = `volley-demo-${randomBytes(6).toString('hex')}`;
    const connection = connect(redis.url);
    closing.push(async () => {
      await deleteKeys(connection, prefix);
      connection.disconnect();
    });
    const simulator = await startSimulatorProcess(dir);
    closing.push(() => simulator.stop());
    const lanesFile = join(dir, 'lanes.json');
    await writeFile(lanesFile, JSON.stringify(LANES));
    const env = demoEnvironment({ ...simulator, redisUrl: redis.url, prefix, lanesFile });
    const files = { report: join(dir, 'report.csv'), log: join(dir, 'workers.log') };
    const logged: string[] = [];
    const onLog = (line: string): void => {
      appendFileSync(files.log, `${line}\n`);
      logged.push(logLine(line));
    };
    const workers = Array.from({ length: WORKERS }, () => startWorkerProcess(env, dir, onLog));
    closing.push(() => Promise.all(workers.map((worker) => worker.stop())));
    context.note(
      `Redis: ${redis.origin}. Simulator: process ${simulator.pid}. Workers: ${workers.map(({ pid }) => pid).join(', ')}.`,
    );

    const [config, events] = [loadLocalConfig(env), createEvents({ level: 'silent' })];
    const volley = createVolley({ config, events });
    closing.push(() => volley.close());
    await workersReady(volley, [simulator, ...workers]);
    const ids = await launch(volley);
    const http = servingConsole(context)(volley, config, events);
    closing.push(() => http.stop());
    context.note((await http.ready) ?? '');
    const ended = new AbortController();
    closing.push(() => ended.abort());
    const [statuses, reminders] = await Promise.all([
      watch(context, volley, ids, logged, began, signal, [simulator, ...workers]),
      remind(volley, context.clock(), AbortSignal.any([signal, ended.signal])),
    ]);
    const reported = await writeReport(volley, ids, files.report);
    const summary = await fetchSummary(simulator.accountBaseUrl);
    const outcome: Outcome = {
      statuses,
      reported,
      summary,
      lanes: await volley.lanes(),
      workers: (await volley.workers()).length,
      reminders,
    };
    const lines = renderSummary(outcome, files, performance.now() - began, context.paint);
    context.stdout.write(`\n${lines.join('\n')}\n`);
    const broken = brokenPromises(outcome);
    if (broken.length > 0) {
      throw new CliError('failed', `The demo failed:\n  ${broken.join('\n  ')}`);
    }
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

/** The demo only uses its own simulator. If a real service is configured, it refuses to run, to avoid any doubt. */
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
    if (late.aborted)
      throw new CliError('failed', `The workers did not start within ${READY_WITHIN_MS / 1_000} s.`);
  };
  await Promise.race([all(), ...endings(processes)]);
}

async function launch(volley: Volley): Promise<string[]> {
  const names = { main: 'Spring sale', auto: 'Spring sale, second lane' } as const;
  const creating = (['main', 'auto'] as const).map(async (lane) => {
    const outcome = await volley.enqueue({
      recipients: partOf(LIST, lane),
      toColumn: 'to',
      message: MESSAGE,
      lane,
      name: names[lane],
    });
    if (outcome.outcome !== 'refused') return outcome.id;
    throw new CliError('failed', `The list could not be imported (${outcome.code}).`);
  });
  return Promise.all(creating);
}

/** Writes one report for both campaigns. Returns the number of lines per status. */
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

/** The rows that one lane sends. The number decides the lane, so that no spelling of it reaches both lanes. */
async function* partOf(file: string, lane: 'main' | 'auto'): AsyncGenerator<RecipientInput> {
  const list = await readCsv(file);
  const read = numberReader(COUNTRY);
  const column = list.columns.indexOf('phone');
  for await (const batch of list.batches) {
    for (const { fields } of batch) {
      const to = fields[column] ?? '';
      const number = read(to);
      const isAuto = number.ok && Number(number.number.slice(-4)) % AUTO_SHARE_OF === 0;
      if (isAuto !== (lane === 'auto')) continue;
      const values = Object.fromEntries(list.columns.map((name, index) => [name, fields[index] ?? '']));
      yield { ...values, to };
    }
  }
}

const { env, stdin, stdout, stderr } = process;
const context = createContext({ env, cwd: process.cwd(), stdin, stdout, stderr, clock: Date.now }, false);
const stop = listenForStop();
try {
  await runDemo(context, stop.signal);
} catch (error) {
  if (!stop.signal.aborted) context.fail(error);
}
stop.dispose();
process.exitCode = stop.signal.aborted ? EXIT.interrupted : context.exit();
