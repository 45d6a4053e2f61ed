import { z } from 'zod';
import { describeActor } from '../../campaign/states/actor.js';
import type { Operator } from '../../campaign/states/audit.js';
import { activate, bySweep, wakeLane } from '../../engine/jobs/wake.js';
import { orNull } from '../../engine/recipients/damaged.js';
import { laneScript } from '../../engine/scripts/lane-script.js';
import { scriptEvents } from '../../engine/scripts/script-events.js';
import { inFlightOf, readState } from '../../engine/store/campaigns.js';
import { outboxKeys } from './definition/outbox-keys.js';
import { noSuchOutbox, type Opened, type OutboxesOptions } from './open-outbox.js';

/** Stops an outbox, and starts it again. */
export interface OutboxCommands {
  /** Sends nothing more until {@link OutboxCommands.resume}. `inFlight`: requests that are still running. */
  pause(): Promise<{ inFlight: number }>;
  resume(): Promise<void>;
  /** Accepts no new messages, for good. Those that it has are still sent. */
  close(): Promise<void>;
}

const commandScript = laneScript(import.meta.url, './command-outbox.lua', (reply) => {
  const [state, inFlight, events] = z.tuple([z.string(), z.number(), z.string()]).parse(reply);
  return { state, inFlight, events: scriptEvents(events) };
});

/** Pauses, resumes, and closes an outbox for an operator. */
export function outboxCommands(
  { keys, wakers }: Pick<OutboxesOptions, 'keys' | 'wakers'>,
  by: Operator,
  name: string,
  open: () => Promise<Opened>,
): OutboxCommands {
  const command = async (action: 'pause' | 'resume' | 'close'): Promise<{ inFlight: number }> => {
    const { lane } = await open();
    const { outbox, waves } = outboxKeys(keys, lane.id, name).fixed;
    const [state, closed] = await lane.redis.hmget(outbox, 'state', 'closed');
    const waveIds = await lane.redis.zrange(waves, '0', '-1');
    const states = await Promise.all(
      waveIds.map((wave) => orNull(readState(lane.redis, keys, lane.id, wave))),
    );
    // Refusals of the service pause a wave, and not its outbox.
    const isPaused = state === 'paused' || states.some((wave) => wave?.state === 'paused');
    const isNow = { pause: state === 'paused', resume: !isPaused, close: closed === '1' };
    if (typeof state === 'string' && isNow[action]) return { inFlight: await inFlightOf(lane, waveIds) };
    return by.audited({ action: `outbox.${action}`, lane: lane.id, details: { outbox: name } }, async () => {
      const reason = `paused by ${describeActor(by.actor)}`;
      const { state, inFlight, events } = await activate(
        lane,
        () =>
          commandScript(lane, { name, command: action, reason }, [], {
            ownKeys: outboxKeys(keys, lane.id, name).fixed,
          }),
        () => (action === 'pause' ? bySweep() : wakeLane(lane, wakers)),
      );
      if (state === 'missing') throw noSuchOutbox(name);
      lane.emit(events);
      return { inFlight };
    });
  };

  return {
    pause: () => command('pause'),
    resume: async () => void (await command('resume')),
    close: async () => void (await command('close')),
  };
}
