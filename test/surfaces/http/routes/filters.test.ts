import { expect, test, vi } from 'vitest';
import { SOON } from '../../../base/soon.js';
import { scene } from '../../../scene/scene.js';

const { api, open } = scene('http-filters', { lanes: ['main', 'other'] });
const { call, key, origin, volley } = await api();

const create = async (lane: string, name: string, idempotencyKey?: string, own?: string): Promise<string> => {
  const { json } = await call('POST', '/v1/campaigns', {
    key: own,
    headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
    body: {
      recipients: [{ to: '+447700900123' }],
      message: `Hi from ${name}`,
      lane,
      name,
      sendAt: '2999-01-01T00:00:00Z',
    },
  });
  return (json as { id: string }).id;
};
const found = async (query: string, own?: string): Promise<string[]> => {
  const { json } = await call('GET', `/v1/campaigns?${query}`, { key: own });
  return (json as { campaigns: { id: string }[] }).campaigns.map(({ id }) => id);
};
const limited = await key(['read', 'send'], ['other']);
const spring = await create('main', 'Spring sale', 'order-1');
const createdAt = (await volley.status(spring)).createdAt;
/** A moment after the first campaign was created, and before the others are. */
const between = new Date(Date.parse(createdAt) + 1).toISOString();
await vi.waitUntil(() => Date.now() > Date.parse(between), { ...SOON, interval: 1 });
const summer = await create('other', 'Summer sale', 'order-1', limited);
const receipt = await create('other', 'Receipt');

test('Campaigns can be listed by lane, name, date, and state', async () => {
  expect(await found('lane=main')).toEqual([spring]);
  expect(await found('name=SALE')).toEqual([summer, spring]);
  expect(await found('lane=other&name=sale')).toEqual([summer]);
  expect(await found(`createdBefore=${between}`)).toEqual([spring]);
  expect(await found(`createdFrom=${between}`)).toEqual([receipt, summer]);
  const zoned = between.replace('Z', '+00:00');
  expect(await found(`createdFrom=${zoned}&state=scheduled`)).toEqual([receipt, summer]);
  expect(await found('state=cancelled')).toEqual([]);
  const first = await call('GET', '/v1/campaigns?name=sale&limit=1');
  const { nextCursor } = first.json as { nextCursor: string };
  expect(await found(`name=sale&limit=1&cursor=${nextCursor}`)).toEqual([spring]);
});

test('Campaigns can be listed by their tags, in pages, and their status and results have them', async () => {
  const tagged = async (...tags: readonly string[]): Promise<string> => {
    const recipients = [{ to: '+447700900123' }];
    const body = {
      recipients,
      message: 'Hi',
      lane: 'main',
      sendAt: '2999-01-01T00:00:00Z',
      again: true,
      tags,
    };
    return ((await call('POST', '/v1/campaigns', { body })).json as { id: string }).id;
  };
  const both = await tagged('vip', 'shop:17', 'vip');
  const one = await tagged('vip');
  await tagged();
  expect(await found('tag=vip')).toEqual([one, both]);
  expect(await found('tag=vip&tag=shop:17')).toEqual([both]);
  expect(await found('tag=VIP')).toEqual([]);
  expect(await found('tag=vip&lane=other')).toEqual([]);
  expect(await found('tag=vip&state=scheduled&limit=1')).toEqual([one]);
  const { nextCursor } = (await call('GET', '/v1/campaigns?tag=vip&limit=1')).json as { nextCursor: string };
  expect(await found(`tag=vip&limit=1&cursor=${nextCursor}`)).toEqual([both]);
  const { json: status } = await call('GET', `/v1/campaigns/${both}`);
  expect(status).toMatchObject({ tags: ['shop:17', 'vip'] });
  expect((await call('POST', `/v1/campaigns/${both}/cancel`)).status).toBe(200);
  const { json: results } = await call('GET', '/v1/results');
  expect(results).toMatchObject({ campaigns: { [both]: { tags: ['shop:17', 'vip'] } } });
  expect((await call('GET', `/v1/campaigns/${spring}`)).json).toMatchObject({ tags: [] });
});

test('A key without the scope read sees tags as it sees names: whole, but for secrets', async () => {
  const body = {
    recipients: [{ to: '+447700900123' }],
    message: 'Hi',
    again: true,
    sendAt: '2999-01-01T00:00:00Z',
  };
  const secret = 'vk_0123abcd_abcdefghijkl';
  const tags = ['447700900123', 'shop:17', secret];
  const { json } = await call('POST', '/v1/campaigns', {
    body: { ...body, lane: 'main', name: secret, tags },
  });
  const statusOnly = await key(['status']);
  const { json: seen } = await call('GET', `/v1/campaigns/${(json as { id: string }).id}`, {
    key: statusOnly,
  });
  expect(seen).toMatchObject({ name: '[key]', tags: ['447700900123', 'shop:17', '[key]'] });
  expect(await found('tag=shop:17&name=vk_')).toHaveLength(1);
  // It could find out what is masked, one character after another.
  for (const filter of ['name', 'idempotencyKey'])
    expect(await call('GET', `/v1/campaigns?${filter}=vk_0123`, { key: statusOnly })).toMatchObject({
      status: 403,
      json: {
        code: 'forbidden',
        detail: expect.stringContaining(
          `The filter \`${filter}\` finds numbers, which requires the scope read`,
        ),
      },
    });
});

test('Campaigns can be found by their idempotency key, each only by keys that may see it', async () => {
  expect(await found('idempotencyKey=order-1')).toEqual([summer, spring]);
  expect(await found('idempotencyKey=order-1', limited)).toEqual([summer]);
  expect(await found('idempotencyKey=order-2')).toEqual([]);
  expect(await found('idempotencyKey=order-1&name=spring')).toEqual([spring]);
  expect((await call('GET', `/v1/campaigns/${spring}`)).json).toMatchObject({ idempotencyKey: 'order-1' });
  expect((await call('GET', '/v1/campaigns?lane=main', { key: limited })).status).toBe(404);
});

/** The events of a stream until one of the last type. */
async function eventsUntil(path: string, last: string): Promise<string[]> {
  const over = new AbortController();
  const reply = await fetch(`${origin}${path}`, {
    headers: { authorization: `Bearer ${await key()}`, 'last-event-id': '0-0' },
    signal: over.signal,
  });
  let text = '';
  for await (const piece of reply.body ?? []) {
    text += new TextDecoder().decode(piece);
    if (text.includes(`event: ${last}\n`) && text.endsWith('\n\n')) break;
  }
  over.abort();
  return text.split('\n\n').filter((one) => /^event: /m.test(one));
}

test('A stream has only the types that are asked for, with the name and idempotency key of the campaign', async () => {
  await call('POST', `/v1/campaigns/${spring}/pause`);
  await call('POST', `/v1/campaigns/${spring}/resume`);
  for (const query of [
    'type=campaign.imported,campaign.resumed',
    'type=campaign.imported&type=campaign.resumed',
  ]) {
    const events = await eventsUntil(`/v1/campaigns/${spring}/events?${query}`, 'campaign.resumed');
    expect(events.map((one) => /event: (.*)/.exec(one)?.[1])).toEqual([
      'campaign.imported',
      'campaign.resumed',
    ]);
    for (const one of events) {
      const data = JSON.parse(/data: (.*)/.exec(one)?.[1] ?? '');
      expect(data).toMatchObject({ campaign: spring, name: 'Spring sale', idempotencyKey: 'order-1' });
    }
  }
  const { status, json } = await call('GET', '/v1/events?type=campaign.done');
  expect([status, json]).toMatchObject([400, { errors: [{ pointer: 'query/type/0' }] }]);
});

test('A key can be limited to a lane that only other processes have in their configuration', async () => {
  const bare = open({ LANES_FILE: '', API_KEY: 'key' });
  const made = await bare.keys.create({ name: 'a shop', scopes: ['read'], lanes: ['other'] });
  expect(made.lanes).toEqual(['other']);
  expect(await found('', made.key)).toEqual([receipt, summer]);
  await expect(bare.keys.create({ name: 'x', scopes: ['read'], lanes: ['nowhere'] })).rejects.toThrow(
    'there is no lane nowhere; the lanes are: default, main, and other',
  );
});
