import type { LocalConfig } from '../../../base/config/index.js';
import { machineZone, moment } from '../../../base/moments.js';
import type { CampaignFields } from '../../../campaign/fields/fields.js';
import { readMoment, spelledOut, timeIn } from '../../../campaign/time/moment.js';
import { isZone, noSuchZone } from '../../../campaign/time/zone.js';
import { localZone, startOf } from '../../../intake/import/campaign-input.js';
import { badInput } from '../context/errors.js';

type Start = Pick<CampaignFields, 'sendAt' | 'zone' | 'lane'>;

/**
 * When `--at` says that sending begins, ms since the epoch; undefined: now. A local time is one of `--zone`, or else of the lane's window.
 * People who write `tomorrow 9:00` without either mean this machine's zone; a date without one may come from another machine.
 */
export function startTime(
  config: LocalConfig,
  { sendAt, zone, lane }: Start,
  now: number,
): number | undefined {
  if (typeof sendAt !== 'string') return sendAt === undefined ? undefined : timeIn('sendAt', sendAt);
  const known = localZone(config, { zone, lane });
  const own = known ?? machineZone();
  if (!isZone(own)) throw badInput(`option '--zone <zone>': ${noSuchZone(own).replace(/(?<![.?])$/, '.')}`);
  const local = spelledOut(sendAt, own, now);
  const read = local === null ? readMoment(sendAt) : undefined;
  if (read?.kind === 'noZone' && known === undefined)
    throw badInput(
      `option '--at <time>': it has no time zone. Add --zone ${own} for this machine's time, or write ${read.spelled}Z for UTC.`,
    );
  const start = startOf(local ?? sendAt, own);
  if (start.ok) return start.at;
  throw badInput(`option '--at <time>': it ${start.reason}.`);
}

/** Refuses a start time that has passed. */
export function mustBeInFuture(at: number | undefined, now: number, zone: string | null): void {
  if (at === undefined || at > now) return;
  throw badInput(
    `option '--at <time>': the time has passed (it is ${moment(now, now, zone)} now). Leave out --at to send immediately.`,
  );
}
