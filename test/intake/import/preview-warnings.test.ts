import { expect, test } from 'vitest';
import type { CampaignInput } from '../../../src/intake/import/campaign-input.js';
import { importCampaign, previewCampaign } from '../../../src/intake/import/import-campaign.js';
import { SUPPRESSING } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { importFixture, mobile } from './import-fixture.js';

const { prefix, redis } = testRedis('preview-warnings');
const { deps } = importFixture(redis, prefix);

/** The same without DEFAULT_COUNTRY. */
const anywhere = importFixture(redis, `${prefix}-anywhere`, { DEFAULT_COUNTRY: '' }).deps;

const people = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ to: mobile(at), name: `N${at}` }));
const preview = (change: Partial<CampaignInput>, from = deps) =>
  previewCampaign(from, {
    recipients: people(100),
    message: 'Hi {{name}}',
    sender: '447700900123',
    ...change,
  });
const warningsOf = async (change: Partial<CampaignInput>, from = deps) =>
  (await preview(change, from)).warnings;

test('A message without anything odd has no warnings and is not refused', async () => {
  expect(await preview({})).toMatchObject({ warnings: [], refusal: null });
});

test('A validity that cannot hold is warned about, with how many messages lapse', async () => {
  const slow = importFixture(redis, `${prefix}-slow`, { HOURLY_QUOTA: '30' }).deps;
  expect((await warningsOf({ validFor: '10m' }, slow)).join()).toMatch(
    /^At least \d+% of the messages \(\d+ of 100\) will lapse: the lane can send at most \d+ within 10m after the start\./,
  );
  // Later starts make no difference, and more time does.
  const at = Date.now() + 86_400_000;
  expect((await warningsOf({ validFor: '10m', sendAt: at }, slow)).join()).toMatch(/will lapse/);
  expect(await warningsOf({ validFor: '10h', sendAt: at }, slow)).toEqual([]);
});

test('The requests of a preview leave out messages that will lapse, also their polls', async () => {
  const slow = importFixture(redis, `${prefix}-slow-polls`, { HOURLY_QUOTA: '30' }).deps;
  const { requests } = await preview({}, slow);
  expect(requests.send).toBe(100);
  const lapsing = await preview({ validFor: '10m' }, slow);
  // The estimate is right to one request.
  expect(lapsing.requests.send).toBeLessThanOrEqual(31);
  expect(lapsing.requests.poll / lapsing.requests.send).toBeCloseTo(requests.poll / requests.send, 0);
});

test('A validity that nothing ensures is warned about, with the reason', async () => {
  const learning = importFixture(redis, `${prefix}-learning`, { HOURLY_QUOTA: 'auto' }).deps;
  expect(await warningsOf({ validFor: '1d' }, learning)).toEqual([]);
  expect(await warningsOf({ validFor: '10m' }, learning)).toEqual([
    'Messages may lapse: nothing ensures that the lane sends all of them within 10m after the start (the limit of the service is not known yet).',
  ]);
});

test.each([
  [
    'Hi {name}',
    '{name} is sent as it is, because a placeholder has two braces. If you mean the column, write {{name}}.',
  ],
  [
    'Hi {Nmae }',
    '{Nmae } is sent as it is, because a placeholder has two braces. If you mean the column, write {{name}}.',
  ],
  [
    'Hi [name]',
    '[name] is sent as it is, because a placeholder has two braces. If you mean the column, write {{name}}.',
  ],
])('The message %j gets a warning about its placeholder', async (message, warning) => {
  expect(await warningsOf({ message })).toEqual([warning]);
});

test('Braces and brackets that name no column are text', async () => {
  expect(await warningsOf({ message: 'Hi {{name}} {} [today] 10 % or 20 % <3' })).toEqual([]);
});

test('Messages with more than six segments are counted in a warning', async () => {
  const recipients = [{ to: mobile(1) }, { to: mobile(2) }];
  expect(await warningsOf({ recipients, message: 'x'.repeat(6 * 153) })).toEqual([]);
  expect(await warningsOf({ recipients, message: 'x'.repeat(6 * 153 + 1) })).toEqual([
    '2 messages have more than 6 segments (up to 7). Every segment is billed, and some networks do not deliver messages that long.',
  ]);
});

test.each([
  ['07700900123', 'GB', '+447700900123'],
  ['tel:02079460000', 'GB', '+442079460000'],
  ['20123456', 'DK', '+4520123456'],
  ['2025550123', 'US', '+12025550123'],
  ['00447700900123', undefined, '+447700900123'],
  ['07700900123', undefined, 'a plus and the calling code first'],
])(
  'The sender %s is in national format (country %s), so the warning says %s',
  async (sender, country, right) => {
    const [warning] = await warningsOf({ sender, country }, anywhere);
    expect(warning).toContain(`The sender ${sender} is a number in national format`);
    expect(warning).toContain(`Write it internationally: ${right}`);
  },
);

test.each([['447700900123'], ['+447700900123'], ['4520123456'], ['12345'], ['123456']])(
  'The sender %s needs no warning',
  async (sender) => {
    expect(await warningsOf({ sender, country: 'GB' })).toEqual([]);
  },
);

test('Only messages that need UCS-2 are counted as such, and suppressed recipients are in no count', async () => {
  await deps.suppression.add([mobile(1), mobile(2)], SUPPRESSING);
  const recipients = people(6).map((person, at) => (at < 3 ? { ...person, name: 'Zoë ’' } : person));
  expect(await preview({ recipients })).toMatchObject({
    rows: 6,
    recipientCount: 4,
    suppressed: 2,
    encodings: { gsm7: 3, ucs2: 1 },
    ucs2Characters: ['U+00EB ë', 'U+2019 ’'],
    segments: { total: 4 },
  });
  await deps.suppression.remove([mobile(1), mobile(2)], SUPPRESSING);
});

test('Numbers without a country are one group, with the country that the other numbers suggest', async () => {
  const national = Array.from({ length: 30 }, (_, at) => ({ to: `07700 9002${10 + at}`, name: 'Bo' }));
  const recipients = [...people(3), ...national, { to: '', name: 'Cy' }, { to: '+45 1', name: 'Di' }];
  const seen = await preview({ recipients }, anywhere);
  expect(seen.invalidGroups).toMatchObject([
    { code: 'noCountry', column: 'to', count: 30, lines: [4, 5, 6], country: 'GB' },
    { code: 'noNumber', column: 'to', count: 1, lines: [34], country: null },
    { code: 'invalidNumber', column: 'to', count: 1, lines: [35], country: null },
  ]);
  // The other rows are not crowded out.
  expect(seen.errors.map(({ line }) => line)).toEqual([4, 5, 6, 34, 35]);
  expect(seen.refusal).toEqual({ code: 'invalidRows', campaign: null });
  const bySender = await preview({ recipients: national, sender: '+447700900123' }, anywhere);
  expect(bySender.invalidGroups).toMatchObject([{ country: 'GB' }]);
  const unknown = await preview({ recipients: national, sender: 'ACME' }, anywhere);
  expect(unknown.invalidGroups).toMatchObject([{ country: null }]);
});

test('A preview says why the campaign would be refused, and stores nothing that would change that', async () => {
  const input = { recipients: people(2), message: 'Once, {{name}}', sender: '447700900123' };
  expect(await previewCampaign(deps, input)).toMatchObject({ refusal: null });
  const first = await importCampaign(deps, input);
  if (first.outcome !== 'created') throw new Error(`it was ${first.outcome}`);
  expect(await previewCampaign(deps, input)).toMatchObject({
    refusal: { code: 'repeated', campaign: first.id },
  });
  expect(await previewCampaign(deps, { ...input, again: true })).toMatchObject({ refusal: null });
  const [one, two] = [
    { to: mobile(1), name: 'A' },
    { to: mobile(1), name: 'B' },
  ];
  expect(await preview({ recipients: [one, two], duplicates: 'refuse' })).toMatchObject({
    refusal: { code: 'differentTexts' },
  });
  const withInvalid = [...people(1), { to: '12', name: 'Cy' }];
  expect(await preview({ recipients: withInvalid })).toMatchObject({
    refusal: { code: 'invalidRows' },
  });
  expect(await preview({ recipients: withInvalid, skipInvalid: true })).toMatchObject({ refusal: null });
});
