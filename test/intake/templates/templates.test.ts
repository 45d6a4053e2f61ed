import { expect, test } from 'vitest';
import { keyNames } from '../../../src/base/redis/keys.js';
import { scene } from '../../scene/scene.js';

const { open, prefix, redis } = scene('templates', {
  lanes: ['main', 'other'],
  settings: { SENDER_ADDRESS: 'ACME', DEFAULT_COUNTRY: 'GB', MAX_SCHEDULE_AHEAD: '365000d' },
});
const volley = open();
const keys = keyNames(prefix);
const { templates } = volley;

let lists = 0;
/** A list that was never sent to. */
const list = () => {
  lists += 1;
  return [{ to: `+4477009${String(lists).padStart(5, '0')}`, name: 'Ada' }];
};
const LATER = { sendAt: '2999-01-01T00:00:00Z' };
const TIMES = { cron: '0 9 * * 1', zone: 'UTC' };

/** Creates a campaign, and returns what is stored of it. */
async function created(input: object) {
  const outcome = await volley.enqueue({ recipients: list(), ...LATER, ...input });
  if (!('id' in outcome)) throw new Error(outcome.message);
  return volley.status(outcome.id);
}

test('A text is saved with its sender and its columns, and a put says what it has done', async () => {
  const saved = { name: 'hello', lane: 'main', message: 'Hi {{ name }}, {{due}}', sender: 'SHOP' };
  const shown = { ...saved, columns: ['name', 'due'] };
  expect(await templates.put(saved)).toEqual({ ...shown, outcome: 'created' });
  expect(await templates.put(saved)).toEqual({ ...shown, outcome: 'unchanged' });
  const changed = { name: 'hello', message: 'Hello' };
  expect(await templates.put(changed)).toMatchObject({ outcome: 'updated', sender: null, columns: [] });
  await templates.put({ name: 'a-first', message: 'Hi' });
  expect((await templates.list()).map(({ name }) => name)).toEqual(['a-first', 'hello']);
  // Every object inherits a member of this name.
  expect(await templates.put({ name: 'constructor', message: 'Hi' })).toMatchObject({ outcome: 'created' });
  for (const name of ['constructor', 'hello']) await templates.delete(name);
  expect((await templates.list()).map(({ name }) => name)).toEqual(['a-first']);
  await expect(templates.delete('hello')).rejects.toThrow(/^lane main has no template hello/);
  const { entries } = await volley.audit();
  expect(entries.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['template.set', 'template.delete']),
  );
});

test('A template is checked as the text of a campaign is', async () => {
  const refused: readonly (readonly [input: object, field: string, reason: RegExp])[] = [
    [{ name: 'my text' }, 'name', /1 to 64 letters, digits, - and _/],
    [{ message: ' ' }, 'message', /the message is empty/],
    [{ message: 'Hi {{#name}}' }, 'message', /At character 4, the message has a section/],
    [{ sender: 'a name that is too long' }, 'sender', /11/],
  ];
  for (const [input, field, reason] of refused) {
    const put = templates.put({ name: 'checked', message: 'Hi', ...input });
    await expect(put).rejects.toMatchObject({ name: 'InputError', field, message: reason });
  }
  const limited = volley.as({ kind: 'key', id: '0123456789ab', name: 'shop', limits: { senders: ['SHOP'] } });
  const put = limited.templates.put({ name: 'checked', message: 'Hi', sender: 'OTHER' });
  await expect(put).rejects.toMatchObject({ code: 'overLimit', limit: 'senders' });
  expect((await templates.list()).map(({ name }) => name)).not.toContain('checked');
});

test('A campaign gets the text and the sender of its template, unless it has a sender of its own', async () => {
  await templates.put({ name: 'both', message: 'Hi {{name}}', sender: 'SHOP' });
  expect(await created({ template: 'both' })).toMatchObject({ message: 'Hi {{name}}', sender: 'SHOP' });
  expect(await created({ template: 'both', sender: 'OWN' })).toMatchObject({ sender: 'OWN' });
  const { samples, sender } = await volley.preview({ recipients: list(), template: 'both' });
  expect([samples[0]?.text, sender]).toEqual(['Hi Ada', 'SHOP']);
});

test('Two lanes have templates of one name, and a campaign gets that of its lane', async () => {
  await templates.put({ name: 'twice', message: 'Hi from main' });
  await templates.put({ name: 'twice', lane: 'other', message: 'Hi from the other one' });
  expect(await created({ template: 'twice' })).toMatchObject({ message: 'Hi from main' });
  const there = await created({ template: 'twice', lane: 'other' });
  expect(there).toMatchObject({ lane: 'other', message: 'Hi from the other one' });
  await templates.delete('twice', { lane: 'other' });
  expect((await templates.get('twice')).message).toBe('Hi from main');
});

test('A campaign keeps its text when its template changes, or is deleted', async () => {
  await templates.put({ name: 'changing', message: 'The first text' });
  const { id } = await created({ template: 'changing' });
  await templates.put({ name: 'changing', message: 'The second text' });
  expect((await volley.status(id)).message).toBe('The first text');
  await templates.delete('changing');
  expect((await volley.status(id)).message).toBe('The first text');
});

test('A repeated request gets its campaign, and conflicts once its template has another text', async () => {
  await templates.put({ name: 'repeated', message: 'The first text' });
  const request = { recipients: list(), template: 'repeated', idempotencyKey: 'once', ...LATER };
  const first = await volley.enqueue(request);
  expect(await volley.enqueue(request)).toMatchObject({ outcome: 'existing', id: Object(first).id });
  await templates.put({ name: 'repeated', message: 'The second text' });
  expect(await volley.enqueue(request)).toMatchObject({ outcome: 'refused', code: 'conflict' });
  const message = 'The first text';
  expect(await volley.enqueue({ ...request, template: undefined, message })).toMatchObject({
    outcome: 'existing',
  });
});

test('An error names the template that is missing, and the column that the list lacks', async () => {
  await templates.put({ name: 'columns', message: 'Hi {{first name}}' });
  const tried = (input: object) => volley.enqueue({ recipients: list(), ...LATER, ...input });
  const about = { name: 'InputError', field: 'template' };
  await expect(tried({ template: 'missing' })).rejects.toMatchObject({
    ...about,
    message: 'lane main has no template missing; `volley template list` shows all',
  });
  await expect(tried({ template: 'columns' })).rejects.toMatchObject({
    ...about,
    message: expect.stringMatching(
      /^template columns cannot be used: at character 4, the message has {{first name}}, but the list has no such column/,
    ),
  });
  await expect(tried({ template: 'columns', message: 'Hi' })).rejects.toMatchObject({
    ...about,
    message: 'a campaign has one text: give either a message or a template',
  });
  await expect(tried({ template: 'columns', lane: 'nowhere' })).rejects.toMatchObject({
    name: 'NoSuchLaneError',
  });
});

test('A schedule copies the text of a template of its lane, when it is added and when it is changed', async () => {
  await templates.put({ name: 'weekly', message: 'Hi from main' });
  await templates.put({ name: 'weekly', lane: 'other', message: 'Hi {{name}}', sender: 'SHOP' });
  const { campaign } = await volley.schedules.add({
    ...{ id: 'weekly', lane: 'other', template: 'weekly', recipients: list(), ...TIMES },
  });
  expect(campaign).toMatchObject({ message: 'Hi {{name}}', sender: 'SHOP' });
  await templates.put({ name: 'weekly', lane: 'other', message: 'Hello {{name}}' });
  expect((await volley.schedules.get('weekly')).campaign.message).toBe('Hi {{name}}');
  // It is that of the lane of the schedule, which the request need not name.
  const put = await volley.schedules.put({ id: 'weekly', template: 'weekly', ...TIMES });
  expect(put).toMatchObject({ outcome: 'updated', lane: 'other', campaign: { message: 'Hello {{name}}' } });
  const missing = volley.schedules.put({ id: 'weekly', template: 'missing', ...TIMES });
  await expect(missing).rejects.toThrow('lane other has no template missing');
});

test('A lane has at most 1,000 templates and 1 MB of them, and those that it has can still be changed', async () => {
  const lane = 'other';
  const hash = keys.lane(lane, 'templates');
  await redis.del(hash);
  const full = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`t${at}`, '{"message":"Hi"}']));
  await redis.hset(hash, full);
  const refusal = /lane other would have more than 1,000 templates, or more than 1 MB of them: delete some/;
  await expect(templates.put({ name: 'more', lane, message: 'Hi' })).rejects.toThrow(refusal);
  expect(await templates.put({ name: 't7', lane, message: 'Hello' })).toMatchObject({ outcome: 'updated' });
  await redis.hset(hash, 't6', JSON.stringify({ message: 'x'.repeat(970_000) }));
  await expect(templates.put({ name: 't7', lane, message: 'x'.repeat(20_000) })).rejects.toThrow(refusal);
  await redis.hset(hash, 't8', 'damaged');
  expect(await templates.list({ lane })).toHaveLength(999);
});
