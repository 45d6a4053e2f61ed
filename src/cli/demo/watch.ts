import type { CampaignStatus } from '../../campaign/views.js';
import { EXIT } from '../../exit-codes.js';
import type { Volley } from '../../volley.js';
import type { Context } from '../context.js';
import { CliError } from '../errors.js';
import { campaignLine } from '../progress.js';
import { createLivePicture } from '../terminal.js';
import { renderScene } from './picture.js';
import { FINISHED_WITHIN_MS } from './plan.js';
import type { Started } from './processes.js';

const LOG_LINES = 5;
const DRAW_EVERY_MS = 200;
const LINE_EVERY_MS = 4_000;

/** Each rejects when its process ends, because none may end before the demo stops it. */
export function endings(processes: readonly Started[]): Promise<never>[] {
  return processes.map(({ ended }) =>
    ended.then((message) => Promise.reject(new CliError(EXIT.failed, 'demo', message))),
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
      throw new CliError(
        EXIT.failed,
        'demo',
        `The campaigns did not complete within ${FINISHED_WITHIN_MS / 1_000} s.`,
      );
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
