import { exactDuration } from '../base/duration.js';
import { type Estimate, estimate } from '../campaign/estimate/estimate.js';
import type { LaneOutlook } from '../campaign/estimate/lane-outlook.js';
import {
  describeWindow,
  nextCommonOpening,
  nextOpening,
  windowNow,
  zoneOf,
} from '../campaign/estimate/window.js';
import {
  estimateZones,
  firstOpening,
  windowOfZones,
  type ZoneCount,
  zonesAt,
} from '../campaign/estimate/zones.js';
import { returnedOf } from '../campaign/fields/field-sets.js';
import { formatAmount } from '../campaign/limits/price.js';
import { requestsLeft } from '../campaign/limits/request-count.js';
import { describeBackoff } from '../campaign/states/backoff-reason.js';
import { BLOCKS, type BlockCode, OLDER_DATA } from '../campaign/states/block-codes.js';
import { requestReference } from '../campaign/states/campaign.js';
import { perName, RECIPIENT_STATES, type RecipientState } from '../campaign/states/recipient.js';
import type { CampaignCost } from '../campaign/views/measures.js';
import type { CampaignStatus, LaneStatus, TurnFailure, UnknownRequest } from '../campaign/views/views.js';
import { type ZoneStatus, zonesText } from '../campaign/views/zone-views.js';
import { firstClosed } from '../engine/lane/closed.js';
import type { Lane } from '../engine/lane/lane.js';
import type { LaneStatusRecord } from '../engine/lane/lane-status.js';
import { gateState } from '../engine/lane/lane-status.js';
import type { UnknownBatch } from '../engine/sending/unknown.js';
import type { CampaignMeta } from '../engine/store/campaign-meta.js';
import type { StoredState } from '../engine/store/campaigns.js';

const MAX_UNKNOWN_OUTCOMES = 100;
export const iso = (ms: number): string => new Date(ms).toISOString();
export const isoOrNull = (ms: number): string | null => (ms > 0 ? iso(ms) : null);

/** What the status of a campaign is computed from. */
interface StatusInput {
  readonly meta: CampaignMeta;
  readonly state: StoredState;
  readonly lane: Pick<Lane, 'name' | 'rules'>;
  /** Whether this process has the lane in its configuration. */
  readonly isConfigured: boolean;
  readonly view: LaneStatusRecord;
  /** For the estimate; null for a campaign that is importing or has ended. */
  readonly outlook: LaneOutlook | null;
  readonly unknownOutcomes: readonly UnknownBatch[];
  /** Whether a worker runs that can serve the lane. */
  readonly hasWorkers: boolean;
  /** Whether workers run, but none has the lane's credentials. Default: no. */
  readonly lacksCredentials?: boolean;
  /** Of a campaign whose recipients have windows of their own zones, or times; null of any other. */
  readonly zones?: readonly ZoneCount[] | null;
  /** What the accepted messages cost, in micros; null if it is not known. */
  readonly acceptedCost: bigint | null;
}

/** Computes the status of a campaign. Pure. */
export function campaignStatus({
  meta,
  state,
  lane,
  isConfigured,
  view,
  outlook,
  unknownOutcomes,
  hasWorkers,
  lacksCredentials = false,
  acceptedCost,
  zones: zoneCounts = null,
}: StatusInput): CampaignStatus {
  const counts = perName(RECIPIENT_STATES, (name) => state.counts[name] ?? 0);
  const { window: rule } = meta;
  const { sendWindow } = lane.rules;
  const zone = meta.zone ?? zoneOf(rule, sendWindow);
  const zones = zoneCounts && zonesAt(rule, sendWindow, zoneCounts, Math.max(view.now, state.launchAt), zone);
  const window = windowOfZones(rule, zones, view.now);
  const closed =
    zones === null ? closedWindow([rule, sendWindow], view.now) : closedZones(zones, sendWindow, view.now);
  const blockedBy = campaignBlock(
    state,
    counts,
    view,
    whyUnserved(lane.name, isConfigured, lacksCredentials),
    closed,
  );
  return {
    id: meta.id,
    name: meta.name,
    lane: lane.name,
    sender: meta.sender,
    message: meta.text,
    revision: meta.revision ?? 0,
    earlier: (meta.earlier ?? []).map(({ last, sender, text }) => ({
      revision: last,
      sender,
      message: text,
    })),
    state: state.state,
    createdAt: iso(meta.created),
    createdBy: meta.createdBy ?? null,
    idempotencyKey: meta.idempotencyKey ?? null,
    sendAt: isoOrNull(state.launchAt),
    ...returnedOf(meta),
    zone,
    window,
    zones,
    endedAt: isoOrNull(state.endedAt),
    counts: { total: state.total, ...counts },
    duplicates: meta.duplicates,
    invalid: meta.invalid,
    rate: rateOf(state, counts, view, (zones === null ? window?.opensAt : firstOpening(zones)) != null),
    requests: perName(['send', 'poll', 'throttled'] as const, (kind) => state.requests[kind] ?? 0),
    quota: {
      used: usedOf(view),
      limit: view.limit,
      span: exactDuration(view.window),
      ...nextPermitsOf(view),
    },
    blockedBy,
    waitingFor: waitingFor(state, counts, view, hasWorkers && isConfigured, closed !== null),
    turnFailures: state.endedAt > 0 ? [] : failuresOf(view),
    cost: costView(meta, acceptedCost),
    ...estimateOf({ meta, state, lane, view, outlook, hasWorkers, isConfigured, zones: zoneCounts }, counts),
    contradictions: state.contradictions,
    unknownOutcomes: unknownOutcomes
      .slice(0, MAX_UNKNOWN_OUTCOMES)
      .map((batch) => unknownRequest(meta.id, batch)),
  };
}

/** What is known about a request with an unknown outcome. A worker that reported it sends it no more, so a resend is possible at once. */
export function unknownRequest(campaign: string, batch: UnknownBatch): UnknownRequest {
  return {
    request: requestReference(campaign, batch.number),
    recipientCount: batch.count,
    claimedAt: batch.isRestored ? null : iso(batch.claimedAt),
    since: iso(batch.since),
    code: batch.isRestored ? 'restored' : batch.safeAt > batch.since ? 'silent' : 'reported',
    reason: batch.reason,
    isPolled: batch.matchedRequestId !== null,
    resendFrom: iso(batch.safeAt),
  };
}

/** What a campaign costs, and has cost so far; null if its prices are not known. */
export function costView({ cost }: Pick<CampaignMeta, 'cost'>, accepted: bigint | null): CampaignCost | null {
  if (cost === undefined) return null;
  const { total, currency, unpriced = 0 } = cost;
  return { total, accepted: accepted === null ? null : formatAmount(accepted, currency), currency, unpriced };
}

/** Computes the status of a lane. Pure. */
export function laneStatus(lane: Pick<Lane, 'id' | 'name' | 'settings'>, view: LaneStatusRecord): LaneStatus {
  const { settings } = lane;
  const window = windowNow(settings.sendWindow, view.now);
  const problem = settings.stored?.problem;
  return {
    name: lane.name,
    id: lane.id,
    targetAccount: settings.targetAccountId ?? null,
    // `blockedBy` gives the reason.
    state: problem !== undefined ? 'stopped' : stateOf(view, window?.opensAt != null),
    quota: {
      configured: settings.hourlyQuota,
      learned: settings.hourlyQuota === 'auto' ? view.learned : null,
      limit: view.limit,
      span: exactDuration(view.window),
      used: { send: view.sends, poll: view.polls },
      inFlight: view.inFlightSends + view.inFlightPolls,
      ...nextPermitsOf(view),
      permitsToCome: view.permitsToCome.map(({ at, permits }) => ({ at: iso(at), permits })),
    },
    blockedBy: problem === undefined ? laneBlock(view) : block('noCredentials', problem),
    turnFailures: failuresOf(view),
    zone: zoneOf(settings.sendWindow),
    window,
    throttled: view.throttled,
    campaigns: { running: view.running, waiting: view.waiting, scheduled: view.scheduled },
    awaitingReports: view.awaiting,
    unknownOutcomes: view.unknown,
    maxRecipients: settings.maxRecipientsPerRequest,
  };
}

function failuresOf({ failures }: LaneStatusRecord): TurnFailure[] {
  return failures.map(({ kind, since, error }) => ({ kind, since: iso(since), error }));
}

/** The first of these windows that is closed, and until when nothing is sent; null if none is. */
function closedWindow(rules: readonly (string | undefined)[], now: number): Block {
  const isClosed = (rule: string): boolean =>
    (nextOpening(rule, now)?.from ?? Number.POSITIVE_INFINITY) > now;
  const closed = rules.find((rule) => rule !== undefined && isClosed(rule));
  if (closed === undefined) return null;
  const opening = nextCommonOpening(rules, now);
  const which = closed === rules[0] ? '' : ' of its lane';
  return block(
    closed === rules[0] ? 'windowClosed' : 'laneWindowClosed',
    `the window${which} is closed (${describeWindow(closed)})`,
    opening?.from,
  );
}

/** The same of a campaign whose recipients have windows or times of their own. */
function closedZones(zones: readonly ZoneStatus[], lanes: string | undefined, now: number): Block {
  const ofLane = closedWindow([undefined, lanes], now);
  const opensAt = firstOpening(zones);
  if (ofLane !== null || opensAt === null) return ofLane;
  return block('windowClosed', zonesText(zones), Date.parse(opensAt));
}

const HOUR_MS = 3_600_000;
/** Fewer accepted messages, or a shorter time, would say little. */
const [MEASURED_FROM, MEASURED_AFTER_MS] = [100, 1_000];
const ACCEPTED = [
  'deliveredToNetwork',
  'deliveredToTerminal',
  'deliveryImpossible',
  'unconfirmed',
] as const satisfies readonly RecipientState[];

/** Accepted messages per hour for as long as the campaign could send; null if that is not measured yet. */
function rateOf(
  state: StoredState,
  counts: Record<RecipientState, number>,
  { now, closedMs }: LaneStatusRecord,
  isClosed: boolean,
): number | null {
  const { planned, sending } = counts;
  const isSending = state.state === 'running' && state.opensAt === undefined && planned + sending > 0;
  // Its window has closed, and no worker has noted that yet.
  if (isSending && isClosed) return null;
  const accepted = ACCEPTED.reduce((sum, name) => sum + counts[name], 0);
  const activeMs = isSending ? now - state.launchAt - closedMs - state.idleMs : state.activeMs;
  if (accepted < MEASURED_FROM || activeMs < (isSending ? MEASURED_AFTER_MS : 1)) return null;
  // A client that polls needs no more digits, and its ETag stays valid for longer.
  return Number(((accepted / activeMs) * HOUR_MS).toPrecision(3));
}

/** Permits in use: requests of the window, and requests in flight. */
function usedOf(view: LaneStatusRecord): number {
  return view.sends + view.polls + view.inFlightSends + view.inFlightPolls;
}

const nextPermitsOf = ({ keptForPolls, nextPermitAt, nextPermits }: LaneStatusRecord) => ({
  keptForPolls,
  nextPermitAt: isoOrNull(nextPermitAt),
  nextPermits,
});

type Block = CampaignStatus['blockedBy'];

/** `until`: ms; undefined if it does not end by itself, or that is not known. `since`: ms; 0 if that is not known. */
function block(code: BlockCode, reason: string, until?: number, since = 0): NonNullable<Block> {
  return {
    code,
    state: BLOCKS[code].state,
    reason,
    since: isoOrNull(since),
    until: until === undefined ? null : iso(until),
  };
}

/** Why no worker serves a lane, although workers run. */
function whyUnserved(lane: string, isConfigured: boolean, lacksCredentials: boolean): Block {
  if (!isConfigured) return block('notConfigured', `lane ${lane} is not configured`);
  if (!lacksCredentials) return null;
  return block(
    'noCredentials',
    `no worker that runs has the credentials of lane ${lane}; \`volley doctor\` says which variable is missing`,
  );
}

/** The causes that close a lane for all its campaigns. Its window is read from its settings, and the rest is over soon. */
export const OF_LANE = [
  'stopped',
  'held',
  'recovering',
  'unbounded',
  'noToken',
  'throttled',
  'unreachable',
] as const;

function stateOf(view: LaneStatusRecord, isWindowClosed: boolean): LaneStatus['state'] {
  const first = firstClosed(view, OF_LANE)?.cause;
  if (first === 'unbounded') return 'backingOff';
  if (first === 'noToken') return 'noToken';
  const state = gateState(view);
  return state === 'open' && isWindowClosed ? 'waiting' : state;
}

/** Why the lane starts no requests, whichever campaign they belong to. */
function laneBlock(view: LaneStatusRecord): Block {
  const first = firstClosed(view, OF_LANE);
  if (first === undefined) return null;
  const { cause, why, until, since } = first;
  switch (cause) {
    case 'stopped':
      return block('stopped', why, undefined, since);
    case 'held':
      return block(why === OLDER_DATA ? 'olderData' : 'held', why, undefined, since);
    case 'recovering':
      return block(
        'dataLoss',
        'workers report again what they sent last, in case Redis has lost data',
        until,
      );
    case 'unbounded':
      return block(
        'unboundedLoss',
        'nothing bounds how much Redis may lose when a replica takes over; `volley doctor` explains it',
      );
    case 'noToken':
      return block('noToken', why, until > view.now ? until : undefined);
    case 'throttled':
    case 'unreachable':
      return until > view.now ? block(cause, describeBackoff(cause, why), until) : null;
    default:
      return cause satisfies never;
  }
}

function campaignBlock(
  state: StoredState,
  counts: Record<RecipientState, number>,
  view: LaneStatusRecord,
  unserved: Block,
  closed: Block,
): Block {
  const { planned, sending, deliveredToNetwork } = counts;
  if (state.endedAt > 0 || planned + sending + deliveredToNetwork === 0) return null;
  if (planned > 0 && state.state === 'paused')
    return block('paused', state.pauseReason || 'paused', undefined, state.pausedAt);
  if (planned > 0 && state.state === 'scheduled')
    return block('scheduled', 'scheduled for later', state.launchAt > 0 ? state.launchAt : undefined);
  if (state.state === 'importing') return null;
  if (unserved !== null) return unserved;
  const lane = laneBlock(view);
  if (lane !== null) return lane;
  if (planned > 0 && closed !== null) return closed;
  const failure = failureOf(view, planned > 0 ? 'send' : 'poll');
  if (failure !== undefined)
    return block(failure.kind === 'send' ? 'sendingFails' : 'pollingFails', failure.error);
  if (planned > 0 && isUsedUp(view) && view.nextPermitAt > view.now) {
    return block('quotaUsed', 'the quota is used up', view.nextPermitAt);
  }
  return null;
}

function waitingFor(
  state: StoredState,
  counts: Record<RecipientState, number>,
  view: LaneStatusRecord,
  hasWorkers: boolean,
  isClosed: boolean,
): CampaignStatus['waitingFor'] {
  if (state.endedAt > 0 || state.state === 'importing') return null;
  if (state.state === 'scheduled') return 'start';
  if (state.state === 'paused') return 'operator';
  const { planned, sending, unknown, deliveredToNetwork } = counts;
  if (planned + sending + deliveredToNetwork === 0 && unknown > 0) return 'resolve';
  if (!hasWorkers) return 'workers';
  if (firstClosed(view, ['stopped', 'held']) !== undefined) return 'lane';
  if (planned > 0) {
    if (laneBlock(view) !== null) return 'lane';
    if (isClosed) return 'window';
    if (failureOf(view, 'send') !== undefined) return 'lane';
    return isUsedUp(view) ? 'permits' : null;
  }
  if (deliveredToNetwork > 0 && (laneBlock(view) ?? failureOf(view, 'poll')) != null) return 'lane';
  return deliveredToNetwork > 0 ? 'reports' : null;
}

function failureOf({ failures }: LaneStatusRecord, kind: TurnFailure['kind']) {
  return failures.find((failure) => failure.kind === kind);
}

/** Whether no send finds a permit: the quota is used, or the rest of it is kept for polls. */
function isUsedUp(view: LaneStatusRecord): boolean {
  return view.limit !== null && usedOf(view) + view.keptForPolls >= view.limit;
}

/** When its last message is sent, and when its last recipient becomes final. */
function estimateOf(
  {
    meta,
    state,
    lane,
    view,
    outlook,
    hasWorkers,
    isConfigured,
    zones = null,
  }: Omit<StatusInput, 'unknownOutcomes' | 'acceptedCost'>,
  { planned, sending, unknown, deliveredToNetwork }: Record<RecipientState, number>,
): Pick<Estimate, 'eta' | 'completion'> {
  if (outlook === null) return { eta: null, completion: null };
  const { rules } = lane;
  const most = Math.min(rules.maxRecipients, state.batch);
  const isWaiting = state.state === 'scheduled' || state.state === 'running' || state.state === 'paused';
  const requestsOf = (recipients: number): number => Math.ceil(recipients / most);
  const campaign = {
    id: meta.id,
    weight: state.weight,
    launchAt: state.launchAt,
    lapseAt: state.lapseAt,
    sending: requestsOf(sending),
    awaiting: requestsOf(deliveredToNetwork),
    unknown: requestsOf(unknown),
    obstacle: obstacleOf(state, failureOf(view, planned > 0 ? 'send' : 'poll'), hasWorkers, isConfigured),
  };
  if (zones === null) {
    const requests = isWaiting && planned > 0 ? requestsLeft({ ...state, batch: most }) : 0;
    const { eta, completion } = estimate(outlook, rules, { ...campaign, requests, window: meta.window });
    return { eta, completion };
  }
  const { eta, completion } = estimateZones(outlook, rules, campaign, {
    window: meta.window,
    zones: zones.map((part) => ({ ...part, requests: isWaiting ? requestsOf(part.waiting) : 0 })),
  });
  return { eta, completion };
}

/** Why the campaign does not continue by itself. */
function obstacleOf(
  state: StoredState,
  failure: Pick<TurnFailure, 'kind'> | undefined,
  hasWorkers: boolean,
  isConfigured: boolean,
): string | null {
  if (state.state === 'paused') return 'the campaign is paused until you resume it';
  if (!isConfigured) return 'its lane is not configured';
  if (!hasWorkers) return 'no worker is running';
  return failure === undefined
    ? null
    : `${failure.kind === 'send' ? 'sending' : 'polling'} on its lane fails`;
}
