import { formatDuration } from '../base/duration.js';
import { moment } from '../base/moments.js';
import { oneLine } from '../campaign/text/visible-text.js';
import type { Waiting } from '../campaign/views/live-views.js';
import type { CampaignStatus, LaneStatus, TurnFailure } from '../campaign/views/views.js';

/*
 * Why something waits, in one sentence with the number and the time, for the command line and the console. A time stands at the end of its
 * sentence, and so does the remedy, so that a surface can add how long it still takes, or the command.
 */

/** The parts of a sentence that are not as usual. */
type Said = Pick<Waiting, 'code' | 'text'> & Partial<Waiting>;

/** What a campaign is doing, and why. Times are in its zone. `now`: ms. Pure. */
export function campaignWaiting(status: CampaignStatus, now: number): Waiting {
  return { until: null, lane: status.lane, remedy: null, tone: 'normal', ...campaignSaid(status, now) };
}

/** Why a lane starts no requests; null if nothing keeps them from starting. `now`: ms. Pure. */
export function laneWaiting(status: LaneStatus, now: number): Waiting | null {
  const said = laneSaid(status, now);
  return said && { until: null, lane: status.name, remedy: null, tone: 'normal', ...said };
}

const sentence = (text: string): string => `${oneLine(text).replace(/\.$/, '')}.`;
const counted = (count: number): string => Math.floor(count).toLocaleString('en');

function campaignSaid(status: CampaignStatus, now: number): Said {
  const { id, lane, zone, sendAt, endedAt, blockedBy, counts, quota } = status;
  switch (status.state) {
    case 'importing':
      return { code: 'importing', text: 'Importing its list.' };
    case 'completed':
      return {
        code: 'completed',
        text: `Completed${tookOf(status)}: every recipient is accounted for.`,
        tone: 'good',
      };
    case 'cancelled':
      if (endedAt !== null) return { code: 'cancelled', text: 'Cancelled.', tone: 'warning' };
      break;
    case 'scheduled':
    case 'running':
    case 'paused':
      break;
    default:
      return status.state satisfies never;
  }
  switch (status.waitingFor) {
    case 'start':
      return sendAt === null
        ? { code: 'scheduled', text: 'Starts later.' }
        : { code: 'scheduled', text: `Starts ${timeOf(sendAt, now, zone)}.`, until: sendAt };
    case 'workers':
      return blockedBy?.state === 'waiting'
        ? { code: 'unserved', text: sentence(`Nothing happens: ${blockedBy.reason}`), tone: 'warning' }
        : { code: 'workers', text: 'No worker is running, so nothing happens.', tone: 'warning' };
    case 'operator': {
      const paused = `${pausedText(blockedBy?.reason ?? '', sinceText(blockedBy?.since, now, zone))}${startText(status, now)}`;
      // Resuming it would change nothing.
      if (counts.planned === 0 && counts.unknown > 0) return unknownSaid(status, `${paused} `);
      return {
        code: 'paused',
        text: `${paused} Resume it to continue.`,
        remedy: { operation: 'resumeCampaign', path: `/v1/campaigns/${id}/resume` },
        tone: 'warning',
      };
    }
    case 'resolve':
      return unknownSaid(status);
    case 'lane':
      return closedSaid(status, lane, now, counts.planned > 0 ? 'send' : 'poll');
    case 'window':
      return windowSaid(blockedBy?.reason ?? 'the window is closed', blockedBy?.until ?? null, now, zone);
    case 'permits':
      return quotaSaid(quota, now, zone);
    case 'reports': {
      const all = counts.cancelled + counts.lapsed > 0 ? 'Nothing more' : 'Everything';
      const awaited =
        counts.deliveredToNetwork === 1
          ? 'the delivery report of one recipient'
          : `the delivery reports of ${counted(counts.deliveredToNetwork)} recipients`;
      return { code: 'reports', text: `${all} is sent. Waits for ${awaited}.` };
    }
    case null:
      return status.state === 'cancelled'
        ? { code: 'finishing', text: 'Cancelled. Finishing in-flight requests.' }
        : { code: 'sending', text: 'Sending.' };
    default:
      return status.waitingFor satisfies never;
  }
}

function unknownSaid({ id, counts }: CampaignStatus, before = ''): Said {
  return {
    code: 'unknown',
    text: `${before}${unknownText(counts.unknown)}`,
    remedy: { operation: 'resolveCampaign', path: `/v1/campaigns/${id}/resolve` },
    tone: 'warning',
  };
}

function laneSaid(status: LaneStatus, now: number): Said | null {
  const { name, state, window, zone, quota, campaigns } = status;
  if (state === 'probing')
    return {
      code: 'probing',
      text: `Lane ${name} is probing: one request tests the service.`,
      tone: 'warning',
    };
  if (status.blockedBy !== null || status.turnFailures.length > 0)
    return closedSaid(status, name, now, 'send');
  if (state === 'waiting')
    return windowSaid('the window of the lane is closed', window?.opensAt ?? null, now, zone);
  const used = quota.used.send + quota.used.poll + quota.inFlight;
  const isUsedUp = quota.limit !== null && used + quota.keptForPolls >= quota.limit;
  return isUsedUp && campaigns.running > 0 ? quotaSaid({ ...quota, used }, now, zone) : null;
}

/** Why a lane is closed, whichever campaign waits for it. `kind`: what would start next. */
function closedSaid(
  { blockedBy, turnFailures, zone }: Pick<CampaignStatus, 'blockedBy' | 'turnFailures' | 'zone'>,
  lane: string,
  now: number,
  kind: TurnFailure['kind'],
): Said {
  if (blockedBy === null || blockedBy.state === 'failing') {
    const failure = turnFailures.find((each) => each.kind === kind) ?? turnFailures[0];
    const why = failure === undefined ? 'is not open' : failureText(failure, now, zone);
    const more =
      failure === undefined ? '' : ' Volley tries again every second; the log of its workers says more.';
    return { code: 'failing', text: `Lane ${lane}: ${why}.${more}`, tone: 'bad' };
  }
  const { state, reason } = blockedBy;
  const since = sinceText(blockedBy.since, now, zone);
  const remedy = { operation: 'resumeLane', path: `/v1/lanes/${encodeURIComponent(lane)}/resume` };
  // A backoff may have ended a moment ago, before a worker has reopened the lane.
  const until = blockedBy.until !== null && Date.parse(blockedBy.until) > now ? blockedBy.until : null;
  const whyUntil = (word: string): string =>
    sentence(until === null ? reason : `${reason.replace(/\.$/, '')}, ${word} ${timeOf(until, now, zone)}`);
  switch (state) {
    case 'held':
      return {
        code: 'held',
        text: `${sentence(`Lane ${lane} is ${blockedBy.code === 'olderData' ? `held: ${reason}` : reason}${since}`)} Resume it to continue.`,
        remedy,
        tone: 'warning',
      };
    case 'stopped':
      return {
        code: 'stopped',
        text: `Lane ${lane} is stopped${since}: ${sentence(reason)} Fix the cause, then resume it.`,
        remedy,
        tone: 'bad',
      };
    case 'recovering':
      return {
        code: 'recovering',
        text: `Lane ${lane} is recovering: ${whyUntil('until')}`,
        until,
        tone: 'warning',
      };
    case 'noToken':
      return {
        code: 'noToken',
        text: `Lane ${lane} waits for an access token: ${whyUntil('next attempt')}`,
        until,
        tone: 'warning',
      };
    case 'backingOff':
      return {
        code: 'backingOff',
        text: `Lane ${lane} is backing off: ${whyUntil('until')}`,
        until,
        tone: 'warning',
      };
    case 'paused':
    case 'scheduled':
    case 'waiting':
      return { code: 'unserved', text: sentence(reason), until, tone: 'warning' };
    default:
      return state satisfies never;
  }
}

const timeOf = (iso: string, now: number, zone: string | null): string => {
  const ms = Date.parse(iso);
  return ms <= now ? 'now' : moment(ms, now, zone);
};

/** `Waits for quota: 5,000 of 5,000 used; 310 return at 14:05:00 CET.` */
function quotaSaid(
  { used, limit, keptForPolls, nextPermitAt, nextPermits }: CampaignStatus['quota'],
  now: number,
  zone: string | null,
): Said {
  const isAhead = nextPermitAt !== null && Date.parse(nextPermitAt) > now;
  // A limit that was just learned from refused requests may be lower than what is used.
  const part =
    limit === null
      ? counted(used)
      : used > limit
        ? `all ${counted(limit)}`
        : `${counted(used)} of ${counted(limit)}`;
  const kept =
    keptForPolls > 0 && limit !== null && used < limit
      ? `, ${counted(keptForPolls)} kept for delivery reports`
      : '';
  const next = isAhead
    ? `; ${counted(nextPermits)} ${nextPermits === 1 ? 'returns' : 'return'} at ${timeOf(nextPermitAt, now, zone)}`
    : '';
  return {
    code: 'quota',
    text: `Waits for quota: ${part} used${kept}${next}.`,
    until: isAhead ? nextPermitAt : null,
  };
}

function windowSaid(reason: string, until: string | null, now: number, zone: string | null): Said {
  const opens = until === null ? '' : ` until ${timeOf(until, now, zone)}`;
  return { code: 'window', text: sentence(`${reason[0]?.toUpperCase()}${reason.slice(1)}${opens}`), until };
}

/** How many recipients have an unknown outcome, and what to do. */
export function unknownText(count: number): string {
  const [have, them] =
    count === 1 ? ['One recipient has', 'it'] : [`${counted(count)} recipients have`, 'them'];
  return `${have} an unknown outcome. Resolve ${them}.`;
}

/** ` (since 14:03:20 CET)`; empty if that is not known. */
export function sinceText(since: string | null | undefined, now: number, zone: string | null): string {
  return since ? ` (since ${moment(Date.parse(since), now, zone)})` : '';
}

/** A reason such as `paused by cli ann@host` needs no other beginning. `since`: see {@link sinceText}. */
export function pausedText(reason: string, since: string): string {
  if (reason.startsWith('paused')) return sentence(`P${reason.slice(1)}${since}`);
  return reason === '' ? `Paused${since}.` : sentence(`Paused: ${reason.replace(/\.$/, '')}${since}`);
}

/** The start of a paused campaign that has not begun; empty for another one. */
function startText({ sendAt, zone }: CampaignStatus, now: number): string {
  const isAhead = sendAt !== null && Date.parse(sendAt) > now;
  return isAhead ? ` If it is resumed before, it starts ${timeOf(sendAt, now, zone)}.` : '';
}

/** `sending has failed since 14:03:20 CET: ENOENT`, without a final full stop. */
export function failureText({ kind, since, error }: TurnFailure, now: number, zone: string | null): string {
  const what = kind === 'send' ? 'sending' : 'asking for delivery statuses';
  return `${what} has failed since ${moment(Date.parse(since), now, zone)}: ${oneLine(error).replace(/\.$/, '')}`;
}

function tookOf({ sendAt, endedAt }: CampaignStatus): string {
  if (sendAt === null || endedAt === null) return '';
  return ` in ${formatDuration(Date.parse(endedAt) - Date.parse(sendAt))}`;
}
