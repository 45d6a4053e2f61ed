import type { Volley } from '../../../app/volley.js';
import { formatDuration, parseDuration } from '../../../base/duration.js';
import { EXIT } from '../../../base/exit-codes.js';
import { between, moment, until } from '../../../base/moments.js';
import { rowProblem } from '../../../campaign/errors/error-item.js';
import { listed } from '../../../campaign/errors/listed.js';
import { fieldsFrom } from '../../../campaign/fields/field-sets.js';
import { countryRemedy, REPEATED, reasonOfGroup, refusalOfList } from '../../../campaign/limits/refusal.js';
import type { PlannedCost, Preview } from '../../../campaign/views/preview-views.js';
import { zonesWord } from '../../../campaign/views/zone-views.js';
import { type CampaignInput, localZone } from '../../../intake/import/campaign-input.js';
import { countryText } from '../../../intake/import/rows/number-countries.js';
import { listenForStop } from '../../lifecycle.js';
import type { Answer, Context } from '../context/context.js';
import { interrupted } from '../context/errors.js';
import { openListFile } from '../files/input.js';
import type { CampaignFlags } from '../flags/campaign-flags.js';
import { mustBeInFuture, startTime } from '../flags/start-time.js';
import { campaignId } from '../open/campaign-id.js';
import { destinationOf, SIMULATOR } from '../open/destination.js';
import { type SettingWithoutRedis, withLocalVolleyOr } from '../open/open.js';
import { withOptions } from '../output/option-names.js';
import { fixOf, unpricedList } from '../output/refusal.js';
import { columnsOf, type Ink, type Paint } from '../output/terminal.js';
import { counted, grouped, money, oneLine, padded, wrapped } from '../output/text.js';
import { windowText, zoneLines } from '../output/window-text.js';
import {
  leftOutBefore,
  renderSentBefore,
  sentBeforeOf,
  withOnlyNewAdvice,
  withTextWarnings,
} from './sent-before.js';

/** Of a long text, people see so many characters: enough for twelve segments. */
const TEXT_SHOWN = 2_000;
/** Samples are there to check the placeholders. */
const SAMPLE_SHOWN = 500;
const LABEL_WIDTH = 12;

interface PreviewOptions extends CampaignFlags {
  onlyNew?: boolean;
}

/** `volley preview` */
export async function preview(
  context: Context,
  file: string | undefined,
  options: PreviewOptions,
): Promise<Answer> {
  const show = async (
    setting: SettingWithoutRedis,
    volley: Volley | null,
    see: (input: CampaignInput) => Promise<Preview>,
  ): Promise<Answer> => {
    const { config } = setting;
    const sendAt = startTime(config, options, context.clock());
    mustBeInFuture(sendAt, context.clock(), localZone(config, options) ?? null);
    const input = await campaignInput(context, volley, file, { ...options, sendAt });
    const interrupt = listenForStop();
    try {
      return previewed(context, setting, await see({ ...input, signal: interrupt.signal }), options);
    } catch (error) {
      throw interrupt.signal.aborted ? interrupted('nothing was stored or sent') : withOnlyNewAdvice(error);
    } finally {
      interrupt.dispose();
    }
  };
  return withLocalVolleyOr(
    context,
    (volley, setting) => show(setting, volley, (input) => volley.preview(input)),
    async (setting, reason) => {
      const { previewWithoutRedis } = await import('../../../intake/import/import-campaign.js');
      context.note(
        `${context.paintErr('yellow', 'Suppressed numbers are not checked, and the time is not known.')} ${reason}`,
      );
      return show(setting, null, (input) => previewWithoutRedis(setting.config, input, context.clock));
    },
  );
}

function previewed(
  context: Context,
  setting: SettingWithoutRedis,
  seen: Preview,
  options: CampaignFlags,
): Answer {
  const { paint } = context;
  const destination = destinationOf(setting, seen.lane);
  const bad =
    seen.invalid === 0
      ? []
      : [paint('red', `${counted(seen.invalid, 'invalid row')}:`), ...renderInvalid(seen)];
  const { sentBefore } = seen;
  const repeated =
    seen.duplicates -
    (sentBefore?.isLeftOut ? sentBefore.recipientCount : 0) +
    (options.duplicates === 'keep' ? seen.differentTexts : 0);
  const again =
    seen.repeats.length === 0
      ? []
      : [
          paint('yellow', `${counted(repeated, 'row')} with the number of an earlier row:`),
          ...renderRepeats(seen, repeated),
        ];
  const twice =
    sentBefore === null || sentBefore.rows.length === 0
      ? []
      : [
          paint(
            'yellow',
            `${counted(sentBefore.recipientCount, 'recipient')} of an earlier campaign with this text:`,
          ),
          ...renderSentBefore(sentBefore),
        ];
  const refused = refusalText(seen);
  return {
    json: { ...seen, destination },
    lines: [
      // The rows come first, so that what the campaign sends stays visible below a long list of them.
      ...again,
      ...twice,
      ...bad,
      ...renderPreview(seen, destination, lookOf(context, context.stdout)),
      ...(refused === null ? [] : [`${paint('red', '`volley send` would refuse this list:')} ${refused}`]),
    ],
    exit: refused === null ? EXIT.done : EXIT.badInput,
  };
}

/** Why `volley send` would refuse the list, and what to do; null if it would not. */
function refusalText(seen: Preview): string | null {
  const { refusal } = seen;
  if (refusal === null) return null;
  const { code } = refusal;
  const reason = code === 'repeated' ? REPEATED : refusalOfList(code, seen);
  return `${reason}. ${fixOf(code, seen)}`;
}

/** The library's input for a list and its options. */
export async function campaignInput(
  context: Context,
  volley: Volley | null,
  file: string | undefined,
  options: PreviewOptions,
): Promise<CampaignInput> {
  const { toResultsOf, ...fields } = fieldsFrom('preview', options);
  const sentBefore = sentBeforeOf(options);
  if (file === undefined) {
    const of = toResultsOf &&
      volley && { ...toResultsOf, campaign: await campaignId(volley, toResultsOf.campaign) };
    return { ...fields, toResultsOf: of ?? toResultsOf, sentBefore };
  }
  const list = await openListFile(context, file);
  return { ...fields, name: fields.name ?? list.name, recipients: { csv: list.csv }, sentBefore };
}

/** How to draw a preview. */
interface Look {
  readonly paint: Paint;
  /** ms since the epoch. */
  readonly now: number;
  /** Columns of the terminal; undefined if it is none. */
  readonly width: number | undefined;
}

/** How to draw on a stream of the command. */
export function lookOf({ clock, paint, paintErr, stdout }: Context, stream: NodeJS.WriteStream): Look {
  return { paint: stream === stdout ? paint : paintErr, now: clock(), width: columnsOf(stream) };
}

/**
 * A preview in a few lines: what is sent, through which service, and to whom; what it takes; and what may not be as intended.
 * `destination`: as in {@link destinationOf}.
 */
export function renderPreview(seen: Preview, destination: string | null, look: Look): string[] {
  const { requests } = seen;
  const { paint, now } = look;
  const line = (label: string, ...texts: readonly string[]): string[] =>
    texts.flatMap((text, at) => labelled(at === 0 ? label : '', text, look));
  const left = leftOut(seen);
  return [
    ...line('text', shortened(oneLine(seen.message), TEXT_SHOWN)),
    ...line('sender', senderText(seen)),
    ...line('lane', seen.lane),
    ...line('service', serviceText(destination, look)),
    ...line('start', seen.sendAt === null ? 'now' : until(seen.sendAt, now, seen.zone)),
    ...(seen.window === null ? [] : line('window', windowText(seen.window, seen.zone, now))),
    ...line(`${zonesWord(seen.zones)}s`, ...zoneLines(seen.zones)),
    ...(seen.laneWindow === null
      ? []
      : line('window', `of the lane: ${windowText(seen.laneWindow, seen.laneZone, now)}`)),
    ...line('validity', validityText(seen, now)),
    ...line(
      'recipients',
      `${paint('bold', grouped(seen.recipientCount))} of ${counted(seen.rows, 'row')}, numbers in column ${JSON.stringify(oneLine(seen.toColumn))}${countryColumnText(seen)}`,
    ),
    ...(seen.countries.length === 0 ? [] : line('countries', countriesText(seen))),
    ...(left === '' ? [] : line('left out', left)),
    ...line('segments', ...segmentTexts(seen)),
    ...(seen.cost === null ? [] : line('cost', ...costTexts(seen.cost))),
    ...line(
      'requests',
      `${grouped(requests.total)}: ${grouped(requests.send)} to send, about ${grouped(requests.poll)} to ask for delivery reports`,
    ),
    ...line('time', ...timeTexts(seen, now)),
    ...line(
      'samples',
      ...seen.samples.map(({ to, text }) => `${paint('dim', to)}  ${shortened(oneLine(text), SAMPLE_SHOWN)}`),
    ),
    ...renderWarnings(withTextWarnings(seen), look),
  ];
}

/** The warnings of a preview. */
export function renderWarnings({ warnings }: Pick<Preview, 'warnings'>, look: Look): string[] {
  return warnings.flatMap((warning) => labelled('warning', withOptions(oneLine(warning)), look, 'yellow'));
}

/** A text behind its label, on as many lines as it takes. */
function labelled(label: string, text: string, { paint, width }: Look, ink: Ink = 'dim'): string[] {
  const room = width === undefined ? undefined : Math.max(20, width - LABEL_WIDTH);
  return wrapped(text, room).map(
    (line, at) => `${paint(ink, padded(at === 0 ? label : '', LABEL_WIDTH))}${line}`,
  );
}

function shortened(text: string, most: number): string {
  const characters = [...text];
  if (characters.length <= most) return text;
  return `${characters.slice(0, most).join('')}… (${grouped(characters.length - most)} more characters)`;
}

function senderText({ sender, senderName }: Preview): string {
  return senderName === null ? oneLine(sender) : `${oneLine(sender)} (application ${oneLine(senderName)})`;
}

function serviceText(destination: string | null, { paint }: Look): string {
  if (destination === SIMULATOR) return paint('green', `${SIMULATOR}: messages do not reach phones`);
  return destination ?? 'the service of the workers (MESSAGING_BASE_URL is not set here)';
}

/** `, countries in column "Land"`; empty if no column is used. */
export function countryColumnText({ countryColumn }: Pick<Preview, 'countryColumn'>): string {
  return countryColumn === null ? '' : `, countries in column ${JSON.stringify(oneLine(countryColumn))}`;
}

/** How many numbers each country has: `412 of Germany (+49), 35 of France (+33)`. */
export function countriesText({ countries }: Pick<Preview, 'countries'>): string {
  return listed(countries.map(countryText));
}

function validityText({ sendAt, validFor, zone }: Preview, now: number): string {
  if (validFor === null) return 'no limit';
  const validForMs = parseDuration(validFor) ?? 0;
  const end = (sendAt === null ? now : Date.parse(sendAt)) + validForMs;
  return `${formatDuration(validForMs)}: messages not sent by ${moment(end, now, zone)} lapse`;
}

/** How long the messages are, and which of them fit fewer characters into a segment, and why. */
function segmentTexts({ segments, encodings, ucs2Characters, recipientCount }: Preview): string[] {
  if (segments.total === 0) return [];
  const range = segments.min === segments.max ? `${segments.min}` : `${segments.min} to ${segments.max}`;
  const perMessage = `${range} ${segments.max === 1 ? 'segment' : 'segments'} per message, ${grouped(segments.total)} in total`;
  if (encodings.ucs2 === 0) return [`${perMessage}, GSM-7`];
  const forcing = ucs2Characters.map((character) => oneLine(character)).join(', ');
  const which =
    encodings.ucs2 === recipientCount
      ? ''
      : `${grouped(encodings.ucs2)} of ${counted(recipientCount, 'text')} ${encodings.ucs2 === 1 ? 'has' : 'have'} `;
  return [perMessage, `${which}up to 70 characters per segment instead of 160, because of ${forcing}`];
}

/** What the messages cost, and which of them are not counted. */
function costTexts(cost: PlannedCost): string[] {
  const { total, currency, segmentPrice, maxCost, unpriced } = cost;
  const price =
    segmentPrice === null
      ? ''
      : segmentPrice.min === segmentPrice.max
        ? ` at ${segmentPrice.min} ${currency} per segment`
        : ` at ${segmentPrice.min} to ${segmentPrice.max} ${currency} per segment`;
  const limit = maxCost === null ? '' : `; the limit is ${money(maxCost, currency)}`;
  const sum = `${money(total, currency)}${price}${limit}`;
  if (unpriced === 0) return [sum];
  const missing = `without ${counted(unpriced, 'number that has', 'numbers that have')} no price`;
  return [sum, `${missing}: ${unpricedList(cost)}`];
}

/** `1 duplicate, 2 invalid rows`: rows that get no message; empty if there are none. */
export function leftOut({
  duplicates,
  invalid,
  suppressed,
  sentBefore,
}: Pick<Preview, 'duplicates' | 'invalid' | 'suppressed' | 'sentBefore'>): string {
  const parts = [
    [duplicates - (sentBefore?.isLeftOut ? sentBefore.recipientCount : 0), 'duplicate', 'duplicates'],
    [invalid, 'invalid row', 'invalid rows'],
    [suppressed, 'suppressed', 'suppressed'],
  ] as const;
  const counts = parts.filter(([count]) => count > 0).map(([count, one, many]) => counted(count, one, many));
  return [...counts, leftOutBefore(sentBefore) ?? []].flat().join(', ');
}

/** When the last message is sent, and when its delivery status is known. */
function timeTexts({ eta, completion, zone, isSuppressionChecked }: Preview, now: number): string[] {
  if (!isSuppressionChecked) return ['not known without Redis'];
  if (eta === null || completion === null) return ['nothing to send'];
  const sent = `last message ${between(eta, now, zone)}`;
  return eta.latest === null ? [sent] : [sent, `last delivery status ${between(completion, now, zone)}`];
}

/** The listed rows with the number of an earlier row, one per line, and how many more of the `count` there are. */
function renderRepeats({ repeats }: Preview, count: number): string[] {
  const lines = repeats.map(({ line, firstLine, to, text }) => {
    const how = text === 'same' ? `repeats line ${firstLine}` : `has another text than line ${firstLine}`;
    return `  line ${line}: ${to} ${how}`;
  });
  return count > lines.length ? [...lines, `  … and ${grouped(count - lines.length)} more`] : lines;
}

/** Rows with the same reason stand under it if there are more of them. */
const FEW = 3;

const inFlow = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

/** The invalid rows by their reasons, the commonest first: the reason, how many have it, and the first three of them. */
export function renderInvalid({ invalidGroups }: Pick<Preview, 'invalidGroups'>): string[] {
  return invalidGroups
    .toSorted((one, other) => other.count - one.count)
    .flatMap((group) => {
      const { code, count, column, examples } = group;
      const at = column === null ? null : oneLine(column);
      const isFew = count <= FEW;
      const rows = examples.map(({ line, message }) =>
        rowProblem({ line, column: isFew ? at : null, message: withOptions(oneLine(message)) }),
      );
      if (isFew) return rows.map((row) => `  ${row}`);
      const where = at === null ? '' : `column ${JSON.stringify(at)}: `;
      const remedy = code === 'noCountry' ? `; ${withOptions(inFlow(countryRemedy(group)))}` : '';
      return [
        `  ${where}${withOptions(oneLine(reasonOfGroup(group)))}${remedy}`,
        ...rows.map((row) => `    ${row}`),
        `    … and ${grouped(count - rows.length)} more`,
      ];
    });
}
