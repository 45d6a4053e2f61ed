/**
 * Counts the polls of a request that never becomes final, over the 72 h until its deadline, compared with one poll every 60 s.
 * The real scripts run under a simulated time.
 *
 *   npm run -s bench:polls
 */
import { connect } from '../src/base/redis/connection.js';
import { startPrivateRedis } from '../src/base/redis/private-server.js';
import { laneFixture, RULES, START } from '../test/engine/lane/lane-fixture.js';

const EVERY_MS = 60_000;
const HOUR_MS = 3_600_000;

const server = await startPrivateRedis({ appendfsync: 'everysec' });
const redis = connect(server.url);
try {
  const ages = await pollsOfOneRequest();
  const byTheMinute = Math.floor(RULES.deadline / EVERY_MS);
  const line = (text: string): boolean => process.stdout.write(`${text}\n`);
  line('| after | polls so far | every 60 s |');
  line('|---|---|---|');
  for (const hours of [1 / 60, 1, 6, 24, 72]) {
    const until = hours * HOUR_MS;
    const name = hours < 1 ? '1 min' : `${hours} h`;
    line(`| ${name} | ${ages.filter((age) => age <= until).length} | ${Math.floor(until / EVERY_MS)} |`);
  }
  line(`${byTheMinute} / ${ages.length} = ${(byTheMinute / ages.length).toFixed(0)} times fewer`);
  line(`polled at ages of ${ages.map((age) => `${Math.round(age / 1000)} s`).join(', ')}`);
} finally {
  redis.disconnect();
  await server.stop();
}

/** The ages at which the request was polled, ms, until its campaign ended. */
async function pollsOfOneRequest(): Promise<number[]> {
  const lane = laneFixture(redis, 'bench', 'one');
  await lane.campaign('c', 1);
  const sent = await lane.claims.send({ turn: 'send', call: 1, want: 1, seen: 0, now: START });
  const [claim] = sent.claims;
  if (claim === undefined) throw new Error(`nothing was claimed: ${sent.why}`);
  await lane.settlements.send([{ claim, result: 'accepted', letters: 'N', requestId: 'r' }], 0, START);
  const ages: number[] = [];
  let now = START;
  for (let call = 1; (await lane.state('c')).state !== 'completed'; call++) {
    const polls = await lane.claims.poll({ turn: 'poll', call, want: 1, seen: 0, now });
    const [poll] = polls.claims;
    if (poll !== undefined) {
      ages.push(now - START);
      await lane.settlements.poll([{ claim: poll, result: 'infos', letters: 'N' }], 0, now);
    } else if (polls.againInMs === null) {
      throw new Error(`the request will never be polled again: ${polls.why}`);
    } else now += Math.max(1, polls.againInMs);
  }
  return ages;
}
