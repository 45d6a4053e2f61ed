import { setTimeout as delay } from 'node:timers/promises';
import type { Volley } from '../../../src/app/volley.js';
import type { Random } from '../../../src/base/clock.js';
import { RESULT_STATES } from '../../../src/campaign/states/recipient.js';
import { OUTBOX, readReport } from '../source.js';

/** What a platform has learned from the results feed. */
export interface ResultsOutcome {
  /** Results that the feed returned, and those of them that the platform had processed already. */
  readonly delivered: number;
  readonly repeated: number;
  /** Times that the platform crashed after processing a page, before it stored the cursor. */
  readonly crashes: number;
  /** Recipients and messages that are settled or unknown, of which the platform has learned the state. */
  readonly learned: number;
  /** What is missing, wrong, or out of order. */
  readonly problems: readonly string[];
}

const EVERY_MS = 300;
const CRASH_CHANCE = 0.2;
const PAGE = 200;

/**
 * Follows the results feed as a platform does: it processes each page, and stores the cursor after it. Now and then it crashes in
 * between. `stop` reads the rest, and compares what it has learned with the reports of these campaigns and outboxes.
 */
export function followResults(volley: Volley, random: Random) {
  let cursor: string | undefined;
  let [delivered, repeated, crashes] = [0, 0, 0];
  let isStopped = false;
  const processed = new Set<string>();
  const latest = new Map<string, string>();
  const problems: string[] = [];

  /** Returns whether there may be more. */
  const readPage = async (mayCrash: boolean): Promise<boolean> => {
    const { results, nextCursor, hasMore } = await volley.results({ cursor: cursor, limit: PAGE });
    for (const { campaign, outbox, message, to, status } of results) {
      delivered += 1;
      const place = outbox === null ? `${campaign} ${to}` : `${OUTBOX}${outbox} ${message}`;
      const before = latest.get(place);
      if (processed.has(`${place} ${status}`)) repeated += 1;
      // A crash takes the platform back, but what it reads again is at least as late.
      if (before === 'deliveredToTerminal' && status !== before)
        problems.push(`${place} was delivered, and then ${status}`);
      processed.add(`${place} ${status}`);
      latest.set(place, status);
    }
    if (mayCrash && random() < CRASH_CHANCE) {
      crashes += 1;
      return false;
    }
    cursor = nextCursor;
    return hasMore;
  };

  const following = (async () => {
    while (!isStopped) {
      // Redis may be away.
      const hasMore = await readPage(true).catch(() => false);
      if (!hasMore) await delay(EVERY_MS);
    }
  })();

  return {
    async stop(campaigns: readonly string[]): Promise<ResultsOutcome> {
      isStopped = true;
      await following;
      while (await readPage(false)) {}
      let learned = 0;
      for (const campaign of campaigns) {
        for await (const { recipient, status } of readReport(volley, campaign)) {
          if (!RESULT_STATES.some((state) => state === status)) continue;
          const place = `${campaign} ${recipient}`;
          if (latest.get(place) === status) learned += 1;
          else problems.push(`${place} is ${status}, but the feed says ${latest.get(place) ?? 'nothing'}`);
        }
      }
      return { delivered, repeated, crashes, learned, problems };
    },
  };
}
