import { PRIORITY_WEIGHT } from '../campaign/campaign.js';
import {
  estimate,
  type LaneOutlook,
  NOTIFIED_POLLS_PER_REQUEST,
  requestsNeeded,
  USUAL_POLLS_PER_REQUEST,
} from '../campaign/estimate.js';
import { charactersForcingUcs2, segmentsOf } from '../campaign/segments.js';
import { senderWarnings } from '../campaign/sender.js';
import type { Template } from '../campaign/template.js';
import type { InvalidRow, Preview, RepeatedRow } from '../campaign/views.js';
import type { Lane } from '../lane/lane.js';
import { SLICE } from '../recipients/slices.js';
import type { CampaignInput } from './campaign-input.js';
import type { CheckedRow, CheckedRows, Duplicates } from './check-rows.js';

const MAX_SAMPLES = 3;
const MAX_PROBLEMS = 20;
const MAX_REPEATS = 20;
/** Lines that a warning names. */
const MAX_LINES_NAMED = 10;
/** Messages searched for characters that force UCS-2: enough to find them, few enough to cost nothing. */
const MAX_MESSAGES_SEARCHED = 200;

/** Collects the preview of a campaign while its list is read. */
export function previewBuilder(template: Template, sender: string) {
  const shared = template.placeholders.length === 0 ? segmentsOf(template.text) : undefined;
  const ucs2Characters = new Set<string>();
  const samples: { recipient: string; text: string }[] = [];
  const problems: InvalidRow[] = [];
  const repeats: Record<RepeatedRow['text'], RepeatedRow[]> = { same: [], different: [] };
  const segments = { min: Number.POSITIVE_INFINITY, max: 0, total: 0 };
  const notMobileLines: number[] = [];
  let [isUcs2, searched, suppressed, notMobile] = [false, 0, 0, 0];

  const addUcs2Message = (text: string): void => {
    isUcs2 = true;
    if (searched >= MAX_MESSAGES_SEARCHED) return;
    searched += 1;
    for (const character of charactersForcingUcs2(text)) ucs2Characters.add(character);
  };
  if (shared?.encoding === 'UCS-2') addUcs2Message(template.text);

  return {
    addRecipient(row: Extract<CheckedRow, { kind: 'recipient' }>, isSuppressed: boolean): void {
      const { line, number, values } = row;
      if (isSuppressed) suppressed += 1;
      const text = shared === undefined || samples.length < MAX_SAMPLES ? template.render(values) : '';
      const measured = shared ?? segmentsOf(text);
      if (shared === undefined && measured.encoding === 'UCS-2') addUcs2Message(text);
      if (isSuppressed) return;
      if (row.isNotMobile === true) {
        notMobile += 1;
        if (notMobileLines.length < MAX_LINES_NAMED) notMobileLines.push(line);
      }
      if (samples.length < MAX_SAMPLES) samples.push({ recipient: number, text });
      segments.min = Math.min(segments.min, measured.segments);
      segments.max = Math.max(segments.max, measured.segments);
      segments.total += measured.segments;
    },
    addInvalid(row: InvalidRow): void {
      if (problems.length < MAX_PROBLEMS) problems.push(row);
    },
    addRepeated(row: RepeatedRow): void {
      if (repeats[row.text].length < MAX_REPEATS) repeats[row.text].push(row);
    },
    /** `outlook` and the other campaigns of the lane decide how long sending takes. Null: it is not known. */
    build(
      list: CheckedRows,
      duplicates: Duplicates,
      lane: Pick<Lane, 'rules'>,
      outlook: LaneOutlook | null,
      { at, validForMs, priority }: Pick<CampaignInput, 'at' | 'validForMs' | 'priority'>,
    ): Preview {
      const counts = list.counts();
      const isShared = template.placeholders.length === 0;
      const { maxRecipients } = lane.rules;
      const most = Math.min(maxRecipients, outlook?.maxRecipients || maxRecipients);
      const sends = requestsNeeded(counts.recipients - suppressed, isShared, most, SLICE);
      const pollsPerRequest =
        lane.rules.notify === true ? NOTIFIED_POLLS_PER_REQUEST : USUAL_POLLS_PER_REQUEST;
      const polls = Math.ceil(sends * pollsPerRequest);
      const estimateWith = (known: LaneOutlook, launchAt = Math.max(known.now, at ?? 0)) =>
        estimateOnce(known, lane.rules, {
          // It does not exist yet; of campaigns whose turn it is, the oldest goes first.
          id: '~',
          requests: sends,
          weight: PRIORITY_WEIGHT[priority ?? 'normal'],
          launchAt,
          lapseAt: validForMs === undefined ? 0 : launchAt + validForMs,
          sending: 0,
          awaiting: 0,
          unknown: 0,
          obstacle: null,
        });
      const { eta, completion } = outlook === null ? { eta: null, completion: null } : estimateWith(outlook);
      return {
        columns: list.columns,
        numberColumn: list.numberColumn,
        ...counts,
        repeats: [...repeats.same, ...repeats.different].sort((a, b) => a.line - b.line),
        suppressed,
        isSuppressionChecked: outlook !== null,
        notMobile,
        problems,
        encoding: isUcs2 ? 'UCS-2' : 'GSM-7',
        ucs2Characters: [...ucs2Characters],
        segments: { ...segments, min: segments.total === 0 ? 0 : segments.min },
        requests: { send: sends, poll: polls, total: sends + polls },
        eta,
        completion,
        samples,
        warnings: [
          ...(counts.differentTexts === 0
            ? []
            : [differentTextsWarning(counts.differentTexts, repeats.different, duplicates)]),
          ...(notMobile === 0 ? [] : [notMobileWarning(notMobile, notMobileLines)]),
          ...senderWarnings(sender),
        ],
      };
    },
  };
}

function notMobileWarning(count: number, lines: readonly number[]): string {
  const more = count > lines.length ? `, and ${count - lines.length} more` : '';
  const subject = count === 1 ? '1 number is' : `${count} numbers are`;
  const where = `${count === 1 ? 'line' : 'lines'} ${lines.join(', ')}${more}`;
  return `${subject} known as landline, premium rate, shared cost, or voicemail: ${where}. Most of them receive no messages. To refuse them, set NUMBER_KINDS=mobile.`;
}

type Own = Parameters<typeof estimate>[2];

/** Imports that run at the same time share the state of their lane. Where they are alike, so is their estimate. */
const estimates = new WeakMap<LaneOutlook, Map<string, ReturnType<typeof estimate>>>();

function estimateOnce(outlook: LaneOutlook, rules: Lane['rules'], own: Own): ReturnType<typeof estimate> {
  const known = estimates.get(outlook) ?? new Map<string, ReturnType<typeof estimate>>();
  estimates.set(outlook, known);
  const name = JSON.stringify(own);
  const made = known.get(name) ?? estimate(outlook, rules, own);
  known.set(name, made);
  return made;
}

const CONSEQUENCES = {
  first: 'Only the first message is sent to each of them. To send all of them, set `duplicates` to `keep`.',
  keep: 'Each of them gets every message that differs.',
  refuse:
    'The campaign will be refused. To send all messages, set `duplicates` to `keep`; to send only the first to each number, set it to `first`.',
} as const satisfies Record<Duplicates, string>;

function differentTextsWarning(
  count: number,
  listed: readonly RepeatedRow[],
  duplicates: Duplicates,
): string {
  const named = listed
    .slice(0, MAX_LINES_NAMED)
    .map(({ line, firstLine }) => `${line} (the first is in line ${firstLine})`);
  const more = count > named.length ? `, and ${count - named.length} more` : '';
  const subject = count === 1 ? '1 number appears' : `${count} numbers appear`;
  const lines = count === 1 ? 'line' : 'lines';
  return `${subject} again with another text: ${lines} ${named.join(', ')}${more}. ${CONSEQUENCES[duplicates]}`;
}
