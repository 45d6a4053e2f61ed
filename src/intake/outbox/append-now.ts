import { z } from 'zod';
import { type LaneStore, laneScript } from '../../engine/lane/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../../engine/lane/script-events.js';
import { recipientListKey } from '../../engine/recipients/campaign-keys.js';
import { packRecipient } from '../../engine/recipients/packed-recipient.js';
import { type Entry, type OutboxStore, paymentOf } from './store.js';
import { packPointer } from './stored-message.js';
import { asRecipient, WAVE_MS } from './wave.js';

const OUTCOMES = ['done', 'outdated', 'known', 'later'] as const;
const appendScript = laneScript(import.meta.url, './append-now.lua', (reply) => {
  const [outcome, events, number, wave, stored] = z
    .tuple([z.enum(OUTCOMES), z.string(), z.number(), z.string(), z.number()])
    .parse(reply);
  return { outcome, events: scriptEvents(events), number, wave, stored };
});

/** What {@link nowAppender} did: the messages are planned, or nothing was done. */
export interface AppendedNow {
  readonly isDone: boolean;
  /** When the messages are due, s. */
  readonly due: number;
  /** Whether the wave had nothing to send before, so that no process has woken the lane for it. */
  readonly isFirst: boolean;
  readonly events: readonly ScriptEvent[];
}

/** What this process knows of the wave. */
interface KnownWave {
  readonly id: string;
  readonly ordinals: number;
}

/** When the lane could not take a message at once, the next ones are stored as waiting for this long without another attempt. */
const PATIENCE_MS = 100;

/**
 * Plans messages that are due now at once, with a quarter of the commands that storing and harvesting them takes. It does nothing if the
 * outbox has no wave, something else is due, the lane may not send now, an id is known, or an API key may not store so much (`limit`, in bytes): then the caller stores them as waiting.
 */
export function nowAppender(
  lane: LaneStore,
  name: string,
  store: OutboxStore,
  lateMs: number,
  clock: () => number,
  limit = 0,
) {
  let known: KnownWave = { id: '', ordinals: 0 };
  let notBefore = Number.NEGATIVE_INFINITY;

  /** `now` is for tests. */
  return async (messages: readonly Entry[], now?: number): Promise<AppendedNow> => {
    const nothing = { isDone: false, due: 0, isFirst: false, events: [] };
    const time = now ?? clock();
    if (time < notBefore && time > notBefore - PATIENCE_MS) return nothing;
    const due = Math.floor(time / 1_000);
    const events: ScriptEvent[] = [];
    for (let attempts = 0; attempts < 2; attempts += 1) {
      const wave = known;
      const entryArgs = messages.flatMap((entry, at) => [
        entry.id,
        packPointer(wave.ordinals + at, entry.message.version, wave.id),
        ...paymentOf(entry),
        packRecipient(asRecipient(entry.id, { ...entry.message, due })),
      ]);
      const args = {
        name,
        wave: wave.id,
        ordinals: wave.ordinals,
        buckets: store.buckets,
        dueAt: due,
        lateMs,
        maxAgeMs: WAVE_MS,
        limit,
        time: now,
      };
      const reply = await appendScript(
        lane,
        args,
        messages.map(({ id }) => store.bucketKey(id)),
        {
          ownKeys: { ...store.keys.fixed, recipients: recipientListKey(lane.keys, lane.id, wave.id) },
          entryArgs,
        },
      );
      events.push(...reply.events);
      switch (reply.outcome) {
        case 'done':
          known = { id: wave.id, ordinals: wave.ordinals + messages.length };
          await store.splitIfFull(reply.stored);
          return { isDone: true, due, isFirst: reply.number === 1, events };
        case 'outdated':
          known = { id: reply.wave, ordinals: reply.number };
          break;
        case 'later':
          notBefore = time + PATIENCE_MS;
          return { ...nothing, events };
        case 'known':
          return { ...nothing, events };
        default:
          return reply.outcome satisfies never;
      }
    }
    return { ...nothing, events };
  };
}
