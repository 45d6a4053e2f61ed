import type { CampaignStatus } from '../campaign/views.js';
import { formatDuration } from '../duration.js';
import type { Ink } from './paint.js';
import { grouped, oneLine, until } from './text.js';

/** What is going on with a campaign, in a sentence, and what to do where somebody has to. */
export function standing(status: CampaignStatus, now: number): { text: string; ink: Ink } {
  const { id, blockedBy, recipients } = status;
  switch (status.state) {
    case 'importing':
      return { text: 'Its list is being read.', ink: 'dim' };
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
  const blocked = blockedWords(blockedBy, now);
  switch (status.waitingFor) {
    case 'start':
      return {
        text: `Starts ${status.launchAt === null ? 'later' : until(status.launchAt, now)}.`,
        ink: 'dim',
      };
    case 'workers':
      return {
        text: 'No worker runs, so nothing happens: start some with `volley up` or `volley work`.',
        ink: 'yellow',
      };
    case 'operator':
      return {
        text: `Paused${blocked === '' || blocked === 'paused' ? '' : `: ${blocked}`}. Go on with: volley resume ${id}`,
        ink: 'yellow',
      };
    case 'resolve':
      return {
        text: `Nobody knows whether ${recipients.unknown === 1 ? 'one of them was' : `${grouped(recipients.unknown)} of them were`} sent to. Decide with: volley resolve ${id} --abandon (or --accepted, --resend)`,
        ink: 'magenta',
      };
    case 'lane':
      return { text: laneWords(status, blocked), ink: 'yellow' };
    case 'permits':
      return {
        text: `Waits for permits${blocked === '' ? '' : `: ${blocked}`}.${etaOf(status, now)}`,
        ink: 'cyan',
      };
    case 'reports':
      return { text: 'All is sent; delivery reports are awaited.', ink: 'cyan' };
    case null:
      return {
        text: `${status.state === 'cancelled' ? 'Cancelled; what is under way is seen through.' : 'Sending.'}${etaOf(status, now)}`,
        ink: 'cyan',
      };
    default:
      return status.waitingFor satisfies never;
  }
}

/** A pause without an end lasts until somebody says a word. */
function laneWords({ lane, blockedBy }: CampaignStatus, blocked: string): string {
  if (blockedBy === null) return `Lane ${lane} is paused; see: volley lanes.`;
  if (blockedBy.until !== null) return `Lane ${lane} is paused: ${blocked}.`;
  return `Lane ${lane} is stopped: ${blocked.replace(/\.$/, '')}. When it may go on: volley lane resume ${lane}`;
}

function blockedWords(blockedBy: CampaignStatus['blockedBy'], now: number): string {
  if (blockedBy === null) return '';
  const { reason, until: end } = blockedBy;
  // At the end of a pause it takes a moment until somebody goes on.
  const words = oneLine(reason);
  return end === null || Date.parse(end) <= now ? words : `${words}, until ${until(end, now)}`;
}

function etaOf({ eta }: CampaignStatus, now: number): string {
  return eta === null
    ? ''
    : ` Last text ${Date.parse(eta) <= now ? 'any moment' : `about ${until(eta, now)}`}.`;
}

function tookOf({ launchAt, endedAt }: CampaignStatus): string {
  if (launchAt === null || endedAt === null) return '';
  return ` in ${formatDuration(Date.parse(endedAt) - Date.parse(launchAt))}`;
}
