import { type InboundService, inboundService } from '../../../src/engine/inbound/inbound-service.js';
import type { Suppression } from '../../../src/engine/suppression/suppression.js';
import { OPERATOR } from '../../app/access/operator.js';
import type { World } from '../world.js';
import type { Process } from './process.js';

/** What stores the replies of people, in worlds in which people reply. */
export function openInbound(
  { scenario, keys }: World,
  process: Process,
  suppression: Suppression,
): InboundService | undefined {
  if (scenario.replies.length === 0) return undefined;
  const { redis, events, config, machine } = process;
  const nameOf = async (id: string) => id;
  const ids = async () => scenario.lanes.map(({ settings }) => settings.name);
  return inboundService({
    redis,
    keys,
    finder: { nameOf, idOf: nameOf, ids },
    suppression,
    events,
    clock: machine.clock,
    alarm: machine.alarm,
    retentionMs: config.retentionMs,
    replies: { stopWords: ['stop'], startWords: ['start'], stopScope: 'lane' },
    by: OPERATOR,
    lastSent: async () => null,
    sentSince: async () => [],
  });
}
