import type { InvalidRow, Preview } from '../campaign/views.js';
import type { CampaignInput, CsvStream } from '../import/campaign-input.js';
import type { ListOptions } from './commands/list-options.js';
import type { Answer, Context } from './context.js';
import { badInput } from './errors.js';
import { openListFile } from './input.js';
import { withLocalVolleyOr } from './open.js';
import { withOptions } from './option-names.js';
import type { Paint } from './terminal.js';
import { between, counted, grouped, oneLine, padded } from './text.js';

/** `volley preview` */
export function preview(context: Context, file: string, options: ListOptions): Promise<Answer> {
  mustBeInFuture(options.at, context.clock());
  const show = async (see: (input: CampaignInput) => Promise<Preview>): Promise<Answer> => {
    const seen = await see(await campaignInput(context, file, options));
    const bad =
      seen.invalid === 0
        ? []
        : [
            context.paint('red', `${counted(seen.invalid, 'invalid row')}:`),
            ...renderInvalid(seen.problems, seen.invalid),
          ];
    const repeated = seen.duplicates + (options.duplicates === 'keep' ? seen.differentTexts : 0);
    const again =
      seen.repeats.length === 0
        ? []
        : [
            context.paint('yellow', `${counted(repeated, 'row')} with the number of an earlier row:`),
            ...renderRepeats(seen, repeated),
          ];
    return { json: seen, lines: [...renderPreview(seen, context.paint, context.clock()), ...again, ...bad] };
  };
  return withLocalVolleyOr(
    context,
    (volley) => show((input) => volley.preview(input)),
    async (config, reason) => {
      const { previewWithoutRedis } = await import('../import/import-campaign.js');
      context.note(
        `${context.paintErr('yellow', 'Suppressed numbers are not checked, and the time is not known.')} ${reason}`,
      );
      return show((input) => previewWithoutRedis(config, input, context.clock));
    },
  );
}

/** Refuses a start time that has passed. */
export function mustBeInFuture(at: number | undefined, now: number): void {
  if (at === undefined || at > now) return;
  throw badInput(
    `option '--at <time>': the time has passed (it is ${new Date(now).toISOString()} now). Leave out --at to send immediately.`,
  );
}

/** The library's input for a list and its options. */
export async function campaignInput(
  context: Context,
  file: string,
  options: ListOptions,
): Promise<CampaignInput & { readonly recipients: CsvStream }> {
  const list = await openListFile(context, file);
  const { validFor: validForMs, message, sender, senderName, lane, name, toColumn, country, at } = options;
  const { priority, duplicates } = options;
  return {
    recipients: list,
    validForMs,
    message,
    sender,
    senderName,
    lane,
    name: name ?? list.name,
    toColumn,
    country,
    at,
    priority,
    duplicates,
  };
}

/** A preview in a few lines. */
export function renderPreview(seen: Preview, paint: Paint, now: number): string[] {
  const { segments, requests } = seen;
  const label = (text: string): string => paint('dim', padded(text, 12));
  const left = leftOut(seen);
  const range = segments.min === segments.max ? `${segments.min}` : `${segments.min} to ${segments.max}`;
  const forcing = seen.ucs2Characters.map((character) => oneLine(character)).join(', ');
  return [
    `${label('recipients')}${paint('bold', grouped(seen.recipients))} of ${counted(seen.rows, 'row')}, numbers in column ${JSON.stringify(oneLine(seen.numberColumn))}`,
    ...(left === '' ? [] : [`${label('left out')}${left}`]),
    `${label('text')}${seen.encoding}, ${range} ${segments.max === 1 ? 'segment' : 'segments'} per message, ${grouped(segments.total)} in total`,
    ...(forcing === '' ? [] : [`${label('')}UCS-2 because of ${forcing}`]),
    `${label('requests')}${grouped(requests.total)}: ${grouped(requests.send)} to send, about ${grouped(requests.poll)} to poll delivery status`,
    ...timeTexts(seen, now).map((text, at) => `${label(at === 0 ? 'time' : '')}${text}`),
    ...seen.samples.flatMap(({ recipient, text }, at) => [
      `${label(at === 0 ? 'samples' : '')}${paint('dim', recipient)}  ${oneLine(text)}`,
    ]),
    ...seen.warnings.map(
      (warning) => `${paint('yellow', padded('warning', 12))}${withOptions(oneLine(warning))}`,
    ),
  ];
}

/** `1 duplicate, 2 invalid rows`: rows that get no message; empty if there are none. */
export function leftOut(counts: Pick<Preview, 'duplicates' | 'invalid' | 'suppressed'>): string {
  const parts = [
    [counts.duplicates, 'duplicate', 'duplicates'],
    [counts.invalid, 'invalid row', 'invalid rows'],
    [counts.suppressed, 'suppressed', 'suppressed'],
  ] as const;
  return parts
    .filter(([count]) => count > 0)
    .map(([count, one, many]) => counted(count, one, many))
    .join(', ');
}

/** When the last message is sent, and when its delivery status is known. */
function timeTexts({ eta, completion, isSuppressionChecked }: Preview, now: number): string[] {
  if (!isSuppressionChecked) return ['not known without Redis'];
  if (eta === null || completion === null) return ['nothing to send'];
  const sent = `last message ${between(eta, now)}`;
  return eta.latest === null ? [sent] : [sent, `last delivery status ${between(completion, now)}`];
}

/** The listed rows with the number of an earlier row, one per line, and how many more of the `count` there are. */
function renderRepeats({ repeats }: Preview, count: number): string[] {
  const lines = repeats.map(({ line, firstLine, recipient, text }) => {
    const how = text === 'same' ? `repeats line ${firstLine}` : `has another text than line ${firstLine}`;
    return `  line ${line}: ${recipient} ${how}`;
  });
  return count > lines.length ? [...lines, `  … and ${grouped(count - lines.length)} more`] : lines;
}

/** The listed invalid rows, one per line, and how many more there are. */
export function renderInvalid(problems: readonly InvalidRow[], count: number): string[] {
  const lines = problems.map(({ line, column, reason }) => {
    const where = column === null ? '' : `, column ${JSON.stringify(oneLine(column))}`;
    return `  line ${line}${where}: ${withOptions(oneLine(reason))}`;
  });
  return count > problems.length ? [...lines, `  … and ${grouped(count - problems.length)} more`] : lines;
}
