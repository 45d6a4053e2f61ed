import { setTimeout as delay } from 'node:timers/promises';
import type { Volley } from '../../../app/volley.js';
import type { OutboxMessageStatus } from '../../../campaign/outbox-views.js';

const OUTBOX = 'reminders';
const LOOK_EVERY_MS = 500;

/** What became of the demo's reminders: single messages with a time each, of which one is moved and one is cancelled. */
export interface Reminders {
  readonly messages: readonly OutboxMessageStatus[];
  /** When the moved message was due at first, and then, ISO 8601. */
  readonly movedFrom: string;
  readonly movedTo: string;
}

/** Puts three reminders into an outbox beside the campaigns, moves one, cancels one, and waits until the others are final. */
export async function remind(volley: Volley, now: number, signal: AbortSignal): Promise<Reminders> {
  const inSeconds = (seconds: number): string => new Date(now + seconds * 1_000).toISOString();
  await volley.outboxes.create({
    name: OUTBOX,
    lane: 'main',
    message: 'Hi {{name}}, your appointment is tomorrow.',
    zone: 'Europe/London',
    late: '1m',
  });
  const outbox = volley.outbox(OUTBOX);
  const [movedFrom, movedTo] = [inSeconds(8), inSeconds(14)];
  const moved = { id: 'appt-2', to: '+447700900012', name: 'Grace' };
  await outbox.put({ id: 'appt-1', to: '+447700900011', name: 'Ada', sendAt: inSeconds(3) });
  await outbox.put({ ...moved, sendAt: movedFrom });
  await outbox.put({ id: 'appt-3', to: '+447700900013', name: 'Hedy', sendAt: inSeconds(10) });
  await outbox.put({ ...moved, sendAt: movedTo });
  await outbox.cancel('appt-3');
  for (;;) {
    const messages = await Promise.all(['appt-1', 'appt-2', 'appt-3'].map((id) => outbox.message(id)));
    if (messages.every(isFinal)) return { messages, movedFrom, movedTo };
    await delay(LOOK_EVERY_MS, undefined, { signal });
  }
}

const isFinal = ({ state }: OutboxMessageStatus): boolean =>
  ['deliveredToTerminal', 'deliveryImpossible', 'cancelled', 'lapsed', 'rejected'].includes(state);

/** How many reminders were sent. */
export const remindersSent = ({ messages }: Reminders): number =>
  messages.filter(({ sentAt }) => sentAt !== null).length;

/** The promises about the reminders: whether this run kept each, and what broke it. */
export function reminderPromises({ messages, movedTo }: Reminders): [isKept: boolean, sentence: string][] {
  const [kept, moved, cancelled] = messages;
  return [
    [kept?.sentAt != null, `the reminder of appt-1 is ${kept?.state}`],
    [
      moved?.sentAt != null && Date.parse(moved.sentAt) >= Date.parse(movedTo),
      `the reminder that was moved to ${movedTo} was sent at ${moved?.sentAt}`,
    ],
    [cancelled?.state === 'cancelled', `the reminder that was cancelled is ${cancelled?.state}`],
  ];
}

/** The reminders in one line. */
export function remindersText({ messages, movedFrom, movedTo }: Reminders): string {
  const [kept, moved, cancelled] = messages.map(({ state }) => state);
  const byMs = Date.parse(movedTo) - Date.parse(movedFrom);
  return `3 in an outbox: 1 ${kept}; 1 moved by ${byMs / 1_000} s, ${moved}; 1 ${cancelled}`;
}
