/*
 * How fast a platform reads the results feed, and what the log of the results takes:
 *
 *   npm run -s bench:results -- [recipients]
 *
 * A campaign with references on a private Redis. Half of the recipients get their final status with the request, every other one with a
 * poll later: each has an entry of its own in the log, which is the worst case. Then the feed is read in pages of 10,000.
 */
import { connect, type Redis } from '../src/base/redis/connection.js';
import { startPrivateRedis } from '../src/base/redis/private-server.js';
import { openLanes } from '../src/engine/lane/lane-finder.js';
import { importCampaign } from '../src/intake/import/import-campaign.js';
import { outboxResults } from '../src/intake/outbox/outbox-results.js';
import { createResultsFeed } from '../src/reporting/results-feed.js';
import { laneFixture } from '../test/engine/lane/lane-fixture.js';
import { importFixture, mobile } from '../test/intake/import/import-fixture.js';

const grouped = (value: number): string => value.toLocaleString('en');
const PER_REQUEST = 100;
const PAGE = 10_000;
const CLAIMS = 200;

async function settleAll(redis: Redis, prefix: string): Promise<void> {
  const lane = laneFixture(redis, prefix, 'default', {
    quota: 100_000_000,
    inFlight: 10_000,
    maxRecipients: PER_REQUEST,
    timeout: 3_600_000,
    firstPoll: 1,
  });
  for (let call = 1; ; call += 1) {
    const { claims } = await lane.claims.send({ turn: 's', call, want: CLAIMS, seen: 0 });
    if (claims.length === 0) break;
    const settled = claims.map((claim) => ({
      claim,
      result: 'accepted' as const,
      letters: 'TN'.repeat(PER_REQUEST).slice(0, claim.count),
      requestId: `request-${claim.number}`,
      reason: '',
    }));
    await lane.settlements.send(settled, 0);
  }
  for (let call = 1; ; call += 1) {
    const { claims } = await lane.claims.poll({
      turn: 'p',
      call,
      want: CLAIMS,
      seen: 0,
      now: Date.now() + 60_000,
    });
    if (claims.length === 0) break;
    const settled = claims.map((claim) => ({
      claim,
      result: 'infos' as const,
      letters: '-T'.repeat(PER_REQUEST).slice(0, PER_REQUEST),
      requestId: '',
      reason: '',
    }));
    await lane.settlements.poll(settled, 0);
  }
}

function* orders(count: number) {
  for (let at = 0; at < count; at += 1) yield { to: mobile(at), reference: `order-${10_000_000 + at}` };
}

const [count = 1_000_000] = process.argv.slice(2).map(Number);
const server = await startPrivateRedis({ appendfsync: 'everysec' });
const redis = connect(server.url);
try {
  const { keys, deps, config } = importFixture(redis, 'bench');
  const outcome = await importCampaign(deps, { recipients: orders(count), message: 'Your order is ready.' });
  console.log(`imported: ${outcome.outcome}, ${grouped(count)} recipients with references`);
  await settleAll(redis, 'bench');
  const finder = openLanes({ redis, keys, config, events: deps.events, random: Math.random });
  const feed = createResultsFeed({ redis, keys, finder, outboxes: outboxResults(redis, keys) });
  const references = new Set<string>();
  const pages: number[] = [];
  const began = performance.now();
  let isMore = true;
  for (let after: string | undefined; isMore; ) {
    const from = performance.now();
    const page = await feed.results({ cursor: after, limit: PAGE });
    pages.push(performance.now() - from);
    for (const { reference, status } of page.results)
      if (status === 'deliveredToTerminal' && reference !== null) references.add(reference);
    [after, isMore] = [page.nextCursor, page.hasMore];
  }
  const seconds = (performance.now() - began) / 1000;
  const usage = async (key: string) =>
    Number((await redis.memory('USAGE', keys.lane('default', key), 'SAMPLES', 0)) ?? 0);
  const bytes = (await usage('results')) + (await usage('latestResults'));
  pages.sort((a, b) => a - b);
  console.log(
    `read: ${grouped(references.size)} final statuses in ${pages.length} pages of ${grouped(PAGE)}, ${seconds.toFixed(1)} s`,
  );
  console.log(
    `a page: median ${pages[Math.floor(pages.length / 2)]?.toFixed(0)} ms, max ${pages.at(-1)?.toFixed(0)} ms`,
  );
  console.log(`the log: ${(bytes / count).toFixed(2)} bytes per entry`);
  if (references.size !== count) throw new Error(`${count - references.size} final statuses are missing`);
} finally {
  redis.disconnect();
  await server.stop();
}
