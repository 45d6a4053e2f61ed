import type { OutboxMessage } from '../../src/intake/outbox/definition/check-message.js';

const NUMBER = 447_700_900_000;
/** Lists have at most a million messages: each remembers its ids to the end. */
export const LIST = 1_000_000;

/** A message with 45 bytes of content: an id of 14, a name of 19, and a number of 12. */
export const messageAt = (at: number): OutboxMessage & { name: string } => ({
  id: `appt-${String(at).padStart(9, '0')}`,
  to: `+${NUMBER + (at % 1_000)}`,
  name: `Ada ${String(at % 100_000).padStart(5, '0')} Lovelace.`,
});

/** Messages due from tomorrow on, of which `perSendTime` have the same time. */
export function* messages(count: number, perSendTime: number): Generator<OutboxMessage> {
  const from = Date.now() + 86_400_000;
  for (let at = 0; at < count; at += 1) {
    const sendAt = new Date(from + Math.floor(at / perSendTime) * 60_000).toISOString();
    yield { ...messageAt(at), sendAt };
  }
}

/** Messages with a time that the rule of the outbox uses, a number, and a reference of their own. */
export function* timedMessages(count: number): Generator<OutboxMessage> {
  const from = Date.now() + 7 * 86_400_000;
  for (let at = 0; at < count; at += 1) {
    const when = new Date(from + Math.floor(at / 35) * 60_000).toISOString();
    yield { ...messageAt(at), to: `+${NUMBER + at}`, reference: `ref-${at}`, when };
  }
}

/** Takes the next items, at most `most` of them. */
export function* firstOf<Item>(items: Iterator<Item>, most: number): Generator<Item> {
  for (let at = 0; at < most; at += 1) {
    const { done, value } = items.next();
    if (done === true) return;
    yield value;
  }
}
