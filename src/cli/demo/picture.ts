import type { CampaignStatus } from '../../campaign/views.js';
import { formatDuration } from '../../duration.js';
import type { Summary } from '../../simulator/index.js';
import { renderCampaign } from '../progress.js';
import type { Paint } from '../terminal.js';
import { counted, cut, grouped, oneLine, padded } from '../text.js';
import type { Outcome } from './judge.js';
import { MAIN_KEY } from './plan.js';

/** What the demo shows while it runs. */
interface Scene {
  readonly statuses: readonly CampaignStatus[];
  /** The latest log lines of the workers. */
  readonly log: readonly string[];
  readonly elapsedMs: number;
}

/** On terminals with fewer rows, each campaign is shown in fewer lines. */
const ROOMY_ROWS = 34;

/** Both campaigns, and the workers' latest log lines. */
export function renderScene(
  scene: Scene,
  look: { now: number; width: number; rows: number; paint: Paint },
): string[] {
  const { paint, width, rows } = look;
  return [
    paint(
      'dim',
      `No message is sent: a simulator stands in for the service, and its hour takes 10 s. ${formatDuration(scene.elapsedMs)} elapsed.`,
    ),
    ...scene.statuses.flatMap((status) => [
      '',
      ...renderCampaign(status, { ...look, compact: rows < ROOMY_ROWS }),
    ]),
    '',
    ...scene.log.map((line) => paint('dim', cut(oneLine(line), Math.max(20, width - 1)))),
  ];
}

/** A worker's log line for people: time and message. */
export function logLine(line: string): string {
  try {
    const { time, msg } = JSON.parse(line) as { time: string; msg: string };
    return `${new Date(time).toTimeString().slice(0, 8)} ${msg}`;
  } catch {
    return line;
  }
}

/** The results of the demo. */
export function renderSummary(
  outcome: Outcome,
  files: { report: string; log: string },
  tookMs: number,
  paint: Paint,
): string[] {
  const { statuses, reported, summary, lanes, workers } = outcome;
  const label = (text: string): string => paint('dim', padded(text, 13));
  const total = statuses.reduce((sum, { recipients }) => sum + recipients.total, 0);
  const counts = [...reported].map(([status, count]) => `${grouped(count)} ${status}`).join(', ');
  const auto = lanes.find(({ name }) => name === 'auto');
  return [
    `${label('recipients')}${paint('bold', grouped(total))}: ${counts}`,
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
