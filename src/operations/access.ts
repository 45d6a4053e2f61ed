import type { Volley } from '../app/volley.js';
import type { RecordsRequest } from '../call-records/store/view.js';
import { InputError, NoSuchLaneError, NotAllowedError, NotFoundError } from '../campaign/errors/errors.js';
import { listed } from '../campaign/errors/listed.js';
import type { CampaignFields } from '../campaign/fields/fields.js';
import { noSuchSource } from '../campaign/fields/results-of.js';
import { type ApiKey, allowsScope } from '../campaign/states/api-key.js';
import type { ScheduleDetails } from '../intake/schedules/schedule.js';

/*
 * Which lanes an operation may touch. Every operation follows one of five rules:
 *
 *   object   what it names belongs to a lane, or to all; if the key may not use them, the object does not exist for it (404)
 *   lane     it creates something on one lane: the one that it names, or else the only one that the key has; a key with several must name
 *            one (400)
 *   named    it is about a lane
 *   filter   it covers the lanes of the key, or only those of them that it names
 *   all      it covers all lanes, so a key that is limited to some cannot use it (403)
 *
 * A lane that a caller names must exist (404), and for a key, the lanes that it may not use do not.
 */

/** What the input of an operation names, or as much of it as the rule reads. */
export interface Located {
  /** Null if it belongs to all lanes. */
  readonly lane: string | null;
  /** All of them, if it belongs to several. */
  readonly lanes?: readonly string[] | undefined;
}

/** A rule of access, for operations with this input. `Found`: what it reads of the object that the input names, if it names one. */
export type Access<Input, Found extends Located | undefined = Located | undefined> =
  | {
      readonly rule: 'object';
      /** What the input names, in error messages and on the command line. */
      readonly what: string;
      /** The member of the input that names it. */
      readonly member: string;
      /** The lane that the input names, for what is unique only on its lane. */
      lane?(input: Input): string | undefined;
      /** Reads the object. `lanes`: where the caller may look; undefined: everywhere. Rejects with a NotFoundError. */
      find(volley: Volley, input: Input, lanes: readonly string[] | undefined): Promise<Found & Located>;
    }
  | {
      readonly rule: 'lane';
      lane(input: Input): string | undefined;
      /** What the input names besides that covers all lanes, in the plural; undefined if it names no such thing. */
      covering?(input: Input): string | undefined;
      /** The campaign whose recipients the input means; undefined if it brings its own. */
      source?(input: Input): string | undefined;
    }
  | {
      readonly rule: 'filter';
      /** The lane that the input names, or several. */
      lane(input: Input): string | readonly string[] | undefined;
      /** Whether a lane that the input names must be configured here (404). */
      readonly isConfigured?: true;
    }
  | { readonly rule: 'named'; lane(input: Input): string }
  | { readonly rule: 'all'; readonly subject: string };

/** A client that runs an operation with an API key. The operator of this machine has none, and may use all lanes. */
export interface Caller {
  readonly key: ApiKey;
  /** The names of the lanes that are configured here. */
  readonly configured: readonly string[];
}

/** What an operation runs with. */
export interface Admitted<Input> {
  /** The given input. By the rule `lane`, it names the lane of every key that is limited to some. */
  readonly input: Input;
  /** The lanes on which it may run; undefined: all. */
  readonly lanes: readonly string[] | undefined;
  /** What the rule has read of the object that the input names; undefined if it names none. */
  readonly found?: Located | undefined;
}

/** What may name a lane. */
export interface OnLane {
  readonly lane?: string | undefined;
}
const lane = ({ lane }: OnLane): string | undefined => lane;

/** An object on these lanes, all of which the caller may use; null: on all. */
const onSeveral = (lanes: readonly string[] | null): Located =>
  lanes?.[0] === undefined ? { lane: null } : { lane: lanes[0], lanes };

/** A campaign, by its id. */
export const byCampaign: Access<{ readonly id: string }> = {
  rule: 'object',
  what: 'campaign',
  member: 'id',
  find: async (volley, { id }) => ({ lane: await volley.laneOf(id) }),
};

/** An outbox, by its name. */
export const byOutbox: Access<OnLane & { readonly name: string }> = {
  rule: 'object',
  what: 'outbox',
  member: 'name',
  lane,
  find: async (volley, { name }, lanes) => ({ lane: await volley.outboxes.laneOf(name, { lanes }) }),
};

/** A change of a suppression list, by its id. */
export const bySuppressionOperation: Access<{ readonly id: string }> = {
  rule: 'object',
  what: 'suppression operation',
  member: 'id',
  find: (volley, { id }) => volley.suppression.operation(id),
};

/** An API key, by its id. A client that is limited to lanes manages those that may use no others. */
export const byApiKey: Access<{ readonly id: string }> = {
  rule: 'object',
  what: 'key',
  member: 'id',
  async find(volley, { id }, lanes) {
    try {
      return onSeveral((await volley.keys.get(id, { lanes })).lanes);
    } catch (error) {
      // The revocation of one that is revoked already can be finished.
      if (lanes === undefined && error instanceof NotFoundError) return { lane: null };
      throw error;
    }
  },
};

/** A schedule, by its id. */
export const bySchedule: Access<OnLane & { readonly id: string }, ScheduleDetails> = {
  rule: 'object',
  what: 'schedule',
  member: 'id',
  lane,
  find: (volley, { id }, lanes) => volley.schedules.get(id, { lanes }),
};

/** A webhook, by its id. The key must be allowed to use all of its lanes. */
export const byWebhook: Access<{ readonly id: string }> = {
  rule: 'object',
  what: 'webhook',
  member: 'id',
  find: async (volley, { id }, lanes) => onSeveral((await volley.webhooks.get(id, { lanes })).lanes),
};

/** A request for call records, by its id. */
export const byRecordsRequest: Access<{ readonly id: string }, RecordsRequest> = {
  rule: 'object',
  what: 'request for call records',
  member: 'id',
  find: (volley, { id }) => volley.records.show(id),
};

/** The lane that the input names, or else the only one of the key. A key for all lanes may name none: the first lane is the default. */
export const byLane: Access<OnLane> = { rule: 'lane', lane };

type ToSource = OnLane & Pick<CampaignFields, 'toResultsOf'>;

/** The same, for a campaign, which may be sent to recipients of another campaign. */
export const byLaneAndSource: Access<ToSource> = {
  rule: 'lane',
  lane,
  source: ({ toResultsOf }) => toResultsOf?.campaign,
};

/** The same, for a schedule. A list that code provides is one of the installation, and not of the party that a limited key belongs to. */
export const byLaneAndList: Access<ToSource & { readonly provided?: string | undefined }> = {
  ...byLaneAndSource,
  covering: ({ provided }) => (provided === undefined ? undefined : 'Lists that code provides'),
};

/** A lane, by its name. */
export const byNamedLane: Access<{ readonly name: string }> = { rule: 'named', lane: ({ name }) => name };

/** A lane that the input names as such, which must be configured. */
export const byCallingLane: Access<{ readonly lane: string }> = {
  rule: 'named',
  lane: (input) => input.lane,
};

/** The lanes of the key; with `lane`, only that one, or those. */
export const byLanesOfKey: Access<{ readonly lane?: string | readonly string[] | undefined }> = {
  rule: 'filter',
  lane: ({ lane }) => lane,
};

/** The same, for what has nothing to say about a lane that is not configured. */
export const byConfiguredLanes: Access<OnLane> = { rule: 'filter', lane, isConfigured: true };

/** The lanes of the key, of which the input names none. */
export const byKey: Access<unknown> = { rule: 'filter', lane: () => undefined };

/** All lanes. `subject`: what covers them, in the plural. */
export const allLanes = (subject: string): Access<unknown> => ({ rule: 'all', subject });

/**
 * Lets a caller run an operation, as its rule says. Rejects with a NotFoundError, a NotAllowedError, or an InputError. Whether a lane exists
 * that the caller may use is checked by the library, unless the lane must be configured here.
 */
export async function admit<Input extends object>(
  access: Access<Input>,
  caller: Caller | null,
  volley: Volley,
  input: Input,
): Promise<Admitted<Input>> {
  const key = caller?.key ?? null;
  const ofKey = key?.lanes ?? undefined;
  const within = (named: string | readonly string[] | undefined): readonly string[] | undefined => {
    if (named === undefined) return ofKey;
    const all = [named].flat();
    if (key !== null) for (const each of all) requireLane(key, each);
    return all;
  };
  switch (access.rule) {
    case 'object': {
      const found = await access.find(volley, input, within(access.lane?.(input))).catch((error: unknown) => {
        const isObject = error instanceof NotFoundError && !(error instanceof NoSuchLaneError);
        throw isObject && key !== null ? missing(access, input) : error;
      });
      if (key !== null && !allowsLane(key, found.lane)) throw missing(access, input);
      return { input, lanes: found.lanes ?? (found.lane === null ? undefined : [found.lane]), found };
    }
    case 'lane': {
      const subject = access.covering?.(input);
      if (key !== null && subject !== undefined) requireAllLanes(key, subject);
      const source = access.source?.(input);
      if (key !== null && source !== undefined) await requireSource(key, volley, source);
      const meant = caller === null ? access.lane(input) : laneMeant(caller, access.lane(input));
      return { input: { ...input, lane: meant }, lanes: within(meant) };
    }
    case 'named': {
      const named = access.lane(input);
      const lanes = within(named);
      requireConfigured(caller, named);
      return { input, lanes };
    }
    case 'filter': {
      const named = access.lane(input);
      const lanes = within(named);
      if (access.isConfigured) for (const each of [named ?? []].flat()) requireConfigured(caller, each);
      return { input, lanes };
    }
    case 'all':
      if (key !== null) requireAllLanes(key, access.subject);
      return { input, lanes: undefined };
    default:
      return access satisfies never;
  }
}

/**
 * The lane that a client names, or else the only one of its key; undefined if it names none and may use all. Throws a NoSuchLaneError for a
 * lane that the key may not use, and for one that is not configured; the errors name no lanes that the key may not use.
 */
export function laneMeant({ key, configured }: Caller, named: string | undefined): string | undefined {
  if (named === undefined && key.lanes === null) return undefined;
  if (named !== undefined) requireLane(key, named);
  // The lanes of a key may have been removed from the configuration since the key was created.
  const allowed = configured.filter((name) => allowsLane(key, name));
  const [only, ...others] = named === undefined ? allowed : allowed.filter((name) => name === named);
  if (only !== undefined && others.length === 0) return only;
  if (named !== undefined) throw new NoSuchLaneError(named, allowed, 'configured');
  throw new InputError(
    only === undefined
      ? 'The lanes of this key no longer exist'
      : `Name a lane: this key may use ${listed(allowed)}`,
    { field: 'lane' },
  );
}

/** Throws if the lane that a client names is not configured here. */
function requireConfigured(caller: Caller | null, lane: string): void {
  if (caller === null || caller.configured.includes(lane)) return;
  throw new NoSuchLaneError(lane, caller.configured, 'configured');
}

/** The same error whether the object does not exist or belongs to a lane that the key may not use. */
function missing({ what, member }: { what: string; member: string }, input: object): NotFoundError {
  return new NotFoundError(`There is no ${what} ${Object(input)[member]}.`);
}

/** Whether a key may use a lane; null: all lanes. */
export function allowsLane({ lanes }: ApiKey, lane: string | null): boolean {
  return lanes === null || (lane !== null && lanes.includes(lane));
}

/** Whether a campaign exists on a lane that the key may use. */
export async function allowsCampaign(volley: Volley, key: ApiKey, id: string): Promise<boolean> {
  try {
    return allowsLane(key, await volley.laneOf(id));
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
}

/** Throws for a lane that the key may not use, as for one that does not exist. */
function requireLane(key: ApiKey, lane: string): void {
  if (!allowsLane(key, lane)) throw new NoSuchLaneError(lane, key.lanes ?? []);
}

/** Throws unless a key has the scope `read`. `because`: what needs it. */
export function requireRead(key: ApiKey, because: string): void {
  if (allowsScope(key, 'read')) return;
  throw new NotAllowedError(`${because}, which requires the scope read; the key has ${listed(key.scopes)}.`);
}

/** Throws unless a key may read the recipients of a campaign. One on another lane is as one that does not exist. */
async function requireSource(key: ApiKey, volley: Volley, campaign: string): Promise<void> {
  requireRead(key, '`toResultsOf` reads the recipients of a campaign');
  const lane = await volley.laneOf(campaign).catch((error: unknown) => {
    if (error instanceof NotFoundError) return null;
    throw error;
  });
  // One that does not exist may have been removed since a campaign was sent to its results, which a repeated request still finds.
  if (lane !== null && !allowsLane(key, lane)) throw noSuchSource(campaign);
}

/** Throws unless a key could name the list that a schedule has. */
export async function requireList(key: ApiKey, volley: Volley, list: ScheduleDetails['recipients']) {
  if (list.kind === 'results') await requireSource(key, volley, list.campaign);
  else if (list.kind !== 'inline') requireAllLanes(key, 'Lists that code or a file provides');
}

/** Throws if the key is limited to lanes: what `subject` names belongs to all of them. */
export function requireAllLanes({ lanes }: ApiKey, subject: string): void {
  if (lanes === null) return;
  throw new NotAllowedError(`${subject} cover all lanes, and this key is limited to ${listed(lanes)}.`);
}
