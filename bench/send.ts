/**
 * Send requests per second with one recipient each, of three contenders against the same simulator, and their cost in Redis:
 *
 *   bare loop           got and p-limit(32), without any bookkeeping
 *   volley              one worker process of the send stage, the campaign imported before
 *   job per recipient   a BullMQ worker of concurrency 32, the jobs added before
 *
 *   npm run bench -- send [requests] [rounds] [always|everysec]
 *
 * Each contender is one process that runs all rounds, after a warm-up round. The rounds alternate, so that changes of the
 * machine's load affect all three; the results are medians. A round lasts from the start command (volley: the import is done
 * and about to be committed) to the last acceptance in the simulator's ledger, which must contain each number once.
 */
import { loadavg } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Queue } from 'bullmq';
import { createVolley } from '../src/app/runtime.js';
import { loadConfig } from '../src/base/config/index.js';
import { createEvents } from '../src/base/events/events.js';
import { connect } from '../src/base/redis/connection.js';
import { startPrivateRedis } from '../src/base/redis/private-server.js';
import type { CampaignInput } from '../src/intake/import/campaign-input.js';
import { personAt } from './list.js';
import { API_KEY, numbers, QUEUE, SENDER, TEXT } from './send/contender.js';
import { type Meter, startContender, startSimulator } from './send/processes.js';
import { bytesOfKeys, commandsRun, difference, processorMs } from './send/redis-figures.js';

const [, , requestsText = '20000', roundsText = '5', fsync = 'always'] = process.argv;
const [requests, rounds] = [Number(requestsText), Number(roundsText)];
if (fsync !== 'always' && fsync !== 'everysec')
  throw new TypeError('the third argument is always or everysec');

const PERSONAL = 'Hi {{name}}, the spring sale has come to {{city}}: 20% off everything until Sunday.';
const LAUNCH_NEVER = Date.now() + 30 * 24 * 3_600_000;

const server = await startPrivateRedis({ appendfsync: fsync });
const simulator = await startSimulator(resolve('dist/src/tools/simulator/main.js'), {
  deliveryTime: 3_600_000,
});
const environment = {
  REDIS_URL: server.url,
  MESSAGING_BASE_URL: simulator.baseUrl,
  API_KEY,
  HOURLY_QUOTA: '10000000',
  // No polls in this bench: accepted requests never become final.
  FOLLOW_UP_FIRST_MS: '86400000',
  LOG_LEVEL: 'silent',
};
const redis = connect(server.url);
const queue = new Queue(QUEUE, { connection: connect(server.url, 'blocking') });
const volley = createVolley({ config: loadConfig(environment), events: createEvents({ level: 'silent' }) });

const beside = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const metered = ['--import', beside('./send/meter.js')];
const bareLoop = startContender(beside('./send/bare-loop.js'), {}, metered);
const perRecipient = startContender(
  beside('./send/job-per-recipient.js'),
  { REDIS_URL: server.url },
  metered,
);
await Promise.all([bareLoop.ready(), perRecipient.ready()]);

/** Redis bytes per pending recipient, for each way of storing it. */
const pending = {
  'volley, shared text': await bytesEach(() => enqueue(TEXT, { sendAt: LAUNCH_NEVER })),
  'volley, personalised': await bytesEach(() => enqueue(PERSONAL, { sendAt: LAUNCH_NEVER })),
  'job per recipient': await bytesEach(addJobs),
};
await queue.obliterate();
const volleyWorker = startContender(resolve('dist/workers/send.js'), environment, [
  ...metered,
  ...(process.env['WORKER_OPTIONS']?.split(' ') ?? []),
]);

interface Round {
  readonly perSecond: number;
  readonly commands: number;
  readonly trips: number;
  readonly processorMs: number;
  readonly redisMs: number;
}
const figures = { 'bare loop': [] as Round[], volley: [] as Round[], 'job per recipient': [] as Round[] };
let openBytes = 0;
let names = new Map<string, number>();

try {
  for (let round = 0; round <= rounds; round++) {
    const results = [await bareRound(), await volleyRound(), await jobRound()] as const;
    const shown = results.map(({ perSecond }) => perSecond.toFixed(0)).join(' / ');
    process.stderr.write(`round ${round}: ${shown} requests/s, load ${loadavg()[0]?.toFixed(1)}\n`);
    if (round === 0) continue;
    figures['bare loop'].push(results[0]);
    figures.volley.push(results[1]);
    figures['job per recipient'].push(results[2]);
  }
  report();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await volley.close();
  await Promise.all([bareLoop, perRecipient, volleyWorker].map((contender) => contender.stop()));
  await queue.close();
  await simulator.stop();
  redis.disconnect();
  await server.stop();
  process.exit();
}

async function bareRound(): Promise<Round> {
  return timed(bareLoop, async () => {
    const began = Date.now();
    await bareLoop.carryOut({ baseUrl: simulator.baseUrl, requests });
    return began;
  });
}

async function volleyRound(): Promise<Round> {
  const bytes = await bytesOfKeys(redis);
  const round = await timed(volleyWorker, async () => {
    let began = 0;
    const id = await enqueue(TEXT, {
      again: true,
      confirm: async () => {
        began = Date.now();
        return true;
      },
    });
    while (((await volley.status(id)).counts.deliveredToNetwork ?? 0) < requests) await pause(250);
    return began;
  });
  openBytes = (await bytesOfKeys(redis)) - bytes;
  return round;
}

async function jobRound(): Promise<Round> {
  await addJobs();
  return timed(perRecipient, async () => {
    const began = Date.now();
    await perRecipient.carryOut({ baseUrl: simulator.baseUrl, requests });
    return began;
  });
}

/** `run` resolves with its start time once everything is sent and settled. */
async function timed(contender: { meter(): Promise<Meter> }, run: () => Promise<number>): Promise<Round> {
  await simulator.clear();
  const [commandsBefore, meterBefore, redisBefore] = [
    await commandsRun(redis),
    await contender.meter(),
    await processorMs(redis),
  ];
  const began = await run();
  const [meter, redisAfter] = [await contender.meter(), await processorMs(redis)];
  const commands = difference(commandsBefore, await commandsRun(redis));
  if (contender === volleyWorker) names = commands;
  return {
    perSecond: (1000 * requests) / ((await simulator.lastAcceptance(requests)) - began),
    commands: [...commands.values()].reduce((sum, calls) => sum + calls, 0) / requests,
    trips: (meter.commands - meterBefore.commands) / requests,
    processorMs: (meter.processorMs - meterBefore.processorMs) / requests,
    redisMs: (redisAfter - redisBefore) / requests,
  };
}

async function enqueue(message: string, options: Partial<CampaignInput>): Promise<string> {
  const recipients = Array.from(numbers(requests), (to, at) => ({
    to,
    ...(message === PERSONAL ? personAt(at) : {}),
  }));
  const made = await volley.enqueue({ recipients, message, sender: SENDER, country: 'GB', ...options });
  if (made.outcome !== 'created') throw new Error(`the campaign was ${made.outcome}`);
  return made.id;
}

async function addJobs(): Promise<void> {
  const jobs = Array.from(numbers(requests), (to) => ({ name: 'send', data: { to } }));
  while (jobs.length > 0) await queue.addBulk(jobs.splice(0, 1000));
}

async function bytesEach(make: () => Promise<unknown>): Promise<number> {
  const before = await bytesOfKeys(redis);
  await make();
  return ((await bytesOfKeys(redis)) - before) / requests;
}

function report(): void {
  const medianOf = (values: readonly number[]): number =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
  const median = (list: readonly Round[], of: keyof Round): number =>
    medianOf(list.map((round) => round[of]));
  // Compare neighbouring rounds, because the machine's load drifts.
  const bare = figures['bare loop'];
  const line = (text: string): boolean => process.stdout.write(`${text}\n`);
  line(
    `${requests} requests per round, median of ${rounds} rounds, appendfsync ${fsync}, Node ${process.version}`,
  );
  line(
    '| | requests/s | ratio to the bare loop | CPU ms per request: worker / Redis | commands sent to Redis per request | commands run by Redis per request |',
  );
  line('|---|---|---|---|---|---|');
  for (const [name, list] of Object.entries(figures)) {
    const of = (what: keyof Round, digits: number): string => median(list, what).toFixed(digits);
    const cost = name === 'bare loop' ? '– | –' : `${of('trips', 2)} | ${of('commands', 1)}`;
    const ratio = medianOf(
      list.map((one, at) => one.perSecond / (bare[at]?.perSecond ?? Number.NaN)),
    ).toFixed(2);
    line(
      `| ${name} | ${of('perSecond', 0)} | ${ratio} | ${of('processorMs', 3)} / ${of('redisMs', 3)} | ${cost} |`,
    );
  }
  line('| Redis bytes | |');
  line('|---|---|');
  for (const [name, bytes] of Object.entries(pending))
    line(`| per pending recipient: ${name} | ${bytes.toFixed(1)} |`);
  line(`| per open request, including its recipient: volley | ${(openBytes / requests).toFixed(1)} |`);
  const often = [...names].slice(0, 24).map(([name, calls]) => `${name} ${(calls / requests).toFixed(2)}`);
  line(`volley's commands per request: ${often.join(', ')}`);
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
