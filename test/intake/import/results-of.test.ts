import { expect, test } from 'vitest';
import {
  RECIPIENT_STATE,
  type RecipientState,
  SETTLED_STATES,
} from '../../../src/campaign/states/recipient.js';
import { removeCampaign } from '../../../src/engine/recovery/retention.js';
import type { CampaignInput } from '../../../src/intake/import/campaign-input.js';
import { importCampaign, previewCampaign } from '../../../src/intake/import/import-campaign.js';
import { reportRows } from '../../../src/reporting/report.js';
import { SUPPRESSING } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { importFixture, mobile } from './import-fixture.js';

const { redis, prefix } = testRedis('results-of');
const { deps, keys, stored } = importFixture(redis, prefix);

const STATES = [...SETTLED_STATES, 'deliveredToNetwork'] as const;
const letterOf = (state: RecipientState): string => RECIPIENT_STATE[state].letter ?? '';

/** A campaign that is over, with a recipient in each settled state; the values and references name the states. */
async function ended(state = 'completed', more: Partial<CampaignInput> = {}): Promise<string> {
  const rows = STATES.map((name, at) => ({
    to: mobile(at),
    name,
    unused: 'x',
    reference: `ref-${name}`,
  }));
  const recipients = [...rows, ...(more.duplicates === 'keep' ? [{ to: mobile(0), name: 'other' }] : [])];
  const outcome = await importCampaign(deps, { message: 'Hi {{name}}', recipients, again: true, ...more });
  if (outcome.outcome !== 'created') throw new Error(outcome.outcome);
  const total = recipients.length;
  await setState(outcome.id, {
    state,
    total,
    ordinals: total,
    cursor: total,
    remainder: 'cancelled',
    counts: {},
  });
  await stored.setLetters(outcome.id, STATES.map(letterOf).join(''));
  return outcome.id;
}

const setState = (id: string, state: object) => stored.setState(id, { launchAt: 1, endedAt: 1, ...state });

const to = (
  campaign: string,
  status: readonly string[],
  more: Partial<CampaignInput> = {},
): CampaignInput => ({
  message: 'Sorry {{name}}',
  toResultsOf: { campaign, status },
  ...more,
});

async function send(input: CampaignInput) {
  const outcome = await importCampaign(deps, input);
  if (outcome.outcome === 'refused') throw new Error(outcome.code);
  const rows: string[] = [];
  for await (const { to, values, reference } of reportRows(redis, keys, outcome.id, { values: true }))
    rows.push([to, ...Object.values(values ?? {}), reference].join(' '));
  return { ...outcome, rows };
}

test('A campaign goes to the recipients of another one with the chosen states, with their values and references', async () => {
  const source = await ended();
  const { rows } = await send(to(source, ['deliveryImpossible', 'unconfirmed']));
  expect(rows.map((row) => row.replace(/^\+\d+ /, ''))).toEqual([
    'deliveryImpossible ref-deliveryImpossible',
    'unconfirmed ref-unconfirmed',
  ]);
  const groups = await send(
    to(source, ['failed', 'DeliveredToTerminal'], { message: '{{to}} {{reference}}' }),
  );
  expect(groups.rows.map((row) => row.split(' ').slice(0, 3))).toEqual(
    ['deliveredToTerminal', 'deliveryImpossible', 'rejected', 'lapsed'].map((name) => {
      const at = STATES.indexOf(name as never);
      return [mobile(at), mobile(at), `ref-${name}`];
    }),
  );
});

test('A cancelled campaign is a source, and each of its final states can be chosen', async () => {
  const source = await ended('cancelled');
  for (const state of SETTLED_STATES) {
    const { rows, recipientCount } = await send(to(source, [state], { again: true }));
    expect([recipientCount, rows[0]]).toEqual([1, expect.stringContaining(`${state} ref-${state}`)]);
  }
});

test('A preview of results counts, prices, and stores nothing', async () => {
  const source = await ended();
  const before = await stored.campaigns();
  const preview = await previewCampaign(deps, to(source, ['failed']));
  expect(preview).toMatchObject({ rows: 3, recipientCount: 3, columns: ['to', 'name', 'reference'] });
  expect(await stored.campaigns()).toEqual(before);
});

test('A row of the results that is invalid points to the member that asked for them', async () => {
  const source = await ended();
  const lanes = deps.config.lanes.map((lane) => ({ ...lane, limits: { countries: ['FR'] } }));
  const preview = await previewCampaign(
    { ...deps, config: { ...deps.config, lanes } },
    to(source, ['rejected']),
  );
  expect(preview.errors).toMatchObject([{ pointer: '/toResultsOf', line: 1 }]);
});

test('A campaign that still runs is followed up for those who have the states now, with a warning about unknown outcomes', async () => {
  const source = await ended('running');
  const letters = await stored.letters(source);
  await stored.setLetters(source, `NU${letters.slice(2)}`);
  const preview = async (...status: string[]) => {
    const { rows, warnings } = await previewCampaign(deps, to(source, status));
    return [rows, warnings.filter((warning) => warning.includes('unknown outcome')).length];
  };
  expect(await preview('deliveredToNetwork')).toEqual([2, 0]);
  expect(await preview('unknown', 'unconfirmed')).toEqual([2, 1]);
  expect(await send(to(source, ['deliveredToNetwork', 'unconfirmed']))).toMatchObject({ recipientCount: 3 });
});

test('Suppressed numbers, and numbers that the source has twice, are treated as in any list', async () => {
  const source = await ended('completed', { duplicates: 'keep' });
  // The number of the first recipient once more, with another name.
  await stored.setLetters(source, `${await stored.letters(source)}T`);
  const { message } = to(source, []);
  const both = await send(to(source, ['deliveredToTerminal']));
  expect(both).toMatchObject({ recipientCount: 2, duplicates: 0, differentTexts: 1 });
  const same = await send(to(source, ['deliveredToTerminal'], { message: 'One text' }));
  expect(same).toMatchObject({ recipientCount: 1, duplicates: 1 });
  await deps.suppression.add([mobile(0)], SUPPRESSING);
  const suppressed = await send(to(source, ['deliveredToTerminal', 'rejected'], { message: `${message}!` }));
  expect(suppressed).toMatchObject({ recipientCount: 1, suppressed: 2 });
});

test('A campaign that is imported, a removed one, a state to which nothing follows, and a second list are refused by name', async () => {
  const source = await ended('importing');
  const refusal = (input: CampaignInput) =>
    importCampaign(deps, input).then(
      () => null,
      ({ field, message }: { field: string; message: string }) => `${field}: ${message}`,
    );
  expect(await refusal(to(source, ['failed']))).toBe(
    `toResultsOf: campaign ${source} is importing: you can send to its results when its list is stored`,
  );
  await setState(source, { state: 'completed', total: 1, ordinals: 1, cursor: 1, counts: {} });
  await removeCampaign(redis, keys, 'default', source);
  expect(await refusal(to(source, ['failed']))).toMatch(`toResultsOf: campaign ${source} does not exist`);
  expect(await refusal(to(source, ['planned']))).toMatch(
    'toResultsOf: "planned" is no state to follow up: use one',
  );
  expect(await refusal(to(source, ['duplicate']))).toMatch(
    'toResultsOf: "duplicate" is no state to follow up',
  );
  expect(await refusal(to(source, []))).toMatch('toResultsOf: toResultsOf has no status');
  expect(await refusal({ message: 'x', toResultsOf: { campaign: source } as never })).toMatch(
    'toResultsOf needs',
  );
  expect(await refusal(to(source, ['failed'], { recipients: [] }))).toMatch(
    'recipients: a follow-up keeps the numbers of the earlier campaign: leave out `recipients`',
  );
  expect(await refusal(to(source, ['failed'], { toColumn: 'x' }))).toMatch(
    'toColumn: a follow-up keeps the numbers of the earlier campaign: leave out `toColumn`',
  );
  expect(await refusal({ message: 'x' })).toMatch('recipients: the list is missing');
  const other = await ended();
  expect(await refusal(to(other, ['failed'], { message: 'Hi {{unused}}' }))).toMatch(
    /^message: .*unused.*[^.]\. A list of results has the columns that the text of campaign \w+ uses, and the references$/,
  );
  const none = await ended();
  await stored.removeLetters(none);
  expect(await refusal(to(none, ['rejected']))).toBe(
    `toResultsOf: no recipient of campaign ${none} has the state rejected`,
  );
});

test('A repeated idempotency key reads no second snapshot, and conflicts with other states or another source', async () => {
  const source = await ended();
  const request = to(source, ['failed', 'rejected'], { idempotencyKey: 'follow-up' });
  const first = await send(request);
  expect([first.outcome, first.recipientCount]).toEqual(['created', 3]);
  // All of them are delivered by now.
  await stored.setLetters(source, 'TTTTTTTTT');
  const repeated = await send(request);
  expect(repeated).toMatchObject({ outcome: 'existing', id: first.id, recipientCount: 3 });
  expect(repeated.preview.rows).toBe(3);
  const same = await send(to(source, ['lapsed', 'rejected', 'deliveryImpossible'], request));
  expect(same).toMatchObject({ outcome: 'existing', id: first.id });

  const other = await ended();
  for (const toResultsOf of [
    { campaign: source, status: ['failed', 'unconfirmed'] },
    { campaign: other, status: ['failed'] },
  ])
    expect(await importCampaign(deps, { ...request, toResultsOf })).toMatchObject({ code: 'conflict' });
  const list = { message: request.message, recipients: [{ to: mobile(1), name: 'A' }] };
  expect(await importCampaign(deps, { ...list, idempotencyKey: 'follow-up' })).toMatchObject({
    code: 'conflict',
  });

  await removeCampaign(redis, keys, 'default', source);
  expect(await importCampaign(deps, request)).toMatchObject({ outcome: 'existing', id: first.id });
});
