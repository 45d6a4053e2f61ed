import { expect, onTestFinished, test } from 'vitest';
import type { Volley } from '../../src/app/runtime.js';
import { startPrivateRedis } from '../../src/base/redis/private-server.js';
import { GoneError, NotFoundError } from '../../src/campaign/errors/errors.js';
import { scene } from '../scene/scene.js';

/** The log of results remembers which of the last 50 servers wrote which part of it. */
const RESTARTS = 56;

/** The campaigns with results after a cursor, in order; `gone` where the feed answers 410. */
async function resultsAfter(volley: Volley, after?: string): Promise<string[] | 'gone'> {
  const campaigns: string[] = [];
  try {
    for (let page = await volley.results({ cursor: after, limit: 10 }); ; ) {
      campaigns.push(...page.results.map(({ campaign }) => campaign ?? ''));
      if (!page.hasMore) return campaigns;
      page = await volley.results({ cursor: page.nextCursor, limit: 10 });
    }
  } catch (error) {
    if (error instanceof GoneError) return 'gone';
    throw error;
  }
}

const { open } = scene('results-restarts', {
  settings: { API_KEY: 'key', SENDER_ADDRESS: 'ACME', MAX_SCHEDULE_AHEAD: '365000d' },
});

test.each(['always', 'everysec'] as const)(
  `After each of ${RESTARTS} restarts of Redis (appendfsync %s), the feed has each result, or answers that it is gone`,
  async (appendfsync) => {
    const server = await startPrivateRedis({ appendfsync });
    onTestFinished(() => server.stop());
    const volley = open({ REDIS_URL: server.url });

    /** Creates a campaign of one recipient and cancels it, which is its result. */
    const cancelled = async (round: number): Promise<string> => {
      const recipients = [{ to: '+447700900124' }];
      const at = Date.UTC(2100, 0, 1);
      const outcome = await volley.enqueue({ recipients, message: `Round ${round}`, sendAt: at });
      if (outcome.outcome !== 'created') throw new Error(outcome.outcome);
      await volley.cancel(outcome.id);
      return outcome.id;
    };

    /** Whether its data survived. With `everysec`, Redis may put off writing while the disk is busy, and a kill then loses it. */
    const survived = async (id: string): Promise<boolean> => {
      if (appendfsync === 'always') return true;
      try {
        return (await volley.status(id)).state === 'cancelled';
      } catch (error) {
        if (error instanceof NotFoundError) return false;
        throw error;
      }
    };

    const earliest = await cancelled(0);
    let created = [earliest];
    const { nextCursor: first } = await volley.results();
    let gone = 0;
    for (let round = 1; round <= RESTARTS; round += 1) {
      await server.restart();
      const there = await Promise.all(created.map(survived));
      created = [...created.filter((_, at) => there[at]), await cancelled(round)];
      expect(await resultsAfter(volley), `from the beginning, restart ${round}`).toEqual(created);
      const later = await resultsAfter(volley, first);
      if (later === 'gone') gone += 1;
      else {
        const others = created.filter((id) => id !== earliest);
        expect(later, `from the first cursor, restart ${round}`).toEqual(others);
      }
    }
    // A cursor is good until its server is forgotten, and never misses a result without saying so.
    expect(gone).toBeLessThan(RESTARTS / 2);
  },
);
