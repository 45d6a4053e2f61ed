import { expect, test } from 'vitest';
import type { AuditEntry } from '../../../../src/campaign/states/audit.js';
import type { SuppressionOperation } from '../../../../src/campaign/states/suppression.js';
import { scene } from '../../../scene/scene.js';

const lanes = ['main', 'other', 'third'];
const { call, key, volley, log } = await scene('http-suppressions', { lanes }).api();

let next = 0;
const number = (): string => {
  next += 1;
  return `+4477${10_000_000 + next}`;
};
const post = (path: string, own: string, body?: object) => call('POST', path, { key: own, body });
const list = async (own?: string, query = ''): Promise<string[]> => {
  const { json } = await call('GET', `/v1/suppressions${query}`, { key: own });
  return (json as { numbers: string[] }).numbers;
};
const operations = async (own?: string): Promise<SuppressionOperation[]> => {
  const { json } = await call('GET', '/v1/suppressions/operations', { key: own });
  return (json as { operations: SuppressionOperation[] }).operations;
};
const suppressedOn = async (lane: string, to: string): Promise<number> => {
  const preview = await volley.preview({ recipients: [{ to }], message: 'Hi', lane });
  return preview.suppressed;
};

test('A key that is limited to a lane suppresses numbers for this lane only', async () => {
  const own = await key(['read', 'send', 'operate'], ['main']);
  const mine = number();
  const added = await post('/v1/suppressions', own, { numbers: [mine], reason: 'STOP' });
  expect(added).toMatchObject({ status: 200, json: { lane: 'main', numberCount: 1 } });
  expect([await suppressedOn('main', mine), await suppressedOn('other', mine)]).toEqual([1, 0]);
  expect([await list(own), await list(own, '?lane=main')]).toEqual([[mine], [mine]]);
  expect(await list()).not.toContain(mine);
  for (const path of ['/v1/suppressions', '/v1/suppressions/remove']) {
    const { status } = await post(path, own, { numbers: [mine], lane: 'other' });
    expect([path, status]).toEqual([path, 404]);
  }
  expect((await call('GET', '/v1/suppressions?lane=other', { key: own })).status).toBe(404);
  const removed = await post('/v1/suppressions/remove', own, { numbers: [mine] });
  expect(removed).toMatchObject({ status: 200, json: { lane: 'main', numberCount: 1 } });
  expect(await suppressedOn('main', mine)).toBe(0);
});

test('A key that is limited to a lane cannot release a number that is suppressed for all lanes', async () => {
  const own = await key(['operate'], ['main']);
  const mine = number();
  const all = await key();
  const added = await post('/v1/suppressions', all, { numbers: [mine] });
  expect(added.json).toMatchObject({ lane: null, numberCount: 1 });
  expect((await post('/v1/suppressions/remove', own, { numbers: [mine] })).json).toMatchObject({
    numberCount: 0,
  });
  const { operation } = added.json as { operation: string };
  const undo = await post(`/v1/suppressions/operations/${operation}/undo`, own);
  expect(undo).toMatchObject({ status: 404, json: { code: 'notFound' } });
  expect([await suppressedOn('main', mine), await suppressedOn('other', mine)]).toEqual([1, 1]);
});

test('Each change says who made it, when, and why, and can be undone', async () => {
  const own = await key(['read', 'send', 'operate'], ['third']);
  const [kept, wrong] = [number(), number()];
  await post('/v1/suppressions', own, { numbers: [kept] });
  const { json } = await post('/v1/suppressions', own, { numbers: [kept, wrong], reason: 'wrong list' });
  const { operation: id } = json as { operation: string };
  const actor = { kind: 'key', id: own.split('_')[1], name: 'a test' };
  expect(await operations(own)).toMatchObject([
    {
      id,
      change: 'add',
      lane: 'third',
      actor,
      source: 'HTTP API',
      reason: 'wrong list',
      numberCount: 1,
      undone: null,
    },
    { change: 'add', numberCount: 1 },
  ]);
  const undo = () => post(`/v1/suppressions/operations/${id}/undo`, own);
  expect((await undo()).json).toEqual({ operation: id, lane: 'third', numberCount: 1 });
  expect(await list(own)).toEqual([kept]);
  expect((await operations(own))[0]).toMatchObject({ id, undone: { actor, numberCount: 1 } });
  expect(await undo()).toMatchObject({
    status: 400,
    json: { detail: expect.stringContaining('undone already') },
  });
  expect((await post('/v1/suppressions/operations/999999/undo', own)).status).toBe(404);
  const trail = (await call('GET', '/v1/audit?lane=third', { key: own })).json as { entries: AuditEntry[] };
  // Reading the list is an export.
  expect(trail.entries.map(({ action }) => action)).toEqual([
    'suppression.export',
    'suppression.undo',
    'suppression.add',
    'suppression.add',
  ]);
  expect(trail.entries[1]).toMatchObject({ actor, details: { operation: id } });
  const lines = log.filter((line) => line.includes('"suppression.') && line.includes(String(actor.id)));
  expect(lines.map((line) => JSON.parse(line).event)).toEqual([
    'suppression.added',
    'suppression.added',
    'suppression.undone',
  ]);
  expect(lines.join()).not.toContain(wrong);
});
