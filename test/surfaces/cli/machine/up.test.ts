import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findEmbedded } from '../../../../src/base/redis/embedded.js';
import { findServer } from '../../../../src/base/redis/find-server.js';
import { findUp } from '../../../../src/surfaces/cli/open/find-up.js';
import { temporaryFolder } from '../../../scene/closing.js';
import { commandLine, type Running } from '../../../scene/command-line.js';

const server = await findServer();

describe.skipIf(server === undefined)('volley up --simulator', () => {
  const { path: folder, write } = temporaryFolder();
  const list = write('lists/spring/list.csv', 'name,phone\nAnna,+447700900101\nBo,+447700900102\n');
  const below = dirname(list);
  let up: Running;

  beforeAll(async () => {
    up = await commandLine(folder, { FOLLOW_UP_FIRST_MS: '1500', HTTP_PORT: '0' }).start(
      /Messages go to a simulator/,
      'up',
      '--simulator',
    );
  });
  afterAll(async () => {
    await up?.stop();
  });

  test('is found by commands in folders below, without credentials or settings', async () => {
    const { exit, output } = await commandLine(below).json(
      'send',
      list,
      '-s',
      'ACME',
      '-m',
      'Hi {{name}}',
      '--wait',
      '--yes',
    );
    expect(exit).toBe(0);
    expect(output).toMatchObject({
      status: { state: 'completed', counts: { total: 2, deliveredToTerminal: 2 } },
    });
  });

  test('serves the HTTP API for keys created on the command line', async () => {
    const address = /HTTP API is at (http:\/\/127\.0\.0\.1:\d+)/.exec(up.stderr)?.[1] ?? '';
    expect((await fetch(`${address}/readyz`)).status).toBe(200);
    const made = await commandLine(below).volley('keys', 'create', '--name', 'a test', '--scope', 'read');
    const headers = { authorization: `Bearer ${made.stdout.trim()}` };
    const reply = await fetch(`${address}/v1/campaigns`, { headers });
    expect([reply.status, await reply.json()]).toMatchObject([200, { campaigns: [{ name: 'list' }] }]);
  });

  test('refuses to run twice', async () => {
    const { exit, stderr } = await commandLine(below).volley('up');
    expect(stderr).toMatch(new RegExp(`already running.*\`volley up --simulator\` \\(process ${up.pid}\\)`));
    expect(exit).toBe(1);
  });

  test('does not guess between its Redis and REDIS_URL', async () => {
    const { exit, stderr } = await commandLine(below, { REDIS_URL: 'redis://127.0.0.1:1' }).volley('list');
    expect(stderr).toMatch(/simulator runs and REDIS_URL is set, so it is not clear which of them you mean/);
    expect(exit).toBe(2);
  });

  test('never uses a real service, even if one is configured', async () => {
    const real = { MESSAGING_BASE_URL: 'https://real.example', API_KEY: 'real-key' };
    const { output } = await commandLine(below, real).json('doctor');
    const text = JSON.stringify(output);
    expect(text).toContain('messages do not reach phones');
    expect(text).not.toContain('real.example');
  });

  test('drains on SIGINT, and the next run finds its data', async () => {
    const { exit, stderr } = await up.stop();
    expect(exit).toBe(0);
    expect(stderr).toContain(
      'The simulator accepted 2 requests for 2 recipients, and refused 0 requests with 429. No number got the same text twice.',
    );
    expect((await commandLine(below).volley('list')).exit).toBe(2);
    up = await commandLine(folder, { HTTP_PORT: '0' }).start(
      /Messages go to a simulator/,
      ...['up', '--simulator', '--quota', '7'],
    );
    const { output } = await commandLine(below).json('list');
    expect(output).toMatchObject({ campaigns: [{ name: 'list', state: 'completed' }] });
  });

  test('has the quota of --quota, which commands know as well', async () => {
    const shell = commandLine(below);
    expect((await shell.json('lanes')).output).toMatchObject({ lanes: [{ quota: { limit: 7 } }] });
    const { output } = await shell.json('doctor');
    const { checks } = output as { checks: readonly { name: string; state: string }[] };
    expect(checks.filter(({ name, state }) => /^settings/.test(name) && state !== 'ok')).toEqual([]);
    const { exit, stderr } = await commandLine(folder).volley('up', '--quota', '7');
    expect([exit, stderr]).toEqual([2, expect.stringContaining('--quota needs --simulator.')]);
  });

  test('has a simulator that knows the requests from before its restart', async () => {
    const found = await findUp({ cwd: below, clock: Date.now });
    if (found?.up.mode !== 'simulator') throw new Error('no simulator runs');
    const { messagingBaseUrl } = found.up.simulator;
    const ledger = await (await fetch(new URL('/_simulator/ledger', messagingBaseUrl))).text();
    expect(ledger).toContain('Hi Anna');
    const { stderr } = await up.stop();
    expect(stderr).toContain('The simulator accepted 0 requests');
  });
});

test.skipIf(server === undefined)(
  'If its Redis is killed, `volley up` says so, what became of the messages, and how to go on, and exits with 1',
  async () => {
    const { path: folder } = temporaryFolder();
    const up = await commandLine(folder, { HTTP_PORT: '0' }).start(
      /Messages go to a simulator/,
      'up',
      '--simulator',
    );
    const running = await findEmbedded(folder);
    if (running === undefined) throw new Error('no Redis runs');
    process.kill(running.pid, 'SIGKILL');
    await expect.poll(() => up.exit).toBe(1);
    const dir = join(folder, '.volley');
    expect(up.stderr).toContain(
      `volley: The Redis in ${dir} was ended by SIGKILL, sent by a person or because this machine ran out of memory. Volley sends nothing more. What was sent is stored, so nothing is sent twice; requests that were in flight may get an unknown outcome, which \`volley status\` shows. To continue, run: volley up --simulator`,
    );
  },
);
