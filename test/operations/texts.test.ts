import { describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../src/operations/index.js';
import { isThere } from '../../src/operations/operation.js';
import { scene } from '../scene/scene.js';
import { sampleInput, sender } from './requests.js';

/*
 * Texts, values, and numbers need the scope `read`. The requests are made from the rows, so a new operation is tested as well.
 */

const { key, origin, volley } = await scene('operations-texts').api();
const send = await sender(origin);
const withoutRead = await key(['status', 'send', 'operate', 'metrics']);
const withRead = await key();

const PRIVATE = ['private text', 'private value', '447700900199'];
const AT = '2999-01-01T00:00:00Z';
const MESSAGE = 'private text {{name}}';
const RECIPIENT = { to: '+447700900199', name: 'private value' };
let made = 0;

/** The names of a new campaign, outbox, message, and schedule, by the members that name each. */
async function objects(): Promise<Record<'campaign' | 'outbox' | 'schedule', Record<string, string>>> {
  made += 1;
  const recipients = [RECIPIENT];
  const campaign = { message: MESSAGE, recipients, again: true };
  const outcome = await volley.enqueue({ ...campaign, sendAt: Date.parse(AT) });
  const name = `outbox-${made}`;
  await volley.outboxes.create({ name, message: MESSAGE });
  await volley.outbox(name).put({ ...RECIPIENT, id: 'm', sendAt: new Date(Date.now() + 9e6).toISOString() });
  const id = `schedule-${made}`;
  await volley.schedules.add({ id, cron: '0 9 * * 1', zone: 'UTC', message: MESSAGE, recipients });
  return {
    campaign: { id: 'id' in outcome ? outcome.id : '' },
    outbox: { name, id: 'm' },
    schedule: { id },
  };
}

const reveals = (text: string): string[] => PRIVATE.filter((each) => text.includes(each));
const revealing: string[] = [];

describe.each(
  OPERATIONS.filter(({ http }) => isThere(http)).map((operation) => [operation.name, operation] as const),
)('%s', (_, operation) => {
  test('shows no text, value, or number to a key without the scope read', async () => {
    const what = operation.access.rule === 'object' ? operation.access.what : '';
    const ask = async (as: string) => {
      const named = Object(await objects())[what] ?? {};
      return send(operation, sampleInput(operation, { ...named, number: '+447700900199' }), as);
    };
    const { status, text } = await ask(withoutRead);
    expect(reveals(text)).toEqual([]);
    if (operation.scope === 'read') expect(status).toBe(403);
    if (reveals((await ask(withRead)).text).length > 0) revealing.push(operation.name);
  });
});

test('A key with the scope read sees them', () => {
  expect(revealing).toEqual(
    expect.arrayContaining(['getReport', 'listRecipients', 'getOutbox', 'getMessage', 'listMessages']),
  );
});
