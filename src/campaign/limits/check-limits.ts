import { InputError } from '../errors/errors.js';
import { type Actor, describeActor } from '../states/actor.js';
import type { LimitName, SomeLimits } from '../states/limit-values.js';
import { segmentsOf } from '../text/segments.js';
import { type Given, type LaneLimits, LIMIT_NAMES, LIMITS, type MessageRow } from './limits.js';
import { parseLimit } from './price.js';

/* Checks the limits of limits.ts: those of the actor, and those of the lane. */

/** Who has limits. */
export interface Limited {
  readonly owner: 'key' | 'lane';
  /** The id of the key; '' for a lane. */
  readonly key: string;
  /** In refusals, such as `API key 0123456789ab`. */
  readonly who: string;
  readonly limits: SomeLimits;
}

/** What someone may store in a UTC day on a lane. */
export interface DailyLimit extends Pick<Limited, 'owner' | 'key' | 'who'> {
  readonly recipientsPerDay: number | null;
  /** In micros. */
  readonly costPerDay: number | null;
}

/** A limit of an API key or a lane refuses what was asked for. Nothing was stored. */
export class LimitError extends InputError {
  override readonly name = 'LimitError';
  override readonly code = 'overLimit';
  readonly limit: LimitName;
  readonly owner: Limited['owner'];
  /** What remains of a daily limit: messages, or an amount; null for other limits. */
  readonly left: number | string | null;
  /** When a daily limit resets, ISO 8601; null for other limits. */
  readonly resetsAt: string | null;

  constructor(
    message: string,
    about: Pick<LimitError, 'limit' | 'owner'> & Partial<Pick<LimitError, 'left' | 'resetsAt' | 'field'>>,
  ) {
    super(message, { field: about.field });
    this.limit = about.limit;
    this.owner = about.owner;
    this.left = about.left ?? null;
    this.resetsAt = about.resetsAt ?? null;
  }
}

/** A part of a message that a limit refuses, and why; the reason continues what names the part. */
export interface LimitRefusal extends Pick<LimitError, 'limit' | 'owner'> {
  readonly reason: string;
}

/** The limits that apply to messages: those of the key, and those of the lane. */
export interface Limits {
  /** Why a limit refuses this part of a message; null if none does. */
  refusal<Part extends keyof Given>(part: Part, given: Given[Part]): LimitRefusal | null;
  /** The daily limits. */
  readonly daily: readonly DailyLimit[];
  /** Whether the price of each message must be known. */
  readonly needsPrices: boolean;
  /** Whether its segments must be. */
  readonly needsSegments: boolean;
}

/** What all of these may send. Throws an InputError for a daily limit of the cost that cannot be compared with the prices. */
export function limitsOf(all: readonly Limited[], currency: string | undefined): Limits {
  const rowsOf = (part: keyof Given) =>
    all.flatMap(({ owner, who, limits }) =>
      LIMIT_NAMES.flatMap((limit) => {
        const row = LIMITS[limit];
        const value = limits[limit] ?? null;
        if (row.limits !== part || value === null) return [];
        const refusal = (row as MessageRow<unknown, typeof part>).refusal;
        return [{ limit, owner, reason: (given: Given[typeof part]) => refusal(value, given, who) }];
      }),
    );
  const rows = { sender: rowsOf('sender'), number: rowsOf('number'), segments: rowsOf('segments') };
  const daily = all.flatMap(({ owner, key, who, limits: { recipientsPerDay = null, costPerDay = null } }) =>
    recipientsPerDay === null && costPerDay === null
      ? []
      : [{ owner, key, who, recipientsPerDay, costPerDay: microsOf(costPerDay, who, currency) }],
  );
  const needsPrices = daily.some(({ costPerDay }) => costPerDay !== null);
  return {
    refusal(part, given) {
      for (const { limit, owner, reason } of rows[part]) {
        const why = reason(given);
        if (why !== null) return { limit, owner, reason: why };
      }
      return null;
    },
    daily,
    needsPrices,
    needsSegments: needsPrices || rows.segments.length > 0,
  };
}

/** An actor, and what it may send; undefined: anything. */
export interface LimitedActor {
  readonly actor: Actor;
  readonly limits?: SomeLimits | undefined;
}

/** What actors may send on a lane together: the limits of all of them apply, and those of the lane. */
export function limitsFor(
  lane: { readonly name: string; readonly limits?: LaneLimits },
  by: LimitedActor | readonly LimitedActor[],
  currency: string | undefined,
): Limits {
  const ofActor = [by].flat().flatMap(({ actor, limits }): Limited[] => {
    const { kind, id, name } = actor;
    const who = kind === 'key' ? `API key ${id}` : describeActor(actor);
    return limits === undefined ? [] : [{ owner: 'key', key: id ?? name, who, limits }];
  });
  const ofLane: readonly Limited[] =
    lane.limits === undefined
      ? []
      : [{ owner: 'lane', key: '', who: `lane ${lane.name}`, limits: lane.limits }];
  return limitsOf([...ofActor, ...ofLane], currency);
}

/** No limits. */
export const NO_LIMITS = limitsOf([], undefined);

/** Why a daily limit of the cost fits no price, which have this currency; null if it does. Completes a sentence that begins with its name. */
export function costProblem({ costPerDay }: SomeLimits = {}, currency: string | undefined): string | null {
  const read = costPerDay && currency ? parseLimit(costPerDay, currency) : 0n;
  return typeof read === 'string' ? read : null;
}

function microsOf(costPerDay: string | null, who: string, currency: string | undefined): number | null {
  if (costPerDay === null) return null;
  const problem = (reason: string) => new InputError(`the limit \`costPerDay\` of ${who} ${reason}`);
  if (currency === undefined) throw problem('needs prices: set PRICE_PER_SEGMENT or PRICE_FILE');
  const micros = parseLimit(costPerDay, currency);
  if (typeof micros === 'string') throw problem(micros);
  return Number(micros);
}

/** Why a limit refuses the sender; null if none does. */
export function refusedSender(limits: Limits, sender: string): LimitError | null {
  const refused = limits.refusal('sender', sender);
  return refused && new LimitError(`the sender ${refused.reason}`, { ...refused, field: 'sender' });
}

/** Why a limit refuses a message with this text; null if none does. */
export function refusedText(limits: Limits, text: () => string): LimitRefusal | null {
  return limits.needsSegments ? limits.refusal('segments', segmentsOf(text()).segments) : null;
}
