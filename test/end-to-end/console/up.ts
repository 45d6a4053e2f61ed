import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../../../src/base/redis/private-server.js';
import { API_SCOPES, type ApiScope } from '../../../src/campaign/states/api-key.js';

/** A lane of the simulator. */
export interface LaneSettings {
  readonly name: string;
  readonly hourlyQuota?: number | 'auto';
}

/** A recipient of a campaign, with the value of `{{name}}`. */
interface Person {
  readonly to: string;
  readonly name?: string;
}

/** A running `volley up --simulator` in a folder of its own. */
export interface Up {
  readonly origin: string;
  readonly folder: string;
  /** Everything that it has printed, with its log. */
  readonly printed: string;
  /** The process of its Redis, and its address. */
  readonly redisPid: number;
  readonly redisUrl: string;
  /** Runs a command in its folder and returns what it prints on standard output. Throws if it fails. */
  volley(...args: readonly string[]): Promise<string>;
  /** Creates an API key. Without arguments, it is one with every scope on every lane, the same each time. */
  key(scopes?: readonly ApiScope[], lanes?: readonly string[], name?: string): Promise<string>;
  /** Calls the HTTP API with a key of its own. Throws if the response is no success. */
  api<Output>(method: string, path: string, body?: object): Promise<Output>;
  /** Creates a campaign and returns its id. */
  send<Campaign extends { readonly recipients: readonly Person[] }>(campaign: Campaign): Promise<string>;
  /** Changes options of the simulator. */
  simulate(options: object): Promise<void>;
  /** Ends it with SIGKILL, and with it its Redis. */
  kill(): Promise<void>;
  /** Starts it again on the same port. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** What a start may take on a busy machine. */
export const START_MS = 180_000;

/** The built program; `npm test` builds it first. */
const MAIN = fileURLToPath(new URL('../../../dist/src/surfaces/cli/main.js', import.meta.url));
const READY = /Messages go to a simulator/;

/** Starts `volley up --simulator` with these lanes and settings, on a free port. */
export async function startUp(
  lanes: readonly LaneSettings[] = [],
  settings: Readonly<Record<string, string>> = {},
): Promise<Up> {
  if (!existsSync(MAIN)) throw new Error('build first: npm run build');
  const folder = mkdtempSync(join(tmpdir(), 'volley-console-'));
  const { PATH = '', HOME = '', TMPDIR = tmpdir() } = process.env;
  const env: Record<string, string> = {
    PATH,
    HOME,
    TMPDIR,
    // Reports arrive within seconds.
    FOLLOW_UP_FIRST_MS: '1000',
    HTTP_REQUESTS_PER_MINUTE: '100000',
    // The same when it is started again, so none that others get meanwhile.
    HTTP_PORT: String(await freePort()),
    LOG_LEVEL: 'trace',
    SENDER_ADDRESS: 'ACME',
    ...settings,
  };
  if (lanes.length > 0) {
    env['LANES_FILE'] = join(folder, 'lanes.json');
    const rows = lanes.map((lane) => ({ ...lane, apiKey: `key-${lane.name}` }));
    writeFileSync(env['LANES_FILE'], JSON.stringify(rows));
  }
  let printed = '';
  const start = async () => {
    const child = spawn(process.execPath, [MAIN, 'up', '--simulator'], { cwd: folder, env });
    const from = printed.length;
    await new Promise<void>((resolve, reject) => {
      const take = (text: string): void => {
        printed += text;
        if (READY.test(printed.slice(from))) resolve();
      };
      for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', take);
      child.once('exit', (code) => reject(new Error(`volley up ended with ${code}: ${printed.slice(from)}`)));
    });
    return child;
  };
  let child = await start();
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };
  const origin = /HTTP API is at (http:\/\/127\.0\.0\.1:\d+)/.exec(printed)?.[1] ?? '';
  /** What it tells commands: the process of its Redis is in the name of the file. */
  const published = () => {
    const name = readdirSync(join(folder, '.volley')).find((file) => /^up-\d+\.json$/.test(file)) ?? '';
    const { simulator } = JSON.parse(readFileSync(join(folder, '.volley', name), 'utf8'));
    return { redisPid: Number.parseInt(name.slice(3), 10), simulator: simulator.messagingBaseUrl as string };
  };
  const volley: Up['volley'] = async (...args) => {
    const run = promisify(execFile);
    return (await run(process.execPath, [MAIN, ...args], { cwd: folder, env })).stdout;
  };
  const create = async (
    scopes: readonly ApiScope[] = API_SCOPES,
    only: readonly string[] = [],
    name = 'a check',
  ) => {
    const lanesOf = only.flatMap((lane) => ['--lane', lane]);
    return (await volley('keys', 'create', '--name', name, '--scope', scopes.join(), ...lanesOf)).trim();
  };
  // Each creation starts a process.
  let whole: Promise<string> | undefined;
  const key: Up['key'] = (...which) => {
    if (which.length > 0) return create(...which);
    whole ??= create();
    return whole;
  };
  const own = await create(API_SCOPES, [], 'shop');
  const ask = async (method: string, path: string, request: RequestInit): Promise<unknown> => {
    const authorization = `Bearer ${own}`;
    const response = await fetch(`${origin}${path}`, {
      ...request,
      method,
      headers: { authorization, ...request.headers },
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  const api = (async (method, path, body) =>
    ask(
      method,
      path,
      body ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {},
    )) as Up['api'];
  return {
    origin,
    folder,
    volley,
    key,
    api,
    get printed() {
      return printed;
    },
    get redisPid() {
      return published().redisPid;
    },
    get redisUrl() {
      const { port, password } = JSON.parse(readFileSync(join(folder, '.volley', 'redis.json'), 'utf8'));
      return `redis://:${password}@127.0.0.1:${port}`;
    },
    async send({ recipients: list, ...campaign }) {
      // A long list is no JSON.
      const csv = ['phone,name', ...list.map(({ to, name }) => `${to},${name ?? ''}`)].join('\n');
      const body = new FormData();
      body.append('campaign', JSON.stringify(campaign));
      body.append('recipients', new Blob([csv]), 'list.csv');
      return ((await ask('POST', '/v1/campaigns', { body })) as { id: string }).id;
    },
    async simulate(options) {
      const url = new URL('/_simulator/configure', published().simulator);
      const response = await fetch(url, { method: 'POST', body: JSON.stringify(options) });
      if (!response.ok) throw new Error(`the simulator: ${response.status} ${await response.text()}`);
    },
    kill: () => end('SIGKILL'),
    async restart() {
      child = await start();
    },
    stop: () => end('SIGINT'),
  };
}

/** Recipients with valid numbers that differ. */
export const recipients = (count: number, from = 0): Person[] =>
  Array.from({ length: count }, (_, at) => ({
    to: `+4477009${String(from + at).padStart(5, '0')}`,
    name: `Ada ${from + at}`,
  }));
