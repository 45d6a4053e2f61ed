import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { connect } from '../../../src/base/redis/connection.js';
import { fileReplay, requireReplay } from '../../../src/base/redis/file-replay.js';
import { findServer } from '../../../src/base/redis/find-server.js';
import { passwordOf, startWithUsers } from './servers/acl-server.js';
import { startCluster } from './servers/cluster.js';

/** The users of docs/redis.acl. */
const SHIPPED = readFileSync(new URL('../../../docs/redis.acl', import.meta.url), 'utf8')
  .replace('CHANGE-ME', passwordOf('volley'))
  .trim()
  .split('\n');
/** `volley` of that file, and the default user with these rules. */
const withDefault = (rules: string): string[] => [
  ...SHIPPED.filter((line) => line.startsWith('user volley ')),
  `user default ${rules}`,
];
const WITHOUT_DRYRUN = (line: string): string => line.replace(' +acl|dryrun', '');

function connected(url: string) {
  const redis = connect(url);
  onTestFinished(() => redis.disconnect());
  return redis;
}

describe.runIf((await findServer()) !== undefined)('Whether a restart of Redis keeps all data', () => {
  test.each([
    ['the users of docs/redis.acl', SHIPPED, 'complete'],
    ['a default user that is off', withDefault('off'), 'dropped'],
    ['a default user with a password', withDefault('on >secret ~* &* +@all'), 'complete'],
    ['a default user that may only write data', withDefault('on >secret ~* -@all +@write'), 'complete'],
    ['a default user for other keys', withDefault('on >secret ~other:* +@all'), 'dropped'],
    ['a default user for all keys but those of lanes', withDefault('off ~volley:* +@all'), 'dropped'],
    ['a default user for all data but sorted sets', withDefault('off ~* +@all -@sortedset'), 'dropped'],
    ['users who may not ask about rights', withDefault('off').map(WITHOUT_DRYRUN), 'refused'],
  ])('is known for %s', async (_, users, found) => {
    const server = await startWithUsers(users);
    const redis = connected(server.urlOf('volley'));
    expect(await fileReplay(redis, 'volley')).toBe(found);
    await redis.multi().set('volley:one', '1').zadd('{volley:lane}two', 1, 'member').exec();
    await server.restart();
    const isKept = (await connected(server.urlOf('admin')).exists('volley:one', '{volley:lane}two')) === 2;
    // The latest servers keep everything, whatever the rights.
    if (found === 'complete') expect(isKept).toBe(true);
  });

  test('is not known if the server hides the rights of its users', async () => {
    const server = await startWithUsers(SHIPPED, ['rename-command ACL ""']);
    expect(await fileReplay(connected(server.urlOf('volley')), 'volley')).toBe('hidden');
  });

  test.each([withDefault('off'), SHIPPED])(
    'is known for a server without an append-only file',
    async (...users) => {
      const server = await startWithUsers(users, ['appendonly no']);
      const redis = connected(server.urlOf('volley'));
      expect(await fileReplay(redis, 'volley')).toBe('absent');
      expect(await requireReplay(redis, 'volley')).toContain('it writes nothing to disk. Set appendonly yes');
    },
  );

  test('needs no more rights if Volley uses the default user', async () => {
    const server = await startWithUsers(['user default on nopass ~volley:* ~{volley:* +@all']);
    expect(await fileReplay(connected(`redis://127.0.0.1:${server.port}`), 'volley')).toBe('complete');
  });

  test('is known for each node of a cluster, also for a replica', async () => {
    const cluster = await startCluster({
      appendfsync: 'always',
      replicas: true,
      settings: ['user any on >any ~* &* +@all'],
    });
    onTestFinished(() => cluster.stop());
    const hosts = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const found = () => fileReplay(connected(`redis+cluster://any:any@${hosts}`), 'volley');
    expect(await found()).toBe('complete');
    const replica = connected(cluster.nodes.at(-1)?.url ?? '');
    await replica.call('ACL', 'SETUSER', 'default', 'resetkeys');
    // The other nodes do not name a new replica at once.
    await vi.waitUntil(async () => (await found()) === 'dropped', { timeout: 30_000, interval: 500 });
  });

  test('lets no client log in as the default user of docs/redis.acl', async () => {
    const { port } = await startWithUsers(SHIPPED);
    const guest = new Redis({ port, host: '127.0.0.1', enableReadyCheck: false });
    guest.on('error', () => {});
    onTestFinished(() => guest.disconnect());
    await expect(guest.ping()).rejects.toThrow(/^NOAUTH/);
    for (const [command = '', ...args] of [
      ['AUTH', 'any'],
      ['AUTH', 'default', ''],
      ['AUTH', 'default', 'any'],
      ['HELLO', '3', 'AUTH', 'default', ''],
      ['GET', 'volley:key'],
    ])
      await expect(guest.call(command, ...args)).rejects.toThrow(/^(WRONGPASS|NOAUTH)/);
  });
});
