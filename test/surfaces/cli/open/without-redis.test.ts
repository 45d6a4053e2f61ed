import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { testRedis } from '../../../base/redis/test-redis.js';
import { temporaryFolder } from '../../../scene/closing.js';
import { commandLine } from '../../../scene/command-line.js';

const { url, prefix } = testRedis('cli-without-redis');
let cwd: string;
let list: string;
beforeEach(() => {
  const folder = temporaryFolder();
  cwd = folder.path;
  list = folder.write('list.csv', 'name,phone\nAnna,+447700900101\nBo,12\n');
});
const campaign = ['-s', 'ACME', '-m', 'Hi {{name}}'];

/** The files of a Redis server that `volley up` runs on this port. */
function embedded(port: number): string {
  const dir = join(cwd, '.volley');
  mkdirSync(dir);
  writeFileSync(join(dir, 'redis.json'), JSON.stringify({ port, password: 'secret' }), { mode: 0o600 });
  return dir;
}

describe('preview without Redis', () => {
  test('checks the list, and says what it could not check', async () => {
    const { exit, stdout, stderr } = await commandLine(cwd).volley('preview', list, ...campaign);
    expect(stderr).toMatch(
      /Suppressed numbers are not checked, and the time is not known\. No Redis is running/,
    );
    expect(stdout).toMatch(/recipients {2}1 of 2 rows/);
    expect(stdout).toContain('not known without Redis');
    expect(stdout).toContain('Hi Anna');
    expect(stdout).toContain('line 3, column "phone"');
    expect(exit).toBe(await exitWithInvalidRows());
  });

  test('says so in JSON, too', async () => {
    const { output } = await commandLine(cwd, { REDIS_URL: 'redis://127.0.0.1:1' }).json(
      'preview',
      list,
      ...campaign,
    );
    expect(output).toMatchObject({ isSuppressionChecked: false, eta: null, recipientCount: 1, invalid: 1 });
  });

  /** Whether invalid rows are an error does not depend on Redis. */
  async function exitWithInvalidRows(): Promise<number | null> {
    const env = { REDIS_URL: url, REDIS_PREFIX: prefix };
    return (await commandLine(cwd, env).volley('preview', list, ...campaign)).exit;
  }
});

describe('There is no Redis', () => {
  const listed = () => commandLine(cwd).volley('list');

  test('is said if there is none', async () => {
    expect((await listed()).stderr).toMatch(
      /No Redis is running for this folder or a folder above it, and REDIS_URL is not set\. .*: volley up --simulator\n$/,
    );
    embedded(1);
    expect((await listed()).stderr).toMatch(/No Redis is running/);
    const account = { MESSAGING_BASE_URL: 'https://host.example/v1', API_KEY: 'k' };
    expect((await commandLine(cwd, account).volley('list')).stderr).toMatch(/on this machine: volley up\n$/);
    // With this setting alone, `volley up` would fail.
    expect((await commandLine(cwd, { API_KEY: 'k' }).volley('list')).stderr).toMatch(/: volley doctor\n$/);
  });

  test('is not said of one that hangs', async () => {
    const hangs = createServer(() => {}).listen(0, '127.0.0.1');
    await new Promise((resolve) => hangs.once('listening', resolve));
    onTestFinished(() => void hangs.close());
    const dir = embedded((hangs.address() as { port: number }).port);
    const { exit, stderr } = await listed();
    expect(stderr).toContain(`The Redis of ${dir} does not answer`);
    expect(exit).toBe(1);
  });

  test.each([
    ['HTTP/1.1 400 Bad Request\r\n\r\n', 'another program answers at its address'],
    ['220 mail.example ESMTP\r\n', 'another program answers at its address'],
  ])('is not said if another service answers with %j', async (greeting, reason) => {
    const other = createServer((socket) => socket.on('error', () => {}).write(greeting)).listen(
      0,
      '127.0.0.1',
    );
    await new Promise((resolve) => other.once('listening', resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as { port: number };
    const cli = commandLine(cwd, { REDIS_URL: `redis://127.0.0.1:${port}` });
    const { exit, stderr } = await cli.volley('list');
    expect(stderr).toContain(`Redis does not answer: ${reason}. Check that`);
    expect(exit).toBe(1);
  });

  test.skipIf(process.getuid?.() !== 0)('is not said of one that belongs to another user', async () => {
    const dir = embedded(1);
    chownSync(dir, 65_534, 65_534);
    expect((await listed()).stderr).toContain(`${dir} belongs to another user, so its Redis is not used.`);
  });

  test('is not said of one whose address cannot be read', async () => {
    // Even root cannot read a folder as a file.
    mkdirSync(join(cwd, '.volley', 'redis.json'), { recursive: true });
    expect((await listed()).stderr).toMatch(
      /redis\.json cannot be read, so its Redis is not found\. Check its permissions/,
    );
  });
});

test('volley doctor without settings suggests init and the simulator', async () => {
  const { exit, stdout } = await commandLine(cwd).volley('doctor');
  expect(stdout).toMatch(/settings: API_KEY must be set.*\n.*`volley up --simulator`.*: volley init/);
  expect(stdout).toMatch(/Redis: there is none, and REDIS_URL is not set\n.*: volley up --simulator\n/);
  expect(stdout).not.toContain('REDIS_URL is correct');
  expect(exit).toBe(1);
  // With some settings, the others are missing.
  const { stdout: some } = await commandLine(cwd, { API_KEY: 'k' }).volley('doctor');
  expect(some).toMatch(/MESSAGING_BASE_URL must be set.*\n.*See .*\.env\.example/);
});

test('volley up without settings says how to try it, and how to set it up', async () => {
  const { exit, stderr } = await commandLine(cwd).volley('up');
  expect(stderr).toMatch(/no settings for an account yet.*`volley up --simulator`.*: volley init\n$/);
  expect(exit).toBe(2);
});
