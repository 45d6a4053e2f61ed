import { formatDuration } from '../../../base/duration.js';
import { between, minute, moment } from '../../../base/moments.js';
import type { Waiting } from '../../../campaign/views/live-views.js';
import type { CampaignStatus } from '../../../campaign/views/views.js';
import { campaignWaiting, sinceText } from '../../../reporting/waiting.js';
import { pasteable } from './command-name.js';
import type { Ink } from './terminal.js';

/** What a campaign is doing, in a sentence, and what an operator has to do, if anything. `howToStart`: how to start a worker. */
export function campaignSentence(
  status: CampaignStatus,
  now: number,
  howToStart = '',
): { text: string; ink: Ink } {
  const said = campaignWaiting(status, now);
  const waiting = said.code === 'workers' && howToStart !== '' ? { ...said, advice: howToStart } : said;
  return {
    text: pasteable(`${waitingText(waiting, now, status.zone)}${etaText(waiting, status, now)}`),
    ink: inkOf(waiting),
  };
}

/** Why something waits, since and until when, what the service says about it, and the command that ends it. */
function waitingText(waiting: Waiting, now: number, zone: string | null): string {
  const { text, since, details, advice, remedy } = waiting;
  const sentences = [
    `${text.replace(/\.$/, '')}${sinceText(since, now, zone)}${endText(waiting, now, zone)}.`,
    details && `Details: ${details.replace(/\.$/, '')}.`,
    remedy && advice ? `${advice.replace(/\.$/, '')}: ${commandOf(remedy)}` : advice,
  ];
  return sentences.filter((each) => each !== null).join(' ');
}

/** `; continues at 12:16 CET (in 42s)`; empty if that is not known. */
function endText({ until, next }: Waiting, now: number, zone: string | null): string {
  const at = Date.parse(until ?? '');
  if (!(at > now)) return '';
  const isToday = /^\d/.test(moment(at, now, zone));
  return `; ${next ?? 'ends'} ${isToday ? 'at ' : ''}${minute(at, now, zone)} (in ${formatDuration(at - now)})`;
}

const VERBS: Readonly<Record<string, string>> = {
  resumeCampaign: 'resume',
  resolveCampaign: 'resolve',
  resumeLane: 'lane resume',
};

/** The command of an operation on what an address names: `/v1/lanes/main/resume`. */
export function commandOf({ operation, path }: NonNullable<Waiting['remedy']>): string {
  return `volley ${VERBS[operation]} ${decodeURIComponent(path.split('/')[3] ?? '')}`;
}

const INKS = { normal: 'cyan', good: 'green', warning: 'yellow', bad: 'red' } as const;

function inkOf({ code, tone }: Waiting): Ink {
  if (code === 'unknown') return 'magenta';
  return code === 'importing' || code === 'scheduled' ? 'dim' : INKS[tone];
}

/** When the last message is sent, as far as the campaign goes on by itself. After a backoff, only if that is bounded. */
function etaText({ code }: Waiting, { eta, zone }: CampaignStatus, now: number): string {
  switch (code) {
    case 'importing':
    case 'paused':
    case 'unknown':
    case 'unserved':
    case 'workers':
    case 'reports':
    case 'completed':
    case 'cancelled':
      return '';
    case 'scheduled':
    case 'sending':
    case 'quota':
    case 'window':
    case 'finishing':
      return eta === null ? '' : ` Last message ${between(eta, now, zone)}.`;
    case 'backingOff':
    case 'probing':
    case 'recovering':
    case 'noToken':
    case 'held':
    case 'stopped':
    case 'failing':
      return eta?.latest == null ? '' : ` Last message ${between(eta, now, zone)}.`;
    default:
      return code satisfies never;
  }
}
