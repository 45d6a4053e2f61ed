import type { CampaignStatus } from '../campaign/views.js';
import type { Volley } from '../volley.js';
import type { Context } from './context.js';
import { EXIT, type ExitCode } from './exit.js';
import { listenForInterrupt } from './interrupt.js';
import { createLive } from './live.js';
import { campaignLine, renderCampaign } from './progress.js';
import { standing } from './standing.js';

const DRAW_EVERY_MS = 250;
/** Into a log or a pipe: when something changes, and once in a while as a sign of life. */
const LINE_EVERY_MS = 10_000;

/** How watching ended. */
export interface Watched {
  readonly status: CampaignStatus;
  readonly exit: ExitCode;
}

/**
 * Shows a campaign's progress on standard error until nothing of it is open, or nothing more can happen before an
 * operator acts, or Ctrl-C, which only ends the watching.
 */
export async function watchCampaign(context: Context, volley: Volley, id: string): Promise<Watched> {
  const interrupt = listenForInterrupt();
  const stop = new AbortController();
  const signal = AbortSignal.any([interrupt.signal, stop.signal]);
  const show = createShow(context);
  let last: CampaignStatus | undefined;
  let asking: Promise<void> = Promise.resolve();
  const onProgress = (status: CampaignStatus): void => {
    last = status;
    show.status(status);
    asking = asking.then(async () => {
      if (await needsOperator(volley, status)) stop.abort();
    });
    // Whatever is wrong with asking is wrong with `finished`, which says so.
    asking = asking.catch(() => {});
  };
  try {
    const status = await volley.finished(id, { signal, onProgress, everyMs: DRAW_EVERY_MS });
    show.status(status);
    return { status, exit: EXIT.done };
  } catch (error) {
    if (!signal.aborted || last === undefined) throw error;
    if (!stop.signal.aborted) {
      show.end();
      context.say(`No longer watched; the campaign goes on: volley status ${id} --watch`);
      return { status: last, exit: EXIT.interrupted };
    }
    show.end();
    context.say(`Waits for an operator. ${standing(last, context.clock()).text}`);
    return { status: last, exit: EXIT.waits };
  } finally {
    show.end();
    interrupt.dispose();
  }
}

/** True when nothing goes on by itself: a pause that ends in time does, and workers may yet be started. */
export async function needsOperator(volley: Pick<Volley, 'lanes'>, status: CampaignStatus): Promise<boolean> {
  if (status.waitingFor === 'operator' || status.waitingFor === 'resolve') return true;
  if (status.waitingFor !== 'lane') return false;
  const lane = (await volley.lanes()).find(({ name }) => name === status.lane);
  return lane?.state === 'stopped' || lane?.state === 'held';
}

function createShow({ stderr, paintErr, clock, say }: Context): {
  status(status: CampaignStatus): void;
  end(): void;
} {
  if (stderr.isTTY === true) {
    const live = createLive(stderr);
    return {
      status: (status) =>
        live.draw(renderCampaign(status, { now: clock(), width: stderr.columns, paint: paintErr })),
      end: () => live.end(),
    };
  }
  let saidAt = Number.NEGATIVE_INFINITY;
  let said = '';
  return {
    status(status) {
      const now = clock();
      const state = `${status.state} ${status.waitingFor} ${status.blockedBy?.reason} ${status.endedAt}`;
      if (state === said && now - saidAt < LINE_EVERY_MS) return;
      saidAt = now;
      said = state;
      say(campaignLine(status, now));
    },
    end: () => {},
  };
}

/** Says so if nobody is there to do the work. */
export async function sayIfNoWorkers(context: Context, volley: Pick<Volley, 'workers'>): Promise<void> {
  if ((await volley.workers()).length > 0) return;
  context.say(
    `${context.paintErr('yellow', 'No worker runs')}, so nothing is sent: start some with \`volley up\` or \`volley work\`.`,
  );
}
