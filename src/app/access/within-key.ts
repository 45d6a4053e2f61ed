import { NotAllowedError } from '../../campaign/errors/errors.js';
import { listed } from '../../campaign/errors/listed.js';
import { LimitError } from '../../campaign/limits/check-limits.js';
import { COUNTED_LIMITS, exceededLimit, isCovered } from '../../campaign/limits/limits.js';
import { type ApiScope, allowsScope } from '../../campaign/states/api-key.js';
import type { LimitName } from '../../campaign/states/limit-values.js';
import type { UnsignedKey } from './stored-key.js';

/*
 * A key that makes keys can give none of them a right that it lacks: a scope, a lane, more time, or a looser limit. What a limit counts, two
 * keys may do twice, so a key with such a limit makes no keys, gives no other a new secret, and raises that limit of none.
 */

type Rights = Pick<UnsignedKey, 'scopes' | 'limits' | 'maxSuppressions'> & OnLanes;
interface OnLanes {
  readonly lanes: readonly string[] | null;
}

/** Whether all lanes of a key are among these; undefined or null: all. What a damaged record says about its lanes counts for nothing. */
export function isOnLanes({ lanes }: OnLanes, among: readonly string[] | null | undefined): boolean {
  if (among === null || among === undefined) return true;
  return lanes !== null && lanes.length > 0 && lanes.every((lane) => among.includes(lane));
}

const overLimit = (limit: LimitName, message: string): LimitError =>
  new LimitError(message, { limit, owner: 'key', field: limit });

/**
 * Throws unless a key may do only what `own` may do. `requestsPerMinute`: of a key that has no such limit of its own. Throws a NotAllowedError,
 * or a LimitError that names the limit.
 */
export function requireWithin(own: Rights, wanted: Rights, requestsPerMinute: number): void {
  const scopes = own.scopes as ApiScope[];
  const missing = wanted.scopes.find((scope) => !allowsScope({ scopes }, scope as ApiScope));
  if (missing !== undefined)
    throw new NotAllowedError(
      `The other key may do more: it has the scope ${missing}, and this key has only ${listed(scopes)}.`,
    );
  if (!isOnLanes(wanted, own.lanes))
    throw new NotAllowedError('The other key may do more: it may use other lanes than this key.');
  if (wanted.maxSuppressions > own.maxSuppressions)
    throw new NotAllowedError(
      `The other key may do more: it may suppress ${wanted.maxSuppressions} numbers, and this key ${own.maxSuppressions}.`,
    );
  const usual = { requestsPerMinute };
  const limit = exceededLimit({ ...usual, ...own.limits }, { ...usual, ...wanted.limits });
  if (limit !== undefined)
    throw overLimit(
      limit,
      `the other key may do more: its limit \`${limit}\` is looser than that of this key`,
    );
}

/** Throws a LimitError if the key has a limit that counts: with the secret of another key, it could exceed it. */
export function requireUncounted({ limits }: Rights): void {
  const counted = COUNTED_LIMITS.find((name) => limits[name] !== undefined);
  if (counted !== undefined)
    throw overLimit(
      counted,
      `this key has the limit \`${counted}\`, so it cannot create a key or rotate another one: with a second key, it could exceed the limit`,
    );
}

/** The same if such a limit of another key would become looser. */
export function requireNotRaised(own: Rights, before: Rights, after: Rights): void {
  const raised = COUNTED_LIMITS.find(
    (name) => own.limits[name] !== undefined && !isCovered(name, before.limits, after.limits),
  );
  if (raised !== undefined)
    throw overLimit(raised, `this key has the limit \`${raised}\`, so it can only lower that of others`);
}
