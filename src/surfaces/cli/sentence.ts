import { formatDuration } from '../../base/duration.js';
import type { CampaignStatus, TurnFailure } from '../../campaign/views.js';
import { pasteable } from './command-name.js';
import { between, moment, until } from './moments.js';
import type { Ink } from './terminal.js';
import { grouped, oneLine } from './text.js';

/** What a campaign is doing, in a sentence, and what an operator has to do, if anything. `howToStart`: how to start a worker. */
export function campaignSentence(
  status: CampaignStatus,
  now: number,
  howToStart = '',
): { text: string; ink: Ink } {
  const { text, ink } = sentenceOf(status, now, howToStart);
  return { text: pasteable(text), ink };
}

function sentenceOf(status: CampaignStatus, now: number, howToStart: string): { text: string; ink: Ink } {
  const { id, zone, blockedBy, counts } = status;
  switch (status.state) {
    case 'importing':
      return { text: 'Importing its list.', ink: 'dim' };
    case 'completed':
      return { text: `Completed${tookOf(status)}: every recipient is accounted for.`, ink: 'green' };
    case 'cancelled':
      if (status.endedAt !== null) return { text: 'Cancelled.', ink: 'yellow' };
      break;
    case 'scheduled':
    case 'running':
    case 'paused':
      break;
    default:
      return status.state satisfies never;
  }
  const blocked = reasonText(status, now);
  switch (status.waitingFor) {
    case 'start':
      return {
        text: `Starts ${status.sendAt === null ? 'later' : until(status.sendAt, now, zone)}.${etaOf(status, now)}`,
        ink: 'dim',
      };
    case 'workers':
      return {
        text: `No worker is running, so nothing happens. ${howToStart}`.trimEnd(),
        ink: 'yellow',
      };
    case 'operator':
      return {
        // A reason such as `paused by cli ann@host` needs no other beginning.
        text: `${blocked.startsWith('paused') ? `P${blocked.slice(1)}` : blocked === '' ? 'Paused' : `Paused: ${blocked}`}.${startText(status, now)} To resume it: volley resume ${id}`,
        ink: 'yellow',
      };
    case 'resolve':
      return {
        text: `${counts.unknown === 1 ? 'One recipient has' : `${grouped(counts.unknown)} recipients have`} an unknown outcome. To resolve ${counts.unknown === 1 ? 'it' : 'them'}: volley resolve ${id}`,
        ink: 'magenta',
      };
    case 'lane':
      return blockedBy === null || blockedBy.state === 'failing'
        ? { text: failingText(status, now), ink: 'red' }
        : { text: `${laneText(status, blocked)}${afterBackoff(status, now)}`, ink: 'yellow' };
    case 'window': {
      const opens = blockedBy?.until == null ? '' : ` until ${until(blockedBy.until, now, zone)}`;
      return {
        text: `Waits${opens}: ${oneLine(blockedBy?.reason ?? 'the window is closed')}.${etaOf(status, now)}`,
        ink: 'cyan',
      };
    }
    case 'permits':
      return {
        text: `Waiting${blocked === '' ? ' for the quota' : `: ${blocked}`}.${etaOf(status, now)}`,
        ink: 'cyan',
      };
    case 'reports':
      return {
        text: `${isCutShort(status) ? 'Nothing more' : 'Everything'} is sent. Waiting for delivery reports.`,
        ink: 'cyan',
      };
    case null:
      return {
        text: `${status.state === 'cancelled' ? 'Cancelled. Finishing in-flight requests.' : 'Sending.'}${etaOf(status, now)}`,
        ink: 'cyan',
      };
    default:
      return status.waitingFor satisfies never;
  }
}

/** Whether some recipients are never sent a message, because the campaign was cancelled or they lapsed. */
function isCutShort({ counts: { cancelled, lapsed } }: CampaignStatus): boolean {
  return cancelled + lapsed > 0;
}

function laneText({ lane, blockedBy }: CampaignStatus, blocked: string): string {
  if (blockedBy === null) return `Lane ${lane} is not open. See: volley lanes`;
  const reason = blocked.replace(/\.$/, '');
  const resume = `volley lane resume ${lane}`;
  switch (blockedBy.state) {
    case 'held':
      // The reason says by whom.
      return `Lane ${lane} is ${reason}. To resume it: ${resume}`;
    case 'stopped': {
      // Some reasons end with this command already.
      const todo = reason.includes(resume) ? '' : `. Fix the cause, then: ${resume}`;
      return `Lane ${lane} is stopped: ${reason}${todo}`;
    }
    case 'recovering':
      return `Lane ${lane} is recovering: ${reason}.`;
    case 'noToken':
      return `Lane ${lane} waits for an access token: ${reason}.`;
    default:
      return `Lane ${lane} is backing off: ${reason}.`;
  }
}

function failingText({ lane, zone, counts, turnFailures }: CampaignStatus, now: number): string {
  const kind = counts.planned > 0 ? 'send' : 'poll';
  const failure = turnFailures.find((each) => each.kind === kind);
  if (failure === undefined) return `Lane ${lane} is not open. See: volley lanes`;
  return `Lane ${lane}: ${failureText(failure, now, zone)}. Volley tries again every second; the log of its workers says more.`;
}

/** `sending has failed since 14:03:20 CET: ENOENT`, without a final full stop. */
export function failureText({ kind, since, error }: TurnFailure, now: number, zone: string | null): string {
  const what = kind === 'send' ? 'sending' : 'polling the delivery status';
  return `${what} has failed since ${moment(Date.parse(since), now, zone)}: ${oneLine(error).replace(/\.$/, '')}`;
}

function reasonText({ blockedBy, zone }: CampaignStatus, now: number): string {
  if (blockedBy === null) return '';
  const { state, reason, until: end } = blockedBy;
  const text = oneLine(reason);
  // A backoff may have ended a moment ago, before a worker has reopened the lane.
  return end === null || Date.parse(end) <= now
    ? text
    : `${text}, ${state === 'noToken' ? 'next attempt' : 'until'} ${until(end, now, zone)}`;
}

/** The start of a paused campaign that has not begun; empty for another one. */
function startText({ sendAt, zone }: CampaignStatus, now: number): string {
  const isAhead = sendAt !== null && Date.parse(sendAt) > now;
  return isAhead ? ` If it is resumed before, it starts ${until(sendAt, now, zone)}.` : '';
}

function etaOf(status: CampaignStatus, now: number): string {
  const { eta, zone } = status;
  return eta === null ? '' : ` Last message ${between(eta, now, zone)}.`;
}

/** The time of the last message of a lane that reopens by itself, such as after a 429. */
function afterBackoff(status: CampaignStatus, now: number): string {
  return status.eta === null || status.eta.latest === null ? '' : etaOf(status, now);
}

function tookOf({ sendAt, endedAt }: CampaignStatus): string {
  if (sendAt === null || endedAt === null) return '';
  return ` in ${formatDuration(Date.parse(endedAt) - Date.parse(sendAt))}`;
}
