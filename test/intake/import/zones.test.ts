import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { nextOpening } from '../../../src/campaign/estimate/window.js';
import { RECIPIENT_STATE } from '../../../src/campaign/states/recipient.js';
import { costsKey } from '../../../src/engine/recipients/campaign-keys.js';
import { deleteCampaign } from '../../../src/engine/recipients/delete-campaign.js';
import { sliceReader } from '../../../src/engine/recipients/slices.js';
import { readParts, zoneAt } from '../../../src/engine/recipients/zoned-slices.js';
import type { CampaignInput } from '../../../src/intake/import/campaign-input.js';
import { importCampaign, previewCampaign } from '../../../src/intake/import/import-campaign.js';
import { ListError } from '../../../src/intake/import/rows/rows.js';
import { SUPPRESSING } from '../../app/access/operator.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { importFixture, mobile } from './import-fixture.js';

const { redis, prefix } = testRedis('import-zones');
const { deps, keys, lane, stored } = importFixture(redis, prefix);
const WINDOW = { hours: 'Mon-Sun 09:00-20:00', zone: 'recipient' } as const;

const created = async (input: CampaignInput, by = deps): Promise<string> => {
  const outcome = await importCampaign(by, input);
  if (outcome.outcome !== 'created') throw new Error(JSON.stringify(outcome));
  return outcome.id;
};

/** A campaign without a window of its own, except that of each recipient. */
const campaign = (
  recipients: readonly Record<string, string>[],
  more: Partial<CampaignInput> = {},
): CampaignInput => ({
  message: 'Hi {{name}}',
  recipients: recipients as CampaignInput['recipients'],
  window: WINDOW,
  again: true,
  ...more,
});

test('Each recipient is stored in the part of its zone, whatever the order of the rows', async () => {
  const zones = ['Europe/Oslo', 'America/Denver', 'Asia/Kolkata'];
  const rows = Array.from({ length: 1_500 }, (_, at) => ({
    to: mobile(at),
    name: `n${at}`,
    zone: zones[((at * 7) % 11) % 3] ?? '',
  }));
  await deps.suppression.add([mobile(17)], SUPPRESSING);
  const id = await created(campaign(rows));
  const parts = await readParts(redis, keys, lane, id);
  const kept = rows.filter(({ to }) => to !== mobile(17));
  const read = await sliceReader(redis, keys, lane).recipients(id, 0, kept.length);
  expect(read.map(({ number, values }, at) => [number, values[0], zoneAt(parts, at)]).sort()).toEqual(
    kept.map(({ to, name, zone }) => [to, name, zone]).sort(),
  );
  // Whole slices first, then what is left of all zones.
  expect(parts?.map(([zone]) => zone)).toEqual([...zones, ...zones]);
  expect(parts?.slice(0, 3).every(([, first, end]) => first % 256 === 0 && end % 256 === 0)).toBe(true);
  const slices = await redis.hkeys(keys.lane(lane, `campaign:${id}:slices`));
  expect(slices.map(Number).sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5]);
  await deleteCampaign(redis, keys, { lane, campaign: id, ordinals: 1_499, idempotency: undefined });
  expect(await readParts(redis, keys, lane, id)).toBeNull();
});

test('What each message costs stays with its recipient', async () => {
  const priced = importFixture(redis, `${prefix}-priced`, { PRICE_PER_SEGMENT: '0.01 EUR' });
  const rows = Array.from({ length: 700 }, (_, at) => ({
    to: mobile(at),
    name: 'x'.repeat(at % 3 === 0 ? 200 : 1),
    zone: at % 2 === 0 ? 'Europe/Oslo' : 'Asia/Tokyo',
  }));
  const id = await created(campaign(rows), priced.deps);
  const read = await sliceReader(redis, priced.keys, lane).recipients(id, 0, rows.length);
  const costs = await redis.hgetBuffer(costsKey(priced.keys, lane, id), '0');
  // The first message costs more, and its cost is number 0.
  expect(read.map((_, at) => costs?.readUInt16LE(2 * at))).toEqual(
    read.map(({ values }) => (values[0] === 'x' ? 1 : 0)),
  );
});

test('The openings of each zone are known before the campaign is, and its state begins without one', async () => {
  const id = await created(
    campaign([
      { to: mobile(1), name: 'a', zone: 'europe/oslo' },
      { to: mobile(2), name: 'b', zone: 'Asia/Kolkata' },
      { to: mobile(3), name: 'c', zone: 'Asia/Calcutta' },
    ]),
  );
  expect(await stored.parts(id)).toEqual([
    ['Europe/Oslo', 0, 1],
    ['Asia/Kolkata', 1, 3],
  ]);
  const rules = await redis.hkeys(keys.lane(lane, 'windows'));
  expect(rules).toEqual(
    expect.arrayContaining(['Mon-Sun 09:00-20:00; Europe/Oslo', 'Mon-Sun 09:00-20:00; Asia/Kolkata']),
  );
  expect(rules.some((rule) => rule.endsWith('recipient'))).toBe(false);
});

test('A row without a zone, or with one that does not exist, is invalid, with its line and the reason', async () => {
  const rows = [
    { to: mobile(1), name: 'a', zone: 'Europe/Oslo' },
    { to: mobile(2), name: 'b', zone: '' },
    { to: mobile(3), name: 'c', zone: 'Europe/Olso' },
    { to: mobile(4), name: 'd', zone: '+02:00' },
    { to: mobile(5), name: 'e', zone: 'EST' },
  ];
  const { invalid, errors, refusal, zones } = await previewCampaign(deps, campaign(rows));
  expect({ invalid, refusal: refusal?.code }).toEqual({ invalid: 4, refusal: 'invalidRows' });
  expect(errors.map(({ line, code, column, message }) => [line, code, column, message])).toEqual([
    [2, 'noZone', 'zone', expect.stringContaining('is empty, so the hours of the recipient are not known')],
    [3, 'invalidZone', 'zone', expect.stringContaining('Did you mean Europe/Oslo?')],
    [4, 'invalidZone', 'zone', expect.stringMatching(/^It is not usable: there is no time zone "\+02:00"/)],
    [5, 'invalidZone', 'zone', expect.stringContaining('Use a name such as America/Los_Angeles')],
  ]);
  expect(zones).toMatchObject([{ zone: 'Europe/Oslo', recipientCount: 1, waiting: 1 }]);
  // Also if the first recipient has none, and without the member in any.
  const none = await previewCampaign(deps, campaign([{ to: mobile(1), name: 'a' }]));
  expect(none.errors).toMatchObject([{ line: 1, code: 'noZone' }]);
  const [, second] = (
    await previewCampaign(deps, campaign([{ to: mobile(1), name: 'a' }, ...rows.slice(0, 1)]))
  ).zones ?? [{}, {}];
  expect(second).toBeUndefined();
});

test('A zone of the country of the number counts only if the campaign says so, and is open when all of its zones are', async () => {
  const rows = [
    { to: '+12125550123', name: 'a', zone: '' },
    { to: '+12125550124', name: 'b', zone: 'America/Denver' },
    { to: '+79161234567', name: 'c', zone: '' },
    { to: mobile(1), name: 'd', zone: '' },
  ];
  const { zones, errors } = await previewCampaign(
    deps,
    campaign(rows, { zoneFrom: 'number', window: { hours: '09:00-19:00', zone: 'recipient' } }),
  );
  // Kaliningrad and Kamchatka are ten hours apart.
  expect(errors).toMatchObject([
    {
      line: 3,
      code: 'noZone',
      message: expect.stringContaining('no hour of the window is open in all zones of RU'),
    },
  ]);
  expect(zones?.map(({ zone, country }) => zone ?? country).sort()).toEqual(['America/Denver', 'GB', 'US']);
  const noon = Date.parse('2030-01-15T12:00Z');
  // From 9:00 in Adak and Honolulu until 19:00 in New York.
  const opening = nextOpening('Mon-Sun 09:00-19:00; country:US', noon);
  expect(opening).toEqual({ from: Date.parse('2030-01-15T19:00Z'), until: Date.parse('2030-01-16T00:00Z') });
});

test('A zone in which the windows of the campaign and the lane are never open together is invalid', async () => {
  const own = importFixture(redis, `${prefix}-lane`, {
    SEND_WINDOW: 'Mon-Sun 09:00-11:00',
    SEND_WINDOW_ZONE: 'Europe/Oslo',
  });
  const rows = [
    { to: mobile(1), name: 'a', zone: 'Europe/Oslo' },
    { to: mobile(2), name: 'b', zone: 'Asia/Tokyo' },
  ];
  const window = { hours: 'Mon-Sun 09:00-12:00', zone: 'recipient' } as const;
  const { errors } = await previewCampaign(own.deps, campaign(rows, { window }));
  expect(errors).toMatchObject([
    { line: 2, code: 'invalidZone', message: expect.stringContaining('are never open at the same time') },
  ]);
});

test('The column has a name of its own, or the list is refused if there is none', async () => {
  const csv = (text: string): CampaignInput['recipients'] => ({ csv: Readable.from([Buffer.from(text)]) });
  const named = await previewCampaign(deps, {
    message: 'Hi',
    recipients: csv(`phone;tz\n${mobile(1)};Europe/Oslo\n`),
    window: WINDOW,
    zoneColumn: 'tz',
  });
  expect(named.zones).toMatchObject([{ zone: 'Europe/Oslo' }]);
  const missing = previewCampaign(deps, {
    message: 'Hi',
    recipients: csv(`phone;tz\n${mobile(1)};Europe/Oslo\n`),
    window: WINDOW,
  });
  await expect(missing).rejects.toThrow(ListError);
  const useless = previewCampaign(
    deps,
    campaign([{ to: mobile(1), name: 'a' }], { window: undefined, zoneFrom: 'number' }),
  );
  await expect(useless).rejects.toThrow('`zoneFrom` needs hours of');
});

test('The results of a campaign carry the zones of their recipients to the next one', async () => {
  const id = await created(
    campaign(
      [
        { to: mobile(1), name: 'a', zone: 'Europe/Oslo' },
        { to: mobile(2), name: 'b', zone: 'Asia/Tokyo' },
        { to: '+12125550123', name: 'c', zone: '' },
      ],
      { zoneFrom: 'number' },
    ),
  );
  await stored.setLetters(id, RECIPIENT_STATE.deliveryImpossible.letter.repeat(3));
  await stored.setState(id, {
    ...(await stored.state(id)),
    state: 'completed',
    counts: { deliveryImpossible: 3 },
    endedAt: 1,
  });
  const toResultsOf = { campaign: id, status: ['failed'] };
  const preview = await previewCampaign(deps, { message: 'Hi', toResultsOf, window: WINDOW });
  // A country's zones, found by the number, are kept, too.
  const kept = preview.zones?.map(({ zone, country }) => zone ?? country).sort();
  expect([kept, preview.errors]).toEqual([['Asia/Tokyo', 'Europe/Oslo', 'US'], []]);
});

test('A repeated request with other zones is another campaign', async () => {
  const rows = (zone: string) => [{ to: mobile(1), name: 'a', zone }];
  const first = await created(campaign(rows('Europe/Oslo'), { idempotencyKey: 'k' }));
  const again = await importCampaign(deps, campaign(rows('Europe/Oslo'), { idempotencyKey: 'k' }));
  expect(again).toMatchObject({ outcome: 'existing', id: first });
  const other = await importCampaign(deps, campaign(rows('Asia/Tokyo'), { idempotencyKey: 'k' }));
  expect(other).toMatchObject({ outcome: 'refused', code: 'conflict' });
});
