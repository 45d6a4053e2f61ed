import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { actor } from '../../campaign/actor.js';
import { outboxFields } from '../../campaign/field-schemas.js';
import { OUTBOX_NAMES, type OutboxName, spelled } from '../../campaign/field-sets.js';
import { parseSendTimeRule, type SendTimeRule } from '../../campaign/send-time.js';
import { outboxKeys } from './outbox-keys.js';

const stored = z.object({
  /** The fields of its waves. The window is a rule, with its zone and dates. */
  ...outboxFields,
  placeholders: z.array(z.string()),
  sendAt: z.string(),
  zone: z.string().optional(),
  lateMs: z.number(),
  created: z.number(),
  createdBy: actor.optional(),
});

/** The settings of an outbox, which never change. */
export type OutboxSettings = z.output<typeof stored>;

/** The settings that two requests to create an outbox must share. */
export type OutboxDefinition = Omit<OutboxSettings, 'created' | 'createdBy'>;

/** The settings that are not fields of its waves, by how requests spell them. The placeholders are part of the message. */
const OWN = { sendAt: 'sendAt', zone: 'zone', lateMs: 'late' } as const satisfies {
  readonly [Name in Exclude<keyof OutboxDefinition, OutboxName | 'placeholders'>]: string;
};

/** The first setting in which the two differ, as requests spell it; undefined if none does. */
export function differenceOf(stored: OutboxDefinition, wanted: OutboxDefinition): string | undefined {
  const isDifferent = (name: keyof OutboxDefinition): boolean =>
    !isDeepStrictEqual(stored[name], wanted[name]);
  const field = OUTBOX_NAMES.find(isDifferent);
  if (field !== undefined) return spelled(field);
  const names = Object.keys(OWN) as (keyof typeof OWN)[];
  const different = names.find(isDifferent);
  return different && OWN[different];
}

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
