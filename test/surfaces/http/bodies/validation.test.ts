import { expect, test } from 'vitest';
import { campaignForm } from '../../../scene/api.js';
import { scene } from '../../../scene/scene.js';

const { call } = await scene('http-validation').api();

const recipients = [{ to: '+447700900123' }];

test('No message names an option of the command line', async () => {
  const csv = 'home,work\n07700900123,07700900124\n';
  const form = (recipients: string): FormData => campaignForm({ message: 'Hi {{name}}' }, recipients);
  const refusals = [
    await call('POST', '/v1/find', { body: { number: '07700900123' } }),
    await call('POST', '/v1/campaigns', { body: { recipients: [{ to: '07700900123' }], message: 'Hi' } }),
    await call('POST', '/v1/campaigns', { form: form(csv) }),
    await call('POST', '/v1/campaigns', {
      form: campaignForm(
        { message: 'Hi {{name}}', duplicates: 'refuse' },
        'name,to\nA,+447700900123\nB,+447700900123\n',
      ),
    }),
  ];
  for (const { status, json } of refusals) {
    expect([status, JSON.stringify(json)]).toEqual([
      expect.any(Number),
      expect.not.stringMatching(/--[a-z]/),
    ]);
    expect(status).toBeGreaterThanOrEqual(400);
  }
  const warned = await call('POST', '/v1/preview', {
    form: form('name,to\nA,+447700900123\nB,+447700900123\n'),
  });
  expect(warned).toMatchObject({
    status: 200,
    json: { warnings: expect.arrayContaining([expect.stringContaining('set `duplicates` to `keep`')]) },
  });
});

test('One response lists everything that is wrong with a campaign: its members, their values, and the header', async () => {
  const wrong = {
    message: ' ',
    sender: 'A name that is too long',
    lane: 'nowhere',
    sendAt: '2020-01-01T00:00:00Z',
    validFor: 'soon',
    mesage: 'Hi',
  };
  const pointers = ({ json }: { json: unknown }): string[] =>
    (json as { errors: { pointer: string }[] }).errors.map(({ pointer }) => pointer).sort();
  const members = ['/lane', '/mesage', '/message', '/sendAt', '/sender', '/validFor'];
  const withoutTime = members.filter((member) => member !== '/sendAt');
  const created = await call('POST', '/v1/campaigns', { body: { recipients, ...wrong } });
  expect([created.status, pointers(created)]).toEqual([400, members]);
  expect((created.json as { detail: string }).detail).toMatch(/There are 5 more errors\.$/);

  const form = await call('POST', '/v1/campaigns', { form: campaignForm(wrong, 'phone\n+447700900123\n') });
  expect([form.status, pointers(form)]).toEqual([400, members]);

  const headers = { 'idempotency-key': 'k'.repeat(256) };
  const keyed = await call('POST', '/v1/campaigns', { body: { recipients, ...wrong }, headers });
  // With a key, the request may be a retry that arrives after the start.
  expect(pointers(keyed)).toEqual([...withoutTime, 'header/idempotency-key']);
  expect(pointers(await call('POST', '/v1/preview', { body: { recipients, ...wrong } }))).toEqual(
    withoutTime,
  );
});
