import { randomBytes } from 'node:crypto';
import { appendFileSync, createWriteStream } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { assertLoopback } from '../../../base/config/index.js';
import { formatDuration } from '../../../base/duration.js';
import { EXIT } from '../../../base/exit-codes.js';
import { connect } from '../../../base/redis/connection.js';
import { deleteKeys } from '../../../base/redis/keys-with-prefix.js';
import { provideRedis } from '../../../base/redis/provide.js';
import { numberReader } from '../../../campaign/numbers/number.js';
import { LEFT_OUT_STATUSES } from '../../../campaign/states/reported-status.js';
import {
  type CampaignStatus,
  createEvents,
  createVolley,
  type LaneStatus,
  loadConfig,
  type OutboxMessageStatus,
  type RecipientInput,
  type ReportRow,
  type Volley,
} from '../../../index.js';
import { openFile } from '../../../intake/import/open-file.js';
import { formatReport } from '../../../reporting/report-file.js';
import { type SimulatorOptions, type Summary, startSimulator } from '../../../tools/simulator/index.js';
import { listenForStop } from '../../lifecycle.js';
import { type Context, createContext } from '../context/context.js';
import { CliError } from '../context/errors.js';
import { servingConsole } from '../open/console-link.js';
import { campaignLine, renderCampaign } from '../output/progress.js';
import { createLivePicture } from '../output/terminal.js';
import { counted, cut, grouped, oneLine, padded } from '../output/text.js';

/*
 * The demo: two campaigns and an outbox from import to report on this machine, against a simulator. An hour takes ten seconds. Within half a
 * minute, Volley uses up a quota and waits, gets a 429, learns the hidden quota, and refreshes expired tokens.
 */

const LIST = fileURLToPath(new URL('../../../../../examples/spring-sale.csv', import.meta.url));
const COUNTRY = 'GB';
const MESSAGE = 'Hi {{name}}, spring is here: 20% off in {{city}} with {{voucher}}. Reply STOP to opt out.';
const HOUR_MS = 10_000;
/** The longest that a lane with such an hour may have. */
const REQUEST_TIMEOUT_MS = HOUR_MS / 10;
/** Requests per hour of the lane with a known quota. */
const MAIN_QUOTA = 250;
/** Of the lane that has to learn it; only the simulator knows it. */
const HIDDEN_QUOTA = 110;
const MAIN_KEY = 'demo-main';
const AUTO_ACCOUNT = { username: 'demo-auto', password: 'demo' };
/** One in this many numbers goes to the lane that learns its quota. */
const AUTO_SHARE_OF = 3;
const WORKERS = 2;
/** With its start and end, the demo takes less than a minute in any case. */
const FINISHED_WITHIN_MS = 48_000;
const DRAW_EVERY_MS = 200;
/** Without a terminal. */
const LINE_EVERY_MS = 4_000;
const LOG_LINES = 5;
/** On terminals with fewer rows, each campaign is shown in fewer lines. */
const ROOMY_ROWS = 34;

const SIMULATOR: SimulatorOptions = {
  seed: 20_26,
  keys: [
    { key: MAIN_KEY, quota: MAIN_QUOTA, model: 'sliding', windowMs: HOUR_MS },
    { account: AUTO_ACCOUNT.username, quota: HIDDEN_QUOTA, model: 'sliding', windowMs: HOUR_MS },
  ],
  accounts: [AUTO_ACCOUNT],
  tokens: { accessLifetimeMs: 8_000 },
  latency: { kind: 'lognormal', medianMs: 25, sigma: 0.5, maxMs: 250 },
  deliveryTime: { kind: 'lognormal', medianMs: 900, sigma: 0.5, maxMs: 4_000 },
  impossible: 0.03,
};

/** The lanes file. Its credentials are invented. */
const LANES = [
  { name: 'main', apiKey: MAIN_KEY, hourlyQuota: MAIN_QUOTA },
  { name: 'auto', account: AUTO_ACCOUNT, hourlyQuota: 'auto' },
];

/** What a run of the demo left behind. */
export interface Outcome {
  readonly statuses: readonly CampaignStatus[];
  /** Lines of the report per status. */
  readonly reported: ReadonlyMap<string, number>;
  /** What the simulator counted. */
  readonly summary: Summary;
  readonly lanes: readonly LaneStatus[];
  readonly workers: number;
  readonly reminders: Reminders;
}

/** Single messages with a time each: the first stays, the second is moved, and the third is cancelled. */
interface Reminders {
  readonly messages: readonly OutboxMessageStatus[];
  /** When the moved message was due at first, and then, ISO 8601. */
  readonly movedFrom: string;
  readonly movedTo: string;
}

/** A line of the results: what it is about, what was found, and whether that is what the demo promises. */
type Result = readonly [label: string, found: string, isKept: boolean];

/** The results of a run. */
export function resultsOf({ statuses, reported, summary, lanes, workers, reminders }: Outcome): Result[] {
  const total = statuses.reduce((sum, { counts }) => sum + counts.total, 0);
  const ofRecipients = [...reported].filter(([status]) => !LEFT_OUT_STATUSES.some((each) => each === status));
  const lines = ofRecipients.reduce((sum, [, count]) => sum + count, 0);
  const final = (reported.get('deliveredToTerminal') ?? 0) + (reported.get('deliveryImpossible') ?? 0);
  const states = [...new Set(statuses.map(({ state }) => state))].join(', ');
  const learned = lanes.find(({ name }) => name === 'auto')?.quota.learned ?? null;
  const { messages, movedFrom, movedTo } = reminders;
  const [first, moved, cancelled] = messages;
  const sent = messages.filter(({ sentAt }) => sentAt !== null).length;
  const isMoved = moved?.sentAt != null && Date.parse(moved.sentAt) >= Date.parse(movedTo);
  return [
    [
      'recipients',
      `${grouped(total)} in ${counted(statuses.length, 'campaign')}, ${states}: ${ofRecipients.map(([status, count]) => `${grouped(count)} ${status}`).join(', ')}`,
      statuses.length === 2 && states === 'completed' && final === total && lines === total,
    ],
    [
      'left out',
      `${counted(reported.get('duplicate') ?? 0, 'row')} with the number and the text of an earlier row`,
      true,
    ],
    [
      'reminders',
      `3 in an outbox: 1 ${first?.state}; 1 moved by ${(Date.parse(movedTo) - Date.parse(movedFrom)) / 1_000} s, ${moved?.state}; 1 ${cancelled?.state}`,
      first?.sentAt != null && isMoved && cancelled?.state === 'cancelled',
    ],
    [
      'accepted',
      `${counted(summary.recipients, 'message')}, according to the simulator`,
      summary.recipients === total + sent,
    ],
    ['duplicates', `${grouped(summary.duplicates)}, according to the simulator`, summary.duplicates === 0],
    ...summary.maxPerWindow.map(
      (window): Result =>
        window.key === MAIN_KEY
          ? ['lane main', windowText(window), window.quota !== null && window.arrived <= window.quota]
          : ['lane auto', windowText(window), true],
    ),
    ['429s', grouped(summary.throttled), summary.throttled > 0],
    ['learned', `${learned ?? 'no'} requests per hour, the quota of lane auto`, learned !== null],
    [
      'tokens',
      `${counted(summary.loginsGranted, 'login')}, ${counted(summary.refreshesGranted, 'refresh', 'refreshes')}, ${grouped(summary.reusedRefreshTokens)} of them with a used token, shared by ${counted(workers, 'worker')}`,
      summary.refreshesGranted > 0 && summary.reusedRefreshTokens === 0 && workers >= WORKERS,
    ],
  ];
}

function windowText({ arrived, admitted, quota }: Summary['maxPerWindow'][number]): string {
  const refused = arrived > admitted ? `, ${grouped(arrived - admitted)} more were refused` : '';
  return `at most ${grouped(admitted)} requests in any hour, quota ${quota === null ? 'unlimited' : grouped(quota)}${refused}`;
}

/** Keeps the report and the workers' log. Rejects if the run did not keep a promise. */
async function runDemo(context: Context, signal: AbortSignal): Promise<void> {
  // The demo only uses its own simulator. If a real service is configured, it refuses to run, to avoid any doubt.
  for (const url of [context.env['MESSAGING_BASE_URL'], context.env['ACCOUNT_BASE_URL']])
    if (url) assertLoopback(url);
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
    closing.push(async () => {
      const connection = connect(redis.url);
      await deleteKeys(connection, prefix);
      connection.disconnect();
    });
    const simulator = await startSimulator(SIMULATOR);
    closing.push(() => simulator.close());
    const lanesFile = join(dir, 'lanes.json');
    await writeFile(lanesFile, JSON.stringify(LANES));
    // Without any setting of the user.
    const config = loadConfig({
      REDIS_URL: redis.url,
      REDIS_PREFIX: prefix,
      LANES_FILE: lanesFile,
      MESSAGING_BASE_URL: simulator.messagingBaseUrl,
      ACCOUNT_BASE_URL: simulator.accountBaseUrl,
      SENDER_ADDRESS: 'ACME',
      DEFAULT_COUNTRY: COUNTRY,
      HTTP_PORT: '0',
      QUOTA_WINDOW_MS: String(HOUR_MS),
      REQUEST_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS),
      FOLLOW_UP_FIRST_MS: '2000',
      FOLLOW_UP_DEADLINE: '10m',
      RETENTION: '1h',
    });
    const files = { report: join(dir, 'report.csv'), log: join(dir, 'workers.log') };
    const logged: string[] = [];
    const write = (text: string): void => {
      appendFileSync(files.log, text);
      logged.push(...text.trimEnd().split('\n'));
    };
    const events = createEvents({ level: 'info', format: 'lines', destination: { write } });
    // Two of them, as on two machines.
    const workers = Array.from({ length: WORKERS }, () => createVolley({ config, events }));
    const volley = createVolley({ config, events });
    for (const each of [...workers, volley]) closing.push(() => each.close());
    await Promise.all(workers.map((worker) => worker.work().ready));
    context.note(`Redis: ${redis.origin}.`);
    const ids = [await enqueue(volley, 'main'), await enqueue(volley, 'auto')];
    const http = servingConsole(context)(volley, config, events);
    closing.push(() => http.stop());
    context.note((await http.ready) ?? '');
    const ended = AbortSignal.any([signal, AbortSignal.timeout(FINISHED_WITHIN_MS)]);
    const [statuses, reminders] = await Promise.all([
      watch(context, volley, ids, logged, began, ended),
      remind(volley, context.clock(), ended),
    ]);
    const reported = await writeReport(volley, ids, files.report);
    const results = resultsOf({
      statuses,
      reported,
      summary: simulator.summary(),
      lanes: await volley.lanes(),
      workers: (await volley.workers()).length,
      reminders,
    });
    const { paint } = context;
    const all: Result[] = [
      ...results,
      ['took', formatDuration(performance.now() - began), true],
      ['report', files.report, true],
      ['log', files.log, true],
    ];
    const lines = all.map(([label, found]) => `${paint('dim', padded(label, 13))}${found}`);
    context.stdout.write(`\n${lines.join('\n')}\n`);
    const broken = results.filter(([, , isKept]) => !isKept);
    if (broken.length > 0) {
      const named = broken.map(([label, found]) => `  ${label}: ${found}`);
      throw new CliError('failed', `The demo failed:\n${named.join('\n')}`);
    }
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

async function enqueue(volley: Volley, lane: 'main' | 'auto'): Promise<string> {
  const outcome = await volley.enqueue({
    recipients: partOf(LIST, lane),
    toColumn: 'to',
    message: MESSAGE,
    lane,
    name: lane === 'main' ? 'Spring sale' : 'Spring sale, second lane',
  });
  if (outcome.outcome !== 'refused') return outcome.id;
  throw new CliError('failed', `The list could not be imported (${outcome.code}).`);
}

/** The rows that one lane sends. The number decides the lane, so that no spelling of it reaches both lanes. */
async function* partOf(file: string, lane: 'main' | 'auto'): AsyncGenerator<RecipientInput> {
  const list = await openFile(file);
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

/** Draws until both campaigns are completed. */
async function watch(
  { clock, stderr, paintErr, note }: Context,
  volley: Volley,
  ids: readonly string[],
  logged: readonly string[],
  began: number,
  signal: AbortSignal,
): Promise<CampaignStatus[]> {
  const latest = new Map<string, CampaignStatus>();
  const live = createLivePicture(stderr);
  let shownAt = 0;
  const show = (): void => {
    const now = clock();
    const statuses = ids.flatMap((id) => latest.get(id) ?? []);
    if (stderr.isTTY === true) {
      const { columns: width, rows } = stderr;
      const elapsed = formatDuration(performance.now() - began);
      const look = { now, width, rows, paint: paintErr, compact: rows < ROOMY_ROWS };
      live.draw([
        paintErr(
          'dim',
          `Messages go to a simulator, not to phones; its hour takes 10 s. ${elapsed} elapsed.`,
        ),
        ...statuses.flatMap((status) => ['', ...renderCampaign(status, look)]),
        '',
        ...logged
          .slice(-LOG_LINES)
          .map((line) => paintErr('dim', cut(oneLine(line), Math.max(20, width - 1)))),
      ]);
    } else if (now - shownAt >= LINE_EVERY_MS) {
      shownAt = now;
      for (const status of statuses) note(campaignLine(status, now));
    }
  };
  const drawing = setInterval(show, DRAW_EVERY_MS);
  const onProgress = (status: CampaignStatus): void => void latest.set(status.id, status);
  const finished = ids.map((id) => volley.finished(id, { signal, onProgress }));
  try {
    const statuses = await Promise.all(finished);
    statuses.forEach(onProgress);
    shownAt = 0;
    show();
    return statuses;
  } catch (error) {
    await Promise.allSettled(finished);
    if (!(signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError')) throw error;
    throw new CliError('failed', whyUnfinished([...latest.values()]));
  } finally {
    clearInterval(drawing);
    live.end();
  }
}

/** Why campaigns did not complete in time. The demo plants no timeouts, so unknown outcomes come from a machine that is too busy. */
export function whyUnfinished(statuses: readonly Pick<CampaignStatus, 'counts'>[]): string {
  const unfinished = `The campaigns did not complete within ${FINISHED_WITHIN_MS / 1_000} s`;
  const unknown = statuses.reduce((sum, { counts }) => sum + counts.unknown, 0);
  if (unknown === 0) return `${unfinished}. Run the demo again when this machine is less busy.`;
  return `${unfinished}: this machine was so busy that the answers for ${counted(unknown, 'message')} took more than ${REQUEST_TIMEOUT_MS / 1_000} s. Volley cannot know whether they were sent, and never sends them again by itself. Run the demo again when this machine is less busy.`;
}

/** Puts three reminders into an outbox beside the campaigns, moves one, cancels one, and waits until the others are final. */
async function remind(volley: Volley, now: number, signal: AbortSignal): Promise<Reminders> {
  const inSeconds = (seconds: number): string => new Date(now + seconds * 1_000).toISOString();
  const name = 'reminders';
  const message = 'Hi {{name}}, your appointment is tomorrow.';
  await volley.outboxes.create({ name, lane: 'main', message, zone: 'Europe/London', late: '1m' });
  const outbox = volley.outbox(name);
  const [movedFrom, movedTo] = [inSeconds(8), inSeconds(14)];
  const moved = { id: 'appt-2', to: '+447700900012', name: 'Grace' };
  await outbox.put({ id: 'appt-1', to: '+447700900011', name: 'Ada', sendAt: inSeconds(3) });
  await outbox.put({ ...moved, sendAt: movedFrom });
  await outbox.put({ id: 'appt-3', to: '+447700900013', name: 'Hedy', sendAt: inSeconds(10) });
  await outbox.put({ ...moved, sendAt: movedTo });
  await outbox.cancel('appt-3');
  const ends = ['deliveredToTerminal', 'deliveryImpossible', 'cancelled', 'lapsed', 'rejected'];
  for (;;) {
    const messages = await Promise.all(['appt-1', 'appt-2', 'appt-3'].map((id) => outbox.message(id)));
    if (messages.every(({ state }) => ends.includes(state))) return { messages, movedFrom, movedTo };
    await delay(500, undefined, { signal });
  }
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

// Tests import this file for the results.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
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
}
