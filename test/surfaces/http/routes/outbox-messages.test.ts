import { describe, expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';
import { message, NUMBER, outboxCreator } from './outbox-creator.js';

const { call } = await scene('http-outbox-messages').api();
const outbox = outboxCreator(call);

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
    expect((await call('DELETE', `${path}/messages/unknown?version=`)).status).toBe(400);
    expect((await call('GET', `${path}/messages/unknown`)).status).toBe(404);
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
