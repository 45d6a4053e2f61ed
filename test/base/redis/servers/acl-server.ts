import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { findServer } from '../../../../src/base/redis/find-server.js';
import { endWithThisProcess, freePort } from '../../../../src/base/redis/private-server.js';

/** A server with an ACL file, which the test may kill and start again. */
interface AclServer {
  readonly port: number;
  /** As a user of the file; the password is its name. */
  urlOf(user: string): string;
  /** Kills the server, and starts it again with its data. */
  restart(): Promise<void>;
}

const PASSWORD = '-password';

/** The rules of a user who may do everything. */
const ADMIN = `user admin on >admin${PASSWORD} ~* &* +@all`;

/** The password of a user, as {@link AclServer.urlOf} contains it. */
export const passwordOf = (user: string): string => `${user}${PASSWORD}`;

/** Starts a Redis for one test, with these users and `admin`. `settings`: more lines of its configuration. */
export async function startWithUsers(
  users: readonly string[],
  settings: readonly string[] = [],
): Promise<AclServer> {
  const program = await findServer();
  if (program === undefined) throw new Error('there is no redis-server');
  const dir = mkdtempSync(join(tmpdir(), 'volley-acl-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'users.acl'), [...users, ADMIN, ''].join('\n'));
  const port = await freePort();
  const lines = ['bind 127.0.0.1', `port ${port}`, 'aclfile users.acl', 'save ""', 'appendonly yes'];
  const start = async () => {
    const server = spawn(program, ['-'], { cwd: dir, stdio: ['pipe', 'ignore', 'ignore'] });
    await once(server, 'spawn');
    endWithThisProcess(server, server.pid ?? 0);
    server.stdin.end([...lines, 'appendfsync always', ...settings, ''].join('\n'));
    return server;
  };
  const kill = async () => {
    if (running.kill('SIGKILL')) await once(running, 'exit');
  };
  const urlOf = (user: string): string => `redis://${user}:${passwordOf(user)}@127.0.0.1:${port}`;
  const answers = async () => {
    const admin = new Redis(urlOf('admin'), { retryStrategy: () => 20, maxRetriesPerRequest: null });
    admin.on('error', () => {});
    await admin.ping();
    admin.disconnect();
  };
  let running = await start();
  onTestFinished(kill);
  await answers();
  return {
    port,
    urlOf,
    async restart() {
      await kill();
      running = await start();
      await answers();
    },
  };
}
