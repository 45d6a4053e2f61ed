import { expect, test, vi } from 'vitest';
import { slicesKey } from '../../src/engine/recipients/campaign-keys.js';
import { outboxSearch } from '../../src/intake/outbox/views/outbox-search.js';
import { lastSentReader } from '../../src/reporting/last-sent.js';
import { testRedis } from '../base/redis/test-redis.js';
import { mobile } from '../intake/import/import-fixture.js';
import { resultsFixture } from './results-fixture.js';

const { prefix, redis } = testRedis('last-sent');

test('A reply right after an import names its campaign, although an earlier reply came during the import', {
  timeout: 60_000,
}, async () => {
  const { keys, campaign, send } = resultsFixture(redis, prefix);
  const lastSent = lastSentReader({ redis, keys, outboxes: outboxSearch(redis, keys) });
  const sender = 'ACME';
  const target = mobile(900_000);
  const storedSlices = async (): Promise<number> => {
    const [id = ''] = (await redis.zrange(keys.campaigns, '0', '-1')).map(
      (entry) => entry.split(' ')[0] ?? '',
    );
    return redis.hlen(slicesKey(keys, 'default', id, 'slices'));
  };
  async function* recipients() {
    for (let at = 0; at % 5_000 !== 0 || (await storedSlices()) === 0; at += 1) yield { to: mobile(at) };
    expect(await lastSent('default', target, sender)).toBeNull();
    yield { to: target };
  }
  const id = await campaign({ recipients: recipients(), sender });
  await send('T');
  // Sooner than the numbers of a campaign are read again.
  await vi.waitFor(
    async () =>
      expect(await lastSent('default', target, sender)).toMatchObject({ message: { campaign: id } }),
    10_000,
  );
});
