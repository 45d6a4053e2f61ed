import type { CampaignStatus } from '../../campaign/views.js';
import { formatDuration } from '../../duration.js';
import type { Summary } from '../../simulator/index.js';
import type { Paint } from '../paint.js';
import { renderCampaign } from '../progress.js';
import { counted, cut, grouped, oneLine, padded } from '../text.js';
import type { Outcome } from './judge.js';
import { MAIN_KEY } from './plan.js';

/** What is shown while it runs. */
export interface Scene {
  readonly statuses: readonly CampaignStatus[];
  /** The latest of what the workers told. */
  readonly told: readonly string[];
  readonly elapsedMs: number;
}

/** Below so many lines of terminal each campaign is shown in fewer. */
const ROOMY = 34;

/** The picture of a moment: both campaigns, and what the workers told last. */
export function renderScene(
  scene: Scene,
  look: { now: number; width: number; rows: number; paint: Paint },
): string[] {
  const { paint, width, rows } = look;
  return [
    paint(
      'dim',
      `No text is sent: a simulator stands in for the service, and its hour takes 10 s. ${formatDuration(scene.elapsedMs)} gone.`,
    ),
    ...scene.statuses.flatMap((status) => [
      '',
      ...renderCampaign(status, { ...look, compact: rows < ROOMY }),
    ]),
    '',
    ...scene.told.map((line) => paint('dim', cut(oneLine(line), Math.max(20, width - 1)))),
  ];
}

/** A worker's log line as it is shown: time, and what happened. */
export function toldBy(line: string): string {
  try {
    const { time, msg } = JSON.parse(line) as { time: string; msg: string };
    return `${new Date(time).toTimeString().slice(0, 8)} ${msg}`;
  } catch {
    return line;
  }
}

/** What it came to. */
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
    `${label('duplicates')}${grouped(summary.duplicates)}, as the service's own ledger says`,
    ...summary.maxPerWindow.map(
      (window) => `${label(window.key === MAIN_KEY ? 'lane main' : 'lane auto')}${windowWords(window)}`,
    ),
    `${label('429s met')}${grouped(summary.throttled)}`,
    `${label('learned')}lane auto takes its quota to be ${auto?.quota.learned ?? 'nothing yet'} requests an hour`,
    `${label('tokens')}${counted(summary.loginsGranted, 'login')}, ${counted(summary.refreshesGranted, 'refresh', 'refreshes')}, for ${counted(workers, 'worker process', 'worker processes')} together`,
    `${label('took')}${formatDuration(tookMs)}`,
    `${label('report')}${files.report}`,
    `${label('log')}${files.log}`,
  ];
}

function windowWords({ arrived, admitted, quota }: Summary['maxPerWindow'][number]): string {
  const refused = arrived > admitted ? `, ${grouped(arrived - admitted)} more were refused` : '';
  return `at most ${grouped(admitted)} requests in any hour of ${quota === null ? 'any number' : grouped(quota)}${refused}`;
}
