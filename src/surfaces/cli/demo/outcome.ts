import { formatDuration } from '../../../base/duration.js';
import { LEFT_OUT_STATUSES } from '../../../campaign/reported-status.js';
import type { CampaignStatus, LaneStatus } from '../../../campaign/views.js';
import type { Summary } from '../../../tools/simulator/index.js';
import type { Paint } from '../terminal.js';
import { counted, grouped, padded } from '../text.js';
import { MAIN_KEY, WORKERS } from './plan.js';
import { type Reminders, reminderPromises, remindersSent, remindersText } from './reminders.js';

/** What a run of the demo left behind, to compare with its promises. */
export interface Outcome {
  readonly statuses: readonly CampaignStatus[];
  /** Lines of the report per status. */
  readonly reported: ReadonlyMap<string, number>;
  /** What the simulator counted. */
  readonly summary: Summary;
  readonly lanes: readonly LaneStatus[];
  readonly workers: number;
  readonly reminders: Reminders;
}

/** The promises of the demo that this run did not keep, a sentence each. None means success. */
export function brokenPromises(outcome: Outcome): string[] {
  const { statuses, reported, summary, lanes, workers, reminders } = outcome;
  const total = statuses.reduce((sum, { counts }) => sum + counts.total, 0);
  const lines = recipientLines(reported);
  const final = (reported.get('deliveredToTerminal') ?? 0) + (reported.get('deliveryImpossible') ?? 0);
  const main = summary.maxPerWindow.find(({ key }) => key === MAIN_KEY);
  const auto = lanes.find(({ name }) => name === 'auto');
  const promises: readonly (readonly [boolean, string])[] = [
    [statuses.length === 2, `there are ${statuses.length} campaigns, not 2`],
    ...statuses.map(
      ({ id, state }) => [state === 'completed', `campaign ${id} is ${state}, not completed`] as const,
    ),
    [
      final === total && lines === total,
      `${final} of ${total} recipients are final; the report has lines for ${lines}`,
    ],
    [
      summary.recipients === total + remindersSent(reminders),
      `the service accepted ${summary.recipients} recipients, not ${total + remindersSent(reminders)}`,
    ],
    [summary.duplicates === 0, `${summary.duplicates} messages were accepted twice`],
    [
      main !== undefined && main.quota !== null && main.arrived <= main.quota,
      `lane main sent ${main?.arrived} requests within a window of ${main?.quota}`,
    ],
    [summary.throttled > 0, 'the service never answered 429'],
    [(auto?.quota.learned ?? null) !== null, 'lane auto has not learned its quota'],
    [summary.refreshesGranted > 0, 'no token was refreshed'],
    [summary.reusedRefreshTokens === 0, `${summary.reusedRefreshTokens} refresh tokens were presented twice`],
    [workers >= WORKERS, `${workers} workers ran, not ${WORKERS}`],
    ...reminderPromises(reminders),
  ];
  return promises.filter(([isKept]) => !isKept).map(([, sentence]) => sentence);
}

/** Whether lines of a report with this status are about rows that were left out. */
function isLeftOut(status: string): boolean {
  return LEFT_OUT_STATUSES.some((each) => each === status);
}

/** The lines of a report that are about recipients. */
function recipientLines(reported: Outcome['reported']): number {
  return [...reported].reduce((sum, [status, count]) => (isLeftOut(status) ? sum : sum + count), 0);
}

/** The results of the demo. */
export function renderSummary(
  outcome: Outcome,
  files: { report: string; log: string },
  tookMs: number,
  paint: Paint,
): string[] {
  const { statuses, reported, summary, lanes, workers, reminders } = outcome;
  const label = (text: string): string => paint('dim', padded(text, 13));
  const total = statuses.reduce((sum, { counts }) => sum + counts.total, 0);
  const counts = [...reported]
    .filter(([status]) => !isLeftOut(status))
    .map(([status, count]) => `${grouped(count)} ${status}`)
    .join(', ');
  const leftOut = reported.get('duplicate') ?? 0;
  const auto = lanes.find(({ name }) => name === 'auto');
  return [
    `${label('recipients')}${paint('bold', grouped(total))}: ${counts}`,
    `${label('left out')}${counted(leftOut, 'row')} with the number and the text of an earlier row`,
    `${label('reminders')}${remindersText(reminders)}`,
    `${label('duplicates')}${grouped(summary.duplicates)}, according to the simulator`,
    ...summary.maxPerWindow.map(
      (window) => `${label(window.key === MAIN_KEY ? 'lane main' : 'lane auto')}${windowText(window)}`,
    ),
    `${label('429s')}${grouped(summary.throttled)}`,
    `${label('learned')}${auto?.quota.learned ?? 'no'} requests per hour, the quota of lane auto`,
    `${label('tokens')}${counted(summary.loginsGranted, 'login')}, ${counted(summary.refreshesGranted, 'refresh', 'refreshes')}, shared by ${counted(workers, 'worker process', 'worker processes')}`,
    `${label('took')}${formatDuration(tookMs)}`,
    `${label('report')}${files.report}`,
    `${label('log')}${files.log}`,
  ];
}

function windowText({ arrived, admitted, quota }: Summary['maxPerWindow'][number]): string {
  const refused = arrived > admitted ? `, ${grouped(arrived - admitted)} more were refused` : '';
  return `at most ${grouped(admitted)} requests in any hour, quota ${quota === null ? 'unlimited' : grouped(quota)}${refused}`;
}
