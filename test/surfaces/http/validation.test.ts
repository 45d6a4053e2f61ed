import { expect, test } from 'vitest';
import { campaignForm } from '../../scene/api.js';
import { scene } from '../../scene/scene.js';

const { call } = await scene('http-validation').api();

const recipients = [{ to: '+447700900123' }];
test.each([
  ['POST', '/v1/campaigns', { recipients }, '/message', '`message` is missing.'],
  ['POST', '/v1/campaigns', { recipients, message: '' }, '/message', '`message` is empty.'],
  ['POST', '/v1/campaigns', { recipients, message: 'Hi', mesage: '' }, '/mesage', '`mesage` is unknown.'],
  ['POST', '/v1/campaigns', { recipients, message: 'Hi', sender: ' ' }, '/sender', '`sender` is empty.'],
  [
    'POST',
    '/v1/campaigns',
    { recipients, message: 'Hi', country: 'UK!' },
    '/country',
    '`country` is invalid. Use two letters of ISO 3166, such as GB.',
  ],
  [
    'POST',
    '/v1/campaigns',
    { recipients: [...recipients, { to: true }], message: 'Hi' },
    '/recipients/1/to',
    '`to` in item 2 of `recipients` is invalid. Use a number, null, or a string of up to 5000 characters.',
  ],
  ['POST', '/v1/preview', [], '', 'The body must be an object.'],
  ['POST', '/v1/suppressions', { numbers: [7] }, '/numbers/0', 'Item 1 of `numbers` must be a string.'],
  ['POST', '/v1/find', undefined, '', 'The body must be an object.'],
  ['GET', '/v1/campaigns?limit=abc', undefined, 'query/limit', 'The parameter `limit` must be a number.'],
  ['GET', '/v1/campaigns?limit=201', undefined, 'query/limit', 'The parameter `limit` must be at most 200.'],
  [
    'GET',
    '/v1/campaigns?state=gone',
    undefined,
    'query/state',
    'The parameter `state` must be one of importing, scheduled, running, paused, cancelled, completed.',
  ],
  ['GET', '/v1/campaigns?stat=x', undefined, 'query/stat', 'The parameter `stat` is unknown.'],
  ['GET', '/v1/outboxes?limits=1', undefined, 'query/limits', 'The parameter `limits` is unknown.'],
  [
    'GET',
    `/v1/campaigns/${'x'.repeat(41)}`,
    undefined,
    'path/id',
    'The id in the address has more than 40 characters.',
  ],
] as const)(
  'The problem of an invalid request says in a sentence what is wrong, and points to it: %s %s %o',
  async (method, path, body, pointer, detail) => {
    const { status, json } = await call(method, path, { body });
    expect([status, json]).toMatchObject([400, { detail, errors: [{ pointer }] }]);
  },
);

test('A problem with several errors says how many there are', async () => {
  const { json } = await call('POST', '/v1/preview', { body: { recipients, message: 7, a: 1, b: 2 } });
  expect(json).toMatchObject({ detail: '`message` must be a string. There are 2 more errors.' });
});

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

test('Every error of a request is listed, not only the first', async () => {
  const { json } = await call('POST', '/v1/preview', { body: { recipients: [], a: 1, b: 2 } });
  const { errors } = json as { errors: { pointer: string }[] };
  expect(errors.map(({ pointer }) => pointer).sort()).toEqual(['/a', '/b', '/message', '/recipients']);
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
