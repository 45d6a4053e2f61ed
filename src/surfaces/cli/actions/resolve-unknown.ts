import type { Resolution, ResolveOutcome, Volley } from '../../../app/volley.js';
import { formatDuration } from '../../../base/duration.js';
import { moment } from '../../../base/moments.js';
import { RESEND_POSSIBLE, RESOLUTIONS } from '../../../campaign/states/resolutions.js';
import type { ReportRow } from '../../../campaign/views/recipient-views.js';
import type { CampaignStatus } from '../../../campaign/views/views.js';
import { ask } from '../context/ask.js';
import type { Context } from '../context/context.js';
import { via } from '../open/destination.js';
import { counted, oneLine } from '../output/text.js';

type Unknown = CampaignStatus['unknownOutcomes'][number];

/** Numbers shown of each request. */
const NUMBERS_SHOWN = 3;

/** What an operator did with the requests with an unknown outcome. */
export interface Walk {
  readonly settled: readonly { readonly as: Resolution['as']; readonly outcome: ResolveOutcome }[];
  readonly skipped: number;
}

/** Shows each request of a campaign with an unknown outcome, with what is known about it, and asks what to do. `destination`: of its lane. */
export async function walkUnknown(
  context: Context,
  volley: Volley,
  id: string,
  destination: string | null,
): Promise<Walk> {
  const settled: { as: Resolution['as']; outcome: ResolveOutcome }[] = [];
  const seen = new Set<string>();
  const rows = await rowsByRequest(volley, id);
  for (;;) {
    // A status lists at most 100 of them.
    const { unknownOutcomes, zone } = await volley.status(id);
    const next = unknownOutcomes.find(({ request }) => !seen.has(request));
    if (next === undefined) return { settled, skipped: seen.size - settled.length };
    seen.add(next.request);
    for (const line of evidence(next, rows.get(next.request) ?? [], zone, context)) context.note(line);
    const as = await choose(context, next, destination);
    if (as === 'quit') return { settled, skipped: unknownOutcomes.length };
    if (as === 'skip') continue;
    settled.push({ as, outcome: await volley.resolve(id, { as, request: next.request }) });
  }
}

async function rowsByRequest(volley: Volley, id: string): Promise<Map<string, ReportRow[]>> {
  const rows = new Map<string, ReportRow[]>();
  for await (const row of volley.report(id, { status: 'unknown' })) {
    const request = row.requestId ?? '';
    const known = rows.get(request) ?? [];
    rows.set(request, known);
    if (known.length < NUMBERS_SHOWN) known.push(row);
  }
  return rows;
}

function evidence(
  { request, recipientCount, since, reason, resendFrom }: Unknown,
  rows: readonly ReportRow[],
  zone: string | null,
  { clock, paintErr }: Context,
): string[] {
  const now = clock();
  const until = Date.parse(resendFrom);
  const label = (text: string): string => `  ${paintErr('dim', text.padEnd(RESEND_POSSIBLE.label.length))}  `;
  const more =
    recipientCount > rows.length ? `, and ${counted(recipientCount - rows.length, 'more', 'more')}` : '';
  const [first] = rows;
  const sent = first === undefined || first.sentAt === null ? undefined : Date.parse(first.sentAt);
  return [
    '',
    `${paintErr('bold', request)}  ${counted(recipientCount, 'recipient')}`,
    ...(rows.length === 0 ? [] : [`${label('to')}${rows.map(({ to }) => to).join(', ')}${more}`]),
    ...(sent === undefined
      ? []
      : [`${label('sent')}${moment(sent, now, zone)} (${formatDuration(now - sent)} ago)`]),
    `${label('unknown')}since ${moment(Date.parse(since), now, zone)}`,
    `${label('because')}${oneLine(reason)}`,
    `${label(RESEND_POSSIBLE.label)}${until <= now ? RESEND_POSSIBLE.now : `${moment(until, now, zone)}: ${RESEND_POSSIBLE.later}`}`,
  ];
}

/** What can be typed, in the words of the options of `volley resolve`. */
const ANSWERS = ['resend', 'accepted', 'abandon', 'skip', 'quit'] as const;

/** Asks until the answer is one of {@link ANSWERS}, or the beginning of one only: `a` could be `accepted` or `abandon`. */
async function choose(
  context: Context,
  { recipientCount }: Unknown,
  destination: string | null,
): Promise<(typeof ANSWERS)[number]> {
  const { paintErr, note } = context;
  const recipients = counted(recipientCount, 'recipient');
  const says = {
    resend: `${RESOLUTIONS.resend(recipients)} It goes${via(destination)}.`,
    accepted: RESOLUTIONS.accepted(recipients),
    abandon: RESOLUTIONS.abandon(recipients),
  };
  for (const [as, text] of Object.entries(says)) note(`  ${paintErr('yellow', as.padEnd(9))} ${text}`);
  for (;;) {
    const answer = await ask(context, 'resend, accepted, abandon, skip, or quit? ', {
      consequence: 'the rest was left as it is',
    });
    const [meant, other] = ANSWERS.filter((each) => answer !== '' && each.startsWith(answer.toLowerCase()));
    if (meant !== undefined && other === undefined) return meant;
    if (other !== undefined) note(`Type more: ${meant} or ${other}?`);
  }
}
