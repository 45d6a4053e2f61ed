import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type Alarm, pause } from '../../base/clock.js';
import type { LocalConfig } from '../../base/config/index.js';
import { exactDuration } from '../../base/duration.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { mustHaveRoom } from '../../base/redis/memory.js';
import { InputError, NotFoundError } from '../../campaign/errors/errors.js';
import { StateError } from '../../campaign/errors/state-error.js';
import {
  describeWindow,
  isOfRecipients,
  nextCommonOpening,
  windowParts,
} from '../../campaign/estimate/window.js';
import {
  COMPARED_MEMBERS,
  type FieldOf,
  fieldsOf,
  storedAs,
  storedFieldsOf,
} from '../../campaign/fields/field-sets.js';
import type { CampaignFields } from '../../campaign/fields/fields.js';
import type { Operator } from '../../campaign/states/audit.js';
import { CAMPAIGN_STATES, PRIORITY_WEIGHT } from '../../campaign/states/campaign.js';
import type { CampaignChange } from '../../campaign/views/change-views.js';
import { CONFIRM_AFTER_MS } from '../../engine/claim/permit.js';
import { activate, type Wakers, wakeLane } from '../../engine/jobs/wake.js';
import type { Lane } from '../../engine/lane/lane.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import { costsKey, metaKey } from '../../engine/recipients/campaign-keys.js';
import { keyFull, payerOf, usedBytes } from '../../engine/recipients/key-bytes.js';
import { claimedParts, type Parts, readParts } from '../../engine/recipients/zoned-slices.js';
import { registerWindows } from '../../engine/recovery/windows.js';
import { laneScript } from '../../engine/scripts/lane-script.js';
import { scriptEvents } from '../../engine/scripts/script-events.js';
import { type CampaignMeta, readMeta, storedMeta } from '../../engine/store/campaign-meta.js';
import { readState, type StoredState } from '../../engine/store/campaigns.js';
import { checkCampaign } from '../import/campaign-input.js';
import { comparingKey, rulesOf } from '../import/import-session.js';
import { RecoveringError } from '../outbox/definition/errors.js';
import { OtherRevisionError, OverBudgetError, UnpricedError } from './errors.js';
import { measure, templateFor } from './measure.js';

/*
 *   claimed with revision 3 ──► confirmed right before its request, if the claim is older than 2 s
 *       change to revision 4: nothing is claimed with revision 3 any more, and no claim of it is confirmed
 *            └──► when no claim of revision 3 is left, or after 2 s, no request can start with it any more: the change is answered
 *
 * What was claimed with revision 3 and was certainly not accepted is claimed again with revision 4. What may have been accepted keeps its
 * content, whether it is repeated under its correlator or sent again by an operator. So the meta keeps the contents of which something was claimed.
 */

/** The fields to change. Null resets a field to its default (for `sendAt`: now); a field that you leave out keeps its value. */
export type CampaignChanges = {
  readonly [Name in FieldOf<'change'>]?: CampaignFields[Name] | null | undefined;
};

/** More about a change of a campaign. */
export interface ChangeCampaignOptions {
  /** The revision that the change is about; another one is refused. Default: the current one. */
  readonly revision?: number | undefined;
  /** Whether to check the change only. */
  readonly preview?: boolean | undefined;
}

/** What changing a campaign depends on. */
interface ChangeDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly config: LocalConfig;
  readonly finder: Pick<LaneFinder, 'of'>;
  readonly wakers: Wakers;
  readonly by: Operator;
  readonly clock: () => number;
  readonly alarm: Alarm;
  /** Time in ms, for tests. Default: the time of Redis. */
  readonly now?: (() => number) | undefined;
}

type ChangedLane = Pick<Lane, 'id' | 'name' | 'rules' | 'emit' | 'redis' | 'keys'> &
  Parameters<typeof wakeLane>[0] &
  Parameters<typeof activate>[0];

const OUTCOMES = [
  'changed',
  'other',
  'compared',
  'missing',
  'recovering',
  'full',
  'sent',
  'started',
] as const;
const setScript = laneScript(import.meta.url, './set-campaign.lua', (reply) => {
  const [outcome, events] = z.tuple([z.enum([...OUTCOMES, ...CAMPAIGN_STATES]), z.string()]).parse(reply);
  return { outcome, events: scriptEvents(events) };
});

/** Each time, something was claimed for the first time, or another process has changed the campaign. */
const TRIES = 20;
const COMPARED_AGAIN_MS = 100;
const SETTLED_AGAIN_MS = 25;
/** Contents that are kept. */
const MAX_CONTENTS = 100;
type ChangedName = Exclude<FieldOf<'change'>, 'maxCost'>;
const CONTENT: readonly ChangedName[] = ['message', 'sender', 'senderName'];

/**
 * Changes a campaign. Once it resolves, no request starts as the campaign was before, unless it repeats one that may have been accepted. Rejects
 * with an InputError for a change that is not possible, with a StateError for a campaign that does not allow it, and with an OtherRevisionError.
 */
export async function setCampaign(
  deps: ChangeDeps,
  id: string,
  { maxCost, ...changes }: CampaignChanges,
  { revision: wanted, preview = false }: ChangeCampaignOptions = {},
): Promise<CampaignChange> {
  const { redis, keys, finder, by } = deps;
  const lane = await finder.of(id);
  for (let tries = 0; tries < TRIES; tries += 1) {
    // In this order: the meta is never older than the state.
    const state = await readState(redis, keys, lane.id, id);
    const meta = await readMeta(redis, keys, lane.id, id);
    if (state === null || meta === null) throw new NotFoundError(`there is no campaign ${id}`);
    const { revision = 0 } = meta;
    if (wanted !== undefined && wanted !== revision) throw new OtherRevisionError(id, revision);
    const change = await plannedChange(deps, lane, { meta, state, changes, maxCost });
    const { changed, cost } = change;
    const view = {
      id,
      revision,
      changed,
      cost: cost === undefined ? null : { total: cost.total, currency: cost.currency },
    };
    const recipientCount = state.counts.planned ?? 0;
    if (changed.length === 0) {
      if (!preview) await untilNoneStarts(deps, lane, id, revision);
      return { ...view, recipientCount };
    }
    const make = async () => {
      if (preview) return store(deps, lane, change, preview);
      await mustHaveRoom(redis);
      await registerWindows(lane, change.rules, deps.clock());
      const details = { changed: changed.join(' '), revision: revision + 1 };
      return by.audited({ action: 'campaign.set', lane: lane.id, campaign: id, details }, () =>
        activate(
          lane,
          () => store(deps, lane, change),
          () => wakeLane(lane, deps.wakers),
        ),
      );
    };
    const { outcome, events } = await make();
    lane.emit(events);
    if (outcome === 'changed' && preview) return { ...view, recipientCount };
    if (outcome === 'changed') {
      await untilNoneStarts(deps, lane, id, revision + 1);
      return { ...view, revision: revision + 1, recipientCount };
    }
    if (outcome === 'compared') await pause(deps.alarm, COMPARED_AGAIN_MS);
    else if (outcome !== 'other') throw await refusalOf(outcome, deps, lane, meta);
  }
  throw new Error(`campaign ${id} was changed by others ${TRIES} times meanwhile: change it again`);
}

/** A change of a campaign as it was read. */
interface Change {
  readonly meta: CampaignMeta;
  readonly next: CampaignMeta;
  /** The fields that differ. */
  readonly changed: readonly ChangedName[];
  readonly isContent: boolean;
  /** Whether nothing may have been claimed. */
  readonly isFresh: boolean;
  /** Of its windows. */
  readonly rules: readonly string[];
  /** What the messages cost then; undefined: that is not known. */
  readonly cost: { readonly total: string; readonly currency: string } | undefined;
  /** Which of the costs each message has; undefined: as before. */
  readonly chunks: readonly (string | Buffer)[] | undefined;
}

/** Checks a change. Throws an InputError if it is not possible. */
async function plannedChange(
  { redis, keys, config, by, clock }: ChangeDeps,
  lane: ChangedLane,
  {
    meta,
    state,
    changes,
    maxCost,
  }: {
    readonly meta: CampaignMeta;
    readonly state: StoredState;
    readonly changes: CampaignChanges;
    readonly maxCost: CampaignChanges['maxCost'];
  },
): Promise<Change> {
  const input = inputOf(meta, lane.name, changes, maxCost);
  const checked = checkCampaign(config, input, clock(), [by]);
  if (checked.sendAt !== undefined && changes.sendAt !== undefined && checked.sendAt <= clock())
    throw new InputError('the time is in the past: set `sendAt` to null to start now', { field: 'sendAt' });
  const stored = storedFieldsOf({ ...checked, lane: lane.id, name: meta.name });
  const given = fieldsOf('change').filter(
    (name): name is ChangedName => name !== 'maxCost' && changes[name] !== undefined,
  );
  // The rule of a window has its zone.
  const members = new Set([
    ...given.map(storedAs),
    ...(changes.zone === undefined ? [] : (['window'] as const)),
  ]);
  const replaced = Object.fromEntries([...members].map((member) => [member, stored[member]]));
  const isOther = (name: ChangedName): boolean =>
    members.has(storedAs(name)) && !isDeepStrictEqual(meta[storedAs(name)], stored[storedAs(name)]);
  const changed = [...new Set<ChangedName>([...given, 'window'])].filter(isOther);
  const isContent = CONTENT.some((name) => changed.includes(name));
  const parts = state.part === undefined ? null : await readParts(redis, keys, lane.id, meta.id);
  const isUnclaimed = state.counts.planned === state.ordinals && state.released.length === 0;
  const isFresh = parts === null ? state.cursor === 0 : isUnclaimed;
  if (changed.includes('window')) mustOpen(meta.window, stored.window, parts, lane.rules.sendWindow, clock());
  const { revision = 0, earlier = [], text, sender, senderName } = meta;
  if (isContent && !isFresh && earlier.length >= MAX_CONTENTS)
    throw new InputError(
      `the content of the campaign was changed ${MAX_CONTENTS} times: cancel it, and create another one`,
    );
  const validForMs = stored.validForMs ?? 0;
  if (changed.includes('validFor') && validForMs > 0 && state.launchAt + validForMs <= clock())
    throw new InputError(
      `the validity would be over already: the campaign started at ${new Date(state.launchAt).toISOString()}. To send nothing more, cancel it`,
      { field: 'validFor' },
    );
  const kept = {
    last: revision,
    until: parts === null ? state.cursor : claimedParts(parts, state),
    text,
    sender,
    ...(senderName === undefined ? {} : { senderName }),
  };
  const next: CampaignMeta = {
    ...meta,
    ...replaced,
    revision: revision + 1,
    ...(isContent && !isFresh && { earlier: [...earlier, kept] }),
    original:
      meta.original ??
      Object.fromEntries(COMPARED_MEMBERS.map(({ member }) => [member, meta[member] ?? null])),
  };
  templateFor(next.text, meta.placeholders);
  const { budget, limits } = checked;
  const isMeasured = changed.includes('message') || budget !== undefined;
  const rules = rulesOf(next, parts);
  if (!isMeasured)
    return { meta, next, changed, isContent, isFresh, rules, cost: meta.cost, chunks: undefined };
  const measured = await measure({ redis, keys, prices: config.prices, limits }, next, {
    ordinals: state.ordinals,
    until: isFresh ? 0 : kept.until,
    text,
  });
  const { cost, micros, chunks } = measured;
  if (cost?.unpriced !== undefined && (budget !== undefined || limits.needsPrices))
    throw new UnpricedError(cost.unpriced);
  if (budget !== undefined && micros > budget)
    throw new OverBudgetError(cost?.total ?? '', cost?.currency ?? '');
  return { meta, next: { ...next, cost }, changed, isContent, isFresh, rules, cost, chunks };
}

/**
 * Throws an InputError for a window by which some recipients would never get their message: one in their own zones, for a list without zones,
 * or one that is never open in a zone. That of a lane, too, is a rule.
 */
function mustOpen(
  before: string | undefined,
  window: string | undefined,
  parts: Parts | null,
  lanes: string | undefined,
  now: number,
): void {
  const refuse = (reason: string): never => {
    throw new InputError(reason, { field: 'window' });
  };
  if (isOfRecipients(before) !== isOfRecipients(window))
    refuse(
      "whether the hours are those of each recipient's own zone cannot change: cancel the campaign, and create another one",
    );
  if (!isOfRecipients(window)) return;
  const closed = rulesOf({ window }, parts).find((rule) => nextCommonOpening([rule, lanes], now) === null);
  if (closed !== undefined)
    refuse(`the window (${describeWindow(closed)}) never opens, or never while that of the lane is open`);
}

/** The campaign with these changes, as it would be created. */
function inputOf(
  meta: CampaignMeta,
  lane: string,
  changes: CampaignChanges,
  maxCost: CampaignChanges['maxCost'],
) {
  const { window: rule } = meta;
  const { hours, except, zone } = rule === undefined ? {} : windowParts(rule);
  const isZoned = isOfRecipients(rule);
  const before: { readonly [Name in FieldOf<'change'>]?: unknown } = {
    message: meta.text,
    sender: meta.sender,
    senderName: meta.senderName,
    tags: meta.tags,
    priority: meta.priority,
    validFor: meta.validForMs === undefined ? undefined : exactDuration(meta.validForMs),
    window: hours === undefined ? undefined : { hours, except, ...(isZoned && { zone: 'recipient' }) },
    zone: meta.zone ?? (isZoned ? undefined : zone),
  };
  // Hours without a zone stay those of each recipient's own.
  const own = changes.window && { ...changes.window, zone: changes.window.zone ?? ('recipient' as const) };
  const given = Object.entries(isZoned && !changes.zone ? { ...changes, window: own } : changes).flatMap(
    ([name, value]) => (value === undefined ? [] : [[name, value ?? undefined]]),
  );
  return {
    ...(Object.fromEntries([...Object.entries(before), ...given]) as unknown as CampaignFields),
    ...{ lane, recipients: [], maxCost: maxCost ?? undefined },
  };
}

const store = (
  { keys, config, now }: ChangeDeps,
  lane: ChangedLane,
  { meta, next, changed, isContent, isFresh, chunks }: Change,
  isPreview = false,
) => {
  const { id, revision = 0 } = meta;
  const isTimed = changed.includes('sendAt');
  return setScript(
    lane,
    {
      id,
      revision,
      isFresh: isFresh ? 1 : 0,
      isContent: isContent ? 1 : 0,
      isPreview: isPreview ? 1 : 0,
      settings: JSON.stringify({
        weight: PRIORITY_WEIGHT[next.priority],
        window: next.window,
        ...(isTimed && { at: next.at ?? 0 }),
        ...((isTimed || changed.includes('validFor')) && { validForMs: next.validForMs ?? 0 }),
      }),
      text: isPreview ? '' : storedMeta(next),
      isCosts: chunks === undefined ? 0 : 1,
      limit: config.keyBytes,
      time: now?.(),
    },
    [],
    {
      ownKeys: {
        meta: metaKey(keys, lane.id, id),
        costs: costsKey(keys, lane.id, id),
        comparing: comparingKey(keys, lane.id, next),
      },
      entryArgs: isPreview ? [] : (chunks ?? []),
    },
  );
};

/** Why the script has refused a change. */
async function refusalOf(
  outcome: Exclude<(typeof OUTCOMES)[number], 'changed' | 'other' | 'compared'> | StoredState['state'],
  { redis, keys, config }: ChangeDeps,
  lane: ChangedLane,
  { id, createdBy }: CampaignMeta,
): Promise<Error> {
  switch (outcome) {
    case 'missing':
      return new NotFoundError(`there is no campaign ${id}`);
    case 'recovering':
      return new RecoveringError();
    case 'full': {
      const payer = payerOf(createdBy, config.keyBytes);
      return keyFull(payer, lane.name, await usedBytes(redis, keys, lane.id, payer.key));
    }
    case 'sent':
      return new StateError(`campaign ${id} has nothing left to send, so it cannot be changed any more`);
    case 'started':
      return new StateError(`campaign ${id} has started to send, so its start cannot be changed any more`);
    default:
      return new StateError(`campaign ${id} is ${outcome}; you cannot change it`);
  }
}

const claimed = z.object({
  campaign: z.string(),
  turn: z.string(),
  edition: z.number().default(0),
  again: z.string().optional(),
});

/**
 * Waits until no request can start with a revision before this one: a process sends no later than {@link CONFIRM_AFTER_MS} after it has last
 * seen that its claim holds.
 */
async function untilNoneStarts(
  { redis, keys, alarm }: ChangeDeps,
  lane: Pick<ChangedLane, 'id'>,
  id: string,
  revision: number,
): Promise<void> {
  for (let waitedMs = 0; waitedMs < CONFIRM_AFTER_MS; waitedMs += SETTLED_AGAIN_MS) {
    const claims = (await redis.hvals(keys.lane(lane.id, 'claims'))).map((json) =>
      claimed.parse(JSON.parse(json)),
    );
    const mayStart = claims.some(
      ({ campaign, turn, edition, again }) =>
        campaign === id && turn !== 'placeholder' && edition < revision && again === undefined,
    );
    if (!mayStart) return;
    await pause(alarm, SETTLED_AGAIN_MS);
  }
}
