import { createHash } from 'node:crypto';
import { basename, extname } from 'node:path';
import { newCampaignId } from '../campaign/campaign-id.js';
import { InputError } from '../campaign/errors.js';
import { checkSender } from '../campaign/sender.js';
import { HALF_A_PAIR } from '../campaign/template.js';
import type { Preview } from '../campaign/views.js';
import type { Clock, Random } from '../clock.js';
import type { LocalConfig } from '../config.js';
import type { Events } from '../events.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import type { CampaignMeta } from '../store/campaigns.js';
import { beginImport, type ImportSession } from '../store/import-session.js';
import type { Suppression } from '../store/suppression.js';
import type { CampaignInput, EnqueueOutcome } from './campaign-input.js';
import { type Lane, noSuchLane } from './lane.js';
import { openList, type Passed, passList } from './list-pass.js';
import { sameContent, takeContent, takeKey } from './once.js';

/*
 *   check what can be checked ──► begin ──► idempotency key ──► a way through the list, slices written as it goes
 *       ──► content of the last day? ──► confirm ──► commit: one script ──► wake the lane
 *
 * Until the commit nobody sees anything of it. Whatever goes wrong before takes everything back; a process that dies
 * leaves an import whose lease ends, and the sweep, or whoever wants its key, discards it.
 */

/** What {@link importCampaign} goes by. */
export interface ImportDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly config: LocalConfig;
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly events: Events;
  readonly suppression: Suppression;
  readonly clock: Clock;
  readonly random: Random;
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

/** Everything that can be checked before the list is opened. */
function checked({ config, lanes }: ImportDeps, input: CampaignInput) {
  const name = input.lane ?? config.lanes[0]?.name ?? '';
  const lane = lanes.get(name);
  if (lane === undefined) {
    throw noSuchLane(name, lanes.keys());
  }
  const sender = input.sender ?? config.senderAddress;
  if (sender === undefined) {
    throw new InputError('a sender is needed: give one (--sender), or set SENDER_ADDRESS', {
      field: 'sender',
    });
  }
  const form = checkSender(sender);
  if (form.kind === 'invalid') throw new InputError(form.reason, { field: 'sender' });
  if (input.message.trim() === '') {
    throw new InputError('the message is empty: give the text that is to be sent', { field: 'message' });
  }
  for (const field of ['senderName', 'name'] as const) {
    if (HALF_A_PAIR.test(input[field] ?? ''))
      throw new InputError(`${field} holds half of a surrogate pair, which is no letter`, { field });
  }
  if (input.idempotencyKey === '')
    throw new InputError('the idempotency key is empty: leave it out, or give one');
  if (input.validForMs !== undefined && !(input.validForMs > 0)) {
    throw new InputError('the time for which a campaign is valid must be longer than nothing', {
      field: 'validFor',
    });
  }
  const senderName = input.senderName ?? config.senderName;
  return { lane, sender: { sender, isText: form.kind === 'text', senderName } };
}

/** What is known of the campaign before its list is read. */
function draftOf(deps: ImportDeps, input: CampaignInput): CampaignMeta {
  const { lane, sender } = checked(deps, input);
  const created = deps.clock();
  const { idempotencyKey } = input;
  return {
    id: newCampaignId(created, deps.random),
    name: input.name ?? defaultName(input, created),
    lane: lane.name,
    sender: sender.sender,
    senderName: sender.senderName,
    text: input.message,
    columns: [],
    numberColumn: '',
    placeholders: [],
    priority: input.priority ?? 'normal',
    validForMs: input.validForMs === undefined ? undefined : Math.round(input.validForMs),
    created,
    at: input.at,
    idempotency:
      idempotencyKey === undefined
        ? undefined
        : createHash('sha256').update(idempotencyKey).digest('base64url'),
    duplicates: 0,
    invalid: 0,
    suppressed: 0,
    preview: null,
  };
}

function defaultName({ recipients }: CampaignInput, now: number): string {
  if (typeof recipients === 'string') return basename(recipients, extname(recipients));
  return `campaign of ${new Date(now).toISOString().slice(0, 16).replace('T', ' ')}`;
}
