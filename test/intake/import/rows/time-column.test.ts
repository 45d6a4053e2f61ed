import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readParts } from '../../../../src/engine/recipients/zoned-slices.js';
import type { CampaignInput } from '../../../../src/intake/import/campaign-input.js';
import { importCampaign, previewCampaign } from '../../../../src/intake/import/import-campaign.js';
import { ListError } from '../../../../src/intake/import/rows/rows.js';
import { testRedis } from '../../../base/redis/test-redis.js';
import { importFixture, mobile } from '../import-fixture.js';

const { redis, prefix } = testRedis('time-column');
const fixture = importFixture(redis, prefix, { MAX_SCHEDULE_AHEAD: '30d' });
const { keys, lane, stored } = fixture;
/** A Tuesday, at noon in London, 13:00 in Oslo, and 5:00 in Denver. */
const NOW = Date.parse('2030-01-15T12:00Z');
const deps = { ...fixture.deps, clock: () => NOW };
const at = (time: string): number => Date.parse(time);

type Rows = readonly Readonly<Record<string, string | null>>[];
const campaign = (rows: Rows, more: Partial<CampaignInput> = {}): CampaignInput => ({
  message: 'Hi',
  recipients: rows.map((row, place) => ({ to: mobile(place), ...row })),
  again: true,
  ...more,
});
const preview = (rows: Rows, more: Partial<CampaignInput> = {}) =>
  previewCampaign(deps, campaign(rows, more));
const csv = (...lines: readonly string[]): CampaignInput['recipients'] => ({
  csv: Readable.from([Buffer.from(lines.map((line) => `${line}\n`).join(''))]),
});
const imported = async (input: CampaignInput, by = deps): Promise<string> => {
  const outcome = await importCampaign(by, input);
  if (outcome.outcome !== 'created') throw new Error(JSON.stringify(outcome));
  return outcome.id;
};

test('A time has an offset, or is a local time of the zone of its row, or else of the campaign', async () => {
  const rows = [
    { sendAt: '2030-01-16T14:30+01:00', zone: 'North' },
    { sendAt: '2030-01-16 14:30', zone: 'America/Denver' },
    { sendAt: ' 2030-01-16T14:30:15 ', zone: '' },
    { sendAt: '2030-01-16T13:30Z', zone: '' },
  ];
  const id = await imported(campaign(rows, { zone: 'Europe/London' }));
  expect(await readParts(redis, keys, lane, id)).toEqual([
    ['', 0, 2, at('2030-01-16T13:30Z')],
    ['', 2, 3, at('2030-01-16T21:30Z')],
    ['', 3, 4, at('2030-01-16T14:30:15Z')],
  ]);
  expect(await stored.state(id)).toMatchObject({
    state: 'running',
    part: 0,
    opensAt: at('2030-01-16T13:30Z'),
  });
  const { zones, window } = await preview(rows, { zone: 'Europe/London' });
  expect([window, zones?.map((zone) => [zone.zone, zone.sendAt, zone.opensAtLocal, zone.waiting])]).toEqual([
    null,
    [
      ['Europe/London', '2030-01-16T13:30:00.000Z', 'Wed 13:30', 2],
      ['Europe/London', '2030-01-16T14:30:15.000Z', 'Wed 14:30', 1],
      ['Europe/London', '2030-01-16T21:30:00.000Z', 'Wed 21:30', 1],
    ],
  ]);
});

test('A row without a time that can be used is invalid, with its line, its column, and the reason', async () => {
  const reasons: readonly (readonly [sendAt: string | null, reason: string])[] = [
    ['2030-01-15T12:00Z', ''],
    [null, 'is empty, but each row needs its time'],
    ['', 'is empty, but each row needs its time'],
    ['tomorrow', 'is "tomorrow", which is not a time'],
    ['2030-01-16T14:30', 'without an offset, and the row has no zone'],
    ['2030-02-30T14:30Z', 'a time that does not exist'],
    ['2030-01-15T10:59:59Z', 'which is more than 1h ago'],
    ['2030-01-15T11:00Z', ''],
    ['2030-02-14T12:00Z', ''],
    [
      '2030-02-14T12:01Z',
      'is too far ahead: it must be before 2030-02-14T12:00:00+00:00 (MAX_SCHEDULE_AHEAD)',
    ],
  ];
  const { errors, invalid } = await preview(reasons.map(([sendAt]) => ({ sendAt })));
  const wrong = reasons.flatMap(([, reason], place) =>
    reason === '' ? [] : [[place + 1, 'sendAt', 'invalidValue', expect.stringContaining(reason)]],
  );
  expect(errors.map(({ line, column, code, message }) => [line, column, code, message])).toEqual(wrong);
  expect(invalid).toBe(wrong.length);
  // Local times that the zone skips, or has twice.
  const summer = { ...deps, clock: () => at('2030-03-20T12:00Z') };
  const rows = [
    { sendAt: '2030-03-31T02:30', zone: 'Europe/Oslo' },
    { sendAt: '2030-03-31T02:30', zone: 'Atlantis' },
  ];
  const skipped = await previewCampaign(summer, campaign(rows));
  expect(skipped.errors).toMatchObject([
    { line: 1, column: 'sendAt', message: expect.stringContaining('which Europe/Oslo skips') },
    {
      line: 2,
      column: 'zone',
      code: 'invalidZone',
      message: expect.stringContaining('there is no time zone'),
    },
  ]);
});

test('The start of the campaign, its validity, and the windows decide with the time', async () => {
  const later = { sendAt: '2030-01-16T09:00Z', validFor: '24h' };
  const started = await preview(
    [{ sendAt: '2030-01-15T20:00Z' }, { sendAt: '2030-01-17T08:59Z' }, { sendAt: '2030-01-17T09:00Z' }],
    later,
  );
  expect(started.errors).toMatchObject([
    {
      line: 3,
      message: expect.stringContaining('would be sent at 2030-01-17T09:00:00+00:00, when the campaign'),
    },
  ]);
  // The first starts with the campaign.
  expect(started.zones?.map(({ opensAt }) => opensAt)).toEqual([null, '2030-01-17T08:59:00.000Z']);
  const hours = 'Mon-Fri 09:00-17:00';
  const friday = [{ sendAt: '2030-01-18T18:00Z' }];
  const closed = { window: { hours, except: ['2030-01-21'] }, zone: 'Europe/London' };
  const { zones } = await preview(friday, closed);
  expect(zones).toMatchObject([{ opensAt: '2030-01-22T09:00:00.000Z', opensAtLocal: '2030-01-22 09:00' }]);
  const lapsed = await preview(friday, { ...closed, validFor: '5d' });
  expect(lapsed.errors).toMatchObject([{ message: expect.stringContaining('when the campaign has lapsed') }]);
});

test("With a window in each recipient's zone, both count, and a country's zone reads no local time", async () => {
  const window = { hours: 'Mon-Sun 09:00-20:00', zone: 'recipient' } as const;
  const rows = [
    { sendAt: '2030-01-16T08:00', zone: 'America/Denver' },
    { sendAt: '2030-01-16T14:30', zone: 'Europe/Oslo' },
    { sendAt: '2030-01-16T14:30', zone: '' },
    { sendAt: '2030-01-16T14:30Z', zone: '' },
  ];
  const { zones, errors } = await preview(rows, { window, zoneFrom: 'number' });
  expect(zones?.map(({ zone, country, opensAt }) => [zone ?? country, opensAt])).toEqual([
    ['Europe/Oslo', '2030-01-16T13:30:00.000Z'],
    ['GB', '2030-01-16T14:30:00.000Z'],
    ['America/Denver', '2030-01-16T16:00:00.000Z'],
  ]);
  expect(errors).toMatchObject([{ line: 3, message: expect.stringContaining('the row has no zone') }]);
});

test('Another column may have the times, and another one the zones', async () => {
  const named = { timeColumn: 'when', zoneColumn: 'tz' };
  const rows = [{ when: '2030-01-16T14:30', tz: 'Europe/Oslo' }];
  expect((await preview(rows, named)).zones).toMatchObject([{ sendAt: '2030-01-16T13:30:00.000Z' }]);
  const list = { message: 'Hi', ...named };
  const file = csv('phone,when,tz', `${mobile(1)},2030-01-16 14:30,Europe/Oslo`);
  expect((await previewCampaign(deps, { ...list, recipients: file })).zones).toHaveLength(1);
  const other = csv('phone,time', `${mobile(1)},2030-01-16 14:30`);
  await expect(previewCampaign(deps, { ...list, recipients: other })).rejects.toThrow(ListError);
  await expect(preview(rows, { zoneColumn: 'tz' })).rejects.toThrow(
    "`zoneColumn` needs hours of the recipients'",
  );
  const twice = csv('phone,sendAt,sendAt', `${mobile(1)},2030-01-16T14:30Z,`);
  await expect(previewCampaign(deps, { message: 'Hi', recipients: twice })).rejects.toThrow(ListError);
  // In a file, upper and lower case do not differ.
  const upper = csv('phone,SENDAT', `${mobile(1)},2030-01-16T14:30Z`);
  expect(await previewCampaign(deps, { message: 'Hi', recipients: upper })).toMatchObject({
    zones: [{ sendAt: '2030-01-16T14:30:00.000Z' }],
    warnings: [],
  });
});

test('A member that the first recipient lacks, or that is spelled otherwise, is not left unread', async () => {
  const zoned = [{ sendAt: '2030-01-16T14:30' }, { sendAt: '2030-01-16T14:30', zone: 'Asia/Tokyo' }];
  const refused = preview(zoned, { zone: 'Europe/London' });
  await expect(refused).rejects.toThrow(
    'recipient 2: `zone` is not read, because the first recipient has none',
  );
  await expect(preview([{ SendAt: '2030-01-16T14:30Z' }])).rejects.toThrow(
    'write `sendAt`, for every recipient',
  );
  await expect(preview([{}, { sendAt: '2030-01-16T14:30Z' }])).rejects.toThrow(
    'recipient 2: `sendAt` is not read',
  );
});

test('A list has at most 1,000 different times, and what it keeps in memory counts', async () => {
  const rows = (times: number) =>
    Array.from({ length: 3_000 }, (_, place) => ({
      sendAt: new Date(NOW + (place % times) * 60_000).toISOString(),
    }));
  await expect(preview(rows(1_001))).rejects.toThrow('more than 1,000 different times');
  const memory = async (times: number) => {
    let most = 0;
    const onMemory = async (bytes: number): Promise<void> => {
      most = bytes;
    };
    return { id: await imported(campaign(rows(times), { onMemory })), most };
  };
  // Of the three batches, two are kept when the last one is read, beside what finds duplicates.
  const [{ id, most }, few] = [await memory(1_000), await memory(1)];
  expect(most - few.most).toBeGreaterThan(2_000 * 200 - 300 * 200);
  const parts = (await readParts(redis, keys, lane, id)) ?? [];
  expect(parts.map(([, first, end, time]) => [end - first, time])).toEqual(
    Array.from({ length: 1_000 }, (_, minute) => [3, NOW + minute * 60_000]),
  );
});

test('A repeated request with other times is another campaign, and one that comes after them gets the first', async () => {
  const rows = (sendAt: string) => [{ sendAt }];
  const first = await imported(campaign(rows('2030-01-15T13:00Z'), { idempotencyKey: 'k' }));
  const tomorrow = { ...deps, clock: () => NOW + 86_400_000 };
  const again = await importCampaign(tomorrow, campaign(rows('2030-01-15T13:00Z'), { idempotencyKey: 'k' }));
  expect(again).toMatchObject({ outcome: 'existing', id: first });
  const other = await importCampaign(deps, campaign(rows('2030-01-15T13:01Z'), { idempotencyKey: 'k' }));
  expect(other).toMatchObject({ outcome: 'refused', code: 'conflict' });
});
