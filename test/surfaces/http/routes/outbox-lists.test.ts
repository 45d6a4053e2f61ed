import { describe, expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';
import { message, NUMBER, outboxCreator } from './outbox-creator.js';

const { call, key, origin } = await scene('http-outbox-lists').api();
const outbox = outboxCreator(call);

/** The result for a message of a list that has one invalid member. */
const refusedResult = (code: string, member: string, result: object) => ({
  ...result,
  outcome: 'refused',
  code: 'badInput',
  errors: expect.arrayContaining([expect.objectContaining({ code, pointer: `/${member}`, column: member })]),
});

const unusable = (member: string, result: object) => refusedResult('invalidValue', member, result);

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
