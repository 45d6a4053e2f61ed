import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const { call, key, volley } = await scene('http-templates', { lanes: ['main', 'other'] }).api();

const recipients = [{ to: '+447700900123', name: 'Ada' }];
const sendAt = '2999-01-01T00:00:00Z';
await volley.templates.put({ name: 'reminder', lane: 'main', message: 'Hi {{name}}' });
const ofOther = await key(['send', 'read', 'operate'], ['other']);

test('A campaign, a form, a preview, and a schedule take a template instead of a text', async () => {
  const body = { template: 'reminder', lane: 'main', recipients };
  const { json } = await call('POST', '/v1/campaigns', { body: { ...body, sendAt } });
  expect((await volley.status(Object(json).id)).message).toBe('Hi {{name}}');
  const { json: preview } = await call('POST', '/v1/preview', { body });
  expect(preview).toMatchObject({ message: 'Hi {{name}}', samples: [{ text: 'Hi Ada' }] });
  const form = new FormData();
  form.append('campaign', JSON.stringify({ template: 'reminder', lane: 'main', again: true, sendAt }));
  form.append('recipients', new Blob(['to,name\n+447700900124,Ada\n']), 'list.csv');
  expect((await call('POST', '/v1/campaigns/upload', { form })).status).toBe(201);
  const schedule = { ...body, id: 'weekly', cron: '0 9 * * 1', zone: 'UTC' };
  expect((await call('POST', '/v1/schedules', { body: schedule })).json).toMatchObject({
    campaign: { message: 'Hi {{name}}' },
  });
});

test('A campaign with no text, with two, or with one that does not fit is refused, with a pointer', async () => {
  const refused = async (more: object) =>
    (await call('POST', '/v1/campaigns', { body: { recipients, lane: 'main', sendAt, ...more } })).json;
  const errors = (pointer: string, code: string) => ({ status: 400, errors: [{ pointer, code }] });
  expect(await refused({})).toMatchObject(errors('/message', 'missing'));
  expect(await refused({ message: 'Hi', template: 'reminder' })).toMatchObject(
    errors('/template', 'badInput'),
  );
  expect(await refused({ template: 'missing' })).toMatchObject({
    ...errors('/template', 'badInput'),
    detail: 'Lane main has no template missing; `volley template list` shows all.',
  });
  await volley.templates.put({ name: 'unfit', message: 'Hi {{surname}}' });
  expect(await refused({ template: 'unfit' })).toMatchObject({
    ...errors('/template', 'badInput'),
    detail: expect.stringContaining(
      'Template unfit cannot be used: at character 4, the message has {{surname}}',
    ),
  });
  // Everything that is wrong is listed at once.
  const several = await refused({ priority: 'highest' });
  expect(Object(several).errors).toMatchObject([{ pointer: '/priority' }, { pointer: '/message' }]);
});

test('A key for one lane sees and uses only the templates of its lane, and need not name it', async () => {
  const own = { key: ofOther };
  expect((await call('GET', '/v1/templates', own)).json).toEqual({ templates: [] });
  const body = { template: 'reminder', recipients, sendAt };
  expect((await call('POST', '/v1/campaigns', { ...own, body })).json).toMatchObject({
    status: 400,
    errors: [
      { pointer: '/template', message: expect.stringContaining('Lane other has no template reminder') },
    ],
  });
  const saved = await call('PUT', '/v1/templates/reminder', {
    ...own,
    body: { message: 'Hi from the other lane' },
  });
  expect(saved.json).toMatchObject({ outcome: 'created', lane: 'other' });
  const { json } = await call('POST', '/v1/campaigns', { ...own, body });
  expect((await volley.status(Object(json).id)).message).toBe('Hi from the other lane');
  expect((await call('DELETE', '/v1/templates/reminder?lane=main', own)).status).toBe(404);
  expect((await call('DELETE', '/v1/templates/reminder', own)).status).toBe(200);
  expect((await volley.templates.get('reminder')).message).toBe('Hi {{name}}');
});

test.each([
  ['PUT', '/v1/templates/foo%20bar', { message: 'Hi' }, 'path/name'],
  [
    'PUT',
    '/v1/schedules/Weekly',
    { cron: '0 9 * * 1', message: 'Hi', recipients: [{ to: '+447700900123' }] },
    'path/id',
  ],
  ['PUT', '/v1/outboxes/foo%20bar', { message: 'Hi' }, 'path/name'],
])('An error about a name in the address points there: %s %s', async (method, path, body, pointer) => {
  const { status, json } = await call(method, path, { body });
  expect(status).toBe(400);
  expect(json).toMatchObject({ errors: expect.arrayContaining([expect.objectContaining({ pointer })]) });
});
