import type { Readable } from 'node:stream';
import { InputError, inputErrorOf, type KeyFullError, NotFoundError } from '../../campaign/errors/errors.js';
import { type Limits, limitsFor, refusedSender } from '../../campaign/limits/check-limits.js';
import { numberReader } from '../../campaign/numbers/number.js';
import type { Operator } from '../../campaign/states/audit.js';
import { timeIn } from '../../campaign/time/moment.js';
import type { BulkResult, PutResult } from '../../campaign/views/outbox-views.js';
import { overDay } from '../../engine/day-limits/daily.js';
import type { Lane } from '../../engine/lane/lane.js';
import { keyFull, payerOf, usedBytes } from '../../engine/recipients/key-bytes.js';
import { BATCH_BYTES } from '../import/rows/rows.js';
import { outboxCommands } from './command-outbox.js';
import {
  type CheckedMessage,
  errorsOf,
  idProblem,
  type OutboxMessage,
  readVersion,
  sentenceOf,
  VERSION_REASON,
} from './definition/check-message.js';
import { MessageLateError, OpensTooLateError, RecoveringError } from './definition/errors.js';
import { messageText } from './definition/stored-message.js';
import { outboxDeleter } from './delete-outbox.js';
import { cancelAllWaiting } from './messages/cancel-all.js';
import { cancelSome } from './messages/cancel-some.js';
import { done, invalid, lateError, messageError, type PutDone, resultOfOne } from './messages/put-results.js';
import {
  type CsvColumns,
  type MessageLine,
  messagesOfCode,
  messagesOfCsv,
  messagesOfJson,
  messagesOfNdjson,
} from './messages/read-messages.js';
import { SeenIds } from './messages/seen-ids.js';
import { type Entry, OutboxGoneError, type PutReply } from './messages/store.js';
import { noSuchOutbox, type Opened, type OutboxesOptions } from './open-outbox.js';
import type { ImportOptions, Outbox } from './outbox-methods.js';
import { readOutboxStatus, whenSent } from './outbox-status.js';
import { outboxSetter } from './set-outbox.js';
import { pageOfMessages } from './views/list-messages.js';
import { pageOfWaiting } from './views/list-waiting.js';
import { readMessage, reportMessages } from './views/message-views.js';

/** Each time, the settings of the outbox have changed since the messages were checked. */
const PUT_TRIES = 20;

const MESSAGES_AT_ONCE = 1_000;
/** Members of a list that its results warn about. */
const MAX_WARNED = 100;

const iso = (second: number | null): string | null =>
  second === null ? null : new Date(second * 1_000).toISOString();

/** A message of a list that is stored next. */
interface Line extends Entry {
  /** As the list has it. */
  readonly parsed: ParsedLine;
  readonly warnings: readonly string[];
}

type ParsedLine = Extract<MessageLine, { message: OutboxMessage }>;

/** Whether the outbox has other settings by now, so that what was checked is to be checked again. */
const hasChanged = (error: unknown): boolean => error instanceof OutboxGoneError && error.state === 'changed';

/** The outbox of a name, for an operator. `open` is called for each operation. */
export function operatedOutbox(
  options: OutboxesOptions,
  by: Operator,
  name: string,
  open: () => Promise<Opened>,
): Outbox {
  const { keys, config, clock } = options;
  const payer = payerOf(by.actor, config.keyBytes);
  const full = async (): Promise<KeyFullError> => {
    const { lane } = await open();
    return keyFull(payer, lane.name, await usedBytes(lane.redis, keys, lane.id, payer.key));
  };

  /** What the operator may put into an outbox of a lane. */
  const limitsOn = ({ settings }: Lane): Limits => limitsFor(settings, by, config.prices?.currency);
  /** What a put did. Throws if it stored nothing because its key or a daily limit does not allow it. */
  const allowed = async ({ outcome, over }: PutReply, { counted }: Entry) => {
    if (outcome === 'full') throw await full();
    if (outcome === 'recovering') throw new RecoveringError();
    if (outcome !== 'limited') return outcome;
    const { limits = [], micros = 0 } = counted ?? {};
    const day = { limits, currency: config.prices?.currency };
    throw overDay(day, over, { messages: 1, micros });
  };

  const resultOf = async (entry: Entry, reply: PutReply): Promise<PutDone> => {
    const outcome = await allowed(reply, entry);
    const { lane, settings } = await open();
    return done(entry.id, outcome, whenSent(settings, lane, iso(reply.due), entry.message.zone));
  };

  /** Records messages of a list before they are stored. */
  const recorded = <Stored>(lane: Lane, messages: number, store: () => Promise<Stored>): Promise<Stored> =>
    by.audited({ action: 'outbox.import', lane: lane.id, details: { outbox: name, messages } }, store);

  const flushedAsChecked = async (
    batch: readonly Line[],
    invalidLines: readonly BulkResult[],
  ): Promise<BulkResult[]> => {
    const { lane, repliesWhenFull, storeAll, noteWriter } = await open();
    const storeNew = async (): Promise<readonly PutReply[]> => {
      await noteWriter(by.actor);
      return recorded(lane, batch.length, () => storeAll(batch));
    };
    const replies = batch.length === 0 ? [] : ((await repliesWhenFull(batch)) ?? (await storeNew()));
    const stored = await Promise.all(
      batch.map((entry, at) => {
        const { parsed, warnings } = entry;
        const { line } = parsed;
        const reply = replies[at];
        if (reply === undefined) throw new Error('Redis stored a message without a result');
        const shown = (result: PutDone): BulkResult => ({
          ...result,
          line,
          errors: result.code === null ? [] : [lateError(result.code, line)],
          warnings,
        });
        return resultOf(entry, reply).then(shown);
      }),
    );
    return [...invalidLines, ...stored].sort((a, b) => a.line - b.line);
  };

  const entryOf = (
    { id, message, cost }: CheckedMessage & { readonly ok: true },
    { daily }: Limits,
  ): Entry => ({
    id,
    message,
    key: payer.key,
    ...(daily.length > 0 && { counted: { limits: daily, micros: cost } }),
  });

  /** Checks a message of a list. */
  const lineOf = (
    parsed: ParsedLine,
    { lane, check }: Opened,
    warnings: readonly string[] = [],
  ): Line | BulkResult => {
    const limits = limitsOn(lane);
    const checked = check(parsed.message, clock(), limits);
    if (checked.ok) return { ...entryOf(checked, limits), parsed, warnings };
    const { line, toColumn = 'to' } = parsed;
    const errors = checked.problems.map((problem) =>
      messageError(problem.member === 'to' ? { ...problem, member: toColumn } : problem, line),
    );
    return invalid(checked.id, errors, line);
  };

  /** Stores messages of a list, and checks them again if the settings of the outbox have changed since. */
  const flushed = async (
    batch: readonly Line[],
    invalidLines: readonly BulkResult[],
    tries = PUT_TRIES,
  ): Promise<BulkResult[]> => {
    try {
      return await flushedAsChecked(batch, invalidLines);
    } catch (error) {
      if (!hasChanged(error) || tries === 0) throw error;
      const opened = await open();
      const valid: Line[] = [];
      const refused: BulkResult[] = [];
      for (const { parsed, warnings } of batch) {
        const line = lineOf(parsed, opened, warnings);
        if ('outcome' in line) refused.push(line);
        else valid.push(line);
      }
      return flushed(valid, [...invalidLines, ...refused], tries - 1);
    }
  };

  async function* putLines(
    lines: AsyncIterable<MessageLine>,
    onMemory: ImportOptions['onMemory'],
  ): AsyncGenerator<BulkResult> {
    await requireServed();
    const opened = await open();
    const { unused } = opened;
    const seen = new SeenIds();
    /** Members that a line was warned about: every line of a CSV has the same. */
    const warned = new Set<string>();
    const warningsOf = ({ message, idColumn, toColumn }: ParsedLine): string[] => {
      if (warned.size >= MAX_WARNED) return [];
      const known = new Set([...warned, idColumn, toColumn]);
      const news = unused(message).filter(({ member }) => !known.has(member));
      for (const { member } of news) warned.add(member);
      return news.map(({ warning }) => warning);
    };
    let reserved = 0;
    let bytes = 0;
    let batch: Line[] = [];
    let invalidLines: BulkResult[] = [];
    const add = (parsed: MessageLine): void => {
      const { line } = parsed;
      if (!('message' in parsed)) {
        invalidLines.push(invalid(parsed.id, [messageError({ ...parsed, code: 'row' }, line)], line));
        return;
      }
      const checked = lineOf(parsed, opened);
      if ('outcome' in checked) {
        invalidLines.push({ ...checked, warnings: [...checked.warnings, ...(parsed.warnings ?? [])] });
        return;
      }
      const { id, message } = checked;
      const packed = Buffer.from(messageText(message));
      const before = seen.add(id, packed, line);
      if (before !== null) {
        const reason = `is the id of line ${before} as well, with different content`;
        invalidLines.push(
          invalid(id, [messageError({ member: 'id', code: 'badInput', reason }, line)], line),
        );
        return;
      }
      bytes += packed.length;
      batch.push({ ...checked, warnings: [...(parsed.warnings ?? []), ...warningsOf(parsed)] });
    };
    /** Results of messages that are being stored while the next ones are read. */
    let storing: Promise<BulkResult[]> | undefined;
    const flush = async (): Promise<BulkResult[]> => {
      const before = await storing;
      storing = flushed(batch, invalidLines);
      // Reported when its results are taken.
      storing.catch(() => {});
      batch = [];
      bytes = 0;
      invalidLines = [];
      return before ?? [];
    };
    for await (const parsed of lines) {
      if (seen.bytes > reserved) {
        reserved = seen.bytes;
        await onMemory?.(reserved);
      }
      add(parsed);
      if (batch.length + invalidLines.length >= MESSAGES_AT_ONCE || bytes >= BATCH_BYTES)
        yield* await flush();
    }
    if (batch.length + invalidLines.length > 0) yield* await flush();
    yield* (await storing) ?? [];
  }

  async function* csvOf(csv: string | Readable, columns: CsvColumns): AsyncGenerator<MessageLine> {
    const { settings } = await open();
    yield* messagesOfCsv(csv, columns, settings.country ?? config.defaultCountry);
  }

  /** Rejects for an outbox whose messages nothing would send, or whose sender is not that of the operator. */
  const requireServed = async (): Promise<void> => {
    const { lane, settings, unserved } = await open();
    const why = await unserved();
    if (why !== null)
      throw new NotFoundError(`outbox ${name} takes no messages: ${why}, so nothing would send them`);
    const refused = refusedSender(limitsOn(lane), settings.sender);
    if (refused !== null) throw refused;
  };

  const putOnce = async (input: OutboxMessage): Promise<PutResult> => {
    const { lane, repliesWhenFull, check, unused, storeOne, noteWriter } = await open();
    const limits = limitsOn(lane);
    const checked = check(input, clock(), limits);
    if (!checked.ok) {
      const [first, ...others] = checked.problems;
      if (first.code === 'opensTooLate' && others.length === 0)
        throw new OpensTooLateError(sentenceOf(first), { field: first.member });
      throw inputErrorOf(errorsOf(checked.problems));
    }
    await by.authorise();
    const entry = entryOf(checked, limits);
    const warnings = unused(input).map(({ warning }) => warning);
    const [reply] = (await repliesWhenFull([entry])) ?? [];
    if (reply !== undefined) return resultOfOne(await resultOf(entry, reply), warnings);
    await noteWriter(by.actor);
    return resultOfOne(await resultOf(entry, await storeOne(entry)), warnings);
  };

  /** The number of a filter, as in the country of the outbox, in E.164. */
  const numberIn = ({ settings }: Opened, typed: string | undefined): string | undefined => {
    if (typed === undefined) return undefined;
    const read = numberReader(settings.country ?? config.defaultCountry, config.numberKinds)(typed);
    if (!read.ok) throw new InputError(`\`to\` ${read.reason}`, { field: 'to' });
    return read.number;
  };

  return {
    ...outboxSetter(options, by, name, open),
    ...outboxCommands(options, by, name, open),
    ...outboxDeleter(options, by, name, open),

    async put(input) {
      await requireServed();
      for (let tries = 0; ; tries += 1) {
        try {
          return await putOnce(input);
        } catch (error) {
          if (!hasChanged(error) || tries === PUT_TRIES) throw error;
        }
      }
    },

    async problems(input) {
      const { lane, check } = await open();
      const checked = check(input, clock(), limitsOn(lane));
      return checked.ok ? [] : errorsOf(checked.problems);
    },

    putAll: (messages) => putLines(messagesOfCode(messages), undefined),

    import: (list, { onMemory, ...columns } = {}) => {
      if ('json' in list) return putLines(messagesOfJson(list.json), onMemory);
      if ('ndjson' in list) return putLines(messagesOfNdjson(list.ndjson), onMemory);
      return putLines(csvOf(list.csv, columns), onMemory);
    },

    async cancel(id, { version } = {}) {
      const { lane, store } = await open();
      const problem = idProblem(id);
      if (problem !== null) throw new InputError(`id ${problem}`, { field: 'id' });
      const read = readVersion(version);
      if (read === undefined) throw new InputError(`version ${VERSION_REASON}`, { field: 'version' });
      await by.authorise();
      const { outcome, events } = await store.cancel(id, {
        version: read,
        key: payer.key,
      });
      lane.emit(events);
      switch (outcome) {
        case 'unknown':
          throw new NotFoundError(`outbox ${name} has no message ${id}`);
        case 'full':
          throw await full();
        case 'recovering':
          throw new RecoveringError();
        case 'cancelled':
        case 'lapsed':
          return { id, outcome };
        case 'sent':
          throw new MessageLateError(outcome, `message ${id} cannot be cancelled any more`);
        case 'stale':
          throw new MessageLateError(outcome, `message ${id} has a higher version`);
        default:
          return outcome satisfies never;
      }
    },

    async *cancelSome(which) {
      const { lane } = await open();
      const ids = 'ids' in which ? which.ids : [];
      const problem = ids.map(idProblem).find((each) => each !== null);
      if (problem !== undefined) throw new InputError(`an id ${problem}`, { field: 'ids' });
      yield* cancelSome(lane, name, which, by);
    },

    async cancelAll() {
      const { lane } = await open();
      return by.audited({ action: 'outbox.cancel', lane: lane.id, details: { outbox: name } }, () =>
        cancelAllWaiting(lane, name),
      );
    },

    async message(id) {
      const { lane, unserved } = await open();
      const message = await readMessage(lane, name, id);
      const why = message.state === 'waiting' ? await unserved() : null;
      return { ...message, reason: why ?? message.reason };
    },

    async status() {
      const { lane, unserved } = await open();
      const status = await readOutboxStatus(lane, name, await unserved());
      if (status === null) throw noSuchOutbox(name);
      return status;
    },

    async waiting({ to: typed, from, until, ...filter } = {}) {
      const opened = await open();
      return pageOfWaiting(opened.lane, name, {
        ...filter,
        to: numberIn(opened, typed),
        from: from === undefined ? undefined : timeIn('from', from),
        until: until === undefined ? undefined : timeIn('until', until),
      });
    },

    async messages({ to, ...filter } = {}) {
      const opened = await open();
      return pageOfMessages(opened.lane, name, { ...filter, to: numberIn(opened, to) });
    },

    async *report() {
      const { lane } = await open();
      const exported = { action: 'outbox.export', lane: lane.id, details: { outbox: name } } as const;
      await by.audited(exported, async () => {});
      yield* reportMessages(lane, name);
    },
  };
}
