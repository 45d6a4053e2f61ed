import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Redis } from '../../../base/redis/connection.js';
import type { Keys, LaneId } from '../../../base/redis/keys.js';
import { outboxFields } from '../../../campaign/fields/field-schemas.js';
import { OUTBOX_NAMES, type OutboxName } from '../../../campaign/fields/field-sets.js';
import { actor } from '../../../campaign/states/actor.js';
import { PRIORITY_WEIGHT } from '../../../campaign/states/campaign.js';
import { parseSendTimeRule, type SendTimeRule } from '../../../campaign/time/send-time.js';
import { readableMembers, readRecord } from '../../../engine/recipients/damaged.js';
import { outboxKeys } from '../../../engine/recipients/outbox-messages.js';

const stored = z.object({
  /** The fields of its messages. */
  ...outboxFields,
  /** The rule of its window, with its zone and dates. */
  window: z.string().optional(),
  sendRule: z.string(),
  zone: z.string().optional(),
  lateMs: z.number(),
  /**
   * The names of the values that are stored of a message, in their order: those that the text and the rule use, or have used. A change only
   * adds some, so that it can be undone.
   */
  columns: z.array(z.string()),
  /** How often the settings were changed. A message names the revision by which it was checked. */
  revision: z.number().default(0),
  /** Messages of earlier revisions may lack values, and have other times: they are checked again before they are claimed. */
  since: z.number().default(0),
  /** The revision in which the rule for times, or the zone, was last changed. */
  timedSince: z.number().default(0),
  /** Values of messages that were put before the last change, and lack them. */
  fill: z.record(z.string(), z.string()).optional(),
  /** Names the outbox at the service: with the number of a message, it is the reference of its request. */
  id: z.string(),
  created: z.number(),
  createdBy: actor.optional(),
});

/** The settings of an outbox. */
export type OutboxSettings = z.output<typeof stored>;

/** What is noted with settings that were never changed. */
export const UNCHANGED = { revision: 0, since: 0, timedSince: 0 } as const;

/** What follows from the other settings, or is noted with them. */
type Noted = 'columns' | 'revision' | 'since' | 'timedSince' | 'fill' | 'id' | 'created' | 'createdBy';

/** The settings that a request gives an outbox. */
export type OutboxDefinition = Omit<OutboxSettings, Noted>;

/** The settings that are not fields of a campaign, by how requests spell them. */
const OWN = { window: 'window', sendRule: 'sendRule', zone: 'zone', lateMs: 'late' } as const satisfies {
  readonly [Name in Exclude<keyof OutboxDefinition, OutboxName>]: string;
};

/** The settings in which the two differ, as requests spell them. */
export function differencesOf(stored: OutboxDefinition, wanted: OutboxDefinition): string[] {
  const isDifferent = (name: keyof OutboxDefinition): boolean =>
    !isDeepStrictEqual(stored[name], wanted[name]);
  const own = Object.keys(OWN) as (keyof typeof OWN)[];
  return [...OUTBOX_NAMES.filter(isDifferent), ...own.filter(isDifferent).map((name) => OWN[name])];
}

/** What follows from the settings for the state of the outbox, as scripts read it (campaigns.lua). */
export const stateOf = ({ priority, window, lateMs, revision, since }: OutboxSettings): object => ({
  weight: PRIORITY_WEIGHT[priority],
  window,
  lateMs,
  revision,
  since,
});

/** Names some settings, so that a process finds out whether they are still those of the outbox, or of another one of the same name. */
export const editionOf = ({ created, revision }: Pick<OutboxSettings, 'created' | 'revision'>): string =>
  `${created}.${revision}`;

/** The rule of an outbox for messages without a time of their own. */
export function ruleOf({ sendRule }: Pick<OutboxSettings, 'sendRule'>): SendTimeRule {
  return parseSendTimeRule(sendRule) ?? { kind: 'now' };
}

/** Reads stored settings. Throws a DamagedError if they cannot be read. */
export const parseSettings = (json: string, name?: string): OutboxSettings =>
  readRecord(name === undefined ? 'an outbox' : `outbox ${name}`, () => stored.parse(JSON.parse(json)));

/** What can be read of damaged settings, and what does no harm for the rest. */
export const readableSettings = (json: string): OutboxSettings =>
  stored.parse({
    message: '',
    sender: '',
    sendRule: 'now',
    lateMs: 0,
    columns: [],
    id: '',
    created: 0,
    ...readableMembers(stored.shape, json),
  });

/** Reads the settings of an outbox; null if there is none with this name on the lane. */
export async function readOutboxSettings(
  redis: Redis,
  keys: Keys,
  lane: LaneId,
  name: string,
): Promise<OutboxSettings | null> {
  const json = await redis.hget(outboxKeys(keys, lane, name).fixed.outbox, 'settings');
  return json === null ? null : parseSettings(json, name);
}
