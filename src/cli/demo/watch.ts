import type { CampaignStatus } from '../../campaign/views.js';
import type { Volley } from '../../volley.js';
import type { Context } from '../context.js';
import { EXIT, Refusal } from '../exit.js';
import { createLive } from '../live.js';
import { campaignLine } from '../progress.js';
import { renderScene } from './picture.js';
import { FINISHED_WITHIN_MS } from './plan.js';
import type { Started } from './processes.js';

const TOLD = 5;
const DRAW_EVERY_MS = 200;
const LINE_EVERY_MS = 4_000;

/** Each rejects when its process ends, which none should before it is asked to. */
export function endings(processes: readonly Started[]): Promise<never>[] {
  return processes.map(({ ended }) =>
    ended.then((said) => Promise.reject(new Refusal(EXIT.failed, 'demo', said))),
  );
}

/** Draws until both campaigns are completed. Rejects when that takes too long, or a process ends before. */
export async function watch(
  { clock, stderr, paintErr, say }: Context,
  volley: Volley,
  ids: readonly string[],
  told: readonly string[],
  began: number,
  interrupted: AbortSignal,
  processes: readonly Started[],
): Promise<CampaignStatus[]> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), FINISHED_WITHIN_MS);
  const done = new AbortController();
  const signal = AbortSignal.any([interrupted, late.signal, done.signal]);
  const latest = new Map<string, CampaignStatus>();
  const live = createLive(stderr);
  let saidAt = 0;
  const show = (): void => {
    const now = clock();
    const statuses = ids.flatMap((id) => latest.get(id) ?? []);
    if (stderr.isTTY === true) {
      const scene = { statuses, told: told.slice(-TOLD), elapsedMs: performance.now() - began };
      live.draw(renderScene(scene, { now, width: stderr.columns, rows: stderr.rows, paint: paintErr }));
    } else if (now - saidAt >= LINE_EVERY_MS) {
      saidAt = now;
      for (const status of statuses) say(campaignLine(status, now));
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
    saidAt = 0;
    show();
    return statuses;
  } catch (error) {
    if (late.signal.aborted) {
      throw new Refusal(
        EXIT.failed,
        'demo',
        `The campaigns are not completed after ${FINISHED_WITHIN_MS / 1_000} s.`,
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
