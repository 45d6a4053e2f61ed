import { expect, test } from 'vitest';
import { deleteIndexedRequests } from '../../src/engine/recipients/delete-campaign.js';
import { digestOf, indexKey } from '../../src/engine/recipients/request-index.js';
import type { PlacedWord } from '../../src/engine/recipients/status-words.js';
import { importCampaign } from '../../src/intake/import/import-campaign.js';
import { findRecipients, recipientPage, reportVersion } from '../../src/reporting/report.js';
import { testRedis } from '../base/redis/test-redis.js';
import { laneFixture } from '../engine/lane/lane-fixture.js';
import { importFixture, mobile } from '../intake/import/import-fixture.js';

const { prefix, redis } = testRedis('status-words');
const NOTIFIED = { notify: true, early: 120_000, heard: 600_000, patience: 150_000 } as const;

let fixtures = 0;

/** A campaign whose only request was accepted, with these words of the service. */
async function accepted(recipients: number, words?: readonly PlacedWord[], letters?: string) {
  fixtures += 1;
  const own = `${prefix}-${fixtures}`;
  const { keys, deps } = importFixture(redis, own);
  const rules = { ...NOTIFIED, quota: 1_000_000, maxRecipients: 100, firstPoll: 0, pollAgain: 0 };
  const lane = laneFixture(redis, own, 'default', rules);
  const people = Array.from({ length: recipients }, (_, at) => ({ to: mobile(at) }));
  const outcome = await importCampaign(deps, { recipients: people, message: 'Hi' });
  if (outcome.outcome !== 'created') throw new Error(`the import ended with ${outcome.outcome}`);
  const { id } = outcome;
  const [claim] = (await lane.claims.send({ turn: 't', call: 1, want: 1, seen: 0 })).claims;
  if (claim === undefined) throw new Error('nothing is claimed');
  const sent = { claim, result: 'accepted', requestId: 'r1', reason: '' } as const;
  await lane.settlements.send([{ ...sent, letters: letters ?? 'N'.repeat(recipients), words }], 0);
  let polls = 0;
  return {
    deps,
    keys,
    id,
    early: (byDigits: Record<string, string>, ownWords: Record<string, string>) =>
      lane.notifications.settle(
        [],
        [{ requestId: 'other', sender: null, letters: byDigits, words: ownWords }],
      ),
    waiting: () => lane.notifications.waiting(),
    version: () => reportVersion(redis, keys, id),
    async poll(reported: string, ownWords?: readonly PlacedWord[]): Promise<void> {
      polls += 1;
      const now = Date.now() + 60_000 * 4 ** polls;
      const { claims } = await lane.claims.poll({ turn: `p${polls}`, call: 1, want: 1, seen: 0, now });
      const [polled] = claims;
      if (polled === undefined) throw new Error('no poll is due');
      const infos = { claim: polled, result: 'infos', requestId: 'r1' } as const;
      await lane.settlements.poll([{ ...infos, letters: reported, words: ownWords }], 0, now);
    },
    notify: (reported: string, ownWords?: readonly PlacedWord[]) =>
      lane.notifications.settle(
        [
          {
            requestId: 'r1',
            located: { campaign: id, first: claim.first, count: claim.count },
            letters: reported,
            words: ownWords,
          },
        ],
        [],
      ),
    async shown(): Promise<string[]> {
      const page = await recipientPage(redis, keys, id, {});
      return page.recipients.map(({ status, serviceStatus, serviceCode }) =>
        [status, serviceStatus, serviceCode].filter((word) => word !== null).join(' '),
      );
    },
  };
}

test.each([
  ['several recipients', 3],
  ['one recipient', 1],
])('the report of a campaign of %s shows the words of the response to a send', async (_, count) => {
  const { shown } = await accepted(count, [[0, '11,InvalidDestAddress']], `I${'N'.repeat(count - 1)}`);
  expect(await shown()).toEqual([
    'deliveryImpossible InvalidDestAddress 11',
    ...Array.from({ length: count - 1 }, () => 'deliveredToNetwork'),
  ]);
});

test.each([
  ['several recipients', 3],
  ['one recipient', 1],
])('the words of a poll for %s are shown until a status in its plain word', async (_, count) => {
  const { poll, shown } = await accepted(count);
  const rest = Array.from({ length: count - 1 }, () => 'deliveredToNetwork');
  const open = '-'.repeat(count - 1);
  await poll(`-${open}`, [[0, ',MessageWaiting']]);
  expect(await shown()).toEqual(['deliveredToNetwork MessageWaiting', ...rest]);
  await poll(`N${open}`, [[0, '13,PartiallyDelivered']]);
  expect(await shown()).toEqual(['deliveredToNetwork PartiallyDelivered 13', ...rest]);
  await poll(`T${open}`);
  expect(await shown()).toEqual(['deliveredToTerminal', ...rest]);
});

test('the words of a notification are shown, and those of recipients that it does not name stay', async () => {
  const { notify, shown } = await accepted(3, [[1, ',Queued']]);
  await notify('I--', [[0, '10,InvalidSrcAddress']]);
  expect(await shown()).toEqual([
    'deliveryImpossible InvalidSrcAddress 10',
    'deliveredToNetwork Queued',
    'deliveredToNetwork',
  ]);
});

test('words that come after a final status change nothing', async () => {
  const { poll, notify, shown } = await accepted(2);
  await poll('TI', [[1, '4,DeliveryImpossible']]);
  const before = await shown();
  expect(before).toEqual(['deliveredToTerminal', 'deliveryImpossible DeliveryImpossible 4']);
  await notify('NI', [
    [0, ',MessageWaiting'],
    [1, '11,InvalidDestAddress'],
  ]);
  await notify('IT', [[0, '3,DeliveryImpossible']]);
  expect(await shown()).toEqual(before);
});

test('a status that the service cannot determine is replaced by a final one, and its word with it', async () => {
  const { notify, shown } = await accepted(1);
  await notify('C', [[0, '7,DeliveryUncertain']]);
  expect(await shown()).toEqual(['unconfirmed DeliveryUncertain 7']);
  await notify('N', [[0, ',MessageWaiting']]);
  expect(await shown()).toEqual(['unconfirmed DeliveryUncertain 7']);
  await notify('T');
  expect(await shown()).toEqual(['deliveredToTerminal']);
});

test('a new word changes the version of the report, and the same word again does not', async () => {
  const { notify, version } = await accepted(2);
  const before = await version();
  await notify('N-', [[0, ',MessageWaiting']]);
  const after = await version();
  expect(after).not.toBe(before);
  await notify('N-', [[0, ',MessageWaiting']]);
  expect(await version()).toBe(after);
});

test('reports of an unknown request wait with their words, and lose those that a later status replaces', async () => {
  const { early, waiting } = await accepted(1);
  await early({ '447700900001': 'N', '447700900002': 'N' }, { '447700900001': ',Queued' });
  await early({ '447700900002': 'I' }, { '447700900002': '11,InvalidDestAddress' });
  expect(await waiting()).toMatchObject([
    {
      letters: { '447700900001': 'N', '447700900002': 'I' },
      words: { '447700900001': ',Queued', '447700900002': '11,InvalidDestAddress' },
    },
  ]);
  await early({ '447700900001': 'T' }, {});
  const [last] = await waiting();
  expect(last).toMatchObject({ letters: { '447700900001': 'T', '447700900002': 'I' } });
  expect(last?.words).toEqual({ '447700900002': '11,InvalidDestAddress' });
});

test('a search by number shows the words', async () => {
  const { deps, notify } = await accepted(2);
  await notify('-I', [[1, '11,InvalidDestAddress']]);
  const found: object[] = [];
  for await (const one of findRecipients(deps, mobile(1))) found.push(one);
  expect(found).toMatchObject([{ serviceStatus: 'InvalidDestAddress', serviceCode: '11' }]);
});

test('recipients whose statuses come in their plain words take no memory for them', async () => {
  const plain = await accepted(100);
  await plain.notify('T'.repeat(100));
  const recordsOf = async () => (await redis.keys(`*${prefix}-${fixtures}*:records:*`)).sort();
  const fields = await Promise.all((await recordsOf()).map((key) => redis.hkeys(key)));
  expect(fields.flat()).toEqual(['0']);
});

test('a campaign with words is removed together with the index of its requests', async () => {
  const { keys, id } = await accepted(2, [[1, '12,Queued']]);
  const digest = digestOf('r1');
  const isIndexed = () => redis.hexists(indexKey(keys, 'default', digest), digest.field);
  expect(await isIndexed()).toBe(1);
  await deleteIndexedRequests(redis, keys, { lane: 'default', campaign: id, ordinals: 2 });
  expect(await isIndexed()).toBe(0);
});
