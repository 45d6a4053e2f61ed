import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { createVolley } from '../../src/app/runtime.js';
import { loadConfig } from '../../src/base/config/index.js';
import { createEvents } from '../../src/base/events/events.js';
import { findServer } from '../../src/base/redis/find-server.js';
import { endWithThisProcess, freePort } from '../../src/base/redis/private-server.js';
import { startProgram } from './program.js';
import { startSimulatorProcess } from './simulator-process.js';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

interface Service {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string | null>>;
  readonly healthcheck: { readonly test: readonly string[] };
}

const compose: { readonly services: Readonly<Record<string, Service>> } = parse(
  readFileSync(join(root, 'docker-compose.yml'), 'utf8'),
  { merge: true },
);
const service = (name: string): Service => {
  const found = compose.services[name];
  if (found === undefined) throw new Error(`no service ${name}`);
  return found;
};

/** A text as Compose passes it on if `.env` has these settings. */
const interpolated = (text: string, env: Readonly<Record<string, string>>): string =>
  text
    .replace(/(?<!\$)\$\{(\w+)(?::([-+])(.*?))?\}/g, (_all, name: string, how?: string, other = '') => {
      const value = env[name] ?? '';
      if (how === '+') return value === '' ? '' : other;
      return value === '' ? other : value;
    })
    .replaceAll('$$', '$');

test.runIf((await findServer()) !== undefined).each([{}, { REDIS_PREFIX: 'shop' }])(
  'The Redis of the Compose file, with its one user, and its workers send a campaign, which a restart of Redis keeps: %o',
  { timeout: 90_000 },
  async (env: Readonly<Record<string, string>>) => {
    const dir = mkdtempSync(join(tmpdir(), 'volley-compose-'));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const [port, metricsPort] = [await freePort(), await freePort()];
    const password = 'a-secret&of-Compose';
    writeFileSync(join(dir, 'redis_password'), password);
    writeFileSync(join(dir, 'secrets_key'), 'ab'.repeat(32));
    /** Paths and names inside the containers become those of this machine. */
    const here = (text: string): string =>
      interpolated(text, env)
        .replaceAll('/tmp/users.acl', `${dir}/users.acl`)
        .replaceAll('/run/secrets/', `${dir}/`)
        .replaceAll('/var/lib/volley/', `${dir}/`)
        .replaceAll('/etc/volley/redis.acl', join(root, 'docs/redis.acl'))
        .replace('dir /data', `dir ${dir}\nbind 127.0.0.1\nport ${port}`)
        .replace('redis:6379', `127.0.0.1:${port}`);
    const environmentOf = (name: string): Record<string, string> =>
      Object.fromEntries(
        Object.entries(service(name).environment)
          // One without a value is that of `.env`.
          .map(([setting, value]) => [setting, value === null ? (env[setting] ?? '') : here(value)] as const)
          .filter(([, value]) => value !== ''),
      );

    const [program = '', ...args] = service('redis').command.map(here);
    const startRedis = async () => {
      const started = spawn(program, args, {
        env: { ...process.env, ...environmentOf('redis') },
        stdio: 'ignore',
      });
      await once(started, 'spawn');
      endWithThisProcess(started, started.pid ?? 0);
      return started;
    };
    let server = await startRedis();
    const killRedis = async () => {
      if (server.kill('SIGKILL')) await once(server, 'exit');
    };
    onTestFinished(killRedis);
    const guest = new Redis({ port, host: '127.0.0.1', enableReadyCheck: false });
    guest.on('error', () => {});
    onTestFinished(() => guest.disconnect());
    await expect(guest.get('any')).rejects.toThrow(/^NOAUTH/);

    const simulator = await startSimulatorProcess({ keys: [{ key: 'key' }] });
    onTestFinished(() => simulator.stop());
    const settings = {
      ...environmentOf('send'),
      METRICS_PORT: String(metricsPort),
      MESSAGING_BASE_URL: simulator.messagingBaseUrl,
      API_KEY: 'key',
      SENDER_ADDRESS: 'ACME',
    };
    const worker = startProgram('workers/send.js', settings);
    onTestFinished(async () => void (await worker.end('SIGKILL')));
    const config = loadConfig(settings);
    const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
    onTestFinished(() => volley.close());
    const created = await volley.enqueue({ message: 'Hi', recipients: [{ to: '+447700900123' }] });
    if (created.outcome !== 'created') throw new Error(created.outcome);
    await vi.waitUntil(async () => (await simulator.ledger()).length === 1, {
      timeout: 30_000,
      interval: 100,
    });

    const [, ...check] = service('send').healthcheck.test.map(here);
    const [node = '', ...rest] = check;
    const health = () => run(node, rest, { env: { ...process.env, METRICS_PORT: String(metricsPort) } });
    await health();
    await worker.end('SIGKILL');
    await expect(health()).rejects.toThrow();

    const stored = await volley.status(created.id);
    await killRedis();
    server = await startRedis();
    const found = await vi.waitFor(() => volley.status(created.id), { timeout: 30_000, interval: 100 });
    expect([found.counts, found.requests]).toEqual([stored.counts, stored.requests]);
  },
);
