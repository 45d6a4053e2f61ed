import { basename, extname } from 'node:path';
import type { Readable } from 'node:stream';
import type { Clock, Random } from '../../base/clock.js';
import type { LaneRules, LocalConfig } from '../../base/config/index.js';
import { requestedLane } from '../../base/config/requested-lane.js';
import { DURATION_FORM, durationOf, formatDuration } from '../../base/duration.js';
import type { LaneId } from '../../base/redis/keys.js';
import type { ErrorItem } from '../../campaign/errors/error-codes.js';
import { InputError, throwInputErrors } from '../../campaign/errors/errors.js';
import {
  describeWindow,
  inZone,
  nextCommonOpening,
  readWindow,
  zoneOf,
} from '../../campaign/estimate/window.js';
import type { WithTemplate } from '../../campaign/fields/campaign-fields.js';
import { storedForm } from '../../campaign/fields/field-kinds.js';
import {
  type FieldOf,
  fieldNamed,
  fieldsOf,
  problemsOf,
  storedFieldsOf,
} from '../../campaign/fields/field-sets.js';
import { type CampaignFields, FIELDS, type FieldName, type Taker } from '../../campaign/fields/fields.js';
import { type Limits, limitsFor, refusedSender } from '../../campaign/limits/check-limits.js';
import { parseLimit } from '../../campaign/limits/price.js';
import { problemOfCountry } from '../../campaign/numbers/number.js';
import type { Operator } from '../../campaign/states/audit.js';
import { type CampaignState, newCampaignId, usualCampaignName } from '../../campaign/states/campaign.js';
import { readTime } from '../../campaign/time/moment.js';
import { formatInZone, isZone } from '../../campaign/time/zone.js';
import type { InvalidRow } from '../../campaign/views/list-views.js';
import type { Preview } from '../../campaign/views/preview-views.js';
import { idempotencyDigest } from '../../engine/recipients/reservation.js';
import type { CampaignMeta } from '../../engine/store/campaign-meta.js';
import type { RecipientInput } from './read-objects.js';

/** A CSV that arrives as a stream. It is read once, no faster than it is imported. */
export interface CsvStream {
  readonly csv: Readable;
}

/** A campaign to be imported. */
export interface CampaignInput extends WithTemplate<CampaignFields> {
  /** The path of a CSV file, a stream of one, or recipients as objects; undefined with `toResultsOf`. */
  readonly recipients?:
    | string
    | CsvStream
    | Iterable<RecipientInput>
    | AsyncIterable<RecipientInput>
    | undefined;
  /** Whether a column of a CSV with the country of each row is used even if `countryColumn` does not name it; default: it is. */
  readonly findsCountries?: boolean | undefined;
  /**
   * Compares the list with the campaigns of the last 24 hours on all configured lanes that have the same text and sender: `count` says in
   * `preview.sentBefore` how many of its recipients get the text from one of them, and `leaveOut` leaves these out, as duplicates are. It reads
   * the numbers of up to 20 campaigns with up to a million recipients. Beyond that nothing is compared, and `leaveOut` is refused. Default: it
   * compares nothing. The command line does, because people forget what they have sent.
   */
  readonly sentBefore?: 'count' | 'leaveOut' | undefined;
  /** The only lanes whose campaigns `sentBefore` compares; default: all that are configured. */
  readonly comparedLanes?: readonly string[] | undefined;
  /**
   * Whether a campaign that equals one of the last 24 hours is refused even if it has an idempotency key of its own: a preview has said that
   * there is none, and someone else may have sent it since.
   */
  readonly isFirst?: boolean | undefined;
  /** How many invalid rows `preview.problems` has, at most 1,000; default: 0. */
  readonly problems?: number | undefined;
  /**
   * Whether the list is only the beginning of one, for a preview that shows its columns and first errors early: then `digest`, `refusal`, `eta`,
   * and `completion` are null, because they would be about the whole list.
   */
  readonly partial?: boolean | undefined;
  /**
   * Called when the import waits for another one with its idempotency key, or of its list, whose campaign has this id. One whose process
   * was killed is discarded after about 15 s.
   */
  readonly onWait?: ((id: string) => void) | undefined;
  /** With `skipInvalid`: called for each invalid row, with the columns of the list. */
  readonly onInvalid?: ((row: InvalidRow, columns: readonly string[]) => void) | undefined;
  /**
   * Estimates when the campaign is sent, as `eta` and `completion` of the preview; otherwise both are null. It costs a look at all
   * campaigns that are running, so a program that creates many small campaigns does without it, and reads their status instead.
   * `preview` always estimates.
   */
  readonly estimate?: boolean | undefined;
  /** Called when everything is imported and before anything is launched; false discards the import. */
  readonly confirm?: ((preview: Preview) => Promise<boolean>) | undefined;
  /**
   * Called with the bytes that detecting duplicates takes, as they grow. The import continues when it resolves: a process that
   * reads many lists at the same time limits their memory with it.
   */
  readonly onMemory?: ((bytes: number) => Promise<void>) | undefined;
  /** Aborts and discards the import. */
  readonly signal?: AbortSignal | undefined;
}

/** A created campaign, as every surface shows it. */
export interface CreatedCampaign {
  /** `existing`: an earlier request with the same idempotency key created it; nothing has changed. */
  readonly outcome: 'created' | 'existing';
  readonly id: string;
  readonly lane: string;
  readonly state: CampaignState;
  readonly createdAt: string;
  /** When sending begins or has begun; null for a paused campaign that has not started. */
  readonly sendAt: string | null;
  readonly endedAt: string | null;
  /** Recipients who get a message. */
  readonly recipientCount: number;
  /** Rows that were left out because their number is that of an earlier row; `repeats` lists the first of them. */
  readonly duplicates: number;
  /** Rows with the number of an earlier row and a different text: recipients with `keep`, otherwise duplicates. */
  readonly differentTexts: number;
  readonly repeats: Preview['repeats'];
  readonly invalid: number;
  /** Recipients who get no message because their number is suppressed. */
  readonly suppressed: number;
  /** Who gets the text from an earlier campaign; null if that was not compared. */
  readonly sentBefore: Preview['sentBefore'];
  /** What the messages cost; null without prices. */
  readonly cost: Preview['cost'];
  /** The first 20 invalid rows that were left out. */
  readonly errors: readonly ErrorItem[];
  /** What you may not have intended, for people; also in the preview. */
  readonly warnings: readonly string[];
}

/** The outcome of an enqueue: a campaign, or why none was created. */
export type EnqueueOutcome = CreatedCampaign | CampaignRefusal;

/** Why no campaign was created. */
export type CampaignRefusal = Exclude<ImportOutcome, { readonly recipientCount: number }>;

/** The outcome of an import: a closed set. */
export type ImportOutcome =
  | {
      readonly outcome: 'created' | 'existing';
      readonly id: string;
      readonly recipientCount: number;
      /** Rows that were left out because their number is that of an earlier row; `preview.repeats` lists the first of them. */
      readonly duplicates: number;
      /** Rows with the number of an earlier row and a different text: recipients with `keep`, otherwise duplicates. */
      readonly differentTexts: number;
      readonly invalid: number;
      readonly suppressed: number;
      readonly preview: Preview;
    }
  /**
   * Nothing is stored, because of the list: it has invalid rows and `skipInvalid` is not set, or all of its rows are invalid (`invalidRows`); it has
   * rows with the number of an earlier row and a different text, and `duplicates` is `refuse` (`differentTexts`); or there is a `maxCost`, and
   * numbers have no price (`noPrice`), or the campaign costs more (`overBudget`). `errors` names the first of these rows; `preview` counts them.
   */
  | (RefusedCampaign & {
      readonly code: 'invalidRows' | 'differentTexts' | 'noPrice' | 'overBudget';
      readonly preview: Preview;
      readonly campaign: null;
    })
  /**
   * `repeated`: `campaign` had the same recipients, message, and sender within the last 24 hours; `again` allows a repeat. `conflict`: the
   * idempotency key belongs to `campaign`, which has other content.
   */
  | (RefusedCampaign & {
      readonly code: 'repeated' | 'conflict';
      readonly preview: null;
      readonly campaign: string;
    })
  /** `confirm` returned false. */
  | (RefusedCampaign & { readonly code: 'declined'; readonly preview: null; readonly campaign: null });

/** What every campaign has that was not created. */
export interface RefusedCampaign {
  readonly outcome: 'refused';
  /** Why; begins in lower case, and has no full stop. It names no recipient. */
  readonly message: string;
  /** The first 20 parts at fault; empty if it is refused for no single part. */
  readonly errors: readonly ErrorItem[];
}

/** A campaign whose fields are checked, with the defaults of the configuration. */
export interface CheckedCampaign
  extends Omit<CampaignInput, 'message' | 'lane' | 'sendAt' | 'validFor' | 'window' | 'maxCost'> {
  readonly message: string;
  /** The settings of its lane. */
  readonly lane: LaneRules;
  readonly sender: string;
  readonly priority: 'high' | 'normal';
  /** When sending begins, ms since the epoch; undefined: now. */
  readonly sendAt: number | undefined;
  /** How long it is valid, ms. */
  readonly validFor: number | undefined;
  /** The rule of its window. */
  readonly window: string | undefined;
  /** What it may cost at most, in micros; undefined: anything. */
  readonly budget: bigint | undefined;
  /** What the messages may be, and how many may be stored today. */
  readonly limits: Limits;
}

/**
 * Checks all that does not need the list. Throws an InputError for everything that is invalid, and a NoSuchLaneError for an unknown
 * lane. `now`: ms since the epoch. `by`: whose limits apply, beside those of the lane.
 */
export function checkCampaign(
  config: LocalConfig,
  input: CampaignInput,
  now: number,
  by?: Parameters<typeof limitsFor>[1],
): CheckedCampaign {
  const message = requireMembers(input);
  const lane = requestedLane(config, input.lane);
  const { sendAt: given, validFor, window, maxCost, ...rest } = input;
  const fields = withDefaults(config, 'campaign', { ...rest, message, lane: lane.name });
  const problems = problemsOf(fieldsOf('campaign'), fields);
  const refuse = (name: FieldName, reason: string): void =>
    void problems.push(new InputError(reason, { field: name }));
  const budget = budgetOf(config, maxCost);
  if (typeof budget === 'string') refuse('maxCost', budget);
  const { sender = '', priority = FIELDS.priority.usual } = fields;
  // A schedule may read its list only when it is due.
  const countryProblem = problemOfCountry(fields.country);
  if (countryProblem !== null) refuse('country', countryProblem);
  const limits = limitsFor(lane, by ?? UNLIMITED, config.prices?.currency);
  const senderProblem = sender === '' ? null : refusedSender(limits, sender);
  if (senderProblem !== null) problems.push(senderProblem);
  const zone = localZone(config, input);
  const start = startOf(given, zone);
  const validForMs = validFor === undefined ? undefined : durationOf(validFor);
  if (validForMs === null)
    refuse(
      'validFor',
      `the validity ${JSON.stringify(validFor)} is not a duration above 0: write ${DURATION_FORM}`,
    );
  const latest = now + config.maxScheduleAheadMs;
  if (!start.ok) refuse('sendAt', `the start ${start.reason}`);
  else if (!((start.at ?? now) <= latest))
    refuse(
      'sendAt',
      `the start is too far ahead: it must be before ${formatInZone(zone ?? 'UTC', latest)} (MAX_SCHEDULE_AHEAD is ${formatDuration(config.maxScheduleAheadMs)})`,
    );
  for (const name of ['zoneColumn', 'zoneFrom'] as const) {
    const isOfTimes = name === 'zoneColumn' && input.timeColumn !== undefined;
    if (input[name] !== undefined && window?.zone === undefined && !isOfTimes) refuse(name, needsZones(name));
  }
  throwInputErrors(problems);
  const sendAt = start.ok ? start.at : undefined;
  return {
    ...rest,
    ...fields,
    lane,
    sender,
    priority,
    sendAt,
    validFor: validForMs ?? undefined,
    window: windowOf({ ...input, zone }, lane.sendWindow, Math.max(now, sendAt ?? now)),
    budget: typeof budget === 'string' ? undefined : budget,
    limits,
  };
}

/** What to say of a field that only hours in the recipients' zones need. */
export const needsZones = (name: FieldName): string =>
  `\`${name}\` needs hours of the recipients' zones: set \`window.zone\` to \`recipient\``;

/** An actor without limits of its own: only those of the lane apply. */
const UNLIMITED = { actor: { kind: 'library', id: null, name: 'library' } } as const;

/** The zone of the local times of a campaign: its own, or else that of its lane's window. */
export function localZone(
  { lanes }: Pick<LocalConfig, 'lanes'>,
  { zone, lane }: Pick<CampaignFields, 'zone' | 'lane'>,
): string | undefined {
  const rules = lane === undefined ? lanes[0] : lanes.find(({ name }) => name === lane);
  return zone ?? zoneOf(rules?.sendWindow) ?? undefined;
}

/**
 * When sending begins, ms since the epoch, undefined: now; or why it cannot, which continues "the start". A zone that does not exist has
 * its own error.
 */
export function startOf(
  sendAt: CampaignFields['sendAt'],
  zone: string | undefined,
): { readonly ok: true; readonly at: number | undefined } | { readonly ok: false; readonly reason: string } {
  if (typeof sendAt === 'string')
    return zone === undefined || isZone(zone)
      ? readTime(sendAt, zone, 'the campaign')
      : { ok: true, at: undefined };
  return { ok: true, at: sendAt instanceof Date ? sendAt.getTime() : sendAt };
}

/** The fields that something takes, with their defaults. A value that means the same as none becomes undefined. */
export function withDefaults<By extends Taker>(
  config: LocalConfig,
  by: By,
  fields: Pick<CampaignFields, FieldOf<By>>,
): Pick<CampaignFields, FieldOf<By>> {
  return Object.fromEntries(
    fieldsOf(by).flatMap((name) => {
      const field = fieldNamed(name);
      const { setting, usual } = field;
      const given: unknown = fields[name] ?? (setting === undefined ? usual : config[setting]);
      const value = given === undefined ? undefined : storedForm(field, given);
      return value === undefined && fields[name] === undefined ? [] : [[name, value]];
    }),
  ) as unknown as Pick<CampaignFields, FieldOf<By>>;
}

/**
 * Requires a text and one list, and refuses what would describe the columns of a list of its own. Programs without types may leave anything out.
 * Returns the text. That of a template is known by now, unless there is no Redis.
 */
function requireMembers(input: Partial<CampaignInput>): string {
  const { message, template, recipients, toResultsOf, toColumn, countryColumn, zoneColumn, timeColumn } =
    input;
  const problems: InputError[] = [];
  if (message === undefined)
    problems.push(
      template === undefined
        ? new InputError(FIELDS.message.missing, { field: 'message', itemCode: 'missing' })
        : new InputError(
            `template ${template} cannot be read without Redis: start Redis, or give a message instead`,
            { field: 'template' },
          ),
    );
  if (recipients === undefined && toResultsOf === undefined)
    problems.push(
      new InputError('the list is missing: give the path of a CSV file, or an array', {
        field: 'recipients',
        itemCode: 'missing',
      }),
    );
  const others =
    toResultsOf === undefined ? {} : { recipients, toColumn, countryColumn, zoneColumn, timeColumn };
  for (const [field, value] of Object.entries(others)) {
    if (value === undefined) continue;
    const kept = field === 'zoneColumn' ? 'zones' : 'numbers';
    const why = field === 'timeColumn' ? 'has one time for all' : `keeps the ${kept} of the earlier campaign`;
    const reason = `a follow-up ${why}: leave out \`${field}\``;
    problems.push(new InputError(reason, { field }));
  }
  throwInputErrors(problems);
  return message ?? '';
}

/** What a campaign may cost at most, in micros; undefined: anything. A text says why that cannot be checked. */
function budgetOf(
  { prices }: Pick<LocalConfig, 'prices'>,
  maxCost: CampaignInput['maxCost'],
): bigint | string | undefined {
  if (maxCost === undefined) return undefined;
  if (prices === undefined) return 'a cost limit needs prices: set PRICE_PER_SEGMENT or PRICE_FILE';
  const limit = parseLimit(String(maxCost), prices.currency);
  return typeof limit === 'string' ? `the cost limit ${limit}` : limit;
}

/** What {@link draftOf} depends on. */
export interface DraftDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Who creates the campaign. */
  readonly by: Operator;
  /** Makes the digest under which an idempotency key is stored; default: {@link idempotencyDigest}. */
  readonly digestOf?: ((idempotencyKey: string) => string) | undefined;
  /** The only suppression operation that the campaign may send in spite of. Default: none. */
  readonly bypasses?: string | undefined;
}

/** The campaign before its list is read, with a new id. */
export function draftOf(deps: DraftDeps, campaign: CheckedCampaign, lane: LaneId): CampaignMeta {
  const created = deps.clock();
  const { idempotencyKey } = campaign;
  return {
    ...storedFieldsOf({ ...campaign, lane, name: campaign.name ?? defaultName(campaign, created) }),
    id: newCampaignId(created, deps.random),
    columns: [],
    numberColumn: '',
    placeholders: [],
    created,
    createdBy: deps.by.actor,
    bypasses: deps.bypasses,
    idempotency:
      idempotencyKey === undefined
        ? undefined
        : (deps.digestOf?.(idempotencyKey) ?? idempotencyDigest(idempotencyKey, lane)),
    duplicates: 0,
    invalid: 0,
    suppressed: 0,
    preview: null,
  };
}

/**
 * The rule of a window, checked together with that of its lane; undefined if none is requested. `from`: when it is first used, ms. Throws
 * an InputError.
 */
export function windowOf(
  { window, zone }: Pick<CampaignInput, 'window' | 'zone'>,
  lanes: string | undefined,
  from: number,
): string | undefined {
  if (window === undefined) return undefined;
  // The command line has a flag for the dates.
  if (window.hours === undefined)
    throw new InputError(
      'the dates and the zone of a window have no effect without its hours: set `window`, such as Mon-Sat 09:00-20:00',
      {
        field: 'window/hours',
      },
    );
  // In which zone its hours are open says nothing about the others.
  const isOfRecipient = window.zone === 'recipient';
  const read = readWindow({ ...window, zone: isOfRecipient ? 'UTC' : zone }, from);
  if (!read.ok)
    throw new InputError(read.reason, { field: read.field === 'zone' ? 'zone' : `window/${read.field}` });
  if (isOfRecipient) return inZone(read.rule);
  if (lanes !== undefined && nextCommonOpening([read.rule, lanes], from) === null)
    throw new InputError(
      `the window (${describeWindow(read.rule)}) and that of the lane (${describeWindow(lanes)}) are never open at the same time, so nothing could be sent`,
      { field: 'window' },
    );
  return read.rule;
}

function defaultName({ recipients }: Pick<CampaignInput, 'recipients'>, now: number): string {
  if (typeof recipients === 'string') return basename(recipients, extname(recipients));
  return usualCampaignName(now);
}
