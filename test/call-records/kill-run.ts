import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createVolley } from '../../src/app/runtime.js';
import { loadConfig } from '../../src/base/config/index.js';
import type { RecordsDownload } from '../../src/call-records/open-file.js';
import { startSimulator } from '../../src/tools/simulator/index.js';
import { at, CONTRACT } from './contract/contract.js';

/** Plain JavaScript, which is not compiled. */
const PROGRAM = resolve('test/call-records/fetch-many.mjs');
const LANES = ['one', 'two'];
const LATENCY_MS = 15;
/** Short, so that the next process soon counts the outcome of a killed one as unknown. */
const TIMEOUTS = { ...CONTRACT.timeouts, request: '1s', status: '1s', silence: '1s', ready: '2m' };

export interface RecordsKillRun {
  readonly redis: { readonly url: string; readonly prefix: string };
  readonly requests: number;
  readonly kills: number;
  onProgress?(line: string): void;
}

/** What became of the requests. Everything but `unknown` must be the number of requests, or empty. */
export interface RecordsKillOutcome {
  /** Files whose bytes are those that the simulator has for the request. */
  readonly complete: number;
  /** Requests with an unknown outcome, by lane, before they are resolved. */
  readonly unknown: Readonly<Record<string, number>>;
  /** Requests without a complete file that are not listed as unknown. */
  readonly lost: readonly string[];
  /** How unknown outcomes were resolved. */
  readonly resolved: { readonly accepted: number; readonly resent: number };
  /** Complete files after that. */
  readonly completeAfterwards: number;
  /** Requests that the simulator accepted more than once. */
  readonly twice: readonly string[];
  readonly maxInFlight: number;
  readonly tookMs: number;
}

/** Fetches call records with a program that is killed (`kill -9`) and started again, on two lanes with a credential each. */
export async function recordsKillRun(run: RecordsKillRun): Promise<RecordsKillOutcome> {
  const { redis, requests, kills, onProgress = () => {} } = run;
  const dir = await mkdtemp(join(tmpdir(), 'volley-records-kill-'));
  const simulator = await startSimulator({
    keys: LANES.map((key) => ({ key })),
    latency: LATENCY_MS,
    records: { contract: JSON.parse(JSON.stringify(CONTRACT)), pending: 30, bytes: 20_000 },
  });
  const contract = { ...at(CONTRACT, simulator.accountBaseUrl), timeouts: TIMEOUTS };
  await writeFile(join(dir, 'contract.json'), JSON.stringify(contract));
  await writeFile(join(dir, 'lanes.json'), JSON.stringify(LANES.map((name) => ({ name, apiKey: name }))));
  const env = {
    REDIS_URL: redis.url,
    REDIS_PREFIX: redis.prefix,
    MESSAGING_BASE_URL: simulator.messagingBaseUrl,
    LANES_FILE: join(dir, 'lanes.json'),
    RECORDS_CONTRACT: join(dir, 'contract.json'),
    LOG_LEVEL: 'silent',
  };
  const volley = createVolley({ config: loadConfig(env) });
  const { records } = volley;
  const began = performance.now();
  let child: ChildProcess | undefined;
  const start = (): ChildProcess => {
    const { PATH = '' } = process.env;
    return spawn(process.execPath, [PROGRAM, dir, String(requests), ...LANES], {
      env: { PATH, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  };
  const accepted = (): number => [...simulator.records()].length;

  try {
    for (let kill = 1; kill <= kills; kill += 1) {
      child = start();
      const target = Math.floor((requests * kill) / (kills + 1));
      while (accepted() < target) {
        if (child.exitCode !== null) throw new Error(`the program ended with ${child.exitCode}`);
        await delay(1);
      }
      // Every other kill comes at a random moment; the others right after a request was accepted, before its response.
      if (kill % 2 === 0) await delay(Math.random() * 4 * LATENCY_MS);
      child.kill('SIGKILL');
      if (child.signalCode === null) await once(child, 'exit');
      onProgress(`kill ${kill} after ${accepted()} accepted requests`);
    }
    child = start();
    const [exit] = await once(child, 'exit');
    if (exit !== 0) throw new Error(`the program ended with ${exit}`);

    const isComplete = async (number: number): Promise<boolean> => {
      const content = await readFile(join(dir, `${number}.csv`)).catch(() => null);
      if (content === null) return false;
      const sha256 = createHash('sha256').update(content).digest('hex');
      return [...simulator.records()].some(
        (entry) => entry.values['number'] === `+${number}` && entry.sha256 === sha256,
      );
    };
    const numbers = Array.from({ length: requests }, (_, number) => number);
    const complete = new Set<number>();
    for (const number of numbers) if (await isComplete(number)) complete.add(number);
    const unknown = await records.list({ state: 'unknown' });
    const listed = new Set(unknown.map(({ parameters }) => parameters['number']));
    const lost = numbers.filter((number) => !complete.has(number) && !listed.has(`+${number}`));

    let resent = 0;
    for (const { id, parameters } of unknown) {
      const { number = '' } = parameters;
      const entry = [...simulator.records()].find(({ values }) => values['number'] === number);
      if (entry === undefined) {
        resent += 1;
        await records.resolve(id, { as: 'resend' });
      } else {
        await records.resolve(id, { as: 'accepted', serviceId: entry.id });
      }
      const opened = await records.fetch({ id });
      if (opened.kind === 'none') continue;
      await writeFile(join(dir, `${number.slice(1)}.csv`), await contentOf(opened));
    }
    let completeAfterwards = 0;
    for (const number of numbers) if (await isComplete(number)) completeAfterwards += 1;
    const counts = new Map<string, number>();
    for (const { values } of simulator.records()) {
      const { number = '' } = values;
      counts.set(number, (counts.get(number) ?? 0) + 1);
    }
    return {
      complete: complete.size,
      unknown: Object.fromEntries(
        LANES.map((name) => [name, unknown.filter(({ lane }) => lane === name).length]),
      ),
      lost: lost.map(String),
      resolved: { accepted: unknown.length - resent, resent },
      completeAfterwards,
      twice: [...counts].filter(([, count]) => count > 1).map(([number]) => number),
      maxInFlight: simulator.recordsInFlight(),
      tookMs: Math.round(performance.now() - began),
    };
  } finally {
    child?.kill('SIGKILL');
    await volley.close();
    await simulator.close();
    await rm(dir, { recursive: true, force: true });
  }
}

async function contentOf({ body }: RecordsDownload): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}
