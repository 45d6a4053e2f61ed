import { afterAll, expect, test, vi } from 'vitest';
import type { OutboxMessageStatus } from '../../../../src/campaign/views/outbox-views.js';
import { testRedis } from '../../../base/redis/test-redis.js';
import { NUMBER, SOON, workingVolley } from '../working-volley.js';

const place = testRedis('message-views');
/** A number that is suppressed, and one that is searched for. */
const [SUPPRESSED, SEARCHED] = ['+447700900125', '+447700900126'];

/** The first request with it is accepted, then its connection is reset. */
const RESET = '+4795550131';

const { volley } = await workingVolley(place, { until: afterAll });
let outboxes = 0;

/** An outbox of its own. */
async function newOutbox() {
  outboxes += 1;
  const name = `dentist-${outboxes}`;
  await volley.outboxes.create({ name, message: 'Hi {{name}}' });
  const outbox = volley.outbox(name);
  const listed = async (): Promise<OutboxMessageStatus[]> => {
    const messages: OutboxMessageStatus[] = [];
    for await (const message of outbox.report()) messages.push(message);
    return messages;
  };
  const isIn = (id: string, state: string) =>
    vi.waitFor(async () => expect(await outbox.message(id)).toMatchObject({ state }), SOON);
  return { name, outbox, listed, isIn };
}

test('A message that is sent keeps its version and its reference, alone and in the list, and its values until it is final', async () => {
  const { outbox, listed, isIn } = await newOutbox();
  const content = { to: NUMBER, name: 'Ada', version: 3, reference: 'B-1' };
  await outbox.put({ ...content, id: 'b', sendAt: new Date(Date.now() + 3_600_000).toISOString() });
  expect(await outbox.message('b')).toMatchObject({ version: 3, values: { name: 'Ada' }, text: 'Hi Ada' });
  await outbox.cancel('b');
  await outbox.put({ ...content, id: 'a' });
  await isIn('a', 'deliveredToTerminal');
  const sent = await outbox.message('a');
  expect(sent).toMatchObject({ version: 3, values: null, text: null, reference: 'B-1' });
  expect(sent.sentAt).toMatch(/Z$/);
  expect((await listed()).filter(({ id }) => id === 'a')).toEqual([sent]);
});

test('A message that is suppressed when its time comes was not sent', async () => {
  const { outbox, listed, isIn } = await newOutbox();
  await volley.suppression.add([SUPPRESSED]);
  await outbox.put({ id: 'a', to: SUPPRESSED, name: 'Ada' });
  await isIn('a', 'suppressed');
  expect(await listed()).toMatchObject([{ state: 'suppressed', sentAt: null }]);
});

test('A message with an unknown outcome names its request, and is resolved by its id', async () => {
  const { outbox, isIn } = await newOutbox();
  await outbox.put({ id: 'a', to: RESET, name: 'Ada' });
  await isIn('a', 'unknown');
  expect((await outbox.message('a')).requestId).not.toBeNull();
  await expect(outbox.resolve({ as: 'accepted', message: 'b' })).rejects.toThrow('has no message b');
  expect(await outbox.resolve({ as: 'accepted', message: 'a' })).toMatchObject({
    requests: 1,
    recipientCount: 1,
  });
  expect(await outbox.message('a')).toMatchObject({ state: 'unconfirmed' });
});

test('A search by number names the outbox and the message', async () => {
  const { name: own, outbox, isIn } = await newOutbox();
  await outbox.put({ id: 'a', to: '+447700900124', name: 'Bea' });
  await outbox.put({ id: 'b', to: SEARCHED, name: 'Ada' });
  await isIn('b', 'deliveredToTerminal');
  await volley.enqueue({ recipients: [{ to: SEARCHED }], message: 'Bye' });
  const found: object[] = [];
  for await (const { outbox: name, message } of volley.find(SEARCHED)) found.push({ name, message });
  expect(found).toEqual([
    { name: null, message: null },
    { name: own, message: 'b' },
  ]);
});
