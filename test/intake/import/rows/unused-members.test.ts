import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { CampaignInput } from '../../../../src/intake/import/campaign-input.js';
import { importCampaign, previewCampaign } from '../../../../src/intake/import/import-campaign.js';
import { keysOf, testRedis } from '../../../base/redis/test-redis.js';
import { importFixture, mobile } from '../import-fixture.js';

const { prefix, redis } = testRedis('unused-members');
const { deps } = importFixture(redis, prefix);
const input = (change: Partial<CampaignInput>): CampaignInput => ({
  message: 'Sale',
  recipients: [],
  ...change,
});

const NO_TIME = 'is not read: write `sendAt`, for every recipient';
test.each([
  ['send_at', '2999-01-01T00:00:00Z', NO_TIME],
  ['version', 2, 'has no meaning for a recipient'],
  ['Reference', 'order-17', 'is no reference; write `reference`'],
  ['REFERENCE', 17, 'is no reference; write `reference`'],
  ['validFor', '1h', 'is a setting of the whole campaign'],
  ['sender', 'ACME', 'is a setting of the whole campaign'],
])(
  'A member of a recipient that would mean something elsewhere is refused, and nothing is stored: %s',
  async (member, value, reason) => {
    const [first, second] = [{ to: mobile(962) }, { to: mobile(963), [member]: value }];
    for (const [recipients, line] of [
      [[{ ...first, [member]: value }], 0],
      [[first, second], 1],
      [[{ ...first, [member]: null }, second], 1],
    ] as const) {
      await expect(importCampaign(deps, input({ recipients }))).rejects.toMatchObject({
        field: `recipients/${line}/${member}`,
        message: expect.stringContaining(`recipient ${line + 1}: \`${member}\` ${reason}`),
      });
      // Keys of lanes have a hash tag.
      expect((await keysOf(redis, prefix)).filter((key) => key.includes('{'))).toEqual([]);
    }
    const [only] = [{ to: mobile(962), [member]: null }];
    expect((await previewCampaign(deps, input({ recipients: [only] }))).warnings).toEqual([]);
    const used = input({ recipients: [{ to: mobile(962), [member]: value }], message: `Hi {{${member}}}` });
    expect(await previewCampaign(deps, used)).toMatchObject({ recipientCount: 1, warnings: [] });
  },
);

test('A value of recipients that nothing uses is a warning, with what may have been meant', async () => {
  const recipients = [
    { to: mobile(962), reference: 'a', town: 'Bath', refrence: '' },
    { to: mobile(963), reference: 'b', town: 'Ely', refrence: 'c', nmae: 'Ada', name: 'Bo' },
  ];
  const preview = (more: Partial<CampaignInput>) => previewCampaign(deps, input({ recipients, ...more }));
  expect((await preview({ message: 'Hi' })).warnings).toEqual([
    'The text does not use `town` of the recipients.',
    'The text does not use `refrence` of the recipients. Did you mean `reference`?',
    'The text does not use `nmae` of the recipients.',
    'The text does not use `name` of the recipients.',
  ]);
  const named = recipients.map((recipient) => ({ ...recipient, name: 'Bo' }));
  expect((await preview({ recipients: named, message: 'Hi {{name}} of {{Town}}' })).warnings).toEqual([
    'The text does not use `refrence` of the recipients. Did you mean `reference`?',
    'The text does not use `nmae` of the recipients. Did you mean `name`?',
  ]);
  expect((await preview({ message: 'Hi {{town}}', countryColumn: 'town' })).warnings).toHaveLength(3);
});

test('Of the columns of a CSV, only a time that is not used is a warning', async () => {
  const list = (change: Partial<CampaignInput>) => {
    const csv = Readable.from([Buffer.from(`phone,town,send_at\n${mobile(1)},Bath,2999-01-01\n`)]);
    return previewCampaign(deps, input({ recipients: { csv }, ...change }));
  };
  expect((await list({})).warnings).toEqual(['Column "send_at" is not used: name it in `timeColumn`.']);
  expect((await list({ message: 'At {{send_at}}' })).warnings).toEqual([]);
});
