import type { Redis } from '../../../base/redis/connection.js';
import type { Keys } from '../../../base/redis/keys.js';
import { SLICE } from '../../../engine/recipients/slice-blob.js';
import type { OutboxResults, ResultOnLane } from '../../../reporting/results-reader.js';
import { outboxKeys } from '../definition/outbox-keys.js';
import { unpackMessage } from '../definition/stored-message.js';
import { outboxOf, sliceOf } from '../waves/wave.js';
import { REASONS } from './reasons.js';

/** A list of messages that ended while they waited, as the log of results names it (ended.lua). */
const ENDED_LIST = /^outbox:([^:]+):(\d+)$/;

/** What the results feed needs to know of outboxes. */
export function outboxResults(redis: Redis, keys: Keys): OutboxResults {
  return {
    async idsInWave(lane, meta, ordinals) {
      const outbox = outboxOf(meta);
      if (outbox === null) return null;
      const numbers = [...new Set(ordinals.map((ordinal) => Math.floor(ordinal / SLICE)))];
      const slices = await Promise.all(
        numbers.map((number) => sliceOf({ redis, keys, id: lane }, meta.id, number)),
      );
      const ids = numbers.flatMap((number, at) =>
        (slices[at] ?? []).map(({ id }, place): [number, string] => [number * SLICE + place, id]),
      );
      return { outbox, ids: new Map(ids) };
    },

    async ended(lane, list, positions) {
      const [, outbox, second] = ENDED_LIST.exec(list) ?? [];
      if (outbox === undefined || second === undefined) return null;
      const boxKeys = outboxKeys(keys, lane, outbox);
      const key = boxKeys.endedList(Number(second));
      const runs = await Promise.all(
        runsOf(positions).map(async ([first, last]) => {
          const ids = await redis.lrange(key, first, last);
          return ids.map((id, at) => ({ position: first + at, id }));
        }),
      );
      const kept = runs.flat();
      const messages = kept.map(({ id }) => id);
      const raws = messages.length === 0 ? [] : await redis.hmgetBuffer(boxKeys.fixed.messages, ...messages);
      const results = new Map<number, ResultOnLane>();
      for (const [at, { position, id }] of kept.entries()) {
        const raw = raws[at] ?? null;
        const message = raw === null ? null : unpackMessage(raw);
        // It was put again since, and has its next result later.
        if (message?.kind !== 'cancelled' && message?.kind !== 'lapsed') continue;
        const { kind, ended } = message;
        if (ended === null) continue;
        results.set(position, {
          campaign: null,
          outbox,
          message: id,
          to: ended.number || null,
          status: kind,
          reason: REASONS[kind] ?? null,
          requestId: null,
          reference: ended.reference || null,
          sentAt: null,
          updatedAt: new Date(ended.at * 1_000).toISOString(),
          serviceStatus: null,
          serviceCode: null,
          leftOut: null,
        });
      }
      return results;
    },
  };
}

/** The first and the last of positions that follow each other. */
function runsOf(positions: readonly number[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const position of [...positions].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] + 1 === position) last[1] = position;
    else runs.push([position, position]);
  }
  return runs;
}
