import type { Volley } from '../../app/volley.js';
import { EXIT, type ExitCode } from '../../base/exit-codes.js';
import type { CampaignStatus } from '../../campaign/views.js';
import { listenForStop } from '../lifecycle.js';
import type { Context } from './context.js';
import { howToStartWorkers } from './how-to-start.js';
import { campaignLine, renderCampaign } from './progress.js';
import { campaignSentence } from './sentence.js';
import { createLivePicture, overEcho } from './terminal.js';

const DRAW_EVERY_MS = 250;
/** In a log or a pipe, a line appears when something changes, and at least this often. */
const LINE_EVERY_MS = 10_000;

/** How watching a campaign ended. */
interface WatchEnd {
  readonly status: CampaignStatus;
  readonly exit: ExitCode;
}

/**
 * Shows a campaign's progress on standard error until the campaign has ended, an operator must act, or Ctrl-C, which ends
 * only the watching.
 */
export async function watchCampaign(context: Context, volley: Volley, id: string): Promise<WatchEnd> {
  const interrupt = listenForStop();
  const blocked = new AbortController();
  const signal = AbortSignal.any([interrupt.signal, blocked.signal]);
  const show = createShow(context, await howToStartWorkers(context));
  let last: CampaignStatus | undefined;
  let checking: Promise<void> = Promise.resolve();
  const onProgress = (status: CampaignStatus): void => {
    last = status;
    show.status(status);
    checking = checking.then(async () => {
      if (await needsOperator(volley, status)) blocked.abort();
    });
    // If this request fails, so does `finished`, which reports it.
    checking = checking.catch(() => {});
  };
  try {
    const status = await volley.finished(id, { signal, onProgress, everyMs: DRAW_EVERY_MS });
    show.status(status);
    return { status, exit: EXIT.done };
  } catch (error) {
    if (!signal.aborted || last === undefined) throw error;
    show.end();
    if (!blocked.signal.aborted) {
      context.note(
        `${overEcho(context.stderr)}The campaign continues. To watch it again: volley status ${id} --watch`,
      );
      context.note(howToStop(id));
      return { status: last, exit: EXIT.interrupted };
    }
    context.note(`An operator must act. ${campaignSentence(last, context.clock()).text}`);
    return { status: last, exit: EXIT.waits };
  } finally {
    show.end();
    interrupt.dispose();
  }
}

/** How to stop a campaign that continues after Ctrl-C. */
export function howToStop(id: string): string {
  return `To stop it: volley pause ${id}, or for good: volley cancel ${id}`;
}

/** Whether the campaign waits for an operator. A pause that ends by itself, or a worker that is yet to start, does not count. */
async function needsOperator(volley: Pick<Volley, 'lanes'>, status: CampaignStatus): Promise<boolean> {
  if (status.waitingFor === 'operator' || status.waitingFor === 'resolve') return true;
  if (status.waitingFor !== 'lane') return false;
  const lane = (await volley.lanes()).find(({ name }) => name === status.lane);
  return lane?.state === 'stopped' || lane?.state === 'held';
}

function createShow(
  { stdin, stderr, paintErr, clock, note }: Context,
  howToStart: string,
): {
  status(status: CampaignStatus): void;
  end(): void;
} {
  if (stderr.isTTY === true) {
    const live = createLivePicture(stderr, stdin);
    return {
      status: (status) =>
        live.draw(
          renderCampaign(status, { now: clock(), width: stderr.columns, paint: paintErr, howToStart }),
        ),
      end: () => live.end(),
    };
  }
  let shownAt = Number.NEGATIVE_INFINITY;
  let shown = '';
  return {
    status(status) {
      const now = clock();
      const state = `${status.state} ${status.waitingFor} ${status.blockedBy?.reason} ${status.endedAt}`;
      if (state === shown && now - shownAt < LINE_EVERY_MS) return;
      shownAt = now;
      shown = state;
      note(campaignLine(status, now, howToStart));
    },
    end: () => {},
  };
}

/** Warns if no worker is running. */
export async function noteIfNoWorkers(context: Context, volley: Pick<Volley, 'workers'>): Promise<void> {
  if ((await volley.workers()).length > 0) return;
  context.note(
    `${context.paintErr('yellow', 'No worker is running')}, so nothing is sent. ${await howToStartWorkers(context)}`,
  );
}
