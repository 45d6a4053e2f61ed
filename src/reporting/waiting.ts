import { formatDuration } from '../base/duration.js';
import { moment } from '../base/moments.js';
import { detailsOfBackoff } from '../campaign/states/backoff-reason.js';
import { withoutMessage } from '../campaign/text/service-message.js';
import { oneLine } from '../campaign/text/visible-text.js';
import type { Waiting, WaitingWords } from '../campaign/views/live-views.js';
import type { Block, CampaignStatus, LaneStatus, TurnFailure } from '../campaign/views/views.js';

/*
 * Why something waits, for the command line and the console, in words for people who send messages. The times, what the service wrote, and
 * what to do are members of their own: the command line writes times in the zone of the campaign or else of its machine and adds the
 * command, and the console writes them as all its times and has a button.
 */

/** The parts of a sentence that are not as usual. */
type Said = Pick<Waiting, 'code' | 'text'> & Partial<Waiting>;

const USUAL = { since: null, until: null, next: null, advice: null, details: null } as const;

const NOTHING_TO_DO = 'There is nothing to do';

/** What a person can do about each cause for which nothing moves. Where a command or a button ends it, that follows. */
const ADVICE: Readonly<Partial<Record<Waiting['code'], string>>> = {
  quota: 'To send faster, ask the service for a higher limit.',
  window: `${NOTHING_TO_DO}.`,
  backingOff: `${NOTHING_TO_DO}: Volley tries again by itself.`,
  probing: `${NOTHING_TO_DO}: if the service accepts it, the rest follows.`,
  recovering: `${NOTHING_TO_DO}: it continues by itself.`,
  noToken: 'Volley tries again by itself. If that does not help, check the password of the account.',
  held: 'Resume it to continue.',
  stopped: 'Ask those who look after the account to fix the cause, then resume it.',
  failing: 'Volley tries again every second. If that does not help, the log of its workers says more.',
  paused: 'Resume it to continue.',
  unknown: 'Decide whether it is sent again.',
  workers: 'Ask those who run Volley to start one.',
  unserved: 'Ask those who run Volley to set one up.',
  reports: `${NOTHING_TO_DO}: a phone that is off gets it later.`,
};

/** A sentence that says no more than its text, and what to do about its cause. */
export const plainly = (text: string, code?: Waiting['code']): WaitingWords => ({
  ...USUAL,
  text,
  advice: (code && ADVICE[code]) ?? null,
});

/** The sentence for a lane or a campaign that no worker serves. */
export const NO_WORKERS = plainly('No worker is running, so nothing is sent.', 'workers');

const whole = (lane: string, said: Said): Waiting => ({
  ...plainly(said.text, said.code),
  lane,
  remedy: null,
  tone: 'normal',
  ...said,
});

/** What a campaign is doing, and why. `now`: ms. Pure. */
export const campaignWaiting = (status: CampaignStatus, now: number): Waiting =>
  whole(status.lane, campaignSaid(status, now));

/** Why a lane starts no requests; null if nothing keeps them from starting. `now`: ms. Pure. */
export function laneWaiting(status: LaneStatus, now: number): Waiting | null {
  const said = laneSaid(status, now);
  return said && whole(status.name, said);
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const sentence = (text: string): string => `${oneLine(text).replace(/\.$/, '')}.`;
const inOneLine = (text: string | null): string | null => text && oneLine(text);
const counted = (count: number): string => Math.floor(count).toLocaleString('en');
const recipientsText = (count: number): string =>
  count === 1 ? 'one recipient' : `${counted(count)} recipients`;

function campaignSaid(status: CampaignStatus, now: number): Said {
  const { id, sendAt, endedAt, blockedBy, counts, quota } = status;
  switch (status.state) {
    case 'importing':
      return { code: 'importing', text: 'Importing its list.' };
    case 'completed':
      return { code: 'completed', ...gotSaid(status) };
    case 'cancelled':
      if (endedAt !== null) return { code: 'cancelled', text: stoppedText(counts), tone: 'warning' };
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
        : { code: 'scheduled', text: 'Scheduled.', until: sendAt, next: 'starts' };
    case 'workers':
      return blockedBy?.state === 'waiting'
        ? unservedSaid(blockedBy.reason)
        : { ...NO_WORKERS, code: 'workers', tone: 'warning' };
    case 'operator': {
      const paused = pausedWords(blockedBy?.reason ?? '', blockedBy?.since ?? null);
      // Resuming it would change nothing.
      if (counts.planned === 0 && counts.unknown > 0) return unknownSaid(status, paused.text);
      return {
        ...paused,
        code: 'paused',
        ...(sendAt !== null && Date.parse(sendAt) > now && { advice: 'Resume it to let it start in time.' }),
        remedy: { operation: 'resumeCampaign', path: `/v1/campaigns/${id}/resume` },
        tone: 'warning',
      };
    }
    case 'resolve':
      return unknownSaid(status);
    case 'lane':
      return closedSaid(status, status.lane, now, counts.planned > 0 ? 'send' : 'poll');
    case 'window':
      return windowSaid(blockedBy?.reason ?? 'the window is closed', blockedBy?.until ?? null);
    case 'permits':
      return quotaSaid(quota, now);
    case 'reports': {
      const all = counts.cancelled + counts.lapsed > 0 ? 'Nothing more is sent.' : 'Everything is sent.';
      const open = counts.deliveredToNetwork;
      const before = status.state === 'cancelled' ? stoppedText(counts) : all;
      return {
        code: 'reports',
        text: `${before} Waits for the delivery report${open === 1 ? '' : 's'} of ${recipientsText(open)}.`,
      };
    }
    case null:
      return status.state === 'cancelled'
        ? { code: 'finishing', text: stoppedText(counts), tone: 'warning' }
        : { code: 'sending', text: 'Sending.' };
    default:
      return status.waitingFor satisfies never;
  }
}

/** How a campaign ended of which everyone has a result. One that no phone may have got is no success. */
function gotSaid({ counts, sendAt, endedAt }: CampaignStatus): Pick<Said, 'text' | 'tone'> {
  const { total, deliveredToTerminal: got, unconfirmed } = counts;
  const most = got + unconfirmed;
  const took = sendAt && endedAt && ` in ${formatDuration(Date.parse(endedAt) - Date.parse(sendAt))}`;
  const some = got === total ? 'everyone' : `${counted(got)} of ${counted(total)}`;
  const rest = unconfirmed === 0 ? '' : `, and ${counted(unconfirmed)} may have got it`;
  const tone = most === 0 ? 'bad' : most * 2 < total ? 'warning' : 'good';
  return { text: `Finished${took ?? ''}: ${most === 0 ? 'no one' : some} got it${rest}.`, tone };
}

/** What became of a campaign that was cancelled. */
function stoppedText(counts: CampaignStatus['counts']): string {
  const { deliveredToTerminal: got, sending, deliveredToNetwork, unknown, unconfirmed } = counts;
  const open = sending + deliveredToNetwork;
  const arriving = open === 0 ? '' : `, ${counted(open)} more may still arrive`;
  const unsure = unknown + unconfirmed;
  const unclear = unsure === 0 ? '' : `, and it is not known whether ${counted(unsure)} got it`;
  return `Stopped: ${counted(got)} got it${arriving}${unclear}. Nothing more is sent.`;
}

function unknownSaid({ id, counts }: CampaignStatus, before = ''): Said {
  const words = unknownWords(counts.unknown);
  return {
    ...words,
    code: 'unknown',
    text: `${before} ${words.text}`.trim(),
    remedy: { operation: 'resolveCampaign', path: `/v1/campaigns/${id}/resolve` },
    tone: 'warning',
  };
}

/** No worker can send it; an operator understands what is missing. */
const unservedSaid = (reason: string, until: string | null = null): Said => ({
  code: 'unserved',
  text: 'Nothing is sent: no worker that runs is set up for it.',
  until,
  next: 'continues',
  details: oneLine(reason),
  tone: 'warning',
});

function laneSaid(status: LaneStatus, now: number): Said | null {
  const { name, state, window, quota, campaigns } = status;
  if (state === 'probing')
    return {
      code: 'probing',
      text: 'One request tests whether the service accepts more.',
      tone: 'warning',
    };
  if (status.blockedBy !== null || status.turnFailures.length > 0)
    return closedSaid(status, name, now, 'send');
  if (state === 'waiting') return windowSaid('the window is closed', window?.opensAt ?? null);
  const used = quota.used.send + quota.used.poll + quota.inFlight;
  const isUsedUp = quota.limit !== null && used + quota.keptForPolls >= quota.limit;
  return isUsedUp && campaigns.running > 0 ? quotaSaid({ ...quota, used }, now) : null;
}

/** Why a lane is closed, whichever campaign waits for it. `kind`: what would start next. */
function closedSaid(
  { blockedBy, turnFailures }: Pick<CampaignStatus, 'blockedBy' | 'turnFailures'>,
  lane: string,
  now: number,
  kind: TurnFailure['kind'],
): Said {
  if (blockedBy === null || blockedBy.state === 'failing') {
    const failure = turnFailures.find((each) => each.kind === kind) ?? turnFailures[0];
    const what = failure?.kind === 'poll' ? 'Asking for delivery reports' : 'Sending';
    return {
      code: 'failing',
      text: `${what} fails again and again.`,
      since: failure?.since ?? null,
      details: failure === undefined ? null : oneLine(failure.error),
      tone: 'bad',
    };
  }
  const { state, reason, since } = blockedBy;
  const remedy = { operation: 'resumeLane', path: `/v1/lanes/${encodeURIComponent(lane)}/resume` };
  // A backoff may have ended a moment ago, before a worker has reopened the lane.
  const until = blockedBy.until !== null && Date.parse(blockedBy.until) > now ? blockedBy.until : null;
  switch (state) {
    case 'held':
      return {
        code: 'held',
        text: sentence(`Sending is ${blockedBy.code === 'olderData' ? `held: ${reason}` : reason}`),
        since,
        remedy,
        tone: 'warning',
      };
    case 'stopped': {
      const { plain, details } = withoutMessage(reason);
      return {
        code: 'stopped',
        text: sentence(`Sending is stopped: ${plain.replace(/^The /, 'the ')}`),
        since,
        details: inOneLine(details),
        remedy,
        tone: 'bad',
      };
    }
    case 'recovering':
      return {
        code: 'recovering',
        text: 'Volley checks what it sent last, because Redis may have lost data.',
        until,
        next: 'continues',
        tone: 'warning',
      };
    case 'noToken':
      return {
        code: 'noToken',
        text: 'The account service gives no access token.',
        until,
        next: 'tries again',
        details: oneLine(reason),
        tone: 'warning',
      };
    case 'backingOff':
      return { ...backoffWords(blockedBy), code: 'backingOff', until, next: 'tries again', tone: 'warning' };
    case 'paused':
    case 'scheduled':
    case 'waiting':
      return unservedSaid(reason, until);
    default:
      return state satisfies never;
  }
}

const BACKOFFS = {
  throttled: 'The service answers that there are too many requests.',
  unreachable: 'The service does not respond.',
};

/** Why the service is left alone for a while. */
function backoffWords({ code, reason }: Block): Pick<Said, 'text' | 'details'> {
  if (code !== 'throttled' && code !== 'unreachable') return { text: sentence(capital(reason)) };
  return { text: BACKOFFS[code], details: inOneLine(detailsOfBackoff(code, reason)) };
}

/** `The hourly limit of 5,000 is used up`, `The limit of 400 per minute is used up`. */
function quotaSaid(
  { limit, span, keptForPolls, nextPermitAt, used }: CampaignStatus['quota'],
  now: number,
): Said {
  const isAhead = nextPermitAt !== null && Date.parse(nextPermitAt) > now;
  const [kind, per] =
    span === '1h' ? ['hourly limit', ''] : ['limit', ` per ${span.replace(/^1m$/, 'minute')}`];
  const kept =
    keptForPolls > 0 && limit !== null && used < limit
      ? `, but for ${counted(keptForPolls)} that ${keptForPolls === 1 ? 'is' : 'are'} kept for delivery reports`
      : '';
  const text =
    limit === null
      ? `The service has taken ${counted(used)} requests, and its ${kind} is not known yet.`
      : `The ${kind} of ${counted(limit)}${per} is used up${kept}.`;
  return { code: 'quota', text, until: isAhead ? nextPermitAt : null, next: 'continues' };
}

function windowSaid(reason: string, until: string | null): Said {
  const text = sentence(capital(reason.replace('window of its lane', 'window of its account')));
  return { code: 'window', text, until, next: 'opens' };
}

/** For how many recipients it is not known whether they got the message, and what to do. */
export function unknownWords(count: number): WaitingWords {
  return plainly(`It is not known whether ${recipientsText(count)} got the message.`, 'unknown');
}

/** ` (since 14:03:20 CET)`; empty if that is not known. */
export function sinceText(since: string | null | undefined, now: number, zone: string | null): string {
  return since ? ` (since ${moment(Date.parse(since), now, zone)})` : '';
}

/** A reason such as `paused by cli ann@host` needs no other beginning. */
export function pausedWords(reason: string, since: string | null): WaitingWords {
  const { plain, details } = withoutMessage(reason);
  const text = plain.startsWith('paused')
    ? `P${plain.slice(1)}`
    : plain === ''
      ? 'Paused'
      : `Paused: ${plain}`;
  return { ...plainly(sentence(text), 'paused'), since, details: inOneLine(details) };
}

/** `sending has failed since 14:03:20 CET: ENOENT`, without a final full stop. */
export function failureText({ kind, since, error }: TurnFailure, now: number, zone: string | null): string {
  const what = kind === 'send' ? 'sending' : 'asking for delivery statuses';
  return `${what} has failed since ${moment(Date.parse(since), now, zone)}: ${oneLine(error).replace(/\.$/, '')}`;
}
