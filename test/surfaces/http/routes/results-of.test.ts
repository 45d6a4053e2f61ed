import { expect, test } from 'vitest';
import { campaignForm } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

const { call, key } = await scene('http-results-of', { lanes: ['one', 'two'] }).api({
  DEFAULT_COUNTRY: 'GB',
});
const sendAt = '2999-01-01T00:00:00Z';
const list = ['+447700900123', '+447700900124'].map((to, no) => ({ to, no }));
const create = (body: object, by?: string) => call('POST', '/v1/campaigns', { body, key: by });
const idOf = ({ json }: { json: unknown }): string => (json as { id: string }).id;

/** A cancelled campaign on the lane `one`. */
async function cancelled(): Promise<string> {
  const body = { message: 'No {{no}}', recipients: list, sendAt, lane: 'one', again: true };
  const id = idOf(await create(body));
  await call('POST', `/v1/campaigns/${id}/cancel`);
  return id;
}

const follow = (campaign: string, more: object = {}) => ({
  message: 'Again {{no}}',
  sendAt,
  lane: 'one',
  again: true,
  toResultsOf: { campaign, status: ['cancelled'] },
  ...more,
});

test('A campaign to results is created and previewed without a list', async () => {
  const source = await cancelled();
  const created = await create(follow(source));
  expect([created.status, created.json]).toMatchObject([201, { recipientCount: 2, state: 'scheduled' }]);
  const { json } = await call('GET', `/v1/campaigns/${idOf(created)}/recipients?values=true`);
  expect(json).toMatchObject({
    recipients: [
      { to: '+447700900123', values: { no: '0' } },
      { to: '+447700900124', values: { no: '1' } },
    ],
  });
  const preview = await call('POST', '/v1/preview', { body: follow(source) });
  expect([preview.status, preview.json]).toMatchObject([200, { recipientCount: 2 }]);
  const failed = await call('POST', '/v1/preview', {
    body: follow(source, { toResultsOf: { campaign: source, status: ['failed', 'Cancelled'] } }),
  });
  expect(failed.json).toMatchObject({ recipientCount: 2 });
});

test('A key without the scope read, or without the lane of the source, cannot send to its results', async () => {
  const source = await cancelled();
  const [onlySends, onTwo, onOne] = await Promise.all([
    key(['send', 'status']),
    key(['send', 'read'], ['two']),
    key(['send', 'read'], ['one']),
  ]);
  for (const path of ['/v1/campaigns', '/v1/preview']) {
    const refused = await call('POST', path, { body: follow(source), key: onlySends });
    expect([refused.status, refused.json]).toMatchObject([
      403,
      {
        code: 'forbidden',
        detail:
          '`toResultsOf` reads the recipients of a campaign, which requires the scope read; the key has status and send.',
      },
    ]);
    const hidden = await call('POST', path, { body: follow(source, { lane: 'two' }), key: onTwo });
    const absent = await call('POST', path, {
      body: follow('mwrwtvlrlfo07', { lane: 'two' }),
      key: onTwo,
    });
    expect([hidden.status, JSON.stringify(hidden.json).replaceAll(source, 'mwrwtvlrlfo07')]).toEqual([
      400,
      JSON.stringify(absent.json),
    ]);
    expect(hidden.json).toMatchObject({ errors: [{ pointer: '/toResultsOf' }] });
    expect((await call('POST', path, { body: follow(source), key: onOne })).status).toBeLessThan(300);
  }
});

test('A campaign has either recipients or a source, and a form has no source', async () => {
  const source = await cancelled();
  const both = await create(follow(source, { recipients: list }));
  expect([both.status, both.json]).toMatchObject([400, { errors: [{ pointer: '/toResultsOf' }] }]);
  const neither = await create({ message: 'x', sendAt });
  expect([neither.status, neither.json]).toMatchObject([
    400,
    { errors: [{ pointer: '/recipients', message: 'It is missing.' }] },
  ]);
  const planned = await create(follow(source, { toResultsOf: { campaign: source, status: ['planned'] } }));
  expect([planned.status, planned.json]).toMatchObject([
    400,
    { errors: [{ pointer: '/toResultsOf/status/0' }] },
  ]);
  const form = campaignForm(follow(source), 'to,no\n+447700900123,1\n');
  const uploaded = await call('POST', '/v1/campaigns', { form });
  expect([uploaded.status, uploaded.json]).toMatchObject([400, { errors: [{ pointer: '/toResultsOf' }] }]);
});
