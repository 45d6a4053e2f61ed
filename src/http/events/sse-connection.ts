import type { ServerResponse } from 'node:http';
import { STILL_HERE, standingOf } from './text.js';

/*
 * What is done on the line of a stream every second, besides telling events. `over` ends the stream.
 */

/** A line on which nothing else was said for so long is used. */
const SAY_SOMETHING_EVERY_MS = 15_000;

/**
 * Sees to it that a line is used now and then, that a key which was revoked ends it, and that nobody blocks it: who takes
 * nothing in for `patienceMs` is let go. What it returns is told whether the key stands.
 */
export function keepAlive(
  raw: ServerResponse,
  over: AbortController,
  patienceMs = Number.POSITIVE_INFINITY,
): (stands: boolean) => void {
  let saidAt = performance.now();
  let fullSince = saidAt;
  // It is called at every tick, and whenever somebody else comes with the key.
  return (stands) => {
    const now = performance.now();
    if (!raw.writableNeedDrain) fullSince = now;
    const isStuck = now - fullSince > patienceMs;
    if (isStuck) raw.destroy();
    if (isStuck || !stands) over.abort();
    else if (now - saidAt >= SAY_SOMETHING_EVERY_MS && fullSince === now) {
      saidAt = now;
      raw.write(STILL_HERE);
    }
  };
}

/**
 * Shows how a campaign stands when that has changed. Who is slow gets the newest when he is ready. What it returns is told
 * the status as JSON; null, for a campaign that is not there any more, ends the stream.
 */
export function showStanding(raw: ServerResponse, over: AbortController): (json: string | null) => void {
  let shown = '';
  return (json) => {
    if (json === null) over.abort();
    else if (json !== shown && !raw.writableNeedDrain) {
      shown = json;
      raw.write(standingOf(json));
    }
  };
}
