import type { Clock } from '../../base/clock.js';
import type { LaneOutlook } from '../../campaign/estimate/lane-outlook.js';
import { COMPARED_MEMBERS, storedFieldsOf } from '../../campaign/fields/field-sets.js';
import type { InvalidRow, RepeatedRow } from '../../campaign/views/list-views.js';
import type { Preview } from '../../campaign/views/preview-views.js';
import type { Lane } from '../../engine/lane/lane.js';
import type { LeftOutRow } from '../../engine/recipients/left-out.js';
import type { StoredRecipient } from '../../engine/recipients/slices.js';
import type { Suppression } from '../../engine/suppression/suppression.js';
import type { CheckedCampaign } from './campaign-input.js';
import { type ListDeps, listKind, type OpenList, openList } from './open-list.js';
import { previewBuilder } from './preview.js';
import { type RefusedCode, refusedCampaign, refusedList } from './refused-list.js';
import { type CheckedRow, type CheckedRows, invalidRowOf } from './rows/check-rows.js';
import { campaignDigest, contentDigest } from './rows/content-digest.js';
import { compareSent, type EarlierNumbers, type SentComparison } from './sent-before.js';

/** How old the state of the lane may be when the time of a campaign is estimated. */
const CURRENT_MS = 1_000;

/** What reading a list depends on. */
interface ReadDeps extends ListDeps {
  /** Null: it is not known which numbers are suppressed. */
  readonly suppression: Pick<Suppression, 'count' | 'areSuppressed'> | null;
  readonly clock: Clock;
}

/** The lane of a list. `outlook`: null if it is not known. */
type ReadLane = Pick<Lane, 'id' | 'name' | 'rules' | 'monotonic'> & {
  outlook(): Promise<LaneOutlook | null>;
};

type ValidRow = Extract<CheckedRow, { kind: 'recipient' }>;

/** What is done with a list while it is read; by default nothing. */
interface ReadOptions {
  /** Finds the earlier campaigns with which the recipients are compared, if that is asked for; default: nothing is compared. */
  findEarlier?(): Promise<EarlierNumbers>;
  /**
   * Called when all rows have been read, unless the list is refused, with `content` of {@link ListSummary}. It may still be unknown which
   * numbers of the last batch are suppressed, and its recipients have not been passed to `onRecipients`.
   */
  onRead?(content: string | null): void;
  /**
   * Called with the recipients of each batch, and for each of them whether it is suppressed, and what its message costs, in micros. Not for
   * a list that is refused because of an invalid row: the rest is read only for the count and the reasons of its invalid rows.
   */
  onRecipients?(
    recipients: readonly (StoredRecipient & Pick<ValidRow, 'part'>)[],
    suppressed: readonly boolean[],
    costs: readonly number[],
  ): Promise<void>;
  /** The same with the rows of each batch that are left out, because they are invalid or have the number of an earlier row. */
  onLeftOut?(rows: readonly LeftOutRow[]): Promise<void>;
  /** How much memory the recipients take that `onRecipients` keeps. */
  heldBytes?(): number;
}

/** A list that has been read. */
export interface ListSummary extends OpenList {
  readonly preview: Preview;
  /** Why its campaign is refused, whatever the lane has sent before; null if it is not. */
  readonly refused: RefusedCode | null;
  /** The earlier campaigns with which the recipients were compared; undefined: nothing was compared. */
  readonly earlier: EarlierNumbers | undefined;
  /**
   * Digest of the recipients as far as the message uses them, of the message, and of the sender: equal content is sent alike. Null if all are left
   * out because they get the text already: that can be repeated.
   */
  readonly content: string | null;
  /**
   * The same with the references, and with those who get the text already: a request with the idempotency key of another is the same only if
   * they are equal.
   */
  readonly fingerprint: string;
}

/**
 * Reads the list of a campaign once, batch by batch: memory does not grow with it, except for what detects duplicates. Throws an InputError
 * for an unusable list, and for a message that does not fit its columns.
 */
export async function readList(
  deps: ReadDeps,
  campaign: CheckedCampaign,
  lane: ReadLane,
  { findEarlier, onRead, onRecipients, onLeftOut, heldBytes }: ReadOptions = {},
): Promise<ListSummary> {
  const opened = await openList(deps, campaign, deps.clock());
  const { list, template, duplicates, close } = opened;
  const { sender, senderName = '', signal, sentBefore } = campaign;
  let comparison: SentComparison | undefined;
  try {
    if (sentBefore !== undefined && findEarlier !== undefined)
      comparison = compareSent(await findEarlier(), sentBefore);
  } catch (error) {
    close();
    throw error;
  }
  const { suppression } = deps;
  const preview = previewBuilder(template, {
    campaign,
    lane,
    prices: deps.config.prices,
    now: deps.clock(),
  });
  const used = template.placeholders.map((name) => list.columns.indexOf(name));
  const digest = contentDigest(JSON.stringify([sender, senderName, template.text]), used);
  // Lapsing depends on when the messages are sent, and is a warning.
  const isEstimated =
    campaign.partial !== true && (campaign.estimate === true || campaign.validFor !== undefined);
  // Read at the same time: most lists are short.
  const early = { outlook: isEstimated ? lane.outlook() : null, at: lane.monotonic() };
  early.outlook?.catch(() => {});
  const counts = (): ReturnType<CheckedRows['counts']> => {
    const read = list.counts();
    const leftOut = comparison?.leftOut() ?? 0;
    return { ...read, recipientCount: read.recipientCount - leftOut, duplicates: read.duplicates + leftOut };
  };
  const content = (): string | null =>
    comparison?.leftOut() && counts().recipientCount === 0 ? null : digest.content();
  // A number that is suppressed while the list is read is left out later, when its batch is claimed.
  // Most lists have a single batch, whose check costs no more than asking whether any number is suppressed.
  let counted: Promise<number> | undefined;
  let isFirst = true;
  let bytes = 0;
  for await (const { batch, isLast } of withLast(list.batches)) {
    signal?.throwIfAborted();
    const taken = list.bytes() + (heldBytes?.() ?? 0);
    if (taken > bytes) {
      bytes = taken;
      await campaign.onMemory?.(bytes);
    }
    const rows = comparison === undefined ? batch : batch.map(comparison.sift);
    const valid = rows.filter((row) => row.kind === 'recipient');
    if (!isFirst) counted ??= suppression?.count(lane.id);
    const isChecked = isFirst || ((await counted) ?? 0) > 0;
    isFirst = false;
    const checking = isChecked
      ? suppression?.areSuppressed(
          lane.id,
          valid.map(({ number }) => number),
        )
      : undefined;
    // If a callback throws before it is awaited.
    checking?.catch(() => {});
    digest.add(
      batch.filter((row) => row.kind === 'recipient'),
      valid,
    );
    if (isLast && refusedList(counts(), campaign, duplicates) === null) onRead?.(content());
    const suppressed = (await checking) ?? [];
    const costs = valid.map((row, at) => {
      const isSuppressed = suppressed[at] === true;
      if (!isSuppressed) comparison?.see(row);
      return preview.addRecipient(row, isSuppressed);
    });
    const leftOut: LeftOutRow[] = [];
    for (const row of rows) {
      if (row.kind === 'invalid') {
        const { kind, line, number, reference, code } = row;
        const inFull = (): InvalidRow => invalidRowOf(row, listKind(campaign));
        preview.addInvalid(row, list.columns, inFull);
        if (campaign.skipInvalid === true) campaign.onInvalid?.(inFull(), list.columns);
        leftOut.push({ kind, line, number, reference, code, column: positionOf(row.column, list.columns) });
        continue;
      }
      if (typeof row.firstLine === 'number') preview.addRepeated(repeatOf(row, row.firstLine));
      if (row.kind === 'duplicate') leftOut.push(row);
    }
    if (list.counts().invalid > 0 && campaign.skipInvalid !== true) continue;
    const recipients = valid.map(({ number, values, reference, part }) => ({
      number,
      values: used.map((position) => values[position] ?? ''),
      reference,
      part,
    }));
    await onRecipients?.(recipients, suppressed, costs);
    if (leftOut.length > 0) await onLeftOut?.(leftOut);
  }
  const isCurrent = lane.monotonic() - early.at < CURRENT_MS;
  const outlook = isEstimated ? await (isCurrent ? early.outlook : lane.outlook()) : null;
  const fingerprint = digest.fingerprint();
  const seen: Preview = {
    ...preview.build({ ...list, counts }, duplicates, outlook, suppression !== null),
    sentBefore: comparison?.result() ?? null,
    digest: campaign.partial === true ? null : campaignDigest(fingerprint, settingsOf(campaign, lane)),
  };
  const refused = refusedCampaign(seen, campaign, duplicates);
  return { ...opened, preview: seen, refused, earlier: comparison?.earlier, content: content(), fingerprint };
}

/** The settings in which a campaign must agree with its preview: those in which repeated requests must. */
function settingsOf(campaign: CheckedCampaign, { name }: Pick<Lane, 'name'>): unknown[] {
  const stored = storedFieldsOf({ ...campaign, lane: name, name: '' });
  return COMPARED_MEMBERS.map(({ member }) => stored[member] ?? null);
}

/** Where the column at fault is. Objects may have a reference without a column for it. */
function positionOf(column: string | null, columns: readonly string[]): number | 'reference' | null {
  const position = column === null ? null : columns.indexOf(column);
  return position === -1 ? 'reference' : position;
}

/** The batches of a list, and whether each is the last one. */
async function* withLast<Batch>(
  batches: AsyncIterable<Batch>,
): AsyncGenerator<{ readonly batch: Batch; readonly isLast: boolean }> {
  let held: Batch | undefined;
  for await (const batch of batches) {
    if (held !== undefined) yield { batch: held, isLast: false };
    held = batch;
  }
  if (held !== undefined) yield { batch: held, isLast: true };
}

function repeatOf(row: CheckedRow & { kind: 'recipient' | 'duplicate' }, firstLine: number): RepeatedRow {
  const isSameText = row.kind === 'duplicate' && row.isSameText;
  return { line: row.line, firstLine, to: row.number, text: isSameText ? 'same' : 'different' };
}
