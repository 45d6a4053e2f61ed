import type { Resolution, ResolveOutcome, Volley } from '../../app/volley.js';
import { formatDuration } from '../../base/duration.js';
import { moment } from '../../base/moments.js';
import type { ReportRow } from '../../campaign/recipient-views.js';
import type { CampaignStatus } from '../../campaign/views.js';
import { ask } from './ask.js';
import type { Context } from './context.js';
import { via } from './destination.js';
import { counted, oneLine } from './text.js';

type Unknown = CampaignStatus['unknownOutcomes'][number];

/** Numbers shown of each request. */
const NUMBERS_SHOWN = 3;

const CHOICES = { r: 'resend', a: 'accepted', g: 'abandon' } as const;

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
    const choice = await choose(context, destination);
    if (choice === 'q') return { settled, skipped: unknownOutcomes.length };
    if (choice === 's') continue;
    const as = CHOICES[choice];
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
  { request, recipientCount, since, reason }: Unknown,
  rows: readonly ReportRow[],
  zone: string | null,
  { clock, paintErr }: Context,
): string[] {
  const now = clock();
  const label = (text: string): string => `  ${paintErr('dim', text.padEnd(11))}`;
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
  ];
}

async function choose(
  context: Context,
  destination: string | null,
): Promise<keyof typeof CHOICES | 's' | 'q'> {
  const { paintErr, note } = context;
  note(
    `  ${paintErr('yellow', 'r')} send again${via(destination)} (a second message is possible)  ${paintErr('yellow', 'a')} count as sent, without a delivery report`,
  );
  note(
    `  ${paintErr('yellow', 'g')} give up  ${paintErr('yellow', 's')} skip  ${paintErr('yellow', 'q')} quit`,
  );
  for (;;) {
    const answer = (
      await ask(context, 'r, a, g, s, or q? ', { consequence: 'the rest was left as it is' })
    ).toLowerCase();
    if (answer === 'r' || answer === 'a' || answer === 'g' || answer === 's' || answer === 'q') return answer;
  }
}
