import { describe, expect, test } from 'vitest';
import type { OutboxName } from '../../../../src/campaign/fields/field-sets.js';
import { scene } from '../../../scene/scene.js';
import { message, NUMBER, OUTBOX, outboxCreator } from './outbox-creator.js';

const { call, key, volley } = await scene('http-outboxes', {
  lanes: ['default', 'another', 'third', 'paged'],
}).api();
const outbox = outboxCreator(call);

/** Other values of each field that an outbox stores, but for one that needs another. */
const OTHER_FIELDS: Readonly<Record<Exclude<OutboxName, 'zoneFrom'> | 'window', unknown>> = {
  message: 'Hello {{name}}',
  sender: '12345',
  senderName: 'Shop',
  tags: ['vip'],
  country: 'GB',
  priority: 'high',
  window: { hours: 'Mon-Sat 09:00-20:00' },
};

describe('An outbox', () => {
  test('is created once; the same settings return it', async () => {
    const body = { ...OUTBOX, name: 'dentist' };
    const created = await call('POST', '/v1/outboxes', { body });
    expect(created).toMatchObject({
      status: 201,
      json: {
        name: 'dentist',
        lane: 'default',
        state: 'open',
        zone: 'Europe/London',
        counts: { total: 0 },
        nextDue: null,
      },
    });
    expect(created.headers.get('location')).toBe('/v1/outboxes/dentist?lane=default');
    expect((await call('POST', '/v1/outboxes', { body })).status).toBe(200);
  });

  test.each(
    Object.entries({ ...OTHER_FIELDS, sendRule: 'appointment - 1h', zone: 'Europe/Paris', late: '3h' }),
  )('that exists with another %s is not returned, and the error names the member', async (member, other) => {
    const path = await outbox();
    const body = { ...OUTBOX, name: path.replace(/.*\//, ''), [member]: other };
    expect(await call('POST', '/v1/outboxes', { body })).toMatchObject({
      status: 409,
      json: { code: 'exists', detail: expect.stringContaining(`exists with a different \`${member}\``) },
    });
  });

  test('is listed in pages, and the key of a lane gets full pages of its own', async () => {
    const own = await key(['read', 'send'], ['paged']);
    for (const name of ['p1', 'p2', 'p3', 'p4', 'p5'])
      for (const lane of ['default', 'paged'])
        expect((await call('POST', '/v1/outboxes', { body: { ...OUTBOX, name, lane } })).status).toBe(201);
    const pages: unknown[] = [];
    for (let after = ''; ; ) {
      const { json } = await call('GET', `/v1/outboxes?limit=2${after}`, { key: own });
      const { outboxes, nextCursor } = json as { outboxes: object[]; nextCursor: string | null };
      pages.push(outboxes);
      if (nextCursor === null) break;
      after = `&cursor=${nextCursor}`;
    }
    expect(pages).toMatchObject([
      [{ name: 'p1', lane: 'paged' }, { name: 'p2' }],
      [{ name: 'p3' }, { name: 'p4' }],
      [{ name: 'p5', lane: 'paged' }],
    ]);
    expect((await volley.outboxes.list({ lanes: ['paged'] })).map(({ name }) => name)).toEqual([
      'p1',
      'p2',
      'p3',
      'p4',
      'p5',
    ]);
    for (const query of ['limit=0', 'limit=201', 'cursor=invalid'])
      expect((await call('GET', `/v1/outboxes?${query}`)).status).toBe(400);
  });

  test('has a name that other lanes may use as well, and each key reaches that of its own lane', async () => {
    const body = { ...OUTBOX, name: 'reminders' };
    const scopes = ['read', 'send', 'operate'] as const;
    const keys = { another: await key(scopes, ['another']), third: await key(scopes, ['third']) };
    for (const [lane, own] of Object.entries(keys)) {
      const created = await call('POST', '/v1/outboxes', { key: own, body: { ...body, sender: lane } });
      expect(created).toMatchObject({ status: 201, json: { lane, sender: lane } });
      const put = await call('PUT', '/v1/outboxes/reminders/messages/a', {
        key: own,
        body: message({ reference: lane }),
      });
      expect(put).toMatchObject({ status: 200, json: { outcome: 'created' } });
    }
    for (const [lane, own] of Object.entries(keys)) {
      expect((await call('GET', '/v1/outboxes', { key: own })).json).toMatchObject({ outboxes: [{ lane }] });
      const stored = await call('GET', '/v1/outboxes/reminders/messages/a', { key: own });
      expect(stored.json).toMatchObject({ reference: lane });
    }
    const [own, other] = [keys.another, 'third'];
    expect((await call('DELETE', '/v1/outboxes/reminders/messages/a', { key: own })).status).toBe(200);
    expect((await call('GET', `/v1/outboxes/reminders?lane=${other}`, { key: own })).status).toBe(404);
    const { json } = await call('GET', '/v1/results?limit=1', { key: own });
    expect(json).toMatchObject({ results: [{ lane: 'another', outbox: 'reminders', message: 'a' }] });
  });

  test('whose name several lanes use is ambiguous, and the error lists only lanes that the key may use', async () => {
    const body = { ...OUTBOX, name: 'same' };
    const both = await key(['read', 'send', 'operate'], ['another', 'third']);
    for (const lane of ['default', 'another', 'third'])
      expect((await call('POST', '/v1/outboxes', { body: { ...body, lane } })).status).toBe(201);
    for (const [own, lanes] of [
      [undefined, ['another', 'default', 'third']],
      [both, ['another', 'third']],
    ] as const) {
      for (const [method, suffix, content] of [
        ['GET', '', undefined],
        ['POST', '/pause', undefined],
        ['PUT', '/messages/a', message()],
        ['GET', '/messages/a', undefined],
        ['DELETE', '/messages/a', undefined],
        ['GET', '/messages', undefined],
        ['GET', '/report', undefined],
        ['POST', '/messages/cancel', { ids: ['a'] }],
      ] as const) {
        const refused = await call(method, `/v1/outboxes/same${suffix}`, { key: own, body: content });
        expect(refused).toMatchObject({ status: 400, json: { code: 'ambiguous', lanes } });
      }
      const put = `/v1/outboxes/same/messages/a?lane=third`;
      expect((await call('PUT', put, { key: own, body: message() })).status).toBe(200);
    }
    const { json } = await call('GET', '/v1/outboxes', { key: both });
    const counts = (
      json as { outboxes: { name: string; lane: string; counts: { total: number } }[] }
    ).outboxes
      .filter(({ name }) => name === 'same')
      .map(({ lane, counts: { total } }) => [lane, total]);
    expect(counts).toEqual([
      ['another', 0],
      ['third', 1],
    ]);
  });

  test('is changed and previewed at the address with `?lane=` that its creation returns and that errors advise', async () => {
    const own = await key(['read', 'send'], ['another', 'third']);
    const created = await call('POST', '/v1/outboxes', {
      key: own,
      body: { ...OUTBOX, name: 'located', lane: 'third' },
    });
    const at = created.headers.get('location') ?? '';
    expect(at).toBe('/v1/outboxes/located?lane=third');
    const put = await call('PUT', at, { key: own, body: { ...OUTBOX, late: '3h' } });
    expect(put).toMatchObject({ status: 200, json: { lane: 'third', late: '3h' } });
    const preview = await call('POST', at.replace('?', '/preview?'), {
      key: own,
      body: { ...OUTBOX, lane: 'third' },
    });
    expect(preview).toMatchObject({ status: 200, json: { changed: ['late'] } });
    expect(await call('PUT', at, { key: own, body: { ...OUTBOX, lane: 'another' } })).toMatchObject({
      status: 400,
      json: {
        errors: [
          { pointer: '/lane', message: expect.stringContaining('differs from the lane in the address') },
        ],
      },
    });
    expect((await call('GET', at, { key: own })).json).toMatchObject({ late: '3h' });
  });

  test('that is closed takes no messages', async () => {
    const path = await outbox();
    expect((await call('POST', `${path}/close`)).json).toMatchObject({ state: 'closed' });
    expect(await call('PUT', `${path}/messages/a`, { body: message() })).toMatchObject({
      status: 409,
      json: { code: 'closed' },
    });
  });
});

describe('The settings of an outbox', () => {
  const { late: _, ...usual } = OUTBOX;

  test('are created and changed by PUT, and what it would do is previewed', async () => {
    const path = '/v1/outboxes/settings';
    expect((await call('PUT', path, { body: OUTBOX })).status).toBe(201);
    expect(await call('PUT', path, { body: OUTBOX })).toMatchObject({ status: 200 });
    await call('PUT', `${path}/messages/a`, { body: message() });
    const body = { ...usual, message: 'Hi {{name}}, see {{doctor}}' };
    expect((await call('POST', `${path}/preview`, { body })).json).toMatchObject({
      changed: ['message', 'late'],
      waiting: 1,
      unfit: [{ member: 'doctor', messageCount: 1, ids: ['a'] }],
    });
    expect(await call('PUT', path, { body })).toMatchObject({
      status: 422,
      json: { code: 'messagesUnfit', detail: expect.stringContaining('doctor') },
    });
    const filled = { ...body, values: { doctor: 'Dr Who' } };
    expect(await call('PUT', path, { body: filled })).toMatchObject({
      status: 200,
      json: { message: body.message },
    });
    const { json } = await call('GET', `${path}/messages/a`);
    expect(json).toMatchObject({ state: 'waiting', text: 'Hi Ada, see Dr Who' });
  });

  test('of an outbox that does not exist are not previewed', async () => {
    expect((await call('POST', '/v1/outboxes/nowhere/preview', { body: usual })).status).toBe(404);
  });
});

describe('An empty outbox', () => {
  test('is deleted, and may be created again with other settings', async () => {
    const path = await outbox();
    expect(await call('DELETE', path)).toMatchObject({ status: 200, json: { deleted: true } });
    expect((await call('GET', path)).status).toBe(404);
    expect((await call('PUT', `${path}/messages/a`, { body: message() })).status).toBe(404);
    expect((await call('DELETE', path)).status).toBe(404);
    expect((await call('PUT', path, { body: { message: 'Hello {{guest}}' } })).status).toBe(201);
    const put = await call('PUT', `${path}/messages/a`, {
      body: { to: NUMBER, guest: 'Ada', sendAt: '2030-05-01T14:30Z' },
    });
    expect(put).toMatchObject({ status: 200, json: { outcome: 'created', warnings: [] } });
  });

  test('is one without messages, even if they were cancelled', async () => {
    const path = await outbox();
    await call('PUT', `${path}/messages/a`, { body: message() });
    const refused = { status: 409, json: { code: 'notEmpty' } };
    expect(await call('DELETE', path)).toMatchObject(refused);
    await call('POST', `${path}/cancel`);
    expect(await call('DELETE', path)).toMatchObject({
      ...refused,
      json: { detail: expect.stringContaining('ids of messages that were sent or have ended (1)') },
    });
  });
});
