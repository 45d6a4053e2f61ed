import { describe, expect, test } from 'vitest';
import type { OutboxName } from '../../../../src/campaign/fields/field-sets.js';
import { scene } from '../../../scene/scene.js';

const { call, key, origin, volley } = await scene('http-outboxes', {
  lanes: ['default', 'another', 'third', 'paged'],
}).api();

const OUTBOX = {
  message: 'Hi {{name}}, see you at {{appointment}}',
  sendRule: 'appointment - 24h',
  zone: 'Europe/London',
  late: '2h',
};
const NUMBER = '+447700900123';
const message = (change: object = {}) => ({
  to: NUMBER,
  name: 'Ada',
  appointment: '2030-05-01T14:30',
  ...change,
});
let names = 0;

async function outbox(change: object = {}): Promise<string> {
  names += 1;
  const name = `outbox-${names}`;
  expect((await call('POST', '/v1/outboxes', { body: { ...OUTBOX, name, ...change } })).status).toBe(201);
  return `/v1/outboxes/${name}`;
}

/** Other values of each field that an outbox stores. */
const OTHER_FIELDS: Readonly<Record<OutboxName | 'window', unknown>> = {
  message: 'Hello {{name}}',
  sender: '12345',
  senderName: 'Shop',
  tags: ['vip'],
  country: 'GB',
  priority: 'high',
  window: { hours: 'Mon-Sat 09:00-20:00' },
};

/** The result for a message of a list that has one invalid member. */
const refusedResult = (code: string, member: string, result: object) => ({
  ...result,
  outcome: 'refused',
  code: 'badInput',
  errors: expect.arrayContaining([expect.objectContaining({ code, pointer: `/${member}`, column: member })]),
});

const unusable = (member: string, result: object) => refusedResult('invalidValue', member, result);

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

describe('A message', () => {
  test('is stored, changed, read, and cancelled by its id', async () => {
    const path = await outbox();
    const own = `${path}/messages/${encodeURIComponent('appt/17 é')}`;
    expect(await call('PUT', own, { body: message() })).toMatchObject({
      status: 200,
      json: { id: 'appt/17 é', outcome: 'created', sendAt: '2030-04-30T13:30:00.000Z' },
    });
    expect((await call('PUT', own, { body: message() })).json).toMatchObject({ outcome: 'unchanged' });
    expect(
      (
        await call('PUT', own, {
          body: message({ appointment: '2030-05-02T09:00', version: 3, reference: 'B-1' }),
        })
      ).json,
    ).toMatchObject({
      outcome: 'updated',
      sendAt: '2030-05-01T08:00:00.000Z',
    });
    expect(await call('PUT', own, { body: message({ version: 2 }) })).toMatchObject({
      status: 409,
      json: { code: 'stale' },
    });
    expect((await call('GET', own)).json).toMatchObject({ state: 'waiting', version: 3, to: NUMBER });
    expect((await call('GET', path)).json).toMatchObject({
      counts: { total: 1, waiting: 1 },
      nextDue: '2030-05-01T08:00:00.000Z',
    });
    expect((await call('DELETE', `${own}?version=2`)).json).toMatchObject({ code: 'stale' });
    expect(await call('DELETE', own)).toMatchObject({ status: 200, json: { outcome: 'cancelled' } });
    expect((await call('DELETE', own)).status).toBe(200);
    expect(await call('PUT', own, { body: message() })).toMatchObject({
      status: 409,
      json: { code: 'ended' },
    });
    expect((await call('GET', path)).json).toMatchObject({
      counts: { total: 1, waiting: 0, cancelled: 1 },
      nextDue: null,
    });
    expect((await call('GET', own)).json).toMatchObject({ state: 'cancelled', to: NUMBER, reference: 'B-1' });
    const results = {
      outbox: path.split('/').at(-1),
      message: 'appt/17 é',
      reference: 'B-1',
      status: 'cancelled',
    };
    expect((await call('GET', '/v1/results?lane=default')).json).toMatchObject({ results: [results] });
  });

  test('is listed in pages, and cancelled with others by a reference', async () => {
    const path = await outbox();
    const ids = Array.from({ length: 5 }, (_, at) => `${'é'.repeat(60)}${at}`);
    for (const id of ids) {
      const own = `${path}/messages/${encodeURIComponent(id)}`;
      await call('PUT', own, { body: message({ reference: 'B-1', tag: 'shop-1' }) });
    }
    const listed: unknown[] = [];
    for (let cursor = ''; ; ) {
      const { json } = await call('GET', `${path}/messages?tag=shop-1&state=waiting&limit=2${cursor}`);
      const page = json as { messages: { id: string }[]; nextCursor: string | null };
      listed.push(...page.messages.map(({ id }) => id));
      if (page.nextCursor === null) break;
      cursor = `&cursor=${page.nextCursor}`;
    }
    expect(listed.sort()).toEqual(ids);
    const cancel = (body: object) => call('POST', `${path}/messages/cancel`, { body });
    const { json } = await cancel({ reference: 'B-1' });
    expect((json as { results: { id: string }[] }).results.sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
      ids.map((id) => ({ id, outcome: 'cancelled', code: null })),
    );
    for (const body of [{}, { tag: 'shop-1', ids: ['a'] }])
      expect(await cancel(body)).toMatchObject({ status: 400, json: { code: 'badInput' } });
  });

  test('is read with its values and text, with which it can be put into another outbox', async () => {
    const [from, to] = [await outbox(), await outbox()];
    await call('PUT', `${from}/messages/a`, { body: message({ version: 7, reference: 'B-1' }) });
    const { json } = await call('GET', `${from}/messages/a`);
    expect(json).toMatchObject({
      values: { name: 'Ada', appointment: '2030-05-01T14:30' },
      text: 'Hi Ada, see you at 2030-05-01T14:30',
      version: 7,
    });
    expect(JSON.parse(String((await call('GET', `${from}/report`)).json))).toEqual(json);
    expect((await call('GET', `${from}/messages`)).json).toEqual({ messages: [json], nextCursor: null });
    const { values, id, to: number, sendAt, version, reference } = json as Record<string, unknown>;
    const body = { ...Object(values), id, to: number, sendAt, version, reference };
    expect((await call('PUT', `${to}/messages/a`, { body })).json).toMatchObject({ outcome: 'created' });
    expect((await call('GET', `${to}/messages/a`)).json).toEqual(json);
    await call('DELETE', `${from}/messages/a`);
    expect((await call('GET', `${from}/messages/a`)).json).toMatchObject({ values: null, text: null });
  });

  test('with an id that is not that of its address is refused', async () => {
    const path = await outbox();
    const put = (id: unknown) => call('PUT', `${path}/messages/B-2`, { body: message({ id }) });
    expect(await put('B-3')).toMatchObject({
      status: 400,
      json: { detail: '`id` is "B-3", but the address names message B-2.', errors: [{ pointer: '/id' }] },
    });
    expect((await put(null)).status).toBe(400);
    expect(await put('B-2')).toMatchObject({ status: 200, json: { id: 'B-2', warnings: [] } });
  });

  test('with values that nothing uses is stored, and the response warns about them', async () => {
    const path = await outbox();
    const warnings = [
      'Neither the text nor `sendRule` uses `verison`. Did you mean `version`?',
      'Neither the text nor `sendRule` uses `ward`.',
    ];
    const body = message({ verison: 7, ward: '3b' });
    const put = await call('PUT', `${path}/messages/a`, { body });
    expect(put).toMatchObject({ status: 200, json: { outcome: 'created', warnings } });
    const text = ['b', 'c'].map((id) => JSON.stringify({ ...body, id })).join('\n');
    const { json } = await call('POST', `${path}/messages`, {
      text,
      headers: { 'content-type': 'application/x-ndjson' },
    });
    const lines = String(json).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).warnings)).toEqual([warnings, []]);
  });
});

describe('A list of messages', () => {
  const post = async (path: string, type: string, body: string) => {
    const reply = await fetch(`${origin}${path}/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await key()}`, 'content-type': type },
      body,
    });
    const text = await reply.text();
    return {
      status: reply.status,
      results: text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    };
  };

  test('as NDJSON has a result per line, and may be sent again', async () => {
    const path = await outbox();
    const lines = [
      message({ id: 'a' }),
      message({ id: 'b', to: 'Ada' }),
      message({ id: 'a', name: 'Bea' }),
      message({ id: '' }),
      message({ id: 'c' }),
      { ...message({ id: 'd' }), name: ['Ada'] },
    ].map((line) => JSON.stringify(line));
    const { status, results } = await post(path, 'application/x-ndjson', [...lines, 'not JSON'].join('\n'));
    expect(status).toBe(200);
    expect(results).toMatchObject([
      { id: 'a', outcome: 'created', line: 1 },
      refusedResult('invalidNumber', 'to', { id: 'b', line: 2 }),
      refusedResult('badInput', 'id', { id: 'a', line: 3 }),
      refusedResult('invalidValue', 'id', { line: 4 }),
      { id: 'c', outcome: 'created', line: 5 },
      refusedResult('invalidValue', 'name', { id: 'd', line: 6 }),
      {
        outcome: 'refused',
        code: 'badInput',
        line: 7,
        errors: [{ code: 'row', pointer: '', message: 'It is not a JSON object.', line: 7, column: null }],
      },
    ]);
    const again = await post(path, 'application/x-ndjson', lines.join('\n'));
    expect(again.results[0]).toMatchObject({ outcome: 'unchanged' });
    expect((await call('GET', path)).json).toMatchObject({ counts: { total: 2 } });
  });

  test('in NDJSON with objects and nested arrays as members is stored, except for those messages', async () => {
    const path = await outbox();
    const line = (id: string, change: object = {}) => JSON.stringify({ id, ...message(), ...change });
    const members = ['to', 'sendAt', 'version', 'reference', 'name', 'appointment'];
    const nested = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const lines = [
      ...members.map((member) => line(member, { [member]: { toString: 1 } })),
      ...members.map((member) =>
        line(`nested ${member}`, { [member]: 0 }).replace(`"${member}":0`, `"${member}":${nested}`),
      ),
      line('unused', { unused: { toString: 1 } }),
      line('valid'),
    ];
    const { status, results } = await post(path, 'application/x-ndjson', lines.join('\n'));
    expect(status).toBe(200);
    expect(results).toMatchObject([
      ...members.map((member) => unusable(member, { id: member })),
      ...members.map((member) => unusable(member, { id: `nested ${member}` })),
      unusable('unused', { id: 'unused' }),
      { id: 'valid', outcome: 'created' },
    ]);
  });

  test('as CSV names the line and the column of an invalid message', async () => {
    const path = await outbox();
    const csv = `id,phone,name,appointment\na,${NUMBER},Ada,2030-05-01T14:30\nb,${NUMBER},,2030-05-01T14:30\n`;
    const { results } = await post(path, 'text/csv', csv);
    expect(results).toMatchObject([
      { id: 'a', outcome: 'created', line: 2 },
      refusedResult('noValue', 'name', { id: 'b', line: 3 }),
    ]);
  });

  test('as a JSON array is stored, with a result for each item', async () => {
    const path = await outbox();
    const body = JSON.stringify([
      message({ id: 'a', name: 'A "quoted" ], [{\\' }),
      message({ id: '' }),
      7,
      [1, 2],
    ]);
    const { status, results } = await post(path, 'application/json', ` ${body}\n`);
    expect(status).toBe(200);
    expect(results).toMatchObject([
      { id: 'a', outcome: 'created', line: 1 },
      refusedResult('invalidValue', 'id', { line: 2 }),
      { outcome: 'refused', line: 3, errors: [{ code: 'row', message: 'It is not a JSON object.' }] },
      { outcome: 'refused', line: 4, errors: [{ code: 'row', message: 'It is not a JSON object.' }] },
    ]);
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

describe('The messages that wait', () => {
  test('are listed by time, in pages, and by number and reference', async () => {
    const path = await outbox({ sendRule: 'appointment' });
    const days = ['03', '01', '02', '02', '02'];
    for (const [at, day] of days.entries())
      await call('PUT', `${path}/messages/m${at}`, {
        body: message({
          appointment: `2030-05-${day}T12:00Z`,
          to: `+44770090012${at}`,
          reference: at % 2 === 0 ? 'even' : 'odd',
        }),
      });
    const idsOf = async (query: string): Promise<string[]> => {
      const ids: string[] = [];
      for (let cursor = ''; ; ) {
        const { messages, nextCursor } = Object(
          (await call('GET', `${path}/waiting?${query}${cursor}`)).json,
        );
        ids.push(...messages.map(({ id }: { id: string }) => id));
        if (nextCursor === null) return ids;
        cursor = `&cursor=${nextCursor}`;
      }
    };
    expect(await idsOf('limit=2')).toEqual(['m1', 'm2', 'm3', 'm4', 'm0']);
    expect(await idsOf('limit=1&reference=even')).toEqual(['m2', 'm4', 'm0']);
    expect(await idsOf(`to=${encodeURIComponent('+447700900123')}`)).toEqual(['m3']);
    expect(await idsOf('from=2030-05-02T12:00:00Z&until=2030-05-03T00:00:00Z')).toEqual(['m2', 'm3', 'm4']);
    expect(await idsOf('from=2030-05-02T12:00Z&until=2030-05-03T01:00+01:00')).toEqual(['m2', 'm3', 'm4']);
    expect((await call('GET', `${path}/waiting?to=no-number`)).status).toBe(400);
  });
});

test('A JSON array of messages may have 1 MB, and the error for a longer one says what to send', async () => {
  const at = `${await outbox()}/messages`;
  const put = (count: number) =>
    call('POST', at, {
      text: JSON.stringify(Array.from({ length: count }, (_, number) => message({ id: `m-${number}` }))),
      headers: { 'content-type': 'application/json' },
    });
  // 160 kB.
  const stored = await put(2_000);
  expect([stored.status, String(stored.json).match(/"outcome":"created"/g)?.length]).toEqual([200, 2_000]);
  expect(await put(14_000)).toMatchObject({
    status: 413,
    json: {
      detail: expect.stringContaining('The limit for JSON is 1 MB. Send a longer list as NDJSON'),
    },
  });
});
