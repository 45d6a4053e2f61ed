import { InputError } from '../campaign/errors.js';
import type { Preview } from '../campaign/views.js';
import type { Events } from '../events/events.js';
import type { CampaignMeta } from '../lane/campaigns.js';
import type { Suppression } from '../recipients/suppression.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { checked, type DraftDeps, draftOf } from './campaign-draft.js';
import type { CampaignInput, EnqueueOutcome } from './campaign-input.js';
import { sameContent, takeContent, takeKey } from './idempotency.js';
import { beginImport, type ImportSession } from './import-session.js';
import { openList, type Passed, passList } from './list-pass.js';

/*
 *   check what can be checked ──► begin ──► idempotency key ──► a way through the list, slices written as it goes
 *       ──► content of the last day? ──► confirm ──► commit: one script ──► wake the lane
 *
 * Until the commit nobody sees anything of it. Whatever goes wrong before takes everything back; a process that dies
 * leaves an import whose lease ends, and the sweep, or whoever wants its key, discards it.
 */

/** What {@link importCampaign} goes by. */
export interface ImportDeps extends DraftDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly events: Events;
  readonly suppression: Suppression;
  /** How long an import may give no sign of life, ms; tests shorten it. */
  readonly importLeaseMs?: number | undefined;
  /** Wakes the lane of a campaign that was just committed. */
  launched(lane: string): Promise<void>;
}

/** What a campaign would come to, with nothing stored and nothing sent. */
export async function previewCampaign(deps: ImportDeps, input: CampaignInput): Promise<Preview> {
  return (await survey(deps, input)).preview;
}

/** Imports a campaign and launches it, now or at its time. Throws an InputError for what can be no campaign. */
export async function importCampaign(deps: ImportDeps, input: CampaignInput): Promise<EnqueueOutcome> {
  const { redis, keys } = deps;
  const meta = draftOf(deps, input);
  const taken = await takeKey(redis, keys, meta.idempotency, input.signal, () =>
    beginImport(redis, keys, meta, deps.importLeaseMs),
  );
  if (taken.kind === 'held') {
    const { preview, content } = await survey(deps, input);
    return sameContent(redis, keys, taken.holder, meta, content, preview);
  }
  const { session } = taken;
  try {
    const outcome = await fill(deps, input, meta, session);
    if (outcome.kind !== 'created') await session.discard();
    return outcome;
  } catch (error) {
    // What cannot be taken back now is when its lease is over.
    await session.discard().catch(() => {});
    throw error;
  }
}

/** Fills what was begun, and commits it if nothing is in the way. */
async function fill(
  deps: ImportDeps,
  input: CampaignInput,
  draft: CampaignMeta,
  session: ImportSession,
): Promise<EnqueueOutcome> {
  const { redis, keys } = deps;
  const { lane, sender } = checked(deps, input);
  const opened = await openList(deps.config, input);
  let isRefused = false;
  const { preview, content } = await passList(opened, {
    ...sender,
    lane,
    suppression: deps.suppression,
    signal: input.signal,
    onInvalid(row) {
      if (input.skipInvalid === true) input.onInvalid?.(row);
      else isRefused = true;
    },
    async take(recipients, suppressed) {
      // Only the count and the reasons of the bad rows are still wanted.
      if (isRefused) return;
      for (const [at, recipient] of recipients.entries()) {
        const writer = suppressed[at] === true ? session.suppressed : session.recipients;
        if (writer.add(recipient)) await writer.flushed();
      }
    },
  });
  const { recipients, duplicates, invalid, suppressed } = preview;
  // Where all rows are bad, there is nobody to leave them out for, and their reasons are what is wanted.
  if (isRefused || (recipients === 0 && invalid > 0)) return { kind: 'invalidRows', preview };
  if (recipients === 0) {
    throw new InputError('the list has no rows below its header: there is nobody to send to', {
      field: 'recipients',
    });
  }

  const earlier = await takeContent(redis, keys, content, { lane: lane.name, campaign: session.id }, input);
  if (earlier !== null) return { kind: 'repeated', id: earlier };
  if (input.confirm !== undefined && !(await input.confirm(preview))) return { kind: 'declined' };

  const { list, template } = opened;
  const { launchedAt, events } = await session.commit({
    ...draft,
    columns: list.columns,
    numberColumn: list.numberColumn,
    placeholders: template.placeholders,
    fingerprint: content,
    duplicates,
    invalid,
    suppressed,
    preview: { ...preview, problems: [] },
  });
  const counts = { recipients, duplicates, invalid, suppressed };
  deps.events.emit({ type: 'campaign.imported', lane: lane.name, campaign: session.id, ...counts });
  lane.tell(events);
  if (launchedAt > 0) await deps.launched(lane.name).catch(() => {});
  return { kind: 'created', id: session.id, ...counts, preview };
}

/** A way through the list in which nothing is stored. */
async function survey(deps: ImportDeps, input: CampaignInput): Promise<Passed> {
  const { lane, sender } = checked(deps, input);
  return passList(await openList(deps.config, input), {
    ...sender,
    lane,
    suppression: deps.suppression,
    signal: input.signal,
    onInvalid: input.onInvalid,
  });
}
