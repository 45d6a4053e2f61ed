import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RECIPIENT_STATE, type RecipientState } from '../../src/campaign/states/recipient.js';
import { CostCollector } from '../../src/engine/recipients/costs.js';
import { readMeta } from '../../src/engine/store/campaign-meta.js';
import { readState } from '../../src/engine/store/campaigns.js';
import { importCampaign } from '../../src/intake/import/import-campaign.js';
import { costSoFar } from '../../src/reporting/accepted-cost.js';
import { testRedis } from '../base/redis/test-redis.js';
import { importFixture, mobile } from '../intake/import/import-fixture.js';
import { storedLane } from '../scene/stored.js';

const { prefix, redis } = testRedis('accepted-cost');
const { deps, keys, lane } = importFixture(redis, prefix, { PRICE_PER_SEGMENT: '0.042 EUR' });

async function campaign(texts: readonly string[]): Promise<string> {
  const recipients = texts.map((text, at) => ({ to: mobile(at), text }));
  const outcome = await importCampaign(deps, { recipients, message: '{{text}}', again: true });
  if (outcome.outcome !== 'created') throw new Error(outcome.outcome);
  return outcome.id;
}

/** Gives recipients their states, as the scripts do. Returns what the campaign has cost so far, in micros. */
async function costWith(
  id: string,
  states: readonly RecipientState[],
  isDetailed = true,
): Promise<bigint | null> {
  const letters = states.map((state) => RECIPIENT_STATE[state].letter ?? '\0').join('');
  await storedLane({ redis, keys, id: lane }).setLetters(id, letters);
  const [meta, state] = await Promise.all([
    readMeta(redis, keys, lane, id),
    readState(redis, keys, lane, id),
  ]);
  if (meta === null || state === null) throw new Error('the campaign is missing');
  const counts: Partial<Record<RecipientState, number>> = {};
  for (const each of states) counts[each] = (counts[each] ?? 0) + 1;
  return costSoFar(redis, keys, meta, { ...state, counts }, { isDetailed });
}

/** A text of this many segments. */
const text = (segments: number): string => 'a'.repeat(segments === 1 ? 100 : segments * 153);
/** As the states are described: whether the service has accepted the message. */
const ACCEPTED: Readonly<Record<RecipientState, boolean>> = {
  planned: false,
  sending: false,
  unknown: false,
  deliveredToNetwork: true,
  deliveredToTerminal: true,
  deliveryImpossible: true,
  rejected: false,
  lapsed: false,
  cancelled: false,
  suppressed: false,
  abandoned: false,
  unconfirmed: true,
};
const ALL = Object.keys(ACCEPTED) as RecipientState[];

test('What a campaign has cost so far is the sum of its accepted messages, whether they cost the same or not', async () => {
  const same = await campaign(ALL.map(() => text(2)));
  expect(await costWith(same, ALL)).toBe(4n * 84_000n);
  expect(await costWith(same, ALL, false)).toBe(4n * 84_000n);
  const different = await campaign(ALL.map((_, at) => text((at % 6) + 1)));
  const expected = ALL.reduce((sum, state, at) => sum + (ACCEPTED[state] ? ((at % 6) + 1) * 42_000 : 0), 0);
  expect(await costWith(different, ALL)).toBe(BigInt(expected));
  // A list of campaigns does not read the status of each recipient.
  expect(await costWith(different, ALL, false)).toBeNull();
  expect(
    await costWith(
      different,
      ALL.map(() => 'planned' as const),
      false,
    ),
  ).toBe(0n);
});

test('The costs of a list of several chunks are read back in its order', async () => {
  const count = 33_000;
  const segmentsOf = (at: number): number => (at < 20_000 ? 1 : (at % 3) + 1);
  const id = await campaign(Array.from({ length: count }, (_, at) => text(segmentsOf(at))));
  expect(await redis.hlen(keys.lane(lane, `campaign:${id}:costs`))).toBe(3);
  const states = Array.from(
    { length: count },
    (_, at): RecipientState => (at % 7 === 0 ? 'rejected' : 'deliveredToTerminal'),
  );
  const expected = states.reduce((sum, state, at) => sum + (state === 'rejected' ? 0 : segmentsOf(at)), 0);
  expect(await costWith(id, states)).toBe(BigInt(expected) * 42_000n);
});

test('Any order of costs is stored exactly; one cost takes no memory, and too many are not stored', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 3_000 }), (all) => {
      const collector = new CostCollector();
      for (const micros of all) collector.add(micros);
      const costs = collector.costs() ?? [];
      const bytes = Buffer.concat([...collector.chunks()].flat().filter((part) => Buffer.isBuffer(part)));
      const read = all.map((_, at) => costs[bytes.length === 0 ? 0 : bytes.readUInt16LE(2 * at)]);
      expect(read).toEqual(all);
      expect(bytes.length).toBe(new Set(all).size > 1 ? 2 * all.length : 0);
    }),
  );
  const collector = new CostCollector();
  for (let micros = 0; micros < 5_000; micros++) collector.add(micros);
  expect([collector.costs(), [...collector.chunks()]]).toEqual([null, []]);
});
