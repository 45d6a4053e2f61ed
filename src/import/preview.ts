import { estimate, NOTIFIED_POLLS_PER_REQUEST, USUAL_POLLS_PER_REQUEST } from '../campaign/estimate.js';
import { requestsNeeded } from '../campaign/planning.js';
import { segmentsOf } from '../campaign/segments.js';
import type { Template } from '../campaign/template.js';
import { charactersForcingUcs2 } from '../campaign/ucs2-characters.js';
import type { InvalidRow, Preview } from '../campaign/views.js';
import type { Lane } from '../lane/lane.js';
import type { LaneView } from '../lane/lane-status.js';
import type { CheckedRows } from './check-rows.js';

const SAMPLES = 3;
const PROBLEMS = 20;
/** Texts that are looked through for characters that force UCS-2: enough to name them, few enough to cost nothing. */
const TEXTS_LOOKED_THROUGH = 200;

/** Gathers what a preview shows while the list goes by. */
export function createTally(template: Template, senderIsText: boolean) {
  const shared = template.placeholders.length === 0 ? segmentsOf(template.text) : undefined;
  const ucs2Characters = new Set<string>();
  const samples: { recipient: string; text: string }[] = [];
  const problems: InvalidRow[] = [];
  const segments = { min: Number.POSITIVE_INFINITY, max: 0, total: 0 };
  let [isUcs2, lookedThrough, suppressed] = [false, 0, 0];

  const lookThrough = (text: string): void => {
    isUcs2 = true;
    if (lookedThrough >= TEXTS_LOOKED_THROUGH) return;
    lookedThrough += 1;
    for (const character of charactersForcingUcs2(text)) ucs2Characters.add(character);
  };
  if (shared?.encoding === 'UCS-2') lookThrough(template.text);

  return {
    recipient(number: string, values: readonly string[], isSuppressed: boolean): void {
      if (isSuppressed) suppressed += 1;
      const text = shared === undefined || samples.length < SAMPLES ? template.render(values) : '';
      const measured = shared ?? segmentsOf(text);
      if (shared === undefined && measured.encoding === 'UCS-2') lookThrough(text);
      if (isSuppressed) return;
      if (samples.length < SAMPLES) samples.push({ recipient: number, text });
      segments.min = Math.min(segments.min, measured.segments);
      segments.max = Math.max(segments.max, measured.segments);
      segments.total += measured.segments;
    },
    invalid(row: InvalidRow): void {
      if (problems.length < PROBLEMS) problems.push(row);
    },
    preview(list: CheckedRows, lane: Lane, view: LaneView): Preview {
      const counts = list.counts();
      const sends = requestsNeeded(
        counts.recipients - suppressed,
        template.placeholders.length === 0,
        lane.rules.maxRecipients,
      );
      const { requests, sentAfterMs, finishedAfterMs } = estimate(
        sends,
        {
          limit: view.limit,
          windowMs: lane.rules.window,
          used: view.sends + view.polls,
          pollShare: lane.rules.pollShare,
        },
        lane.rules.notify === true ? NOTIFIED_POLLS_PER_REQUEST : USUAL_POLLS_PER_REQUEST,
      );
      return {
        columns: list.columns,
        numberColumn: list.numberColumn,
        ...counts,
        suppressed,
        problems,
        encoding: isUcs2 ? 'UCS-2' : 'GSM-7',
        ucs2Characters: [...ucs2Characters],
        segments: { ...segments, min: segments.total === 0 ? 0 : segments.min },
        requests,
        sentAfterMs,
        finishedAfterMs,
        samples,
        warnings: senderIsText
          ? [
              'The sender is a name: most networks accept only phone numbers and short codes, and replies to a name go nowhere.',
            ]
          : [],
      };
    },
  };
}
