import { expect, test } from 'vitest';
import { keysOf } from '../../../base/redis/test-redis.js';
import { scene } from '../../../scene/scene.js';

const { api, prefix, redis, write } = scene('http-schedules', { lanes: ['main', 'other'] });
const { call, key, volley } = await api();

let count = 0;
const request = (change: object = {}) => {
  count += 1;
  return {
    id: `schedule-${count}`,
    cron: '0 9 * * 1',
    zone: 'Europe/London',
    lane: 'main',
    message: 'Hi {{name}}',
    recipients: [{ to: '+447700900123', name: 'Ada' }],
    ...change,
  };
};
const post = (path: string, own?: string, body?: object) => call('POST', path, { key: own, body });

test('A schedule is added, shown, paused, resumed, run, and removed, and each change is in the audit trail', async () => {
  const body = request({ catchUp: '90m', validFor: '2h', overlap: 'wait' });
  const at = `/v1/schedules/${body.id}`;
  const added = await post('/v1/schedules', undefined, body);
  expect(added).toMatchObject({
    status: 201,
    json: {
      id: body.id,
      lane: 'main',
      state: 'active',
      catchUp: '90m',
      overlap: 'wait',
      recipients: { kind: 'inline', recipientCount: 1 },
      campaign: { message: 'Hi {{name}}', validFor: '2h' },
      createdBy: { kind: 'key' },
    },
  });
  expect(added.headers.get('location')).toBe(`${at}?lane=main`);
  expect(await post('/v1/schedules', undefined, body)).toMatchObject({
    status: 200,
    json: { ...(added.json as object), outcome: 'existing' },
  });
  const other = await post('/v1/schedules', undefined, { ...body, message: 'Ho {{name}}' });
  expect(other).toMatchObject({ status: 400, json: { errors: [{ pointer: '/id' }] } });

  const { json: next } = await call('GET', `${at}/next?count=3`);
  const times = (next as { next: string[] }).next;
  expect(times).toHaveLength(3);
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: 'Europe/London',
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
  });
  for (const time of times) expect(format.format(new Date(time))).toMatch(/Mon.*09:00/);

  expect(await post(`${at}/pause`)).toMatchObject({ status: 200, json: { state: 'paused', next: null } });
  expect(await post(`${at}/resume`)).toMatchObject({ json: { state: 'active', next: times[0] } });
  const run = await post(`${at}/run`);
  expect(run.status).toBe(202);
  expect(await post(`${at}/run`)).toMatchObject({ status: 202, json: run.json as object });
  expect(await call('DELETE', at)).toMatchObject({ status: 200, json: { state: 'removed' } });
  expect((await call('GET', at)).status).toBe(404);

  const { entries } = await volley.audit();
  const actions = entries
    .filter(({ details }) => details['schedule'] === body.id && details['failed'] === undefined)
    .map(({ action, actor }) => `${action} ${actor?.kind}`);
  expect(actions).toEqual(
    expect.arrayContaining(['add', 'pause', 'resume', 'run', 'remove'].map((name) => `schedule.${name} key`)),
  );
});

test('A key that is limited to a lane uses no list that code provides', async () => {
  const own = await key(['read', 'send', 'operate'], ['main']);
  const { recipients: _, ...provided } = request({ provided: 'customers' });
  expect((await post('/v1/schedules', own, provided)).status).toBe(403);
  expect((await post('/v1/schedules', undefined, provided)).status).toBe(201);
});

test('A key changes a schedule only if it could name the list that the schedule keeps', async () => {
  const [own, sending] = [await key(['read', 'send'], ['main']), await key(['send'], ['main'])];
  const source = { ...request({ id: undefined, cron: undefined, zone: undefined, lane: 'other' }) };
  const { json } = await post('/v1/campaigns', undefined, { ...source, sendAt: '2999-01-01T00:00:00Z' });
  const after = { campaign: Object(json).id, status: ['failed'], after: '6h' };
  const { recipients: list, ...settings } = request({ message: 'Hi' });
  const times = { cron: settings.cron, zone: settings.zone };
  const add = (id: string, more: object) =>
    volley.schedules.add({ id, lane: 'main', message: 'Hi', ...more });
  await add('kept-code', { ...times, recipients: { provided: 'customers' } });
  await add('kept-file', {
    ...times,
    recipients: write('list.csv', 'to,name,secret\n+447700900123,Ada,x\n'),
  });
  await add('kept-results', { toResultsOf: after });
  await add('kept-list', { ...times, recipients: list });
  const put = async (by: string | undefined, id: string) => {
    const body = { message: 'Hello {{name}}', ...(id === 'kept-results' ? {} : times) };
    const { status, json } = await call('PUT', `/v1/schedules/${id}`, {
      key: by,
      body: { lane: 'main', ...body },
    });
    return [status, Object(json).errors?.[0]?.pointer];
  };
  expect(await put(own, 'kept-code')).toEqual([403, undefined]);
  expect(await put(own, 'kept-file')).toEqual([403, undefined]);
  expect(await put(own, 'kept-results')).toEqual([400, '/toResultsOf']);
  expect(await put(sending, 'kept-results')).toEqual([403, undefined]);
  expect(await put(sending, 'kept-list')).toEqual([200, undefined]);
  for (const id of ['kept-code', 'kept-file', 'kept-results'])
    expect(await put(undefined, id)).toEqual([200, undefined]);
});

test('A key without the scope read sees no text of a message when it pauses or resumes a schedule', async () => {
  const body = request({ message: 'A secret offer', metadata: { price: 'secret' } });
  expect((await post('/v1/schedules', undefined, body)).status).toBe(201);
  const [operate, both] = [await key(['operate']), await key(['operate', 'read'])];
  for (const command of ['pause', 'resume']) {
    const hidden = await post(`/v1/schedules/${body.id}/${command}`, operate);
    expect(hidden).toMatchObject({ status: 200, json: { id: body.id, campaign: { message: '' } } });
    expect(JSON.stringify(hidden.json)).not.toContain('secret');
    const shown = await post(`/v1/schedules/${body.id}/${command}`, both);
    expect(shown).toMatchObject({ status: 200, json: { campaign: { message: 'A secret offer' } } });
  }
});

test('A page reads neither the schedules of other lanes nor those of later pages', async () => {
  const own = await key(['read', 'send'], ['main']);
  for (const change of [{ id: 'a1', lane: 'other' }, { id: 'a2' }, { id: 'a3' }, { id: 'a4' }])
    expect((await post('/v1/schedules', undefined, request(change))).status).toBe(201);
  // Whether a schedule is read shows: one that cannot be parsed fails the request.
  const damaged = await Promise.all(
    ['a1', 'a4'].map(async (id) => {
      const [name = ''] = (await keysOf(redis, prefix)).filter((each) => each.includes(`:schedule:${id} `));
      const definition = await redis.hget(name, 'definition');
      await redis.hset(name, 'definition', 'damaged');
      return { name, definition: definition ?? '' };
    }),
  );
  const page = await call('GET', '/v1/schedules?limit=1', { key: own });
  for (const { name, definition } of damaged) await redis.hset(name, 'definition', definition);
  expect(page).toMatchObject({
    status: 200,
    json: { schedules: [{ id: 'a2' }], nextCursor: expect.any(String) },
  });
});

test('Revoking a key with its campaigns pauses the schedules that it has added', async () => {
  const { key: own, ...created } = await volley.keys.create({ name: 'shop', scopes: ['send'] });
  const body = request();
  expect((await post('/v1/schedules', own, body)).status).toBe(201);
  await volley.keys.revoke(created.id, { cancelCampaigns: true });
  expect(await volley.schedules.get(body.id)).toMatchObject({
    state: 'paused',
    reason: 'its API key was revoked',
  });
});

test('Each lane has schedule ids of its own, and an id that several lanes use is ambiguous', async () => {
  const scopes = ['read', 'send', 'operate'] as const;
  const keys = { main: await key(scopes, ['main']), other: await key(scopes, ['other']) };
  for (const [lane, own] of Object.entries(keys)) {
    const body = { ...request({ id: 'shared', message: `From ${lane}` }), lane: undefined };
    expect(await call('POST', '/v1/schedules', { key: own, body })).toMatchObject({
      status: 201,
      json: { lane },
    });
  }
  const texts = async (own: string) =>
    (await call('GET', '/v1/schedules/shared', { key: own })).json as { campaign: { message: string } };
  expect((await texts(keys.main)).campaign.message).toBe('From main');
  expect((await texts(keys.other)).campaign.message).toBe('From other');
  const both = await key(scopes);
  for (const [method, path] of [
    ['GET', '/v1/schedules/shared'],
    ['GET', '/v1/schedules/shared/next'],
    ['POST', '/v1/schedules/shared/run'],
    ['POST', '/v1/schedules/shared/pause'],
    ['DELETE', '/v1/schedules/shared'],
  ] as const)
    expect(await call(method, path, { key: both })).toMatchObject({
      status: 400,
      json: { code: 'ambiguous', lanes: ['main', 'other'] },
    });
  expect((await call('POST', '/v1/schedules/shared/pause', { key: keys.main })).status).toBe(200);
  expect((await call('GET', '/v1/schedules/shared?lane=other', { key: both })).json).toMatchObject({
    state: 'active',
  });
  expect((await call('GET', '/v1/schedules/shared?lane=other', { key: keys.main })).status).toBe(404);
  expect((await call('DELETE', '/v1/schedules/shared?lane=main', { key: both })).status).toBe(200);
  expect((await call('GET', '/v1/schedules/shared', { key: both })).json).toMatchObject({ lane: 'other' });
});

test.each([
  ['another country', { countries: ['DE'] }, 'may text only DE'],
  ['another sender', { senders: ['SHOP'] }, 'may send only as SHOP'],
  ['fewer segments', { maxSegments: 1 }, 'at most 1 per message'],
])(
  'A key for %s neither runs nor resumes the schedule of another key, and its own limits say why',
  async (_, limits, why) => {
    const { id } = request();
    const body = request({
      id,
      sender: 'ACME',
      message: 'Long '.repeat(40),
      recipients: [{ to: '+447700900123' }],
    });
    expect((await post('/v1/schedules', undefined, body)).status).toBe(201);
    const own = await volley.keys.create({ name: 'limited', scopes: ['read', 'send', 'operate'], ...limits });
    expect((await post(`/v1/schedules/${id}/pause`, own.key)).status).toBe(200);
    for (const verb of ['run', 'resume']) {
      const refused = await post(`/v1/schedules/${id}/${verb}`, own.key);
      expect([refused.status, JSON.stringify(refused.json)]).toEqual([
        expect.toBeOneOf([400, 403]),
        expect.stringContaining(why),
      ]);
    }
    expect(await call('GET', `/v1/schedules/${id}`)).toMatchObject({ json: { state: 'paused' } });
    expect((await post(`/v1/schedules/${id}/run`)).status).toBe(202);
  },
);

test('A follow-up is added with a time after its campaign has started, for a key that may read that campaign', async () => {
  const recipients = [{ to: '+447700900123', name: 'Ada' }];
  const sendAt = '2030-05-06T09:00:00.000Z';
  const made = await call('POST', '/v1/campaigns', {
    body: { message: 'Hi {{name}}', lane: 'main', sendAt, recipients },
  });
  const { id: campaign } = made.json as { id: string };
  const toResultsOf = { campaign, status: ['failed', 'deliveredToNetwork'], after: '6h' };
  const body = { id: 'after', lane: 'main', message: 'Again {{name}}', toResultsOf };
  expect(await post('/v1/schedules', undefined, body)).toMatchObject({
    status: 201,
    json: {
      ...{ state: 'active', cron: null, next: '2030-05-06T15:00:00.000Z' },
      recipients: {
        ...{ kind: 'results', campaign, after: '6h' },
        status: ['deliveredToNetwork', 'deliveryImpossible', 'lapsed', 'rejected'],
      },
    },
  });
  expect(await post('/v1/schedules', undefined, body)).toMatchObject({ json: { outcome: 'existing' } });
  expect((await call('GET', '/v1/schedules/after/next')).json).toMatchObject({
    next: ['2030-05-06T15:00:00.000Z'],
  });
  const moved = { ...body, toResultsOf: { ...toResultsOf, after: '1d' } };
  expect(await call('PUT', '/v1/schedules/after', { body: { ...moved, id: undefined } })).toMatchObject({
    json: { outcome: 'updated', next: '2030-05-07T09:00:00.000Z' },
  });
  const kept = { lane: 'main', message: 'Hello {{name}}' };
  expect(await call('PUT', '/v1/schedules/after', { body: kept })).toMatchObject({
    json: { outcome: 'updated', next: '2030-05-07T09:00:00.000Z', recipients: { after: '1d' } },
  });

  const wrong = async (pointer: string, change: object, own?: string) => {
    const { status, json } = await post('/v1/schedules', own, { ...body, id: 'wrong', ...change });
    expect([status, json]).toMatchObject([400, { errors: [{ pointer }] }]);
  };
  await wrong('/toResultsOf/after', { toResultsOf: { ...toResultsOf, after: 'soon' } });
  await wrong('/toResultsOf/after', { toResultsOf: { ...toResultsOf, after: '31d' } });
  await wrong('/toResultsOf/after', { toResultsOf: { campaign, status: ['failed'] } });
  await wrong('/toResultsOf/campaign', { toResultsOf: { status: ['failed'], after: '6h' } });
  await wrong('/toResultsOf', { toResultsOf: { ...toResultsOf, campaign: 'nothing' } });
  await wrong('/message', { message: 'Hi {{surname}}' });
  await wrong('/cron', { cron: '0 9 * * 1', zone: 'UTC' });
  await wrong('/zone', { window: { hours: 'Mon-Fri 09:00-17:00' } });
  await wrong('/recipients', { recipients });
  await wrong('/cron', { toResultsOf: undefined, recipients, zone: 'UTC' });
  await wrong('/toResultsOf', { lane: 'other' }, await key(['send', 'read'], ['other']));
  expect((await post('/v1/schedules', await key(['send']), { ...body, id: 'unread' })).status).toBe(403);
  const now = await call('POST', '/v1/campaigns', { body: { ...body, id: undefined } });
  expect([now.status, now.json]).toMatchObject([400, { errors: [{ pointer: '/toResultsOf' }] }]);
});

test('A schedule is put: it is added, or gets other settings and keeps its list', async () => {
  const { recipients, ...body } = request({ tags: ['a'] });
  const at = `/v1/schedules/${body.id}`;
  const put = (more: object) => call('PUT', at, { body: { ...body, id: undefined, ...more } });
  expect(await put({})).toMatchObject({ status: 404 });
  expect(await put({ recipients })).toMatchObject({ status: 201, json: { id: body.id } });
  expect(await put({ message: 'Hello {{name}}', tags: undefined })).toMatchObject({
    status: 200,
    json: {
      campaign: { message: 'Hello {{name}}', tags: null },
      recipients: { kind: 'inline', recipientCount: 1 },
      state: 'active',
    },
  });
  expect(await put({ message: 'Hello {{city}}' })).toMatchObject({
    status: 400,
    json: { errors: [{ pointer: '/message' }] },
  });
  expect((await call('GET', at)).json).toMatchObject({ campaign: { message: 'Hello {{name}}' } });
});
