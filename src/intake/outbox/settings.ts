import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { actor } from '../../campaign/actor.js';
import { parseSendTimeRule, type SendTimeRule } from '../../campaign/send-time.js';
import { outboxKeys } from './outbox-keys.js';

const stored = z.object({
  message: z.string(),
  placeholders: z.array(z.string()),
  sender: z.string(),
  senderName: z.string().optional(),
  sendAt: z.string(),
  zone: z.string().optional(),
  lateMs: z.number(),
  /** The rule of its window. */
  window: z.string().optional(),
  priority: z.enum(['high', 'normal']),
  country: z.string().optional(),
  created: z.number(),
  createdBy: actor.optional(),
});

/** The settings of an outbox, which never change. */
export type OutboxSettings = z.output<typeof stored>;

/** The settings that two requests to create an outbox must share. */
export type OutboxDefinition = Omit<OutboxSettings, 'created' | 'createdBy'>;

/** The rule of an outbox for messages without a time of their own. */
export function ruleOf({ sendAt }: Pick<OutboxSettings, 'sendAt'>): SendTimeRule {
  return parseSendTimeRule(sendAt) ?? { kind: 'now' };
}

/** Reads stored settings. */
export const parseSettings = (json: string): OutboxSettings => stored.parse(JSON.parse(json));

/** Reads the settings of an outbox; null if there is none with this name on the lane. */
export async function readOutboxSettings(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  name: string,
): Promise<OutboxSettings | null> {
  const json = await redis.hget(outboxKeys(keys, lane, name).fixed.outbox, 'settings');
  return json === null ? null : parseSettings(json);
}
