import { expect, test } from 'vitest';
import { findServer } from '../../src/base/redis/find-server.js';
import { GoneError, InputError, NoSuchLaneError } from '../../src/campaign/errors/errors.js';
import type { RecipientResult } from '../../src/campaign/views/recipient-views.js';
import { removeCampaign } from '../../src/engine/recovery/retention.js';
import { readCursor } from '../../src/reporting/results-cursor.js';
import type { ResultsFeed } from '../../src/reporting/results-feed.js';
import type { Position } from '../../src/reporting/results-log.js';
import { SUPPRESSING } from '../app/access/operator.js';
import { failoverPair } from '../base/redis/servers/failover-pair.js';
import { testRedis } from '../base/redis/test-redis.js';
import { laneFixture } from '../engine/lane/lane-fixture.js';
import { mobile } from '../intake/import/import-fixture.js';

import { people, resultsFixture } from './results-fixture.js';

const { prefix, redis } = testRedis('results');

const fixture = (server = redis) => resultsFixture(server, prefix);

/** Reads pages until there are no more; returns what they had, and the cursor. */
async function readAll(feed: ResultsFeed, after?: string, limit = 1_000) {
  const results: RecipientResult[] = [];
  for (let next = after; ; ) {
    const page = await feed.results({ cursor: next, limit });
    results.push(...page.results);
    next = page.nextCursor;
    expect(page.results.length).toBeLessThanOrEqual(limit);
    if (!page.hasMore) return { results, next };
  }
}

/** A cursor at this position of the lane `default`. */
const cursorAt = (position: Position): string =>
  readCursor('', ['default']).next(new Map([['default', position]]), undefined);

const shown = (results: readonly RecipientResult[]): string[] =>
  results.map(({ reference, status }) => `${reference} ${status}`);

test('Each recipient that becomes settled or unknown is a result with its reference, campaign, status, reason, and time', async () => {
  const { feed, campaign, send, lane } = fixture();
  const id = await campaign({ recipients: people(3), metadata: { shop: '17' }, name: 'Orders' });
  expect(await feed.results()).toEqual({
    results: [],
    campaigns: {},
    nextCursor: expect.any(String),
    hasMore: false,
  });
  await send('NTI');
  const first = await feed.results();
  expect(shown(first.results)).toEqual(['order-1 deliveredToTerminal', 'order-2 deliveryImpossible']);
  expect(first.results[0]).toEqual({
    campaign: id,
    lane: 'default',
    outbox: null,
    message: null,
    to: mobile(1),
    reference: 'order-1',
    status: 'deliveredToTerminal',
    reason: null,
    requestId: 'r-1',
    sentAt: expect.stringMatching(/^20.*Z$/),
    updatedAt: expect.stringMatching(/^20.*Z$/),
    serviceStatus: null,
    serviceCode: null,
    leftOut: null,
  });
  expect(first.campaigns).toEqual({
    [id]: { name: 'Orders', lane: 'default', idempotencyKey: null, tags: [], metadata: { shop: '17' } },
  });
  const poll = await lane.claims.poll({ turn: 'p', call: 1, want: 1, seen: 0, now: Date.now() + 60_000 });
  await lane.settlements.poll(
    poll.claims.map((claim) => ({ claim, result: 'infos', letters: 'T--', requestId: 'r-1', reason: '' })),
    0,
  );
  const second = await feed.results({ cursor: first.nextCursor });
  expect(shown(second.results)).toEqual(['order-0 deliveredToTerminal']);
  expect(await feed.results({ cursor: second.nextCursor })).toMatchObject({
    results: [],
    nextCursor: second.nextCursor,
  });
});

test('An unknown outcome is a result; what is sent again is none until it is settled', async () => {
  const { feed, campaign, send, lane } = fixture();
  await campaign({ recipients: people(2) });
  await send('', 'unknown');
  const unknown = await readAll(feed);
  expect(shown(unknown.results)).toEqual(['order-0 unknown', 'order-1 unknown']);
  expect(unknown.results[0]?.reason).toBe('no response');
  await lane.commands.resolve('resend', 'again', await lane.commands.unknown(), Date.now() + 3_600_000);
  expect((await readAll(feed)).results).toEqual([]);
  await send('T');
  const settled = await readAll(feed, unknown.next);
  expect(shown(settled.results)).toEqual(['order-0 deliveredToTerminal', 'order-1 deliveredToTerminal']);
  await campaign({ recipients: people(1, 5) });
  await send('', 'unknown');
  await lane.commands.resolve('abandon', 'given up', await lane.commands.unknown());
  const abandoned = await readAll(feed, settled.next);
  expect(shown(abandoned.results)).toEqual(['order-5 abandoned']);
});

test('Two orders for one phone are two results, and a row that was left out is one as well', async () => {
  const { feed, campaign, send } = fixture();
  const to = mobile(1);
  await campaign({
    message: 'Order {{order}}',
    duplicates: 'keep',
    recipients: [
      { to, order: 'A', reference: 'order-A' },
      { to, order: 'B', reference: 'order-B' },
      // The same text again: it is stored once, whatever its reference is.
      { to, order: 'B', reference: 'order-B-again' },
    ],
  });
  await send('TI');
  const { results } = await readAll(feed);
  expect(shown(results)).toEqual([
    'order-B-again duplicate',
    'order-A deliveredToTerminal',
    'order-B deliveryImpossible',
  ]);
  expect(results[0]?.reason).toBe('line 3 repeats line 2');
});

test('An invalid row that is left out is a result with its reference, line, column, and code', async () => {
  const { feed, campaign } = fixture();
  const recipients = [
    { to: mobile(1), name: 'Ada', reference: 'order-A' },
    { to: mobile(2), name: '', reference: 'order-B' },
    { to: 'ask at the desk', name: 'Cy', reference: 'order-C' },
    { to: mobile(1), name: 'Ada', reference: 'order-A-again' },
    { to: mobile(3), name: 'Di', reference: 'r'.repeat(129) },
  ];
  const id = await campaign({ recipients, message: 'Hi {{name}}', skipInvalid: true });
  const { results } = await readAll(feed, undefined, 2);
  expect(results).toHaveLength(4);
  expect(results[0]).toEqual({
    campaign: id,
    lane: 'default',
    outbox: null,
    message: null,
    to: mobile(2),
    reference: 'order-B',
    status: 'invalid',
    reason: 'line 2, column "name": there is no value, but the message uses it',
    requestId: null,
    sentAt: null,
    updatedAt: expect.stringMatching(/^20.*Z$/),
    serviceStatus: null,
    serviceCode: null,
    leftOut: { line: 2, firstLine: null, column: 'name', code: 'noValue' },
  });
  expect(results.slice(1)).toMatchObject([
    {
      to: 'ask at the desk',
      reference: 'order-C',
      leftOut: { line: 3, column: 'to', code: 'invalidNumber' },
    },
    { reference: 'order-A-again', status: 'duplicate', leftOut: { line: 4, firstLine: 1 } },
    { to: mobile(3), reference: null, leftOut: { line: 5, column: 'reference', code: 'invalidValue' } },
  ]);
});

test('Recipients that are suppressed when the list is imported, or later, are results', async () => {
  const { feed, campaign, deps, send } = fixture();
  await deps.suppression.add([mobile(1)], SUPPRESSING);
  await campaign({ recipients: people(3) });
  expect(shown((await readAll(feed)).results)).toEqual(['order-1 suppressed']);
  await send('S');
  expect(shown((await readAll(feed)).results)).toEqual([
    'order-1 suppressed',
    'order-0 suppressed',
    'order-2 suppressed',
  ]);
});

test('Cancelling a long campaign is one entry for its recipients, which pages divide', async () => {
  const { feed, campaign, lane, latest } = fixture();
  const id = await campaign({ recipients: people(2_500) });
  await lane.commands.campaign('cancel', id);
  // The other one says that the campaign is cancelled.
  expect(await redis.strlen(latest)).toBe(2 * 12);
  const { results, next } = await readAll(feed, undefined, 700);
  expect(shown(results)).toEqual(people(2_500).map(({ reference }) => `${reference} cancelled`));
  expect(results[0]?.updatedAt).toMatch(/^20.*Z$/);
  expect((await feed.results({ cursor: next })).results).toEqual([]);
});

test('A campaign whose validity ends reports what was not sent', async () => {
  const { feed, campaign, lane } = fixture();
  await campaign({ recipients: people(2), validFor: '1s' });
  await lane.views.tend(86_400_000, Date.now() + 5_000);
  expect(shown((await readAll(feed)).results)).toEqual(['order-0 lapsed', 'order-1 lapsed']);
});

test('The log of many results is read in pages of any size, and is removed with its campaigns', async () => {
  const { feed, campaign, send, lane, log, latest, keys, stored, settle } = fixture();
  const ids: string[] = [];
  // Alternating letters, so that no two results share an entry.
  for (const part of [0, 1, 2]) {
    ids.push(await campaign({ recipients: people(4_000, part * 4_000) }));
    await send('TN');
  }
  const all = await readAll(feed, undefined, 10_000);
  expect(new Set(shown(all.results)).size).toBe(6_000);
  expect(shown((await readAll(feed, undefined, 700)).results)).toEqual(shown(all.results));
  // 6,000 entries: one full chunk, and 1,920.
  expect(await redis.strlen(latest)).toBe(1_920 * 12);
  expect(await redis.hstrlen(log, '0')).toBe(4_080 * 12);
  expect(Number(await redis.memory('USAGE', log, 'SAMPLES', 0)) / 4_080).toBeLessThan(16);
  const early = (await feed.results({ limit: 100 })).nextCursor;
  for (const id of ids) await lane.commands.campaign('cancel', id);
  const remove = async (id = ''): Promise<void> => {
    await stored.changeState(id, { endedAt: 1 });
    await removeCampaign(redis, keys, 'default', id);
  };
  await remove(ids[1]);
  const left = (await readAll(feed)).results.map(({ campaign: of }) => of);
  expect(new Set(left)).toEqual(new Set([ids[0], ids[2]]));
  await remove(ids[0]);
  // The last entries of the chunk are of the third campaign.
  expect(await redis.hexists(log, '0')).toBe(1);
  expect((await readAll(feed, early)).results.length).toBeGreaterThan(1_000);
  await remove(ids[2]);
  expect(await redis.hexists(log, '0')).toBe(0);
  await expect(feed.results({ cursor: early })).rejects.toThrow(GoneError);
  await expect(feed.results({ cursor: early })).rejects.toThrow('removed with their campaigns');
  expect((await readAll(feed, all.next)).results).toEqual([]);
  await settle(1, 90_000);
  for (const cursor of [undefined, all.next])
    expect(shown((await readAll(feed, cursor)).results)).toEqual(['order-90000 deliveredToTerminal']);
  const fields = await redis.hkeys(log);
  expect(fields.sort()).toEqual(['chunk', 'epochs', 'i0', 'next', 'oldest', 'replicationId', 'run']);
});

test('The ids of campaigns share fields, which are removed with the last of their campaigns', async () => {
  const { feed, keys, lane, campaign, send, log, stored } = fixture();
  const ids: string[] = [];
  // More than one field of ids; each result is one of a campaign of its own.
  for (let at = 0; at < 40; at += 1) ids.push(await campaign({ recipients: people(1, at) }));
  await send('T');
  const all = await readAll(feed);
  expect(all.results.map((result) => result.campaign).sort()).toEqual([...ids].sort());
  const fields = async (): Promise<string[]> =>
    (await redis.hkeys(log)).filter((field) => /^i\d/.test(field));
  expect((await fields()).sort()).toEqual(['i0', 'i1']);

  for (const id of ids) {
    await stored.changeState(id, { endedAt: 1 });
    await removeCampaign(redis, keys, 'default', id);
  }
  expect(await fields()).toEqual([]);
  expect((await readAll(feed)).results).toEqual([]);
  expect(await lane.state(ids[0] ?? '')).toBeNull();
});

test('After a loss of data, a reader that has seen more than Redis now has continues with what is settled again', async () => {
  const { feed, campaign, send, log, latest, settle } = fixture();
  await campaign({ recipients: people(3) });
  await send('TTT');
  const seen = await readAll(feed);
  expect(seen.results).toHaveLength(3);
  // As another server wrote it, and lost all but the first recipient of the entry's campaign.
  await redis.hset(log, 'run', 'deadbeef', 'epochs', '[["deadbeef",0]]');
  const cursor = cursorAt({ run: 'deadbeef', chunk: 0, entry: 900, within: 0 });
  const waiting = await feed.results({ cursor });
  expect(waiting).toMatchObject({ results: [], nextCursor: cursor, hasMore: false });
  await settle(1, 7, 'I');
  expect(shown((await readAll(feed, cursor)).results)).toEqual(['order-7 deliveryImpossible']);
  // A reader that was behind misses nothing either.
  expect((await readAll(feed)).results).toHaveLength(4);
  expect(await redis.hget(log, 'chunk')).toBe('1000000');
  // What only a server knew that is gone cannot be continued from.
  const strange = cursorAt({ run: 'cafe0001', chunk: 0, entry: 1, within: 0 });
  await expect(feed.results({ cursor: strange })).rejects.toThrow('Redis has lost the results');
  await redis.del(log, latest);
  await expect(feed.results({ cursor })).rejects.toThrow(GoneError);
});

test.runIf((await findServer()) !== undefined)(
  'A reader that has seen lost results misses nothing after a failover there and back',
  async () => {
    const { redis: server, failOver, failBack } = await failoverPair();
    const { feed, campaign, send, lane, settle } = fixture(server);
    await settle(1);
    await failOver();
    await campaign({ recipients: people(2, 10) });
    await send('TI');
    const seen = await readAll(feed);
    expect(seen.results).toHaveLength(3);
    await failBack();
    // The lane waits for its workers, so nothing is sent.
    await lane.commands.campaign('cancel', await campaign({ recipients: people(1, 20) }));
    expect(shown((await readAll(feed, seen.next)).results)).toEqual(['order-20 cancelled']);
    expect(shown((await readAll(feed)).results)).toEqual([
      'order-0 deliveredToTerminal',
      'order-20 cancelled',
    ]);
  },
);

const laneNames = (count: number): string[] => Array.from({ length: count }, (_, at) => `lane${at}`);

test('Invalid cursors, limits, and too many lanes are refused', async () => {
  const { feed, keys } = fixture();
  await expect(feed.results({ cursor: 'nonsense' })).rejects.toThrow(InputError);
  await expect(feed.results({ limit: 10_001 })).rejects.toThrow('from 1 to 10000');
  await redis.sadd(keys.lanes, ...laneNames(501));
  await expect(feed.results()).rejects.toThrow('there are 501 lanes');
  expect(await feed.results({ lanes: ['default', 'lane1', 'default'] })).toMatchObject({ results: [] });
  await expect(feed.results({ lanes: ['default', 'nowhere'] })).rejects.toThrow(NoSuchLaneError);
});

test('A page finds the results of one lane among 500, and says that there are no more', async () => {
  const { feed, keys, settle } = fixture();
  await redis.sadd(keys.lanes, ...laneNames(499));
  await settle(2);
  const page = await feed.results();
  expect(shown(page.results)).toEqual(['order-0 deliveredToTerminal', 'order-1 deliveredToTerminal']);
  expect(page.hasMore).toBe(false);
  expect(await feed.results({ cursor: page.nextCursor })).toMatchObject({ results: [], hasMore: false });
});

test('Lanes take turns, and a cursor keeps the positions of lanes that a page does not read', async () => {
  const { feed, keys, redis: _redis, ...own } = { redis, ...fixture() };
  await own.campaign({ recipients: people(6) });
  await own.send('T');
  // Another lane with the same log: its campaigns are not there, so it has no results.
  const other = laneFixture(redis, keys.lanes.replace(/:lanes$/, ''), 'other', { maxRecipients: 1 });
  await redis.sadd(keys.lanes, 'other');
  await other.campaign('c', 2);
  const first = await feed.results({ limit: 4 });
  expect(first.hasMore).toBe(true);
  expect(first.results).toHaveLength(4);
  const only = await feed.results({ cursor: first.nextCursor, lanes: ['other'] });
  expect(only.results).toEqual([]);
  expect(shown((await feed.results({ cursor: only.nextCursor })).results)).toEqual([
    'order-4 deliveredToTerminal',
    'order-5 deliveredToTerminal',
  ]);
});
