import { expect, test, vi } from 'vitest';
import { findServer } from '../../src/base/redis/find-server.js';
import { startWithUsers } from '../base/redis/servers/acl-server.js';
import { privateRedis } from '../base/redis/servers/private-redis.js';
import { startProgram } from './program.js';
import { recipients } from './recipients.js';
import { finished, launch, startedFleet } from './started.js';

const redis = await privateRedis();

test.each([
  ['is away', false],
  ['goes while it connects', true],
] as const)(
  'A worker that starts while Redis %s waits for it, and then works',
  {
    timeout: 90_000,
  },
  async (_when, asItConnects) => {
    const fleet = await startedFleet({
      redisUrl: redis.url,
      prefix: `start-${asItConnects}`,
      workers: [],
      simulator: { keys: [{ key: 'key' }] },
    });
    const id = await launch(fleet, { recipients: recipients(10), message: 'Sale' });
    if (!asItConnects) await redis.kill();
    const { program } = await fleet.add('all');
    // The last event before it connects.
    await vi.waitUntil(() => fleet.logged('process.started').length > 0, { timeout: 30_000, interval: 5 });
    if (asItConnects) await redis.kill();
    // Long enough that the process notices that Redis does not answer.
    await vi.waitUntil(() => fleet.logged('redis.lost').length > 0 || !program.isRunning, {
      timeout: 30_000,
    });
    await redis.restart();
    await fleet.ready();
    const { counts } = await finished(fleet.volley, id, 60_000);
    expect(counts.deliveredToTerminal).toBe(10);
  },
);

test.runIf((await findServer()) !== undefined)(
  'No process starts, and the doctor fails, if a restart of Redis would lose data',
  { timeout: 90_000 },
  async () => {
    const server = await startWithUsers(['user default off']);
    const settings = {
      REDIS_URL: server.urlOf('admin'),
      MESSAGING_BASE_URL: 'http://127.0.0.1:9',
      API_KEY: 'key',
      HTTP_PORT: '0',
    };
    const command = 'src/surfaces/cli/main.js';
    const starts = [['workers/send.js'], ['workers/http.js'], [command, 'up'], [command, 'doctor']];
    const ends = starts.map(async ([file = '', ...args]) => {
      const program = startProgram(file, settings, args);
      const end = await program.ended;
      const named = program.log.some((line) => line.includes('user default off resetpass ~* &* +@all'));
      return `${[file, ...args].join(' ')}: ${end}${named ? ', and names the line' : ''}`;
    });
    expect(await Promise.all(ends)).toEqual([
      'workers/send.js: 2, and names the line',
      'workers/http.js: 2, and names the line',
      'src/surfaces/cli/main.js up: 2, and names the line',
      'src/surfaces/cli/main.js doctor: 1',
    ]);
  },
);
