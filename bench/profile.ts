/**
 * The CPU time per request of a worker that sends at full speed, by the code that uses it, compared with a bare loop of got and
 * p-limit; and a flame graph of the worker.
 *
 *   npm run -s bench:profile -- [requests]
 *
 * Writes the table to bench/README.md and the graph to docs/images/profile-send.svg. V8's sampling takes some time itself.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createVolley } from '../src/app/runtime.js';
import { loadConfig } from '../src/base/config/index.js';
import { createEvents } from '../src/base/events/events.js';
import { startPrivateRedis } from '../src/base/redis/private-server.js';
import { between } from './peers/document.js';
import { flameGraph } from './profile/flame.js';
import { byOwner, type Frame, readProfile } from './profile/read.js';
import { API_KEY, numbers, SENDER, TEXT } from './send/contender.js';
import { startContender, startSimulator } from './send/processes.js';

const DOCUMENT = 'bench/README.md';
const PICTURE = 'docs/images/profile-send.svg';
/** The requests of a warm-up round, in which V8 compiles the hot code. */
const WARM_UP = 2_000;
/** Owners below this time per request are not listed, µs. */
const WORTH_A_LINE = 4;

const requests = Number(process.argv[2] ?? 30_000);
if (!Number.isInteger(requests) || requests < 1_000) {
  process.stderr.write('requests must be a whole number of at least 1000\n');
  process.exit(2);
}
const folder = await mkdtemp(join(tmpdir(), 'volley-profile-'));
const server = await startPrivateRedis({ dir: folder, appendfsync: 'always' });
const simulator = await startSimulator(resolve('dist/src/tools/simulator/main.js'), {
  deliveryTime: 3_600_000,
});
const METER = ['--import', fileURLToPath(new URL('./send/meter.js', import.meta.url))];
const environment = {
  REDIS_URL: server.url,
  MESSAGING_BASE_URL: simulator.baseUrl,
  API_KEY,
  HOURLY_QUOTA: '10000000',
  FOLLOW_UP_FIRST_MS: '86400000',
  LOG_LEVEL: 'silent',
};

try {
  const loop = await profiled(
    'loop',
    fileURLToPath(new URL('./send/bare-loop.js', import.meta.url)),
    sendByLoop,
  );
  await simulator.clear();
  const volley = await profiled('volley', resolve('dist/workers/send.js'), sendByVolley);
  const table = tableOf(loop, volley);
  const load = `Load average ${(loadavg()[0] ?? Number.NaN).toFixed(1)}, Node ${process.version}, ${requests} requests, batches of one, appendfsync always.`;
  const picture = '![Flame graph of a worker that sends at full speed](../docs/images/profile-send.svg)';
  const heading = 'One worker that sends at full speed: CPU time, outermost call at the top';
  await writeFile(PICTURE, flameGraph(volley, heading, requests));
  const text = `${load}\n\n${table}\n\n${picture}`;
  await writeFile(DOCUMENT, between(await readFile(DOCUMENT, 'utf8'), 'profile', text));
  process.stdout.write(`${load}\n${table}\nwritten to ${DOCUMENT} and ${PICTURE}\n`);
} finally {
  await simulator.stop();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}

type Contender = ReturnType<typeof startContender>;

/** Profiles a process while it sends, after a warm-up round. */
async function profiled(
  name: string,
  program: string,
  send: (contender: Contender, count: number) => Promise<void>,
): Promise<Frame> {
  const sampler = ['--import', fileURLToPath(new URL('./profile/sampler.js', import.meta.url))];
  // The meter ends with the channel, as the bare loop does by itself.
  const contender = startContender(program, environment, name === 'loop' ? sampler : [...sampler, ...METER]);
  const file = join(folder, `${name}.cpuprofile`);
  try {
    await send(contender, WARM_UP);
    await contender.request('profile', 'profiling');
    await send(contender, requests);
    await contender.request({ profileTo: file }, 'profiled');
  } finally {
    await contender.stop();
  }
  return readProfile(await readFile(file, 'utf8'));
}

async function sendByLoop(contender: Contender, count: number): Promise<void> {
  if (count === WARM_UP) await contender.ready();
  await contender.carryOut({ baseUrl: simulator.baseUrl, requests: count });
}

async function sendByVolley(_contender: Contender, count: number): Promise<void> {
  const volley = createVolley({ config: loadConfig(environment), events: createEvents({ level: 'silent' }) });
  try {
    const made = await volley.enqueue({
      recipients: Array.from(numbers(count), (to) => ({ to })),
      message: TEXT,
      sender: SENDER,
      country: 'GB',
      again: true,
    });
    if (made.outcome !== 'created') throw new Error(`the campaign was ${made.outcome}`);
    while ((await volley.status(made.id)).counts.deliveredToNetwork < count) {
      await new Promise((done) => setTimeout(done, 250));
    }
  } finally {
    await volley.close();
  }
}

function tableOf(loop: Frame, volley: Frame): string {
  const each = (frame: Frame) => new Map(byOwner(frame).map(([owner, time]) => [owner, time / requests]));
  const [bare, own] = [each(loop), each(volley)];
  const sum = (times: Map<string, number>): number => [...times.values()].reduce((all, one) => all + one, 0);
  const shown = (time: number | undefined): string => (time === undefined ? '–' : time.toFixed(1));
  const owners = [...new Set([...own.keys(), ...bare.keys()])]
    .filter((owner) => Math.max(own.get(owner) ?? 0, bare.get(owner) ?? 0) >= WORTH_A_LINE)
    .sort((a, b) => (own.get(b) ?? 0) - (own.get(a) ?? 0));
  return [
    '| CPU µs per request, in the functions of | Volley | bare loop |',
    '|---|---|---|',
    ...owners.map((owner) => `| ${owner} | ${shown(own.get(owner))} | ${shown(bare.get(owner))} |`),
    `| **total** | **${shown(sum(own))}** | **${shown(sum(bare))}** |`,
  ].join('\n');
}
