import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { api } = scene('http-set-campaign');
const { call, volley } = await api({ DEFAULT_COUNTRY: 'GB', SENDER_ADDRESS: 'ACME' });

const created = async (more: object = {}): Promise<string> => {
  const recipients = [{ to: '+447700900123', name: 'Ada' }];
  const outcome = await volley.enqueue({
    ...{ recipients, message: 'Hi {{name}}', sendAt: '2999-01-01T00:00:00Z', again: true },
    ...more,
  });
  if (!('id' in outcome)) throw new Error(outcome.message);
  return outcome.id;
};

test('A campaign is changed by members, of which null removes a setting', async () => {
  const id = await created({ validFor: '5h', tags: ['a'] });
  const at = `/v1/campaigns/${id}`;
  const changes = { message: 'Hello {{name}}', priority: 'high', sendAt: '2999-02-01T00:00:00Z' };
  expect(await call('PATCH', at, { body: { ...changes, validFor: null, tags: null } })).toMatchObject({
    status: 200,
    json: { id, revision: 1, changed: ['message', 'tags', 'sendAt', 'priority', 'validFor'], cost: null },
  });
  const status = await call('GET', at);
  expect(status.json).toMatchObject({ revision: 1, message: 'Hello {{name}}', tags: [], earlier: [] });
  expect(status.json).toMatchObject({ sendAt: '2999-02-01T00:00:00.000Z' });
  const rows = await call('GET', `${at}/recipients`);
  expect(rows.json).toMatchObject({ recipients: [{ status: 'planned', revision: null }] });
});

test('A change is refused if it is about an earlier revision, and the answer names the current one', async () => {
  const id = await created();
  const at = `/v1/campaigns/${id}`;
  await call('PATCH', at, { body: { message: 'Hello', revision: 0 } });
  expect(await call('PATCH', at, { body: { message: 'Dear', revision: 0 } })).toMatchObject({
    status: 409,
    json: { code: 'unexpected', detail: expect.stringContaining('has revision 1 by now') },
  });
});

test('An invalid change names its member, and a campaign that has ended is not changed', async () => {
  const id = await created();
  const at = `/v1/campaigns/${id}`;
  expect(await call('PATCH', at, { body: { text: 'Hello' } })).toMatchObject({ status: 400 });
  expect(await call('PATCH', at, { body: { message: 'Hi {{city}}' } })).toMatchObject({
    status: 400,
    json: { errors: [{ pointer: '/message' }] },
  });
  await volley.cancel(id);
  expect(await call('PATCH', at, { body: { message: 'Hello' } })).toMatchObject({
    status: 409,
    json: { code: 'invalidState' },
  });
});
