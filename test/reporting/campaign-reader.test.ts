import { expect, test } from 'vitest';
import { laneFixture } from '../engine/lane/lane-fixture.js';
import { scene } from '../scene/scene.js';

const { open, prefix, redis } = scene('campaign-reader', {
  settings: {
    API_KEY: 'key',
    HOURLY_QUOTA: '100',
    SENDER_ADDRESS: 'ACME',
    MESSAGING_BASE_URL: 'http://127.0.0.1:9',
  },
});

test('Campaigns are listed by one tag or several, and an outbox has tags as well', async () => {
  const volley = open({ REDIS_PREFIX: `${prefix}-tags` });
  const created = async (tags?: readonly string[]): Promise<string> => {
    const recipients = [{ to: '+447700900123' }];
    const outcome = await volley.enqueue({ message: 'Hi', again: true, recipients, tags });
    return 'id' in outcome ? outcome.id : '';
  };
  const idsWith = async (tag: string | readonly string[]): Promise<string[]> =>
    (await volley.list({ tag })).map(({ id }) => id);
  const both = await created(['spring', 'vip']);
  const one = await created(['vip']);
  const none = await created();
  expect(await idsWith('vip')).toEqual([one, both]);
  expect(await idsWith(['vip', 'spring'])).toEqual([both]);
  expect(await idsWith([])).toEqual([none, one, both]);
  expect((await volley.page({ tag: 'vip', limit: 1 })).campaigns.map(({ id }) => id)).toEqual([one]);
  const outbox = { name: 'codes', message: 'Your code is {{code}}', tags: ['codes', 'app'] };
  expect((await volley.outboxes.create(outbox)).tags).toEqual(['app', 'codes']);
  const again = await volley.outboxes.create({ ...outbox, tags: ['app', 'codes'] });
  expect(again.outcome).toBe('existing');
  await expect(volley.outboxes.create({ ...outbox, tags: ['other'] })).rejects.toThrow('a different `tags`');
});

test('Times of filters are ms or texts with an offset, as those of campaigns are', async () => {
  const volley = open({ REDIS_PREFIX: `${prefix}-times` });
  const outcome = await volley.enqueue({ message: 'Hi', recipients: [{ to: '+447700900123' }] });
  const { createdAt } = await volley.status('id' in outcome ? outcome.id : '');
  const next = new Date(Date.parse(createdAt) + 1).toISOString();
  expect(await volley.list({ createdFrom: createdAt, createdBefore: next })).toHaveLength(1);
  expect(await volley.list({ createdBefore: createdAt })).toHaveLength(0);
  expect(await volley.list({ createdFrom: Date.parse(next) })).toHaveLength(0);
  await expect(volley.list({ createdFrom: 'today' })).rejects.toMatchObject({ field: 'createdFrom' });
  await expect(volley.page({ cursor: 'x' })).rejects.toMatchObject({ field: 'cursor' });
  await volley.outboxes.create({ name: 'codes', message: 'Your code is {{code}}' });
  const outbox = volley.outbox('codes');
  await outbox.put({ id: 'm1', to: '+447700900123', code: '17', sendAt: '2028-05-01T10:00Z' });
  const ids = async (from: string, until: string): Promise<string[]> =>
    (await outbox.waiting({ from, until })).messages.map(({ id }) => id);
  expect(await ids('2028-05-01T11:00+01:00', '2028-05-01T10:01Z')).toEqual(['m1']);
  expect(await ids('2028-05-01T09:00Z', '2028-05-01T11:00+01:00')).toEqual([]);
  await expect(outbox.waiting({ until: '2028-05-01' })).rejects.toMatchObject({ field: 'until' });
});

test('An outbox is not listed as a campaign, also when an operator must resolve one of its outcomes', async () => {
  const volley = open();
  await volley.outboxes.create({ name: 'codes', message: 'Your code is {{code}}' });
  await volley.outbox('codes').put({ id: 'm1', to: '+447700900123', code: '17' });
  const lane = laneFixture(redis, prefix, 'default');
  const { claims } = await lane.claims.send({ turn: 't', call: 1, want: 1, seen: 0 });
  const [claim] = claims;
  if (claim === undefined) throw new Error('the message was not claimed');
  expect(await volley.list()).toEqual([]);
  const unknown = { claim, result: 'unknown', letters: 'U', reason: 'no response' } as const;
  await lane.settlements.send([unknown], 0);
  expect(await volley.outbox('codes').message('m1')).toMatchObject({ state: 'unknown' });
  expect(await volley.list()).toEqual([]);
});
