import { z } from 'zod';
import { describeActor } from '../../campaign/states/actor.js';
import type { Operator } from '../../campaign/states/audit.js';
import { activate, bySweep, wakeLane } from '../../engine/jobs/wake.js';
import { outboxId, outboxKeys } from '../../engine/recipients/outbox-messages.js';
import { laneScript } from '../../engine/scripts/lane-script.js';
import { scriptEvents } from '../../engine/scripts/script-events.js';
import {
  type MessageResolution,
  type ResolveOutcome,
  resolveMessages,
} from '../../engine/sending/unknown.js';
import { inFlightOf, readState } from '../../engine/store/campaigns.js';
import { noSuchOutbox, type Opened, type OutboxesOptions } from './open-outbox.js';

/** Stops an outbox, starts it again, and settles what is unknown. */
export interface OutboxCommands {
  /** Sends nothing more until {@link OutboxCommands.resume}. `inFlight`: requests that are still running. */
  pause(): Promise<{ inFlight: number }>;
  resume(): Promise<void>;
  /** Accepts no new messages, for good. Those that it has are still sent. */
  close(): Promise<void>;
  /**
   * Settles messages with an unknown outcome: all, or the one that is named. Rejects with a `NotFoundError` if that has none.
   * `requests`: one for each message.
   */
  resolve(resolution: MessageResolution): Promise<ResolveOutcome>;
}

const commandScript = laneScript(import.meta.url, './command-outbox.lua', (reply) => {
  const [exists, inFlight, events] = z.tuple([z.number(), z.number(), z.string()]).parse(reply);
  return { exists: exists === 1, inFlight, events: scriptEvents(events) };
});

/** Commands an outbox for an operator. */
export function outboxCommands(
  { keys, wakers, events }: Pick<OutboxesOptions, 'keys' | 'wakers' | 'events'>,
  by: Operator,
  name: string,
  open: () => Promise<Opened>,
): OutboxCommands {
  const command = async (action: 'pause' | 'resume' | 'close'): Promise<{ inFlight: number }> => {
    const { lane } = await open();
    const { outbox } = outboxKeys(keys, lane.id, name).fixed;
    const id = outboxId(name);
    const [closed, state] = await Promise.all([
      lane.redis.hget(outbox, 'closed'),
      readState(lane.redis, keys, lane.id, id),
    ]);
    const isPaused = state?.state === 'paused';
    const isNow = { pause: isPaused, resume: !isPaused, close: closed === '1' };
    if (state !== null && isNow[action]) return { inFlight: await inFlightOf(lane, [id]) };
    return by.audited({ action: `outbox.${action}`, lane: lane.id, details: { outbox: name } }, async () => {
      const reason = `paused by ${describeActor(by.actor)}`;
      const { exists, inFlight, events } = await activate(
        lane,
        () => commandScript(lane, { id, command: action, reason }, [], { ownKeys: { outbox } }),
        () => (action === 'pause' ? bySweep() : wakeLane(lane, wakers)),
      );
      if (!exists) throw noSuchOutbox(name);
      lane.emit(events);
      return { inFlight };
    });
  };

  return {
    pause: () => command('pause'),
    resume: async () => void (await command('resume')),
    close: async () => void (await command('close')),
    resolve: async (resolution) => {
      const { lane } = await open();
      return resolveMessages(lane, name, resolution, { wakers, events, by });
    },
  };
}
