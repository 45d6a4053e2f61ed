import { type Clock, monotonicClock } from '../../base/clock.js';
import type { LocalConfig } from '../../base/config/index.js';
import type { Events } from '../../base/events/events.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { mustHaveRoom } from '../../base/redis/memory.js';
import { InputError } from '../../campaign/errors/errors.js';
import type { LimitedActor } from '../../campaign/limits/check-limits.js';
import { parseAmount } from '../../campaign/limits/price.js';
import { REPEATED } from '../../campaign/limits/refusal.js';
import { type Actor, describeActor } from '../../campaign/states/actor.js';
import { timeOfCampaignId } from '../../campaign/states/campaign.js';
import type { PlannedCost, Preview, Refusal } from '../../campaign/views/preview-views.js';
import { type Counted, reserveDay } from '../../engine/day-limits/daily.js';
import { activated } from '../../engine/jobs/wake.js';
import type { Lane } from '../../engine/lane/lane.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import { CostCollector } from '../../engine/recipients/costs.js';
import { payerOf } from '../../engine/recipients/key-bytes.js';
import { leftOutLimit, storedRow } from '../../engine/recipients/left-out.js';
import { textDigest } from '../../engine/recipients/reservation.js';
import { scriptRules } from '../../engine/scripts/rules.js';
import type { CampaignMeta } from '../../engine/store/campaign-meta.js';
import type { Suppression } from '../../engine/suppression/suppression.js';
import {
  type CampaignInput,
  type CheckedCampaign,
  checkCampaign,
  type DraftDeps,
  draftOf,
  type ImportOutcome,
} from './campaign-input.js';
import {
  beginWithKey,
  compareWithHolder,
  findRepeated,
  reserveNewContent,
  reserveText,
  storedPreview,
} from './idempotency.js';
import { beginImport, type ImportSession } from './import-session.js';
import { readList } from './read-list.js';
import { REFUSED, refusedOutcome } from './refused-list.js';
import {
  earlierNumbers,
  keepOthersOut,
  sentMeanwhile,
  sentSince,
  uncheckedNumbers,
  withSince,
} from './sent-before.js';

/*
 * The path of a list to its recipients, and the file of each step:
 *
 *   check the input    campaign-input.ts   everything that does not need the list
 *        │
 *   begin the import   import-session.ts   the campaign is `importing`, under a lease; without a key, while the list is read
 *        │
 *   reserve the key    idempotency.ts ───► another campaign holds it: `existing` or `conflict`
 *        │
 *   compare            sent-before.ts      if asked for: the numbers that get the text from an earlier campaign, and once more before
 *        │                                  the commit
 *   read the list      read-list.ts        once, batch by batch:
 *        │               rows                open-list.ts: open-file.ts, read-objects.ts, or read-results-of.ts
 *        │               number column       number-column.ts
 *        │               country column      country-column.ts
 *        │               checks              check-rows.ts: each row is a recipient, a duplicate, or invalid
 *        │               preview             preview.ts: counts, segments, cost, time
 *        │               write               import-session.ts: slices of recipients, and of the rows left out
 *        │
 *        ├─────────── refused-list.ts ────► invalid rows: `invalidRows`; different texts for a number: `differentTexts`; with a limit of the
 *        │                                  cost: `noPrice` or `overBudget`
 *   reserve content    idempotency.ts ───► the same content within 24 hours: `repeated`
 *        │
 *   confirm ──────────────────────────────► refused by the caller: `declined`
 *        │
 *   commit             import-session.ts   one script stores the last slices: the campaign is running, scheduled, or completed: `created`
 *        │
 *   wake the lane      runtime.ts          unless another campaign waits for its turn already
 *
 * Before the commit the campaign cannot be claimed. Every other outcome, and every error, discards the import
 * (import-session.ts). If the process dies, the lease expires, and the sweep or the next user of the key discards it.
 */

/** What an import depends on. */
export interface ImportDeps extends DraftDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly config: LocalConfig;
  readonly events: Events;
  readonly suppression: Suppression;
  readonly finder: Pick<LaneFinder, 'configured'>;
  /** Whose memory the campaign takes, if that is not who creates it: a schedule has none of its own. */
  readonly paidBy?: Actor | undefined;
  /** Who asked for it, if that is someone else: what they may send limits it, too. */
  readonly requestedBy?: LimitedActor | undefined;
  /** The lease of an import, ms; tests shorten it. */
  readonly importLeaseMs?: number | undefined;
  /** Opens a configured lane. */
  laneNamed(name: string): Promise<Lane>;
  /** Wakes the lane of a campaign that was just committed: `inMs` is 0, or the time until it is launched. */
  launched(lane: LaneId, inMs: number): Promise<void>;
}

/** Previews a campaign; nothing is stored and nothing is sent. Throws as {@link importCampaign} does. */
export async function previewCampaign(deps: ImportDeps, input: CampaignInput): Promise<Preview> {
  const campaign = checkCampaign(deps.config, input, deps.clock(), deps.by);
  const preview = await previewChecked(deps, campaign);
  if (campaign.limits.daily.length > 0 && campaign.partial !== true) {
    const lane = await deps.laneNamed(campaign.lane.name);
    await reserveDay({ ...deps, ...dayOf(deps, campaign, lane) }, null, countedOf(preview));
  }
  return preview;
}

/** The same for a campaign that is checked. */
export async function previewChecked(deps: ImportDeps, checked: CheckedCampaign): Promise<Preview> {
  const campaign = { ...checked, estimate: true };
  const lane = await deps.laneNamed(campaign.lane.name);
  const findEarlier = () => earlierNumbers(deps, campaign, deps.clock());
  const { preview, content, refused } = await readList(deps, campaign, lane, { findEarlier });
  if (campaign.partial === true) return preview;
  if (refused !== null || content === null) return withRefusal(preview, refused);
  const repeated = await findRepeated(deps.redis, deps.keys, content, lane.id, campaign);
  return repeated === null ? preview : withRefusal(preview, 'repeated', repeated);
}

const withRefusal = (
  preview: Preview,
  code: Refusal['code'] | null,
  campaign: string | null = null,
): Preview => ({
  ...preview,
  refusal: code && { code, campaign },
});

/** Previews a campaign without Redis: suppressed numbers are not known, and neither is when the messages would be sent. */
export async function previewWithoutRedis(
  config: LocalConfig,
  input: CampaignInput,
  clock: Clock,
): Promise<Preview> {
  const campaign = checkCampaign(config, input, clock());
  const { name } = campaign.lane;
  const lane = {
    id: name,
    name,
    rules: scriptRules(campaign.lane, config),
    monotonic: monotonicClock,
    outlook: async () => null,
  };
  const findEarlier = async () => uncheckedNumbers('there is no Redis');
  const deps = { config, suppression: null, clock };
  const { preview, refused } = await readList(deps, campaign, lane, { findEarlier });
  return withRefusal(preview, refused);
}

/**
 * Imports a campaign and launches it, now or at its time. Throws an InputError for invalid input, and a NotFoundError for an
 * unknown lane; then nothing is stored.
 */
export async function importCampaign(deps: ImportDeps, input: CampaignInput): Promise<ImportOutcome> {
  const { redis, keys } = deps;
  const payingActor = deps.paidBy ?? deps.by.actor;
  const checked = checkCampaign(deps.config, input, deps.clock(), [
    { actor: payingActor, limits: deps.by.limits },
    ...(deps.requestedBy === undefined ? [] : [deps.requestedBy]),
  ]);
  const lane = await deps.laneNamed(checked.lane.name);
  const campaign: CheckedCampaign = {
    ...checked,
    onWait(id) {
      deps.events.emit({ type: 'import.waiting', lane: lane.name, campaign: id });
      checked.onWait?.(id);
    },
  };
  const draft = draftOf(deps, campaign, lane.id);
  const payer = payerOf(payingActor, deps.config.keyBytes);
  const key = await beginWithKey(redis, keys, draft.idempotency, campaign, async () => {
    // A repeated request may arrive after the start of its campaign, and gets that.
    if (campaign.sendAt !== undefined && campaign.sendAt <= deps.clock())
      throw new InputError(IN_THE_PAST, { field: 'sendAt' });
    await mustHaveRoom(redis);
    return beginImport(redis, keys, draft, { leaseMs: deps.importLeaseMs, payer });
  });
  if (key.kind === 'held') {
    // Its list was read when it was created, and the recipients may have other states now.
    if (campaign.toResultsOf !== undefined)
      return compareWithHolder(redis, keys, key.holder, draft, campaign.lane, null);
    // Its own campaign sends the text by now, so it is not compared with earlier ones. Its times were to come when that was created.
    const clock = (): number => timeOfCampaignId(key.holder.campaign);
    const read = await readList({ ...deps, clock }, campaign, lane);
    if (read.duplicates === 'refuse' && read.preview.differentTexts > 0)
      return refusedOutcome('differentTexts', read.preview, campaign);
    return compareWithHolder(redis, keys, key.holder, draft, campaign.lane, read);
  }
  const { session } = key;
  let releaseText: (() => Promise<void>) | undefined;
  try {
    if (campaign.sentBefore === 'leaveOut')
      releaseText = await reserveText(redis, keys, textDigest(draft.text, draft.sender), session, campaign);
    const outcome = await fillAndCommit(deps, campaign, lane, draft, session);
    if (outcome.outcome !== 'created') await session.discard();
    return outcome;
  } catch (error) {
    // If even discarding fails, the lease expires.
    await session.discard().catch(() => {});
    throw error;
  } finally {
    // Otherwise the next import of this text releases it.
    await releaseText?.().catch(() => {});
  }
}

async function fillAndCommit(
  deps: ImportDeps,
  campaign: CheckedCampaign,
  lane: Lane,
  draft: CampaignMeta,
  session: ImportSession,
): Promise<ImportOutcome> {
  const { redis, keys } = deps;
  const isKept = leftOutLimit();
  const costs = new CostCollector();
  const hasPrices = deps.config.prices !== undefined;
  const reserve = async (content: string | null): Promise<string | null> =>
    content === null ? null : reserveNewContent(redis, keys, content, session, campaign);
  let reserving: Promise<string | null> | undefined;
  const { list, template, preview, refused, earlier, content, fingerprint } = await readList(
    deps,
    campaign,
    lane,
    {
      findEarlier: () => earlierNumbers(deps, campaign, deps.clock()),
      // Early, because a short list has been read before the import has begun.
      onRead(content) {
        // What the list costs is known only when it is known which of its numbers are suppressed.
        if (campaign.budget !== undefined || campaign.limits.daily.length > 0) return;
        reserving = reserve(content);
        // It is awaited late.
        reserving.catch(() => {});
      },
      async onRecipients(recipients, suppressed, micros) {
        for (const [at, recipient] of recipients.entries()) {
          const isSuppressed = suppressed[at] === true;
          const writer = isSuppressed ? session.suppressed : session.recipients;
          if (hasPrices && !isSuppressed) costs.add(micros[at] ?? 0, recipient.part);
          if (writer.add(recipient, isSuppressed ? undefined : recipient.part)) await writer.flushed();
        }
      },
      heldBytes: () => session.recipients.bytes,
      async onLeftOut(rows) {
        for (const row of rows) {
          if (isKept(row) && session.leftOut.add(storedRow(row))) await session.leftOut.flushed();
        }
      },
    },
  );
  if (refused !== null) return refusedOutcome(refused, preview, campaign);

  const repeated = await (reserving ?? reserve(content));
  if (repeated !== null) return { ...REFUSED, code: 'repeated', message: REPEATED, campaign: repeated };
  await session.reserveDay(dayOf(deps, campaign, lane), countedOf(preview));
  const since = async (): ReturnType<typeof sentSince> =>
    earlier === undefined ? null : sentSince(deps, campaign, deps.clock(), earlier, list);
  const confirmed = await confirm(campaign, preview, since);
  if (confirmed === null) return { ...REFUSED, code: 'declined', message: 'the campaign was not confirmed' };

  for (const chunk of costs.chunks()) await session.storeCosts(chunk);
  const { recipientCount, duplicates, differentTexts, invalid, suppressed, cost } = preview;
  const meta: CampaignMeta = {
    ...draft,
    columns: list.columns,
    numberColumn: list.numberColumn,
    placeholders: template.placeholders,
    duplicates,
    invalid,
    suppressed,
    ...(cost && { cost: storedCost(cost, costs.costs()) }),
    // Only a repeated request with the same key asks for these.
    ...(draft.idempotency !== undefined && { fingerprint, preview: storedPreview(preview) }),
  };
  // The trail outlives the campaign, so it contains no name, which people choose.
  const details = { recipientCount };
  const subject = { lane: lane.id, campaign: session.id };
  const { wakeInMs, events } = await deps.by.audited({ ...subject, action: 'campaign.create', details }, () =>
    commitCompared(deps, campaign, session, meta, since),
  );
  const counts = { recipientCount, duplicates, invalid, suppressed };
  const actor = describeActor(deps.by.actor);
  deps.events.emit({ type: 'campaign.imported', lane: lane.name, campaign: session.id, ...counts, actor });
  lane.emit(events);
  // The session has marked the lane as due when it began.
  if (wakeInMs >= 0) await activated(lane, deps.launched(lane.id, wakeInMs));
  return { outcome: 'created', id: session.id, ...counts, differentTexts, preview: confirmed };
}

/** The preview that the caller has confirmed, or null. It is asked again if others get the text already by then. */
async function confirm(
  { confirm: ask, sentBefore }: CheckedCampaign,
  preview: Preview,
  since: () => ReturnType<typeof sentSince>,
): Promise<Preview | null> {
  if (ask === undefined) return preview;
  if (!(await ask(preview))) return null;
  if (sentBefore !== 'count' || preview.sentBefore === null || preview.sentBefore.unchecked !== null)
    return preview;
  const found = await since().catch((error: unknown) => {
    // There are too many to compare by now: the preview tells what was known.
    if (error instanceof InputError) return null;
    throw error;
  });
  if (found === null) return preview;
  const renewed = { ...preview, sentBefore: withSince(preview.sentBefore, found) };
  return (await ask(renewed)) ? renewed : null;
}

/** Commits an import. One that leaves out who gets the text already is compared once more, while no other campaign of the text is committed. */
async function commitCompared(
  deps: ImportDeps,
  campaign: CheckedCampaign,
  session: ImportSession,
  meta: CampaignMeta,
  since: () => ReturnType<typeof sentSince>,
) {
  if (campaign.sentBefore !== 'leaveOut') return session.commit(meta);
  let letOthersIn = async (): Promise<void> => {};
  try {
    return await session.commit(meta, async () => {
      letOthersIn = await keepOthersOut(deps, meta, campaign);
      const found = await since();
      if (found !== null) throw sentMeanwhile(found);
    });
  } finally {
    // Otherwise the keys expire.
    await letOthersIn().catch(() => {});
  }
}

const dayOf = (
  { config }: Pick<ImportDeps, 'config'>,
  { limits }: Pick<CheckedCampaign, 'limits'>,
  lane: Pick<Lane, 'id' | 'name'>,
) => ({ lane, limits: limits.daily, currency: config.prices?.currency });

const countedOf = ({ recipientCount, cost }: Pick<Preview, 'recipientCount' | 'cost'>): Counted => ({
  messages: recipientCount,
  micros: Number(parseAmount(cost?.total ?? '') ?? 0n),
});

const IN_THE_PAST = 'the time is in the past: leave it out to start sending now';

function storedCost({ currency, total, unpriced }: PlannedCost, costs: readonly number[] | null) {
  return {
    currency,
    total,
    ...(unpriced === 0 ? {} : { unpriced }),
    ...(costs === null ? {} : { costs: [...costs] }),
  };
}
