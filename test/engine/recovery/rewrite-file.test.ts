import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { checkRemains } from '../../../src/app/doctor/redis.js';
import { createVolley } from '../../../src/app/runtime.js';
import { loadConfig } from '../../../src/base/config/index.js';
import { createEvents, type VolleyEvent } from '../../../src/base/events/events.js';
import { connect, type Redis } from '../../../src/base/redis/connection.js';
import { findServer } from '../../../src/base/redis/find-server.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { type PrivateRedis, startPrivateRedis } from '../../../src/base/redis/private-server.js';
import { slicesKey } from '../../../src/engine/recipients/campaign-keys.js';
import { noteRemoval } from '../../../src/engine/recipients/removals.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { fileRemains, fileRewriter } from '../../../src/engine/recovery/rewrite-file.js';
import { findLane } from '../../../src/engine/store/campaigns.js';
import { startSimulator } from '../../../src/tools/simulator/index.js';
import { SOON } from '../../base/soon.js';

const program = await findServer();
const DAY = 86_400_000;
const facts = [
  {
    appendonly: 'yes',
    durability: {
      appendonly: 'yes',
      appendfsync: 'always',
      replicas: 0,
      minReplicas: 0,
      maxLagSeconds: 0,
      isCluster: false,
      nodeTimeoutMs: undefined,
      isWatched: false,
    },
  },
];

describe.runIf(program !== undefined)('the append-only file', () => {
  let dir: string;
  let server: PrivateRedis;
  let redis: Redis;
  const opened: Redis[] = [];

  const connectAs = (url: string): Redis => {
    const connection = connect(url);
    opened.push(connection);
    return connection;
  };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'volley-rewrite-'));
    // A file without compression, so that a search finds what is in it.
    const settings = ['aof-use-rdb-preamble no', 'rdbcompression no'];
    server = await startPrivateRedis({ dir, appendfsync: 'always', settings });
    redis = connectAs(server.url);
  });
  afterAll(async () => {
    for (const connection of opened) connection.disconnect();
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  });

  /** Which of these the files contain. */
  async function inFile(searched: readonly (string | Buffer)[]): Promise<(string | Buffer)[]> {
    const names = await readdir(dir, { recursive: true, withFileTypes: true });
    const files = names.filter((entry) => entry.isFile() && entry.name.includes('.aof'));
    const contents = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name))));
    return searched.filter((some) => contents.some((content) => content.includes(some)));
  }

  function rewriter(connection: Redis, prefix: string) {
    const events = createEvents({ level: 'silent' });
    const emitted: VolleyEvent[] = [];
    events.onAny((event) => emitted.push(event));
    const keys = keyNames(prefix);
    return { keys, emitted, step: fileRewriter({ redis: connection, keys, events }) };
  }

  test('contains no number and no text of a campaign after its removal', async () => {
    const simulator = await startSimulator({ keys: [{ key: 'k' }], deliveryTime: 20 });
    const { messagingBaseUrl, accountBaseUrl } = simulator;
    const environment = {
      REDIS_URL: server.url,
      API_KEY: 'k',
      FOLLOW_UP_FIRST_MS: '100',
      LOG_LEVEL: 'silent',
    };
    const config = loadConfig(environment, { simulator: { messagingBaseUrl, accountBaseUrl } });
    const volley = createVolley({ config });
    const recipients = Array.from({ length: 100 }, (_, at) => ({
      to: `+44770090${1000 + at}`,
      name: `Rumpelstiltskin ${at}`,
    }));
    const number = recipients[5]?.to ?? '';
    await volley.suppression.add([recipients[7]?.to ?? '']);
    const workers = volley.work();
    await workers.ready;
    const outcome = await volley.enqueue({
      recipients: [...recipients, ...recipients.slice(0, 3)],
      message: 'Dear {{name}}, the secret of the spinning wheel',
      sender: 'SPINDLE',
      name: 'Straw into gold',
      idempotencyKey: 'a-key-for-straw',
    });
    if (outcome.outcome !== 'created') throw new Error(outcome.outcome);
    await volley.finished(outcome.id);
    await volley.close();
    await simulator.close();

    const keys = keyNames(config.redisPrefix);
    const lane = (await findLane(redis, keys, outcome.id)) ?? '';
    const slice = await redis.hgetBuffer(slicesKey(keys, lane, outcome.id, 'slices'), '0');
    if (slice === null) throw new Error('the list has no slice');
    const texts = ['the secret of the spinning wheel', 'SPINDLE', 'Straw into gold', slice];
    // No sample of the preview is stored.
    const plain = ['Rumpelstiltskin', number, number.slice(1)];
    expect(await inFile([...texts, ...plain])).toEqual(texts);

    await removeCampaign(redis, keys, lane, outcome.id);
    expect(await fileRemains(redis, keys)).toEqual({ removals: 1, lastAttempt: 'none' });
    expect(await inFile(texts)).toEqual(texts);
    const { step, emitted } = rewriter(redis, config.redisPrefix);
    await vi.waitUntil(async () => {
      await step();
      return (await fileRemains(redis, keys)).removals === 0;
    }, SOON);
    expect(await inFile([...texts, ...plain])).toEqual([]);
    expect(emitted).toMatchObject([{ type: 'redis.fileRewritten', campaigns: 1 }]);
    expect(checkRemains(facts, await fileRemains(redis, keys))).toMatchObject({ state: 'ok' });
  });

  test('is rewritten at most once a day, and later removals wait', async () => {
    const { keys, step, emitted } = rewriter(redis, 'daily');
    const rewrite = async (): Promise<void> => {
      await step();
      await vi.waitUntil(async () => {
        await step();
        return emitted.length > 0;
      }, SOON);
    };
    await step();
    expect(await redis.exists(keys.fileRewrite)).toBe(0);
    await noteRemoval(redis, keys);
    await step();
    // While the rewrite runs, another campaign is removed.
    await noteRemoval(redis, keys);
    await rewrite();
    expect(await fileRemains(redis, keys)).toEqual({ removals: 2, lastAttempt: 'started' });
    const left = await redis.pttl(keys.fileRewrite);
    expect(left).toBeGreaterThan(DAY - 60_000);
    await step();
    expect(emitted).toHaveLength(1);
    // A day later.
    await redis.del(keys.fileRewrite);
    emitted.length = 0;
    await rewrite();
    expect(await fileRemains(redis, keys)).toMatchObject({ removals: 0 });
  });

  test('keeps removed campaigns where Redis refuses a rewrite, and the doctor says so', async () => {
    await redis.call('ACL', 'SETUSER', 'managed', 'on', '>secret', '~*', '&*', '+@all', '-bgrewriteaof');
    const managed = connectAs(`redis://managed:secret@127.0.0.1:${server.port}`);
    const { keys, step, emitted } = rewriter(managed, 'managed');
    await noteRemoval(redis, keys);
    await step();
    await step();
    expect(emitted).toMatchObject([{ type: 'redis.rewriteRefused', campaigns: 1 }]);
    const remains = await fileRemains(redis, keys);
    expect(remains).toEqual({ removals: 1, lastAttempt: 'refused' });
    expect(checkRemains(facts, remains)).toMatchObject({
      state: 'warn',
      message:
        'the append-only file still contains the numbers and texts of 1 removed campaign, because the server refuses BGREWRITEAOF',
    });
  });
});
