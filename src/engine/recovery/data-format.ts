import { type Machine, pause } from '../../base/clock.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { isUnavailable } from '../../base/redis/unavailable.js';
import { untilAnswered } from '../../base/redis/until-answered.js';
import { OtherFormatError } from '../../campaign/errors/errors.js';
import { listed } from '../../campaign/errors/listed.js';
import { DATA_FORMAT, type Heartbeats, type WorkerProcess } from './heartbeats.js';

/** How long the result of a check counts. */
const CHECK_AGAIN_MS = 60_000;
/** How long a starting worker waits for others: longer than the heartbeat of a killed one is seen. */
const WAIT_MS = 15_000;
const CHECKS = 3;
const LOOK_EVERY_MS = 500;

interface DataFormatOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly heartbeats: Pick<Heartbeats, 'alive'>;
  readonly machine: Pick<Machine, 'monotonic' | 'alarm'>;
}

/** Why this version cannot read what is stored, and what to do; null if it can, or if nothing is stored. */
export async function otherFormat(redis: Redis, keys: Keys): Promise<string | null> {
  const db = 'db' in redis.options ? (redis.options.db ?? 0) : 0;
  // Without this database, ioredis goes on in database 0, which others may use.
  const answer = db > 0 ? await redis.select(db).catch((error: Error) => error) : 'OK';
  if (answer instanceof Error && !isUnavailable(answer))
    return `Redis refuses database ${db} of REDIS_URL (${answer.message}): name one that it has, such as redis://127.0.0.1:6379/0`;
  let stored = await redis.get(keys.format);
  if (stored === null) {
    if (!(await hasData(redis, keys))) return null;
    // Another process may have stored the format, and then data, since.
    stored = await redis.get(keys.format);
  }
  if (stored === String(DATA_FORMAT)) return null;
  const what = stored === null ? 'no format' : `format ${stored}`;
  if (Number(stored ?? 0) > DATA_FORMAT)
    return `a later version of Volley has stored the data in Redis (${what}, and this version reads ${DATA_FORMAT}): upgrade this process`;
  return `an earlier version of Volley has stored the data in Redis (${what}, and this version reads ${DATA_FORMAT}): let that version send and report it, and start this one with an empty Redis or another REDIS_PREFIX`;
}

/** Whether anything is stored that lasts. Every installation with campaigns, outboxes, lists, or keys has one of these. */
async function hasData(redis: Redis, keys: Keys): Promise<boolean> {
  const lasting = [
    keys.campaigns,
    keys.lanes,
    keys.outboxes,
    keys.apiKeys,
    keys.audit,
    keys.registry.names,
    keys.schedules.ids,
    keys.webhooks.endpoints,
    keys.suppression.list(null),
    keys.suppression.operations,
  ];
  // In a cluster, they are on different nodes.
  return (await Promise.all(lasting.map((key) => redis.exists(key)))).some((found) => found === 1);
}

/**
 * Keeps this process from data of another format, of which it would read only a part: it could send to numbers that are suppressed by now, or
 * stop a lane for good. Redis stores the format, and no process stores another while workers of this one run.
 */
export function dataFormat({ redis, keys, heartbeats, machine }: DataFormatOptions) {
  let checkedAt = Number.NEGATIVE_INFINITY;
  let isKnown = false;
  let checking: Promise<void> | undefined;

  const others = async (): Promise<WorkerProcess[]> =>
    (await heartbeats.alive()).filter(({ format }) => format !== DATA_FORMAT);

  /** Rejects with an OtherFormatError if something of another format is stored. Otherwise it stores the format. */
  const checkStored = async (): Promise<void> => {
    const why = await storedOther();
    if (why !== null) throw new OtherFormatError(why);
  };
  const storedOther = async (): Promise<string | null> => {
    const why = await otherFormat(redis, keys);
    if (why === null) {
      // A full Redis refuses to set even what it has.
      if ((await redis.exists(keys.format)) === 0) await redis.set(keys.format, DATA_FORMAT, 'NX');
      isKnown = true;
    }
    return why;
  };

  /**
   * Asks once more if the connection was lost: Redis may answer the call that follows, which would store data without a format. Every process
   * would take them for those of an earlier version.
   */
  const checkIfAnswered = async (): Promise<void> => {
    for (let asked = 1; asked <= CHECKS; asked += 1) {
      try {
        return await checkStored();
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
    }
  };

  return {
    /**
     * The same check, until it was passed once: undefined. If Redis does not answer it, the call itself finds that out, with checked input.
     */
    stored(): Promise<void> | undefined {
      if (isKnown) return undefined;
      checking ??= checkIfAnswered().finally(() => {
        checking = undefined;
      });
      return checking;
    },
    /** Redis may have other data than before: it was restarted, or replaced. */
    forget(): void {
      isKnown = false;
    },

    /** Rejects with an OtherFormatError while workers run that use another format. */
    async check(): Promise<void> {
      await (isKnown ? undefined : checkStored());
      if (machine.monotonic() - checkedAt < CHECK_AGAIN_MS) return;
      const differing = await others();
      if (differing.length > 0) throw new OtherFormatError(messageFor(differing));
      checkedAt = machine.monotonic();
    },

    /** The same, but waits for workers that are about to end, or were killed just now. */
    async waitForOthers(signal?: AbortSignal): Promise<void> {
      const options = signal === undefined ? {} : { signal };
      const why = await untilAnswered(storedOther, options);
      if (why !== null) throw new OtherFormatError(why);
      const until = machine.monotonic() + WAIT_MS;
      for (;;) {
        const differing = await untilAnswered(others, options);
        if (differing.length === 0) return;
        if (machine.monotonic() >= until) throw new OtherFormatError(messageFor(differing));
        await pause(machine.alarm, LOOK_EVERY_MS, signal);
      }
    },
  };
}

function messageFor(workers: readonly WorkerProcess[]): string {
  const isOlder = workers.some(({ format }) => format < DATA_FORMAT);
  const list = listed(workers.map(({ host, pid }) => `${host} ${pid}`));
  return isOlder
    ? `workers of an earlier version run (${list}), which cannot read what this version stores; stop them first`
    : `workers of a later version run (${list}), whose data this version cannot read; upgrade this process`;
}
