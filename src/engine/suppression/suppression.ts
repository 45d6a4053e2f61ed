import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import { joinCalls } from '../../base/redis/join-calls.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { loadScript, luaJson } from '../../base/redis/script.js';
import { InputError, NotAllowedError } from '../../campaign/errors/errors.js';
import { possibleFormsOf } from '../../campaign/numbers/number-forms.js';
import { type Actor, actor } from '../../campaign/states/actor.js';
import { readOrNull } from '../recipients/damaged.js';
import { keptDigests } from './kept-digests.js';

/*
 * Which numbers are never sent to. There is a list for the whole installation, and one for each lane. Each is a hash from the
 * number to the operation that added it, so that an operation can be undone without touching what others added. A plus says that others
 * have added the number as well: then it stays until it is removed (change-suppressed.lua).
 *
 *   list: +447700900123 → 3+          operations: 3 → { actor, at, source, reason, … }
 *
 * A list keeps each number as it was added. Whatever asks about a number asks about all that its subscriber may have (number-forms.ts).
 *
 * All lists share a hash tag, so that one script call checks a number on both lists that matter to a lane.
 */

/** Numbers per command: enough to add a million in seconds, few enough not to block Redis. */
const NUMBERS_PER_COMMAND = 1000;
const PACKED_BYTES = 8;
/** How long a removal can be undone. Until then, the removed numbers are kept. */
export const KEEP_REMOVED_MS = 30 * 86_400_000;

const checkScript = loadScript(import.meta.url, './check-suppressed.lua', (reply) => {
  const [letters, digests] = z.tuple([z.string(), z.number()]).parse(reply);
  return [letters, digests === 1] as const;
});
const rewriteScript = loadScript(
  import.meta.url,
  './rewrite-operation.lua',
  (reply) => z.number().parse(reply) === 1,
);
const changeScript = loadScript(import.meta.url, './change-suppressed.lua', (reply) =>
  z.number().parse(reply),
);
/** What the script returns if it changes nothing. */
const [TOO_MANY, UNDONE] = [-1, -2];
/** Stands for the id of an operation that keeps nothing. */
const FORGET = 'forgotten';
type Change = 'add' | 'remove' | 'undo-add' | 'undo-remove';

const storedOperation = z.object({
  change: z.enum(['add', 'remove']),
  /** The id of the lane whose list it changed; null: the list of the installation. */
  list: z.string().nullable(),
  actor,
  source: z.string(),
  reason: z.string(),
  /** ms since the epoch. */
  at: z.number(),
  /** Numbers that the list got, or lost. */
  numbers: z.number(),
  undone: z.object({ actor, at: z.number(), numbers: z.number() }).optional(),
  /** Messages that were in flight to the number of a stop word right before it was added: `lane campaign ordinal`. */
  inFlight: z.array(z.string()).optional(),
  /** When the stop word arrived, ms by the clock of Redis. */
  receivedAt: z.number().optional(),
});
/** An operation as Redis stores it. */
export type StoredOperation = z.output<typeof storedOperation>;

/** A new operation. `max`: how many numbers may be stored because of its API key, on all lists or removed; undefined: no limit. */
export type NewOperation = Omit<StoredOperation, 'change' | 'numbers' | 'undone'> & {
  readonly max?: number | undefined;
};

/** Numbers in batches of at most 1,000. */
type Batches = Iterable<readonly string[]> | AsyncIterable<readonly string[]>;

/** An operation with its id. */
export type FoundOperation = StoredOperation & { readonly id: string };

/** The suppression lists. All numbers are E.164 with their plus; a list is the id of its lane, or null for the whole installation. */
export function suppression(redis: Redis, keys: Keys, beforeChange: () => Promise<void> = async () => {}) {
  const names = keys.suppression;
  const change = (
    how: Change,
    list: LaneId | null,
    operation: string,
    numbers: readonly Buffer[],
    { apiKey = '', max = 0, upTo = '' as number | '' } = {},
  ): Promise<number> =>
    changeScript.run(
      redis,
      {
        list: names.list(list),
        operations: names.operations,
        addedBy: names.addedBy,
        removals: names.removals,
        removed: names.removed(operation),
        removedAt: names.removedAt,
      },
      {
        change: how,
        name: list ?? '',
        operation,
        numbers: Buffer.concat(numbers),
        apiKey,
        max,
        keepMs: KEEP_REMOVED_MS,
        upTo,
      },
    );
  const write = (id: string, operation: StoredOperation): Promise<unknown> =>
    redis.hset(names.operations, id, luaJson(JSON.stringify(operation)));
  /**
   * Rewrites a record as it is by then: a stop word may renew it, and an operator may undo it, at the same time. False if `change` returns
   * what it got, there is no record, or the list names the operation for none of the `numbers`, if there are any.
   */
  const amend = async (
    id: string,
    change: (stored: StoredOperation) => StoredOperation,
    list: LaneId | null = null,
    numbers: readonly string[] = [],
  ): Promise<boolean> => {
    for (let last: string | null = null; ; ) {
      const before: string | null = await redis.hget(names.operations, id);
      if (before === null || before === last) return false;
      last = before;
      const stored = storedOperation.parse(JSON.parse(before));
      const changed = change(stored);
      if (changed === stored) return false;
      const after = luaJson(JSON.stringify(changed));
      const at = { list: names.list(list), operations: names.operations };
      const named = numbers.length === 0 ? '' : Buffer.concat(packed(numbers));
      if (await rewriteScript.run(redis, at, { operation: id, numbers: named, before, after })) return true;
    }
  };
  const read = async (id: string): Promise<FoundOperation | null> => {
    const json = await redis.hget(names.operations, id);
    return json === null ? null : { ...storedOperation.parse(JSON.parse(json)), id };
  };
  /** The members of a hash in batches, each with its value. A scan may return a number twice. */
  async function* scan(key: string): AsyncGenerator<readonly (readonly [Buffer, string])[]> {
    for (let cursor = '0'; ; ) {
      const [next, found] = await redis.hscanBuffer(key, cursor, 'COUNT', NUMBERS_PER_COMMAND);
      const entries = Array.from({ length: found.length / 2 }, (_, at) => {
        const [number = Buffer.alloc(0), value = ''] = [found[2 * at], String(found[2 * at + 1])];
        return [number, value] as const;
      });
      for (let from = 0; from < entries.length; from += NUMBERS_PER_COMMAND) {
        yield entries.slice(from, from + NUMBERS_PER_COMMAND);
      }
      cursor = next.toString();
      if (cursor === '0') return;
    }
  }
  /** How many of a batch of numbers are not on the list. */
  const countNew = async (list: LaneId | null, batch: readonly string[]): Promise<number> =>
    (await redis.hmget(names.list(list), ...packed(batch))).filter((value) => value === null).length;
  const kept = keptDigests(redis, keys);
  /** A letter for each of these numbers as they are: 1 if it is suppressed; '' if none is. */
  const checkForms = async (lane: LaneId, numbers: readonly string[]): Promise<string> => {
    const [letters, hasDigests] = await checkScript.run(
      redis,
      { all: names.list(null), lane: names.list(lane), digests: names.digests },
      { numbers: Buffer.concat(packed(numbers)) },
    );
    if (!hasDigests) return letters;
    const times = await kept.since(numbers, [null, lane]);
    return times.map((at, place) => (at !== null || letters.charAt(place) === '1' ? '1' : '0')).join('');
  };
  /** A letter for each number: 1 if it is suppressed under one of its forms; '' if none is. */
  const check = async (lane: LaneId, numbers: readonly string[]): Promise<string> => {
    const forms = numbers.map(possibleFormsOf);
    const letters = await checkForms(lane, forms.flat());
    if (letters === '' || letters.length === numbers.length) return letters;
    let next = 0;
    return forms
      .map(({ length }) => {
        next += length;
        return letters.slice(next - length, next).includes('1') ? '1' : '0';
      })
      .join('');
  };
  const singleChecks = new Map<LaneId, ReturnType<typeof joinCalls<string, string>>>();
  /** Checks one number, together with others that are checked for the lane at the same time. */
  const isSuppressed = async (lane: LaneId, number: string): Promise<boolean> => {
    const join = singleChecks.get(lane) ?? joinCalls((numbers) => check(lane, numbers));
    singleChecks.set(lane, join);
    const { at, answer } = join(number);
    return (await answer).charAt(at) === '1';
  };
  const tooMany = (max: number): NotAllowedError =>
    new NotAllowedError(
      `the key may suppress at most ${max} numbers at the same time, those that it has removed in the last 30 days included, and this would be more; nothing was changed`,
    );

  const undo = async ({ id, ...operation }: FoundOperation, by: Actor, at: number): Promise<number> => {
    const isAdd = operation.change === 'add';
    let numbers = 0;
    for await (const entries of scan(isAdd ? names.list(operation.list) : names.removed(id))) {
      const ofOperation = isAdd ? entries.filter(([, value]) => value === id) : entries;
      if (ofOperation.length === 0) continue;
      const how = isAdd ? 'undo-add' : 'undo-remove';
      numbers += await change(
        how,
        operation.list,
        id,
        ofOperation.map(([number]) => number),
      );
    }
    await amend(id, (stored) => {
      const before = stored.undone ?? { actor: by, at, numbers: 0 };
      return { ...stored, undone: { ...before, numbers: before.numbers + numbers } };
    });
    return numbers;
  };

  const perform = async (
    how: 'add' | 'remove',
    numbers: Batches,
    { max, ...made }: NewOperation,
    removeKept: () => Promise<number> = async () => 0,
  ): Promise<FoundOperation> => {
    await beforeChange();
    const apiKey = max === undefined ? '' : (made.actor.id ?? '');
    const operation: StoredOperation = { ...made, change: how, numbers: 0 };
    const id = String(await redis.incr(names.last));
    // Before its first number, so that every entry points to a record.
    await write(id, operation);
    let [given, changed, isUndone] = [0, 0, false];
    const undoAll = (): Promise<number> => undo({ ...operation, id }, made.actor, made.at);
    try {
      for await (const batch of numbers) {
        const each = packed([...new Set(batch)]);
        given += each.length;
        const done =
          each.length === 0 ? 0 : await change(how, made.list, id, each, { apiKey, max: max ?? 0 });
        if (done === TOO_MANY) throw tooMany(max ?? 0);
        if (done === UNDONE)
          throw new InputError(`suppression operation ${id} was undone while it was running`);
        changed += done;
      }
      changed += await removeKept();
    } catch (error) {
      // If it were repeated, the entries would name both operations, and undoing both would leave the numbers on the list.
      await undoAll().catch(() => {});
      throw error;
    }
    // An addition of numbers that are on the list already is recorded: if the earlier one is undone, they stay because of it.
    if (given === 0 || (how === 'remove' && changed === 0)) await redis.hdel(names.operations, id);
    else
      await amend(id, (stored) => {
        isUndone = stored.undone !== undefined;
        return { ...stored, numbers: changed };
      });
    // Undoing it may have begun before its last numbers.
    if (isUndone) await undoAll();
    return { ...operation, id, numbers: changed };
  };

  return {
    /**
     * Adds numbers, each of which occurs once, to a list and returns the operation. Rejects with a NotAllowedError, and changes nothing, if its
     * API key would add too many.
     */
    add: (numbers: Iterable<string>, operation: NewOperation): Promise<FoundOperation> =>
      perform('add', batches(numbers), operation),
    /** The same for numbers that arrive in batches of at most 1,000, without a limit. */
    addBatches: (numbers: Batches, operation: Omit<NewOperation, 'max'>): Promise<FoundOperation> =>
      perform('add', numbers, operation),
    /** Whether none of the numbers is on a list. */
    async hasNone(list: LaneId | null, numbers: Iterable<string>): Promise<boolean> {
      for (const batch of batches(allForms(numbers))) {
        if ((await countNew(list, batch)) < batch.length) return false;
        if ((await kept.keptSince(batch, list)) !== null) return false;
      }
      return true;
    },
    /**
     * Removes numbers, under all their forms, from a list and returns the operation, which can be undone for 30 days, but not for numbers that
     * were forgotten. It has no record if no number was on the list.
     */
    remove: (numbers: Iterable<string>, operation: NewOperation): Promise<FoundOperation> =>
      perform('remove', batches(allForms(numbers)), operation, async () => {
        let dropped = 0;
        if (!(await kept.areAny())) return dropped;
        for (const batch of batches(allForms(numbers))) dropped += await kept.drop(batch, operation.list);
        return dropped;
      }),
    /** Has the number of a keyed digest stay suppressed from a time on, ms, on a list from which it is forgotten. */
    keep: kept.keep,
    /**
     * Takes the numbers of a subscriber off these lists, and out of what is kept of removals, so that nothing can be undone. `keptAs`: the
     * keyed digest of one of them, which stays suppressed from this time on, ms, where it is suppressed now; null: nothing stays. `rewrite`
     * takes them out of the texts of operations. Returns how many entries it has changed, and whether something stays. Repeating it is harmless.
     */
    async forget(
      numbers: readonly string[],
      lists: readonly (LaneId | null)[],
      keptAs: { readonly digest: Buffer; readonly at: number } | null,
      rewrite: (text: string) => string,
    ): Promise<{ readonly changed: number; readonly isKept: boolean }> {
      let [changed, isKept] = [0, false];
      for (const list of lists) {
        // What all lanes keep, no lane has to.
        const isOnAll =
          list !== null && lists.includes(null) && (await kept.keptSince(numbers, null)) !== null;
        const isListed = (await countNew(list, numbers)) < numbers.length;
        if (keptAs === null || isOnAll) await kept.drop(numbers, list);
        else if (isListed) await kept.keep(keptAs.digest, list, keptAs.at);
        isKept ||= (await kept.keptSince(numbers, list)) !== null;
        // A stop word that has arrived since then stays.
        if (isListed) changed += await change('remove', list, FORGET, packed(numbers));
      }
      await redis.unlink(names.removed(FORGET));
      for await (const { id, change: how, list } of this.operations()) {
        if (!lists.includes(list)) continue;
        if (how === 'remove') changed += await redis.hdel(names.removed(id), ...packed(numbers));
        const isRewritten = await amend(id, (stored) => {
          const [source, reason] = [rewrite(stored.source), rewrite(stored.reason)];
          const isSame = source === stored.source && reason === stored.reason;
          return isSame ? stored : { ...stored, source, reason };
        });
        if (isRewritten) changed += 1;
      }
      return { changed, isKept };
    },
    /** Undoes an operation, and returns how many numbers the list got or lost. Numbers that other operations added as well stay. */
    undo,
    /**
     * Undoes the addition of its only number, which is that of this subscriber, by a stop word, unless a stop word that arrived after `upTo`,
     * ms, has renewed it. False if the number stays on the list, also because others have added it.
     */
    async lift(
      { id, ...operation }: FoundOperation,
      number: string,
      by: Actor,
      times: { readonly at: number; readonly upTo: number },
    ): Promise<boolean> {
      const numbers = await change('undo-add', operation.list, id, packed(possibleFormsOf(number)), times);
      if (numbers < 1) return false;
      await amend(id, (stored) => ({ ...stored, undone: { actor: by, at: times.at, numbers } }));
      return true;
    },
    /** Notes that the stop word of an operation has arrived again. False if the operation no longer keeps the number on its list. */
    renew: ({ id, list }: FoundOperation, number: string, receivedAt: number): Promise<boolean> =>
      amend(id, (stored) => ({ ...stored, receivedAt }), list, possibleFormsOf(number)),
    operation: read,
    /** Operations, newest first, that are older than `before`. */
    async *operations(before?: string): AsyncGenerator<FoundOperation> {
      const newest = before === undefined ? Number(await redis.get(names.last)) || 0 : Number(before) - 1;
      for (let last = newest; last > 0; last -= NUMBERS_PER_COMMAND) {
        const ids = Array.from({ length: Math.min(last, NUMBERS_PER_COMMAND) }, (_, at) => String(last - at));
        const records = await redis.hmget(names.operations, ...ids);
        for (const [at, json] of records.entries()) {
          const stored = json === null ? null : readOrNull(() => storedOperation.parse(JSON.parse(json)));
          if (stored !== null) yield { ...stored, id: ids[at] ?? '' };
        }
      }
    },
    /** Since when a number is on a list although it was forgotten, ms; null if it is not. */
    keptSince: (number: string, list: LaneId | null): Promise<number | null> =>
      kept.keptSince(possibleFormsOf(number), list),
    /** The operations that put a number on a list: of each of its forms that is on it, the one that the entry names. */
    async operationsOf(number: string, list: LaneId | null): Promise<FoundOperation[]> {
      const entries = await redis.hmget(names.list(list), ...packed(possibleFormsOf(number)));
      const ids = new Set(entries.flatMap((entry) => (entry === null ? [] : [entry.replace('+', '')])));
      const operations = await Promise.all([...ids].map(read));
      return operations.filter((operation) => operation !== null);
    },
    /** Whether this operation suppresses a number for a lane, and nothing else does. */
    async isOnlyBy(operation: string, lane: LaneId, number: string): Promise<boolean> {
      const forms = possibleFormsOf(number);
      const lists = await Promise.all(
        [null, lane].map((list) => redis.hmget(names.list(list), ...packed(forms))),
      );
      const entries = lists.flat().filter((entry) => entry !== null);
      const isAlone = entries.length > 0 && entries.every((entry) => entry === operation);
      if (!isAlone || !(await kept.areAny())) return isAlone;
      return (await kept.since(forms, [null, lane])).every((at) => at === null);
    },
    /** How many numbers are suppressed for a lane; one that is on both lists counts twice. */
    async count(lane: LaneId): Promise<number> {
      const lists = [names.list(null), names.list(lane), names.digests];
      const counts = await Promise.all(lists.map((list) => redis.hlen(list)));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    /** Every number of a list once, in no particular order. A number added or removed meanwhile may or may not appear. */
    async *list(list: LaneId | null): AsyncGenerator<string> {
      // A scan may return a number twice while Redis resizes the hash.
      const seen = new Set<number>();
      for await (const entries of scan(names.list(list))) {
        for (const [packedNumber] of entries) {
          const number = packedNumber.readDoubleBE();
          if (seen.size !== seen.add(number).size) yield `+${number}`;
        }
      }
    },
    /**
     * When a number was last removed from the list of a lane or from that of the installation, by the clock of Redis, ms; 0: never.
     */
    async lastRemoval(lane: LaneId): Promise<number> {
      const times = await redis.hmget(names.removedAt, '', lane);
      return Math.max(...times.map(Number));
    },
    /** Whether each number is suppressed for a lane now: on its own list, or on that of the installation. */
    async areSuppressed(lane: LaneId, numbers: readonly string[]): Promise<boolean[]> {
      const [only] = numbers;
      if (only !== undefined && numbers.length === 1) return [await isSuppressed(lane, only)];
      const answers: boolean[] = [];
      for (const batch of batches(numbers)) {
        const letters = await check(lane, batch);
        for (const at of batch.keys()) answers.push(letters.charAt(at) === '1');
      }
      return answers;
    },
  };
}

/** See {@link suppression}. */
export type Suppression = ReturnType<typeof suppression>;

/** Packs each number into a double, which holds every integer of 15 digits exactly; E.164 allows no more. */
function packed(numbers: readonly string[]): Buffer[] {
  const bytes = Buffer.allocUnsafe(numbers.length * PACKED_BYTES);
  return numbers.map((number, at) => {
    const start = at * PACKED_BYTES;
    bytes.writeDoubleBE(Number(number), start);
    return bytes.subarray(start, start + PACKED_BYTES);
  });
}

/** The numbers that these may be added as. */
function* allForms(numbers: Iterable<string>): Generator<string> {
  for (const number of numbers) yield* possibleFormsOf(number);
}

function* batches(numbers: Iterable<string>): Generator<string[]> {
  let batch: string[] = [];
  for (const number of numbers) {
    batch.push(number);
    if (batch.length < NUMBERS_PER_COMMAND) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
