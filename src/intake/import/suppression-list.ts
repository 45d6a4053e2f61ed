import { basename } from 'node:path';
import { setImmediate as nextTick } from 'node:timers/promises';
import type { Clock } from '../../base/clock.js';
import type { LocalConfig } from '../../base/config/index.js';
import type { Events } from '../../base/events/events.js';
import type { LaneId } from '../../base/redis/keys.js';
import { InputError, NotFoundError } from '../../campaign/errors/errors.js';
import { describeActor } from '../../campaign/states/actor.js';
import type { Operator } from '../../campaign/states/audit.js';
import type { SuppressionOperation } from '../../campaign/states/suppression.js';
import type { InvalidGroup, InvalidRow, NumbersOfCountry } from '../../campaign/views/list-views.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import {
  type FoundOperation,
  KEEP_REMOVED_MS,
  type Suppression,
} from '../../engine/suppression/suppression.js';
import type { CsvStream } from './campaign-input.js';
import { SeenRecipients } from './rows/seen-recipients.js';

/** Which list, and how numbers are read. */
export interface NumberOptions {
  /** The lane of the list; default: the list for all lanes. */
  readonly lane?: string | undefined;
  /** ISO 3166 code of nationally written numbers; default: `DEFAULT_COUNTRY`. */
  readonly country?: string | undefined;
}

/** A change of a list. */
export interface ChangeOptions extends NumberOptions {
  /** Why, for the record of the operation. */
  readonly reason?: string | undefined;
  /** Where the numbers come from; default: the command line, the HTTP API, or the library. */
  readonly source?: string | undefined;
  /**
   * How many numbers may be stored because of the API key that changes the list: those that it has added, and those that it has removed, which
   * are kept for 30 days. Default: no limit. `KEY_MEMORY_MB` limits them as well, at 100 bytes each.
   */
  readonly max?: number | undefined;
}

/** What a change of a suppression list did. */
export interface SuppressionChange {
  /** The id of its record, with which it can be undone; null if there were no numbers, or if none of those to remove was on the list. */
  readonly operation: string | null;
  /** The lane whose list changed; null: the list for all lanes. */
  readonly lane: string | null;
  /** How many numbers the list got or lost. */
  readonly numberCount: number;
}

/** The result of importing a file. */
export interface SuppressionImport extends SuppressionChange {
  /** Numbers that were on the list before. */
  readonly alreadyListed: number;
  /** Rows of the file: the sum of `numberCount`, `alreadyListed`, `duplicates`, and the invalid rows. */
  readonly rows: number;
  /** Rows with the number of an earlier row. */
  readonly duplicates: number;
  readonly invalid: readonly InvalidRow[];
  /** The invalid rows, by their code and column. */
  readonly invalidGroups: readonly InvalidGroup[];
  /** The column with the country of each row; null if none is used. */
  readonly countryColumn: string | null;
  /** The valid numbers by country, the commonest first. */
  readonly countries: readonly NumbersOfCountry[];
  /** Which rows look doubtful, in sentences for people. */
  readonly warnings: readonly string[];
}

/** On which list a number is, and which operations put it there; later ones that added it again are not among them. `lane`: null for the list of the whole installation. */
export interface SuppressionEntry {
  readonly lane: string | null;
  /** ISO 8601. */
  readonly since: string;
  /** Whether the number was forgotten, and only a keyed digest keeps it suppressed, without an operation. */
  readonly forgotten: boolean;
  readonly operations: readonly SuppressionOperation[];
}

/** Which operations {@link SuppressionList.operations} returns. */
export interface OperationsOptions {
  /** Only changes of the lists of these lanes; default: of all lists. */
  readonly lanes?: readonly string[] | undefined;
  /** Default 50. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

/**
 * The numbers that Volley never sends to: a list for the whole installation, and one for each lane. Numbers are accepted in any
 * spelling and listed in E.164. Each change has a record (actor, source, time, reason) and can be undone. If a number is invalid,
 * nothing is changed: the promise rejects with an InputError whose `field` is `numbers/3` for the fourth number.
 */
export interface SuppressionList {
  /** Adds numbers to a list. Rejects with a NotAllowedError if an API key would exceed its limit. */
  add(numbers: Iterable<string>, options?: ChangeOptions): Promise<SuppressionChange>;
  /** Removes numbers from a list. They stay suppressed for a lane if they are on the other list. */
  remove(numbers: Iterable<string>, options?: ChangeOptions): Promise<SuppressionChange>;
  /** Every number of a list once, in no particular order. */
  list(options?: Pick<NumberOptions, 'lane'>): AsyncIterable<string>;
  /**
   * Adds the numbers of a CSV file, given by its path or as a stream. The number column is found as in a campaign's list; a file with a single column of
   * numbers needs no header. Valid rows are added even if other rows are invalid.
   */
  import(
    list: string | CsvStream,
    options?: ChangeOptions & {
      readonly toColumn?: string | undefined;
      /** The column with the country of each nationally written number; default: found by its name and its values. */
      readonly countryColumn?: string | undefined;
    },
  ): Promise<SuppressionImport>;
  /** Lists the changes, newest first, one page at a time. */
  operations(
    options?: OperationsOptions,
  ): Promise<{ readonly operations: SuppressionOperation[]; readonly nextCursor: string | null }>;
  /** Returns one change. Rejects with a `NotFoundError` if there is none with this id. */
  operation(id: string): Promise<SuppressionOperation>;
  /**
   * Undoes a change. An addition takes its numbers off the list, except those that another operation added, too. A removal, for 30
   * days, puts them back. Rejects with a `NotFoundError` if there is no such operation, and with an `InputError` if it is undone
   * already or too old.
   */
  undo(id: string): Promise<SuppressionChange>;
  /** Returns on which lists a number is, why, and since when. Rejects with an `InputError` if the number is invalid. */
  entries(number: string, options?: Pick<NumberOptions, 'country'>): Promise<SuppressionEntry[]>;
}

/** Reading a million numbers takes seconds; after this many, other work of the process gets a turn. */
const NUMBERS_PER_TICK = 1_000;
const DEFAULT_LIMIT = 50;
/** Numbers that may show the country of numbers without one. */
const MAX_NUMBERS_READ = 100;
/** What a number takes in Redis, with its part of the record of its operation. */
const NUMBER_BYTES = 100;
const NOT_A_TEXT = { ok: false, reason: 'is not a text' } as const;
const nothing = ({ lane = null }: { readonly lane?: string | null | undefined }): SuppressionChange => ({
  operation: null,
  lane,
  numberCount: 0,
});
const SOURCES = { key: 'HTTP API', cli: 'command line', library: 'library', schedule: 'schedule' } as const;
/** Longer reasons and sources are cut off. */
const MAX_TEXT = 200;

/** What {@link openSuppressionList} needs. */
interface SuppressionListDeps {
  readonly config: LocalConfig;
  readonly suppression: Suppression;
  readonly finder: Pick<LaneFinder, 'named' | 'nameOf' | 'idOf' | 'configured'>;
  readonly events: Events;
  readonly clock: Clock;
  /** Who changes the lists. */
  readonly by: Operator;
}

/**
 * Opens the suppression lists for callers, who write numbers in any spelling. The metadata of all numbering plans and the
 * CSV parser load when a call needs them.
 */
export function openSuppressionList(deps: SuppressionListDeps): SuppressionList {
  const { config, suppression, finder, events, clock, by } = deps;
  const actor = describeActor(by.actor);
  /** The numbers of a list, each once. They take some 20 bytes each, a fifth of what their texts would take. */
  const readAll = async (
    spellings: Iterable<string>,
    country = config.defaultCountry,
  ): Promise<SeenRecipients> => {
    const { numberReader } = await import('../../campaign/numbers/number.js');
    const read = numberReader(country);
    const numbers = new SeenRecipients({ hasDigests: false });
    let position = 0;
    for (const spelling of spellings) {
      // Programs without types may pass anything.
      const outcome = typeof spelling === 'string' ? read(spelling) : NOT_A_TEXT;
      if (!outcome.ok) {
        throw new InputError(`number ${position + 1}: ${outcome.reason}`, { field: `numbers/${position}` });
      }
      position += 1;
      numbers.add(outcome.number, position, 0);
      if (position % NUMBERS_PER_TICK === 0) await nextTick();
    }
    return numbers;
  };
  const mostOf = ({ max }: ChangeOptions): number | undefined =>
    max === undefined ? undefined : Math.min(max, Math.floor(config.keyBytes / NUMBER_BYTES));
  const listOf = async (lane: string | undefined): Promise<LaneId | null> =>
    lane === undefined ? null : (await finder.named(lane)).id;
  const nameOf = async (list: LaneId | null): Promise<string | null> =>
    list === null ? null : finder.nameOf(list);
  const viewOf = async (found: FoundOperation): Promise<SuppressionOperation> => {
    const { id, change, at, reason, source, numbers, undone } = found;
    return {
      id,
      change,
      lane: await nameOf(found.list),
      createdAt: new Date(at).toISOString(),
      actor: found.actor,
      source,
      reason: reason || null,
      numberCount: numbers,
      undone:
        undone === undefined
          ? null
          : {
              actor: undone.actor,
              numberCount: undone.numbers,
              createdAt: new Date(undone.at).toISOString(),
            },
    };
  };
  const require = async (id: string): Promise<FoundOperation> => {
    const operation = await suppression.operation(id);
    if (operation === null) throw new NotFoundError(`there is no suppression operation ${id}`);
    return operation;
  };

  /** Changes a list: recorded first, then done, then told. */
  const perform = async (
    change: 'add' | 'remove',
    { lane, reason = '', source = SOURCES[by.actor.kind] }: ChangeOptions,
    count: { readonly numberCount?: number },
    run: (operation: Parameters<Suppression['addBatches']>[1]) => Promise<FoundOperation>,
  ): Promise<SuppressionChange> => {
    const list = await listOf(lane);
    const [why, from] = [reason.slice(0, MAX_TEXT), source.slice(0, MAX_TEXT)];
    const made = { list, actor: by.actor, source: from, reason: why, at: clock() };
    // The reason, which may name a person, is only in the record of the operation.
    const details = { ...count, source: from };
    const done = await by.audited(
      { action: `suppression.${change}`, ...(list === null ? {} : { lane: list }), details },
      () => run(made),
    );
    if (done.numbers === 0 && (await suppression.operation(done.id)) === null) return nothing({ lane });
    const told = { lane: lane ?? null, operation: done.id, numberCount: done.numbers, reason: why, actor };
    if (change === 'add') events.emit({ type: 'suppression.added', ...told });
    else events.emit({ type: 'suppression.removed', ...told });
    return { operation: done.id, lane: lane ?? null, numberCount: done.numbers };
  };

  return {
    async add(spellings, options = {}) {
      const numbers = await readAll(spellings, options.country);
      if (numbers.size === 0) return nothing(options);
      const max = mostOf(options);
      return perform('add', options, { numberCount: numbers.size }, (made) =>
        suppression.add(numbers, { ...made, max }),
      );
    },
    async remove(spellings, options = {}) {
      const numbers = await readAll(spellings, options.country);
      if (numbers.size === 0 || (await suppression.hasNone(await listOf(options.lane), numbers)))
        return nothing(options);
      const max = mostOf(options);
      return perform('remove', options, { numberCount: numbers.size }, (made) =>
        suppression.remove(numbers, { ...made, max }),
      );
    },
    async *list({ lane } = {}) {
      const list = await listOf(lane);
      await by.audited(
        { action: 'suppression.export', ...(list === null ? {} : { lane: list }) },
        async () => {},
      );
      yield* suppression.list(list);
    },
    async import(input, { toColumn, countryColumn, country, ...options } = {}) {
      const [{ checkRows, invalidRowOf }, { openFile }, { invalidRows }, { withOptionalHeader }] =
        await Promise.all([
          import('./rows/check-rows.js'),
          import('./open-file.js'),
          import('./invalid-groups.js'),
          import('./rows/number-column.js'),
        ]);
      const list = await checkRows(
        withOptionalHeader(await openFile(typeof input === 'string' ? input : input.csv)),
        {
          toColumn,
          countryColumn,
          defaultCountry: country ?? config.defaultCountry,
        },
      );
      const invalid: InvalidRow[] = [];
      const collected = invalidRows();
      const international: string[] = [];
      async function* numbers(): AsyncGenerator<readonly string[]> {
        for await (const batch of list.batches) {
          for (const row of batch) {
            if (row.kind !== 'invalid') continue;
            const inFull = invalidRowOf(row, 'csv');
            invalid.push(inFull);
            collected.add(row, list.columns, () => inFull);
          }
          const valid = batch.filter((row) => row.kind === 'recipient').map(({ number }) => number);
          if (international.length < MAX_NUMBERS_READ) international.push(...valid);
          if (valid.length > 0) yield valid;
        }
      }
      const source = typeof input === 'string' ? `file ${basename(input)}` : undefined;
      const named = { ...options, source: options.source ?? source };
      // Only once there is a number: a list without one leaves no trace.
      const rest = numbers();
      const first = await rest.next();
      async function* all(): AsyncGenerator<readonly string[]> {
        if (!first.done) yield first.value;
        yield* rest;
      }
      let done = nothing(options);
      try {
        if (!first.done)
          done = await perform('add', named, {}, (made) => suppression.addBatches(all(), made));
      } finally {
        // Closes the file if nothing has read it to its end.
        await rest.return(undefined);
      }
      const { rows, duplicates, recipientCount } = list.counts();
      return {
        ...done,
        alreadyListed: recipientCount - done.numberCount,
        rows,
        duplicates,
        invalid,
        invalidGroups: collected.groups(list.columns, international, list.unusedCountryColumn),
        countryColumn: list.countryColumn,
        countries: list.countries.counts(),
        warnings: list.warnings(),
      };
    },

    async operations({ lanes, limit = DEFAULT_LIMIT, cursor } = {}) {
      if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) {
        throw new InputError('not the `nextCursor` of a page', { field: 'cursor' });
      }
      const wanted = lanes && (await Promise.all(lanes.map(finder.idOf)));
      const operations: SuppressionOperation[] = [];
      for await (const operation of suppression.operations(cursor)) {
        if (wanted !== undefined && (operation.list === null || !wanted.includes(operation.list))) continue;
        operations.push(await viewOf(operation));
        if (operations.length >= limit) return { operations, nextCursor: operation.id };
      }
      return { operations, nextCursor: null };
    },
    operation: async (id) => viewOf(await require(id)),
    async undo(id) {
      const operation = await require(id);
      const { list, change, at } = operation;
      const now = clock();
      if (operation.undone !== undefined)
        throw new InputError(`suppression operation ${id} is undone already`);
      if (change === 'remove' && at + KEEP_REMOVED_MS <= now) {
        throw new InputError(
          `suppression operation ${id} is more than 30 days old: its numbers are not kept any more`,
        );
      }
      const lane = list === null ? {} : { lane: list };
      const numberCount = await by.audited(
        { action: 'suppression.undo', ...lane, details: { operation: id } },
        () => suppression.undo(operation, by.actor, now),
      );
      const told = { lane: await nameOf(list), operation: id, numberCount, actor };
      events.emit({ type: 'suppression.undone', ...told });
      return { operation: id, lane: told.lane, numberCount };
    },
    async entries(spelling, { country } = {}) {
      const { numberReader } = await import('../../campaign/numbers/number.js');
      const read = numberReader(country ?? config.defaultCountry)(spelling);
      if (!read.ok) throw new InputError(`the number ${read.reason}`, { field: 'number' });
      const lanes = [...(await finder.configured()).values()].map((lane) => lane.id);
      const perList = await Promise.all(
        [null, ...lanes].map(async (list) => {
          const [found, keptSince] = await Promise.all([
            suppression.operationsOf(read.number, list),
            suppression.keptSince(read.number, list),
          ]);
          const times = [...found.map(({ at }) => at), ...(keptSince === null ? [] : [keptSince])];
          if (times.length === 0) return [];
          const since = new Date(Math.min(...times)).toISOString();
          const operations = await Promise.all(found.map(viewOf));
          return [{ lane: await nameOf(list), since, forgotten: found.length === 0, operations }];
        }),
      );
      return perList.flat();
    },
  };
}
