import type { LocalConfig } from '../../base/config/index.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import type { ListKind } from '../../campaign/errors/error-item.js';
import { InputError } from '../../campaign/errors/errors.js';
import { namesMeant } from '../../campaign/errors/nearest.js';
import { isOfRecipients } from '../../campaign/estimate/window.js';
import { type ResultsOf, resultsOfWarnings } from '../../campaign/fields/results-of.js';
import { LimitError, refusedText } from '../../campaign/limits/check-limits.js';
import { compileTemplate, likelyPlaceholders, type Template } from '../../campaign/text/template.js';
import { type CampaignInput, type CheckedCampaign, type CsvStream, localZone } from './campaign-input.js';
import { openFile } from './open-file.js';
import { rowsOfObjects } from './read-objects.js';
import { rowsOfResults } from './read-results-of.js';
import { type CheckedRows, checkRows, type Duplicates } from './rows/check-rows.js';
import { mapRows, type Row, type Rows } from './rows/rows.js';
import { SEND_AT, type TimeOptions } from './rows/time-column.js';
import { unusedMembers, unusedTimes } from './rows/unused-members.js';
import { ZONE, type ZoneOptions } from './rows/zone-column.js';

/** A list with known columns and the message compiled for them. It can be read once. */
export interface OpenList {
  readonly list: CheckedRows;
  readonly template: Template;
  readonly duplicates: Duplicates;
  /** Closes a list that is not read. */
  close(): void;
}

/** Where lists come from. */
export interface ListDeps {
  readonly config: LocalConfig;
  /** Where the results of a campaign are; undefined: Redis is not known. */
  readonly redis?: Redis | undefined;
  readonly keys?: Keys | undefined;
}

/** Opens the list. `now`: ms. Throws an InputError for an unusable list, and for a message that does not fit its columns. */
export async function openList(deps: ListDeps, campaign: CheckedCampaign, now: number): Promise<OpenList> {
  const { recipients, toResultsOf } = campaign;
  const { config } = deps;
  const own = zonesOf(campaign, now);
  const rows =
    toResultsOf === undefined
      ? await rowsOf(recipients, campaign, membersOf(campaign, own))
      : await resultsOf(deps, toResultsOf);
  // A follow-up keeps the zones of the earlier campaign, also those that it has found by numbers.
  const isFromNumber = toResultsOf !== undefined && rows.columns.includes(ZONE);
  const zones = own && { ...own, isFromNumber: own.isFromNumber || isFromNumber };
  const template = compiledFor(rows, campaign.message);
  const { limits } = campaign;
  const long = template.placeholders.length > 0 ? null : refusedText(limits, () => template.text);
  if (long !== null) {
    rows.close();
    throw new LimitError(`each recipient ${long.reason}`, { ...long, field: 'message' });
  }
  // A campaign has a number twice only if its producer chose to keep both texts.
  const usual = toResultsOf === undefined ? (isCsv(recipients) ? 'first' : 'refuse') : 'keep';
  const duplicates = campaign.duplicates ?? usual;
  // A name in other braces has a warning of its own.
  const meant = likelyPlaceholders(template.text, rows.columns).map((likely) => likely.meant);
  const { toColumn, countryColumn, zoneColumn = ZONE, timeColumn = SEND_AT } = campaign;
  const times = toResultsOf === undefined ? timesOf(config, campaign, now) : undefined;
  const hasTimes = times !== undefined && namesMeant(timeColumn, rows.columns).length > 0;
  const ofParts = [timeColumn, ...(zones !== undefined || hasTimes ? [zoneColumn] : [])];
  const used = [...template.placeholders, ...meant, toColumn, countryColumn, ...ofParts].filter(
    (name) => name !== undefined,
  );
  const isObjects = toResultsOf === undefined && !isCsv(recipients);
  const members = isObjects ? unusedMembers(rows.columns, used) : undefined;
  const list = await checkRows(members === undefined ? rows : seenBy(members, rows), {
    // Objects have their number in `to`; in a file the column has to be found.
    toColumn: campaign.toColumn ?? (isCsv(recipients) ? undefined : (rows.numberColumn ?? 'to')),
    countryColumn: campaign.countryColumn,
    findsCountries: isCsv(recipients) && campaign.findsCountries !== false,
    defaultCountry: campaign.country,
    numberKinds: config.numberKinds,
    template,
    duplicates,
    zones,
    times,
    limits,
  });
  const unused = (): string[] => members?.warnings() ?? unusedTimes(rows.columns, used);
  const warnings = (): string[] => [...resultsOfWarnings(toResultsOf), ...list.warnings(), ...unused()];
  return { list: { ...list, warnings }, template, duplicates, close: rows.close };
}

/** The message, compiled for the columns of a list. Closes the list, and throws an InputError, if it does not fit. */
export function compiledFor(rows: Rows, message: string): Template {
  const compiled = compileTemplate(message, rows.columns);
  if (compiled.ok) return compiled.template;
  rows.close();
  const reason = [compiled.reason, ...(rows.lacksBecause === undefined ? [] : [rows.lacksBecause])];
  throw new InputError(reason.join(' '), { field: 'message' });
}

/** The same rows, whose members are checked as they are read. */
function seenBy(members: ReturnType<typeof unusedMembers>, rows: Rows): Rows {
  const see = (row: Row): Row => {
    members.see(row);
    return row;
  };
  return { ...rows, batches: mapRows([], rows.batches, see, rows.close) };
}

/** How the zones of the rows are read, if the window is in them. */
function zonesOf(
  { window, lane, zoneColumn, zoneFrom, sendAt = 0 }: CheckedCampaign,
  now: number,
): ZoneOptions | undefined {
  if (!isOfRecipients(window)) return undefined;
  return {
    window,
    laneWindow: lane.sendWindow,
    column: zoneColumn,
    isFromNumber: zoneFrom === 'number',
    from: Math.max(now, sendAt),
  };
}

/** How the times of the rows are read. */
function timesOf(
  config: LocalConfig,
  { window, lane, zone, zoneColumn, timeColumn, validFor, sendAt = 0 }: CheckedCampaign,
  now: number,
): TimeOptions {
  const from = Math.max(now, sendAt);
  return {
    column: timeColumn,
    zoneColumn: isOfRecipients(window) ? undefined : zoneColumn,
    zone: localZone(config, { zone, lane: lane.name }),
    window,
    laneWindow: lane.sendWindow,
    now,
    from,
    latest: now + config.maxScheduleAheadMs,
    lapsesAt: from + (validFor ?? Number.POSITIVE_INFINITY),
  };
}

/** The columns that objects have even if the first one lacks them. */
const membersOf = ({ timeColumn }: CheckedCampaign, zones: ZoneOptions | undefined): string[] =>
  [zones && (zones.column ?? ZONE), timeColumn].filter((name) => name !== undefined);

/** The rows of a file, or of objects. `members`: objects have these columns even if the first one lacks them. */
export function rowsOf(
  recipients: CampaignInput['recipients'] = [],
  { sheet, headerLine, signal }: Pick<CampaignInput, 'sheet' | 'headerLine' | 'signal'> = {},
  members: readonly string[] = [],
): Promise<Rows> {
  if (!isCsv(recipients)) return rowsOfObjects(recipients, members);
  return openFile(typeof recipients === 'string' ? recipients : recipients.csv, {
    choice: { sheet, headerLine },
    signal,
  });
}

function resultsOf({ redis, keys }: ListDeps, wanted: ResultsOf): Promise<Rows> {
  if (redis !== undefined && keys !== undefined) return rowsOfResults({ redis, keys }, wanted);
  throw new InputError('the results of a campaign are in Redis, which is not there', {
    field: 'toResultsOf',
  });
}

/** Whether the rows of a list have lines, as those of a file do; those of an array have positions. */
function isCsv(recipients: CampaignInput['recipients']): recipients is string | CsvStream {
  return typeof recipients === 'string' || (typeof recipients === 'object' && 'csv' in recipients);
}

/** What the list of a campaign is. */
export function listKind({
  recipients,
  toResultsOf,
}: Pick<CampaignInput, 'recipients' | 'toResultsOf'>): ListKind {
  if (toResultsOf !== undefined) return 'results';
  return isCsv(recipients) ? 'csv' : 'array';
}
