import type { Redis } from '../../../base/redis/connection.js';
import type { Keys } from '../../../base/redis/keys.js';
import { RESULT_STATES } from '../../../campaign/states/recipient.js';
import { messageListOf, outboxKeys, readMessages } from '../../../engine/recipients/outbox-messages.js';
import type { OutboxResults, ResultOnLane } from '../../../reporting/results-reader.js';
import { messageRow } from './message-row.js';
import { unknownClaims } from './unknown-claims.js';

const isResult = ({ status }: Pick<ResultOnLane, 'status'>): boolean =>
  RESULT_STATES.some((state) => state === status);
/** An entry of such a list. */
const ENTRY = /^(\d+) (.*)$/s;

/** What the results feed needs to know of outboxes. */
export function outboxResults(redis: Redis, keys: Keys): OutboxResults {
  return {
    async results(lane, list, positions) {
      const named = messageListOf(list);
      if (named === null) return null;
      const { outbox, day } = named;
      const boxKeys = outboxKeys(keys, lane, outbox);
      const runs = await Promise.all(
        runsOf(positions).map(async ([first, last]) => {
          const entries = await redis.lrange(boxKeys.results(day), first, last);
          return entries.map((entry, at) => {
            const [, number, id = ''] = ENTRY.exec(entry) ?? [];
            return { position: first + at, number: Number(number), id };
          });
        }),
      );
      const kept = runs.flat();
      const messages = await readMessages(
        redis,
        boxKeys.fixed.messages,
        kept.map(({ id }) => id),
      );
      const isUnknown = messages.some((message) => message?.state === 'unknown');
      const unknown = isUnknown ? await unknownClaims({ redis, keys, id: lane }, outbox) : new Map();
      const results = new Map<number, ResultOnLane>();
      for (const [at, { position, number, id }] of kept.entries()) {
        const message = messages[at];
        // It was put again since, and has its next result later.
        if (message == null || message.number !== number) continue;
        const row = messageRow(outbox, message, unknown.get(`${number} ${id}`));
        // It is sent again, and has its next result later.
        if (!isResult(row)) continue;
        results.set(position, { campaign: null, outbox, message: id, ...row });
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
