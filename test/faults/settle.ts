import { setTimeout as delay } from 'node:timers/promises';
import type { Recorder } from './recorder.js';

/** How long nothing may change before everything has settled. */
const STUCK_AFTER_MS = 180_000;

/** Counts must be unchanged for this long, because a resumed process may still settle requests with unknown outcomes. */
const UNCHANGED_FOR_MS = 4_000;

/** Waits until nothing is open in what is watched. Returns why it still is; empty if it is not. */
export async function settle(recorder: Recorder): Promise<string> {
  let last = { text: '', at: 0 };
  for (;;) {
    const statuses = await Promise.all(recorder.watched.map((campaign) => recorder.status(campaign)));
    const open = statuses.filter((status) => status?.endedAt === null);
    const text = JSON.stringify(statuses.map((status) => status?.counts));
    if (text !== last.text) last = { text, at: Date.now() };
    const isSettled =
      open.every((status) => status?.waitingFor === 'resolve') && !statuses.includes(undefined);
    const unchangedMs = Date.now() - last.at;
    if (isSettled && (open.length === 0 || unchangedMs > UNCHANGED_FOR_MS)) return '';
    if (unchangedMs > STUCK_AFTER_MS) return JSON.stringify(open);
    await delay(200);
  }
}
