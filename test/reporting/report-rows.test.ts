import { expect, test } from 'vitest';
import type { SendSettlement } from '../../src/engine/sending/send-claim.js';
import { importCampaign } from '../../src/intake/import/import-campaign.js';
import { recipientPage } from '../../src/reporting/report.js';
import { testRedis } from '../base/redis/test-redis.js';
import { laneFixture, RULES, START } from '../engine/lane/lane-fixture.js';
import { importFixture, mobile } from '../intake/import/import-fixture.js';

const { prefix, redis } = testRedis('report-rows');
/** After the deadline of the follow-up. */
const LATE = START + RULES.deadline + 3_600_000;
let fixtures = 0;

/** A campaign of which the only request has ended in this way. */
async function settled(settlement: Omit<SendSettlement, 'claim'> & { readonly letters: string }) {
  fixtures += 1;
  const own = `${prefix}-${fixtures}`;
  const { keys, deps } = importFixture(redis, own);
  const rules = {
    notify: true as const,
    early: 120_000,
    heard: 600_000,
    patience: 150_000,
    maxRecipients: 100,
  };
  const lane = laneFixture(redis, own, 'default', rules);
  const recipients = Array.from(settlement.letters, (_, at) => ({ to: mobile(at) }));
  const outcome = await importCampaign(deps, { recipients, message: 'Hi' });
  if (outcome.outcome !== 'created') throw new Error(`the import ended with ${outcome.outcome}`);
  const { id } = outcome;
  const claim = await lane.claimOne();
  await lane.settlements.send([{ ...settlement, claim }], 0, START);
  const located = { campaign: id, first: claim.first, count: claim.count };
  return {
    notify: (letters: string) => lane.notifications.settle([{ requestId: 'r1', located, letters }], [], LATE),
    /** Settles a poll after the deadline. */
    async pollLate(result: 'infos' | 'missing', letters: string, reason = ''): Promise<void> {
      const claims = await lane.poll(LATE);
      await lane.settlePolls(claims, result, LATE, { letters, reason, requestId: 'r1' });
    },
    rows: async () => (await recipientPage(redis, keys, id, {})).recipients,
    async reasons() {
      return (await this.rows()).map(({ status, reason }) => `${status}: ${reason}`);
    },
  };
}

const ACCEPTED = { result: 'accepted', requestId: 'r1' } as const;
const SILENT = 'no final report by the deadline';

test('That no report came by the deadline explains only recipients without one, also when it comes later', async () => {
  const campaign = await settled({ ...ACCEPTED, letters: 'NNN' });
  await campaign.pollLate('infos', 'TNN');
  const unconfirmed = `unconfirmed: ${SILENT}`;
  expect(await campaign.reasons()).toEqual(['deliveredToTerminal: null', unconfirmed, unconfirmed]);
  await campaign.notify('-T-');
  await campaign.notify('--I');
  const final = ['deliveredToTerminal: null', 'deliveredToTerminal: null', 'deliveryImpossible: null'];
  expect(await campaign.reasons()).toEqual(final);
});

test('That the service does not know a request explains only recipients whose status it has not reported', async () => {
  const campaign = await settled({ ...ACCEPTED, letters: 'NN' });
  await campaign.pollLate('missing', '--', 'SVC0002');
  const unconfirmed = 'unconfirmed: not known to the service: SVC0002';
  expect(await campaign.reasons()).toEqual([unconfirmed, unconfirmed]);
  await campaign.notify('T-');
  expect(await campaign.reasons()).toEqual(['deliveredToTerminal: null', unconfirmed]);
});

test('What was unusual about a request stays in the report if all statuses come after the deadline', async () => {
  const reason = 'the service answered with another clientCorrelator: c';
  const campaign = await settled({ ...ACCEPTED, letters: 'NN', reason });
  await campaign.pollLate('infos', 'TI');
  expect(await campaign.reasons()).toEqual([
    `deliveredToTerminal: ${reason}`,
    `deliveryImpossible: ${reason}`,
  ]);
});

test.each([
  ['was accepted', { ...ACCEPTED, letters: 'NSN', reason: 'a note' }],
  ['has an unknown outcome', { result: 'unknown', letters: '-S-', reason: 'no response' } as const],
])('A suppressed recipient, who was left out, is not part of a request that %s', async (_, settlement) => {
  const campaign = await settled(settlement);
  const [, suppressed, other] = await campaign.rows();
  expect(other).toMatchObject({ reason: settlement.reason, revision: 0, sentAt: expect.any(String) });
  expect(suppressed).toMatchObject({
    status: 'suppressed',
    reason: 'suppressed before it was sent',
    requestId: null,
    sentAt: null,
    revision: null,
    updatedAt: other?.updatedAt,
  });
});
