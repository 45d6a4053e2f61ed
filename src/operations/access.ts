import type { Volley } from '../app/volley.js';
import type { ApiKey } from '../campaign/api-key.js';
import { NotAllowedError, NotFoundError } from '../campaign/errors.js';
import { listed } from '../campaign/listed.js';

/*
 * Which lanes an operation may touch. Every operation follows one of four rules:
 *
 *   object   what it names belongs to a lane; if the key may not use that lane, the object does not exist for it (404)
 *   lane     it names a lane, which the key must be allowed to use (403)
 *   filter   it covers the lanes of the key, or only one of them if it names it (403)
 *   all      it covers all lanes, so a key that is limited to some cannot use it (403)
 */

/** A rule of access, for operations with this input. */
export type Access<Input> =
  | {
      readonly rule: 'object';
      /** What the input names, in error messages and on the command line. */
      readonly what: string;
      /** The lane of the object. `lanes`: where the caller may look; undefined: everywhere. Rejects with a NotFoundError. */
      laneOf(volley: Volley, input: Input, lanes: readonly string[] | undefined): Promise<string>;
      /** The member of the input that names it. */
      readonly member: string;
    }
  | { readonly rule: 'lane' | 'filter'; lane(input: Input): string | undefined }
  | { readonly rule: 'all'; readonly subject: string };

/** A campaign, by its id. */
export const byCampaign: Access<{ readonly id: string }> = {
  rule: 'object',
  what: 'campaign',
  member: 'id',
  laneOf: (volley, { id }) => volley.laneOf(id),
};

/** The lane that the input names. */
export const byLane: Access<{ readonly lane?: string | undefined }> = {
  rule: 'lane',
  lane: ({ lane }) => lane,
};

/** The lanes of the key; with `lane`, only that one. */
export const byLanesOfKey: Access<{ readonly lane?: string | undefined }> = {
  rule: 'filter',
  lane: ({ lane }) => lane,
};

/** All lanes. `subject`: what covers them, in the plural. */
export const allLanes = (subject: string): Access<unknown> => ({ rule: 'all', subject });

/**
 * The lanes on which an operation may run; undefined: all. Rejects with a NotFoundError or a NotAllowedError, as the rule says. `key`: null
 * for the operator of this machine, who may use all lanes.
 */
export async function allowedLanes<Input>(
  access: Access<Input>,
  key: ApiKey | null,
  volley: Volley,
  input: Input,
): Promise<readonly string[] | undefined> {
  const ofKey = key?.lanes ?? undefined;
  switch (access.rule) {
    case 'object': {
      const lane = await access.laneOf(volley, input, ofKey).catch((error: unknown) => {
        throw error instanceof NotFoundError && key !== null ? missing(access, input) : error;
      });
      if (key !== null && !allowsLane(key, lane)) throw missing(access, input);
      return [lane];
    }
    case 'lane':
    case 'filter': {
      const lane = access.lane(input);
      if (lane === undefined) return ofKey;
      if (key !== null) requireLane(key, lane);
      return [lane];
    }
    case 'all':
      if (key !== null) requireAllLanes(key, access.subject);
      return undefined;
    default:
      return access satisfies never;
  }
}

/** The same error whether the object does not exist or belongs to a lane that the key may not use. */
function missing({ what, member }: { what: string; member: string }, input: unknown): NotFoundError {
  return new NotFoundError(`There is no ${what} ${Object(input)[member]}.`);
}

/** Whether a key may use a lane. */
export function allowsLane({ lanes }: ApiKey, lane: string): boolean {
  return lanes === null || lanes.includes(lane);
}

/** Throws for a lane that the key may not use. The error is the same whether or not the lane exists. */
export function requireLane(key: ApiKey, lane: string): void {
  if (allowsLane(key, lane)) return;
  throw new NotAllowedError(`This key may not use the lane ${lane}. It may use ${listed(key.lanes ?? [])}.`);
}

/** Throws if the key is limited to lanes: what `subject` names belongs to all of them. */
export function requireAllLanes({ lanes }: ApiKey, subject: string): void {
  if (lanes === null) return;
  throw new NotAllowedError(`${subject} cover all lanes, and this key is limited to ${listed(lanes)}.`);
}
