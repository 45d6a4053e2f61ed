import { messageChecker } from '../../../src/intake/outbox/definition/check-message.js';
import { outboxOpener } from '../../../src/intake/outbox/open-outbox.js';
import { operatedOutbox } from '../../../src/intake/outbox/outbox.js';
import type { Outbox } from '../../../src/intake/outbox/outbox-methods.js';
import { OPERATOR } from '../../app/access/operator.js';
import type { World } from '../world.js';
import type { Process } from './process.js';

/** The outbox of a world, as a platform uses it through a process. Throws if the world has none. */
export function openProcessOutbox({ keys, jobs, outbox }: World, process: Process): Outbox {
  if (outbox === undefined) throw new Error('this world has no outbox');
  const { name, lane } = outbox.plan;
  const options = {
    redis: process.redis,
    keys,
    config: process.config,
    events: process.events,
    finder: {
      withId: async (id: string) => process.laneNamed(id),
      named: async (id: string) => process.laneNamed(id),
      nameOf: async (id: string) => id,
      idOf: async (id: string) => id,
      configured: async () => new Map([[lane, process.laneNamed(lane)]]),
    },
    wakers: jobs,
    clock: process.machine.clock,
    random: process.machine.random,
  };
  const opener = outboxOpener(options);
  return operatedOutbox(options, OPERATOR, name, async () => {
    const opened = await opener.open(lane, name);
    // The openings of windows are drawn, so that their rules cannot be read.
    const { window: _, ...settings } = opened.settings;
    const { sendWindow: __, ...rules } = opened.lane.rules;
    const check = messageChecker(settings, process.config, []);
    return { ...opened, lane: { ...opened.lane, rules }, settings, check };
  });
}
