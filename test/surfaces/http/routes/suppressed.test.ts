import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { call, key, volley } = await scene('http-suppressed', { lanes: ['main', 'other'] }).api();
const NUMBER = '+447700900123';
const ask = async (number: string, by?: string) =>
  call('GET', `/v1/suppressions/${encodeURIComponent(number)}`, { key: by });

test('Why a number is suppressed, and since when, is shown to those who may see it', async () => {
  await volley.suppression.add([NUMBER], { reason: 'asked us to' });
  await volley.suppression.add([NUMBER], { lane: 'main', reason: 'complained' });
  const { json } = await ask('0044 7700 900123');
  const [all, main] = Object(json).lists;
  expect(json).toMatchObject({ suppressed: true });
  expect(all).toMatchObject({ lane: null, forgotten: false, operations: [{ reason: 'asked us to' }] });
  expect(main).toMatchObject({ lane: 'main', operations: [{ reason: 'complained' }] });
  expect(main.since).toBe(main.operations[0].createdAt);

  const ofOther = Object((await ask(NUMBER, await key(['read'], ['other']))).json);
  expect(ofOther).toEqual({ suppressed: true, lists: [{ ...all, operations: [] }] });
});

test('A number that is not suppressed is on no list, and one that is none is refused', async () => {
  expect((await ask('+447700900124')).json).toEqual({ suppressed: false, lists: [] });
  const refused = await ask('12');
  expect(refused.json).toMatchObject({ status: 400, errors: [{ pointer: 'path/number' }] });
  // The lists themselves are still there.
  expect((await call('GET', '/v1/suppressions/operations')).status).toBe(200);
});

test('A campaign whose numbers are all suppressed has a warning', async () => {
  await volley.suppression.add(['+447700900131', '+447700900132']);
  const send = async (...numbers: string[]) => {
    const recipients = numbers.map((to) => ({ to }));
    const body = { lane: 'main', sender: 'ACME', message: 'Hi', recipients };
    return Object((await call('POST', '/v1/campaigns', { body })).json);
  };
  const { state, suppressed, warnings } = await send('+447700900131', '+447700900132');
  expect([state, suppressed]).toEqual(['completed', 2]);
  expect(warnings).toContain('No recipient gets a message, because every number is suppressed.');
  expect((await send('+447700900131', '+447700900133')).warnings.join()).not.toContain('suppressed');
});
