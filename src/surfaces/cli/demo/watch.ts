import type { Volley } from '../../../app/volley.js';
import { formatDuration } from '../../../base/duration.js';
import type { CampaignStatus } from '../../../campaign/views.js';
import type { Context } from '../context.js';
import { CliError } from '../errors.js';
import { campaignLine, renderCampaign } from '../progress.js';
import { createLivePicture, type Paint } from '../terminal.js';
import { cut, oneLine } from '../text.js';
import { FINISHED_WITHIN_MS } from './plan.js';
import type { Started } from './processes.js';

const LOG_LINES = 5;
const DRAW_EVERY_MS = 200;
const LINE_EVERY_MS = 4_000;
/** On terminals with fewer rows, each campaign is shown in fewer lines. */
const ROOMY_ROWS = 34;

/** Each rejects when its process ends, because none may end before the demo stops it. */
export function endings(processes: readonly Started[]): Promise<never>[] {
  return processes.map(({ ended }) =>
    ended.then((message) => Promise.reject(new CliError('failed', message))),
  );
}

/** Draws until both campaigns are completed. Rejects if that takes too long or a process ends early. */
export async function watch(
  { clock, stderr, paintErr, note }: Context,
  volley: Volley,
  ids: readonly string[],
  logged: readonly string[],
  began: number,
  interrupted: AbortSignal,
  processes: readonly Started[],
): Promise<CampaignStatus[]> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), FINISHED_WITHIN_MS);
  const done = new AbortController();
  const signal = AbortSignal.any([interrupted, late.signal, done.signal]);
  const latest = new Map<string, CampaignStatus>();
  const live = createLivePicture(stderr);
  let shownAt = 0;
  const show = (): void => {
    const now = clock();
    const statuses = ids.flatMap((id) => latest.get(id) ?? []);
    if (stderr.isTTY === true) {
      const scene = { statuses, log: logged.slice(-LOG_LINES), elapsedMs: performance.now() - began };
      live.draw(renderScene(scene, { now, width: stderr.columns, rows: stderr.rows, paint: paintErr }));
    } else if (now - shownAt >= LINE_EVERY_MS) {
      shownAt = now;
      for (const status of statuses) note(campaignLine(status, now));
    }
  };
  const finished = ids.map((id) =>
    volley.finished(id, {
      signal,
      everyMs: DRAW_EVERY_MS,
      onProgress: (status) => void latest.set(id, status),
    }),
  );
  const drawing = setInterval(show, DRAW_EVERY_MS);
  try {
    const statuses = await Promise.race([Promise.all(finished), ...endings(processes)]);
    for (const status of statuses) latest.set(status.id, status);
    shownAt = 0;
    show();
    return statuses;
  } catch (error) {
    if (late.signal.aborted) {
      throw new CliError('failed', `The campaigns did not complete within ${FINISHED_WITHIN_MS / 1_000} s.`);
    }
    throw error;
  } finally {
    done.abort();
    await Promise.allSettled(finished);
    clearTimeout(timer);
    clearInterval(drawing);
    live.end();
  }
}

/** What the demo shows while it runs. */
interface Scene {
  readonly statuses: readonly CampaignStatus[];
  /** The latest log lines of the workers. */
  readonly log: readonly string[];
  readonly elapsedMs: number;
}

/** Both campaigns, and the workers' latest log lines. */
function renderScene(
  scene: Scene,
  look: { now: number; width: number; rows: number; paint: Paint },
): string[] {
  const { paint, width, rows } = look;
  return [
    paint(
      'dim',
      `Messages go to a simulator, not to phones; its hour takes 10 s. ${formatDuration(scene.elapsedMs)} elapsed.`,
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
