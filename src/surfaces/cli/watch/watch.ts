import { setTimeout as delay } from 'node:timers/promises';
import type { Volley } from '../../../app/volley.js';
import { unlessAborted } from '../../../base/clock.js';
import { EXIT, type ExitCode } from '../../../base/exit-codes.js';
import { RedisUnavailableError } from '../../../base/redis/unavailable.js';
import type { CampaignStatus } from '../../../campaign/views/views.js';
import { listenForStop } from '../../lifecycle.js';
import type { Context } from '../context/context.js';
import { howToStartWorkers } from '../open/how-to-start.js';
import { campaignSentence } from '../output/sentence.js';
import { overEcho } from '../output/terminal.js';
import { createShow } from './watch-show.js';

/** How long to wait after Redis did not answer. */
const RETRY_MS = 500;

/** How watching a campaign ended. */
interface WatchEnd {
  readonly status: CampaignStatus;
  readonly exit: ExitCode;
}

/**
 * Shows a campaign's progress on standard error until the campaign has ended, an operator must act, or Ctrl-C, which ends
 * only the watching. While Redis does not answer, it says how old the progress is, and keeps trying.
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
    for (;;) {
      try {
        const following = volley.finished(id, { signal, onProgress });
        // A server that does not answer holds up no Ctrl-C.
        const status = await unlessAborted(following, signal);
        show.status(status);
        return { status, exit: EXIT.done };
      } catch (error) {
        // The campaign does not depend on this command: it goes on where Redis does.
        if (signal.aborted || last === undefined || !(error instanceof RedisUnavailableError)) throw error;
        show.lost(error.message);
        await delay(RETRY_MS, undefined, { signal });
      }
    }
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

/** Whether the campaign waits for an operator. A backoff, or a worker that is yet to start, does not count. */
async function needsOperator(volley: Pick<Volley, 'lanes'>, status: CampaignStatus): Promise<boolean> {
  if (status.waitingFor === 'operator' || status.waitingFor === 'resolve') return true;
  if (status.waitingFor !== 'lane') return false;
  const lane = (await volley.lanes()).find(({ name }) => name === status.lane);
  return lane?.state === 'stopped' || lane?.state === 'held';
}

/** Warns if no worker is running. */
export async function noteIfNoWorkers(context: Context, volley: Pick<Volley, 'workers'>): Promise<void> {
  if ((await volley.workers()).length > 0) return;
  context.note(
    `${context.paintErr('yellow', 'No worker is running')}, so nothing is sent. ${await howToStartWorkers(context)}`,
  );
}
