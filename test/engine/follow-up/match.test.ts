import { expect, test } from 'vitest';
import { settleMatch } from '../../../src/engine/follow-up/match.js';
import type { PollOutcome } from '../../../src/service/client/outcome.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { laneFixture, START } from '../lane/lane-fixture.js';

const { redis, prefix } = testRedis('match');
const NUMBERS = ['+491510100000', '+491510100001', '+491510100002'];
const EARLY = 120_000;
const REQUEST = 'x';
const MATCHED_AT = START + 300;

const infos = (...numbers: readonly string[]): PollOutcome => ({
  kind: 'infos',
  statuses: new Map(numbers.map((number) => [number, 'DeliveredToTerminal'])),
  unlisted: [],
});

/** A lane whose only batch, of three recipients, has an unknown outcome, and is matched to a request of which a report waits. */
async function matchedLane(name: string) {
  const lane = laneFixture(redis, prefix, name, {
    notify: true,
    early: EARLY,
    heard: 600_000,
    patience: 150_000,
    maxRecipients: 3,
    resolveAfter: 1_000,
  });
  await lane.campaign('c', 3);
  const claim = await lane.claimOne();
  await lane.settle(claim, 'unknown', START + 100);
  const early = { requestId: REQUEST, sender: 'ACME', letters: { '491510100000': 'T' } };
  await lane.notifications.settle([], [early], MATCHED_AT);
  await lane.matches.match({ number: claim.number, campaign: 'c', first: 0, requestId: REQUEST }, MATCHED_AT);
  const answered = async (outcome: PollOutcome, now: number): Promise<boolean> => {
    const [poll] = await lane.poll(now);
    if (poll === undefined) throw new Error('no poll is due');
    const isUndecided = await settleMatch(
      {
        lane: { name, retry: (run) => run(), emit: () => {} },
        events: { emit: () => true },
        matches: lane.matches,
        sends: { settle: (settlements) => lane.settlements.send(settlements, 0) },
      },
      poll,
      { sender: 'ACME', requestId: REQUEST, recipients: NUMBERS },
      { number: claim.number, turn: claim.turn, sent: [true, true, true] },
      outcome,
    );
    await lane.settlePolls(poll, isUndecided ? 'undecided' : 'missing', now, { requestId: REQUEST });
    return isUndecided;
  };
  return {
    lane,
    answered,
    /** Whether the lane's policy may send the batch again. */
    isResolvable: async () => (await lane.views.tend(1_000, START + 10_000)).resolvable.length > 0,
  };
}

test.each<[string, PollOutcome]>([
  ['a 404', { kind: 'missing' }],
  ['infos of one of its three recipients', infos(...NUMBERS.slice(0, 1))],
  ['no infos', infos()],
  [
    'a status that the interface does not list',
    { kind: 'infos', statuses: new Map(), unlisted: ['Accepted'] },
  ],
])(
  'A matched batch whose poll gets %s is polled again, and not sent again meanwhile',
  async (name, outcome) => {
    const { lane, answered, isResolvable } = await matchedLane(name);
    expect(await answered(outcome, MATCHED_AT)).toBe(true);
    expect(await lane.stored.followed()).toEqual(['c:0']);
    expect(await isResolvable()).toBe(false);
    expect(await answered(infos(...NUMBERS), START + 200_000)).toBe(false);
    expect((await lane.state('c')).counts).toMatchObject({ unknown: 0, deliveredToTerminal: 3 });
  },
);

test('A match ends when the service still does not know its request after the reports have waited for long', async () => {
  const { lane, answered, isResolvable } = await matchedLane('over');
  await answered({ kind: 'missing' }, MATCHED_AT);
  expect(await answered({ kind: 'missing' }, START + 200_000)).toBe(false);
  expect(await lane.stored.followed()).toEqual([]);
  expect(await isResolvable()).toBe(true);
});

test.each<[string, PollOutcome]>([
  ['lists another recipient', infos(...NUMBERS, '+491510100009')],
  ['belongs to another key', { kind: 'stopped', reason: '403' }],
])('A match ends at once when its request %s', async (name, outcome) => {
  const { answered, isResolvable } = await matchedLane(name);
  expect(await answered(outcome, MATCHED_AT)).toBe(false);
  expect(await isResolvable()).toBe(true);
});
