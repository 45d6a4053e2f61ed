import { z } from 'zod';
import { statusesKey } from '../../../engine/recipients/campaign-keys.js';
import { packRecipient } from '../../../engine/recipients/packed-recipient.js';
import { SLICE } from '../../../engine/recipients/slice-blob.js';
import { type LaneStore, laneScript } from '../../../engine/scripts/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../../../engine/scripts/script-events.js';
import { readState } from '../../../engine/store/campaigns.js';
import { outboxKeys } from '../definition/outbox-keys.js';
import { sliceOf, type WaveMessage } from './wave.js';

/*
 * What a wave has planned and not claimed. When the settings of its outbox change, that returns to the outbox.
 */

/** A message that is planned in a wave. */
export interface PlannedMessage extends WaveMessage {
  readonly ordinal: number;
}

/** More in one script would block Redis for too long. */
const MESSAGES_AT_ONCE = 500;

const returnScript = laneScript(import.meta.url, './return-messages.lua', (reply) => {
  const [returned, events] = z.tuple([z.number(), z.string()]).parse(reply);
  return { returned, events: scriptEvents(events) };
});

type Store = Pick<LaneStore, 'redis' | 'keys' | 'id'>;

/** The messages that a wave may still claim, in parts; some of them may have ended in it. */
export async function* plannedMessages(lane: Store, wave: string): AsyncGenerator<readonly PlannedMessage[]> {
  const state = await readState(lane.redis, lane.keys, lane.id, wave);
  if (state === null || state.endedAt > 0 || state.remainder !== 'planned') return;
  const released = new Set<number>();
  for (const { first, count, again } of state.released)
    for (let ordinal = first; again === undefined && ordinal < first + count; ordinal += 1)
      released.add(ordinal);
  const isPlanned = (ordinal: number): boolean => ordinal >= state.cursor || released.has(ordinal);
  for (let from = 0; from < state.ordinals; from += SLICE) {
    const ordinals = Array.from({ length: Math.min(SLICE, state.ordinals - from) }, (_, at) => from + at);
    if (!ordinals.some(isPlanned)) continue;
    const messages = await sliceOf(lane, wave, from / SLICE);
    yield messages.flatMap((message, at) =>
      isPlanned(from + at) ? [{ ...message, ordinal: from + at }] : [],
    );
  }
}

/** Has the planned messages of a wave return to its outbox, whose settings have changed. Repeating it is harmless. */
export async function returnPlanned(
  lane: LaneStore,
  name: string,
  wave: string,
  time?: number,
): Promise<readonly ScriptEvent[]> {
  const events: ScriptEvent[] = [];
  const ownKeys = {
    ...outboxKeys(lane.keys, lane.id, name).fixed,
    statuses: statusesKey(lane.keys, lane.id, wave),
  };
  for await (const planned of plannedMessages(lane, wave)) {
    for (let from = 0; from < planned.length; from += MESSAGES_AT_ONCE) {
      const some = planned.slice(from, from + MESSAGES_AT_ONCE);
      const entryArgs = some.flatMap(({ id, ordinal, due, number, values, reference }) => [
        id,
        ordinal,
        due,
        packRecipient({ number, values, reference }),
      ]);
      const reply = await returnScript(lane, { name, wave, time }, [], { ownKeys, entryArgs });
      events.push(...reply.events);
    }
  }
  return events;
}
