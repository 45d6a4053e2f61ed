import { type Machine, pause } from '../../base/clock.js';
import { untilAnswered } from '../../base/redis/until-answered.js';
import { OtherFormatError } from '../../campaign/errors.js';
import { DATA_FORMAT, type Heartbeats, type WorkerProcess } from './heartbeats.js';

/** How long the result of a check counts. */
const CHECK_AGAIN_MS = 60_000;
/** How long a starting worker waits for others: longer than the heartbeat of a killed one is seen. */
const WAIT_MS = 15_000;
const LOOK_EVERY_MS = 500;
/** Processes that a message names. */
const NAMED = 3;

interface DataFormatOptions {
  readonly heartbeats: Pick<Heartbeats, 'alive'>;
  readonly machine: Pick<Machine, 'monotonic' | 'alarm'>;
}

/**
 * Keeps processes apart that store data in different formats: an earlier version would read only a part of it, and could send to
 * numbers that are suppressed by now.
 */
export function dataFormat({ heartbeats, machine }: DataFormatOptions) {
  let checkedAt = Number.NEGATIVE_INFINITY;

  const others = async (): Promise<WorkerProcess[]> =>
    (await heartbeats.alive()).filter(({ format }) => format !== DATA_FORMAT);

  return {
    /** Rejects with an OtherFormatError while workers run that use another format. */
    async check(): Promise<void> {
      if (machine.monotonic() - checkedAt < CHECK_AGAIN_MS) return;
      const differing = await others();
      if (differing.length > 0) throw new OtherFormatError(messageFor(differing));
      checkedAt = machine.monotonic();
    },

    /** The same, but waits for workers that are about to end, or were killed just now. */
    async waitForOthers(signal?: AbortSignal): Promise<void> {
      const until = machine.monotonic() + WAIT_MS;
      for (;;) {
        const differing = await untilAnswered(others, signal === undefined ? {} : { signal });
        if (differing.length === 0) return;
        if (machine.monotonic() >= until) throw new OtherFormatError(messageFor(differing));
        await pause(machine.alarm, LOOK_EVERY_MS, signal);
      }
    },
  };
}

function messageFor(workers: readonly WorkerProcess[]): string {
  const isOlder = workers.some(({ format }) => format < DATA_FORMAT);
  const named = workers.slice(0, NAMED).map(({ host, pid }) => `${host} ${pid}`);
  const more = workers.length > NAMED ? [`${workers.length - NAMED} more`] : [];
  const list = [...named, ...more].join(', ');
  return isOlder
    ? `workers of an earlier version run (${list}), which cannot read what this version stores; stop them first`
    : `workers of a later version run (${list}), whose data this version cannot read; upgrade this process`;
}
