import { beforeEach, expect, test } from 'vitest';
import { serverTime } from '../../../src/base/redis/connection.js';
import type { ReportRow } from '../../../src/campaign/views/recipient-views.js';
import { everAccepted, locateRequests } from '../../../src/engine/recipients/request-index.js';
import { ordinalNumbers } from '../../../src/engine/recipients/slices.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import { fileRemains } from '../../../src/engine/recovery/rewrite-file.js';
import type { CampaignInput } from '../../../src/intake/import/campaign-input.js';
import { importCampaign } from '../../../src/intake/import/import-campaign.js';
import { findRecipients, reportRows } from '../../../src/reporting/report.js';
import { keysOf, testRedis } from '../../base/redis/test-redis.js';
import { laneFixture } from '../../engine/lane/lane-fixture.js';
import { importFixture, mobile } from './import-fixture.js';

const { prefix, redis } = testRedis('one-life');
let own = '';
let fixture: ReturnType<typeof importFixture>;
let lane: ReturnType<typeof laneFixture>;
let now = 0;
let call = 0;
let run = 0;
beforeEach(async () => {
  run += 1;
  call = 0;
  own = `${prefix}-${run}`;
  fixture = importFixture(redis, own);
  lane = laneFixture(redis, own, 'default', { notify: true, heard: 1, patience: 1, early: 1_000 });
  now = (await serverTime(redis)) + 1_000;
});

async function enqueue(
  recipients: CampaignInput['recipients'] = [{ to: mobile(1) }],
  message = 'Hello',
): Promise<string> {
  const made = await importCampaign(fixture.deps, { recipients, message });
  if (made.outcome !== 'created') throw new Error(made.outcome);
  return made.id;
}

async function claim() {
  call += 1;
  const { claims } = await lane.claims.send({ turn: 't', call, want: 1, seen: 0, now });
  return claims[0] ?? expect.unreachable();
}

async function settle(result: 'accepted' | 'refused' | 'unknown', reason = ''): Promise<void> {
  const of = await claim();
  const details = { accepted: { letters: 'N', requestId: 'r1' }, refused: {}, unknown: { letters: '-' } }[
    result
  ];
  await lane.settlements.send([{ claim: of, result, reason, ...details }], 0, now);
}

async function row(id: string): Promise<ReportRow> {
  const rows: ReportRow[] = [];
  for await (const found of reportRows(redis, lane.keys, id)) rows.push(found);
  expect(rows).toHaveLength(1);
  return rows[0] ?? expect.unreachable();
}

const ownKeys = async (id: string): Promise<string[]> =>
  (await keysOf(redis, own)).filter((key) => key.includes(id));

test('A campaign of one recipient is sent, found, and reported', async () => {
  const id = await enqueue();
  expect(await row(id)).toMatchObject({ to: mobile(1), status: 'planned', requestId: null });
  await settle('accepted');
  expect(await row(id)).toMatchObject({ status: 'deliveredToNetwork', requestId: 'r1' });
  const [located = null] = await locateRequests(redis, lane.keys, 'default', ['r1']);
  await lane.notifications.settle(
    [{ requestId: 'r1', located: located ?? expect.unreachable(), letters: 'T' }],
    [],
    now + 700,
  );
  const sentAt = new Date(now).toISOString();
  const updatedAt = new Date(now + 700).toISOString();
  expect(await row(id)).toMatchObject({ status: 'deliveredToTerminal', requestId: 'r1', sentAt, updatedAt });
  expect(await lane.state(id)).toMatchObject({ state: 'completed', counts: { deliveredToTerminal: 1 } });
  const found = findRecipients(fixture.deps, mobile(1));
  expect((await found.next()).value).toMatchObject({ campaign: id, status: 'deliveredToTerminal' });
  expect(await ordinalNumbers(redis, lane.keys)('default', { campaign: id, first: 0, count: 1 })).toEqual([
    Number(mobile(1)),
  ]);
});

test('A refused recipient is reported with the reason, which may contain any character', async () => {
  const id = await enqueue();
  await settle('refused', 'SVC0004: "no", such\\number {é} ’');
  expect(await row(id)).toMatchObject({ status: 'rejected', reason: 'SVC0004: "no"; such\\number {é} ’' });
});

test('An unknown outcome is reported, and resolved by sending again or by giving up', async () => {
  const id = await enqueue();
  const resolve = async (as: 'resend' | 'abandon') => {
    now += 120_000;
    const batches = await lane.commands.unknown();
    expect(await lane.commands.resolve(as, 'by the operator', batches, now)).toMatchObject({ recipients: 1 });
  };
  await settle('unknown', 'no answer');
  expect(await row(id)).toMatchObject({ status: 'unknown', reason: 'no answer' });
  await resolve('resend');
  expect(await row(id)).toMatchObject({ status: 'planned', reason: null, requestId: null });
  await settle('unknown', 'no answer again');
  await resolve('abandon');
  expect(await row(id)).toMatchObject({ status: 'abandoned', reason: 'by the operator' });
});

test('The id of a request counts as accepted while its campaign exists, and not after', async () => {
  // Without notifications, no filter has the id: only the record does.
  lane = laneFixture(redis, own, 'default');
  const id = await enqueue();
  await settle('accepted');
  const accepted = () => everAccepted(redis, lane.keys, 'default', ['r1', 'r2']);
  expect(await accepted()).toEqual(new Set(['r1']));
  now += lane.rules.deadline;
  const claims = await lane.poll(now);
  const [of = expect.unreachable()] = claims;
  await lane.settlePolls(of, 'missing', now, { requestId: 'r1' });
  expect(await row(id)).toMatchObject({ status: 'unconfirmed' });
  await removeCampaign(redis, lane.keys, 'default', id);
  expect(await accepted()).toEqual(new Set());
  expect(await ownKeys(id)).toEqual([]);
  expect((await fileRemains(redis, lane.keys)).removals).toBe(1);
});
