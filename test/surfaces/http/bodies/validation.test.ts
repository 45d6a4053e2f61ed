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

test('The JSON part of a form is validated in the same way', async () => {
  const form = new FormData();
  form.append('campaign', JSON.stringify({ message: '' }));
  form.append('recipients', new Blob(['phone\n+447700900123\n']), 'list.csv');
  const { status, json } = await call('POST', '/v1/campaigns', { form });
  const message = 'It is empty.';
  expect([status, json]).toMatchObject([400, { errors: [{ pointer: '/message', message }] }]);
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

test.each([
  ['POST', '/v1/campaigns', { mesage: 'Hi', recipients }, '`mesage` is unknown: did you mean `message`?'],
  [
    'POST',
    '/v1/preview?partail=true',
    { message: 'Hi', recipients },
    'The parameter `partail` is unknown: did you mean `partial`?',
  ],
  [
    'POST',
    '/v1/campaigns',
    { message: 'Hi', recipients, window: { hour: 'Mon' } },
    '`hour` in `window` is unknown: did you mean `hours`?',
  ],
  ['POST', '/v1/keys', { name: 'shop', scopes: ['read'] }, '`scopes` is unknown: did you mean `scope`?'],
  ['GET', '/v1/campaigns?sate=running', undefined, 'The parameter `sate` is unknown: did you mean `state`?'],
  ['GET', '/v1/me?x=1', undefined, 'The parameter `x` is unknown.'],
  [
    'POST',
    '/v1/campaigns',
    { message: 'Hi', recipients, idempotencyKey: 'a' },
    '`idempotencyKey` is invalid. Send it as the header `Idempotency-Key`.',
  ],
  [
    'PATCH',
    '/v1/campaigns/x',
    { metadata: { shop: '17' } },
    '`metadata` cannot be set here: use message, sender, ',
  ],
  ['PATCH', '/v1/campaigns/x', { lane: 'main' }, '`lane` cannot be set here: use message, sender, '],
  [
    'PUT',
    '/v1/keys/x',
    { scope: ['read'] },
    '`scope` cannot be set here: use lift, maxSuppressions, senders, ',
  ],
] as const)(
  'An unknown part of a request is named with what was meant, or can be set: %s %s %o',
  async (method, path, body, detail) => {
    const { status, json } = await call(method, path, { body });
    expect([status, json]).toMatchObject([
      400,
      {
        detail: expect.stringContaining(detail),
        errors: expect.arrayContaining([expect.objectContaining({ code: 'unknown' })]),
      },
    ]);
  },
);
