import { until } from '../../../base/moments.js';
import { type Actor, describeActor } from '../../../campaign/states/actor.js';
import type { LaneStatus } from '../../../campaign/views/views.js';
import { failureText, laneWaiting, sinceText } from '../../../reporting/waiting.js';
import { bar, quotaUse } from './progress.js';
import { commandOf } from './sentence.js';
import type { Paint } from './terminal.js';
import { counted, grouped, oneLine, padded } from './text.js';
import { windowText } from './window-text.js';

/** As an operation returns it. */
interface StoredLane {
  readonly name: string;
  readonly id: string;
  readonly state: string;
  readonly problem: string | null;
  readonly settings: object;
  readonly createdBy: Actor;
}

const BAR_WIDTH = 24;
const STEPS_SHOWN = 4;

const INK = {
  open: 'green',
  waiting: 'cyan',
  backingOff: 'yellow',
  probing: 'yellow',
  recovering: 'yellow',
  noToken: 'yellow',
  stopped: 'red',
  held: 'yellow',
} as const;
const MEANING = {
  open: 'open',
  waiting: 'waits for its window',
  backingOff: 'backing off',
  probing: 'probing: one request tests whether the service accepts more',
  recovering: 'recovering: Redis may have lost data',
  noToken: 'waits for an access token',
  stopped: 'stopped until you fix the reason and resume it',
  held: 'held until you resume it',
} as const;

/** A lane in a few lines. */
export function renderLane(lane: LaneStatus, now: number, paint: Paint): string[] {
  const { id, name, targetAccount, state, quota, blockedBy, turnFailures, zone, window, campaigns } = lane;
  const label = (text: string): string => `  ${paint('dim', padded(text, 9))} `;
  const used = quota.used.send + quota.used.poll + quota.inFlight;
  const filledBar =
    quota.limit === null ? '' : `${padded(paint('cyan', bar(used / quota.limit, BAR_WIDTH)), BAR_WIDTH)} `;
  const isTried = quota.configured === 'auto' && quota.limit !== null;
  const learned =
    quota.learned === null ? (isTried ? ', not known yet' : '') : `, ${grouped(quota.learned)} learned`;
  const permits = quota.permitsToCome
    .slice(0, STEPS_SHOWN)
    .map(
      (step) =>
        `${counted(step.permits, 'request')} ${Date.parse(step.at) <= now ? 'now' : `at ${until(step.at, now, zone)}`}`,
    )
    .join(', ');
  const remedy = laneWaiting(lane, now)?.remedy ?? null;
  const howToResume = remedy === null ? '' : `. To resume it: ${commandOf(remedy)}`;
  const reason =
    blockedBy === null
      ? []
      : [
          `${label('reason')}${oneLine(blockedBy.reason).replace(/\.$/, '')}${sinceText(blockedBy.since, now, zone)}${blockedBy.until === null ? '' : ` (${state === 'noToken' ? 'next attempt' : 'until'} ${until(blockedBy.until, now, zone)})`}${howToResume}`,
        ];
  return [
    `${paint('bold', name)}  ${paint(INK[state], MEANING[state])}${id === name ? '' : paint('dim', ` (id ${id})`)}${targetAccount === null ? '' : `  for account ${oneLine(targetAccount)}`}`,
    ...reason,
    ...turnFailures.map((failure) => `${label('failing')}${paint('red', failureText(failure, now, zone))}`),
    ...(window === null ? [] : [`${label('window')}${windowText(window, zone, now)}`]),
    `${label('quota')}${filledBar}${quotaUse(used, quota.limit)} (${grouped(quota.used.send)} for messages, ${grouped(quota.used.poll)} for delivery reports, ${grouped(quota.inFlight)} in flight); configured: ${quota.configured}${learned}`,
    ...(permits === '' ? [] : [`${label('next')}${permits}`]),
    `${label('work')}${counted(campaigns.running, 'campaign')} with messages to send, ${campaigns.waiting === 0 ? '' : `${grouped(campaigns.waiting)} waiting for their windows, `}${grouped(campaigns.scheduled)} scheduled; ${counted(lane.awaitingReports, 'request awaits', 'requests await')} reports, ${grouped(lane.unknownOutcomes)} with an unknown outcome; ${lane.throttled === 0 ? 'no response' : counted(lane.throttled, 'response')} with 429 (too many requests) so far`,
  ];
}

/** A lane that is stored in Redis, with the settings that it was given. */
export function storedLaneLines({ name, id, state, problem, settings, createdBy }: StoredLane): string[] {
  const given = Object.entries(settings).map(([field, value]) => `  ${field}: ${JSON.stringify(value)}`);
  return [
    `${name}  ${state}${id === name ? '' : ` (id ${id})`}${problem === null ? '' : `: ${oneLine(problem)}`}`,
    ...given,
    `  added by ${describeActor(createdBy)}; its credentials are encrypted`,
  ];
}
