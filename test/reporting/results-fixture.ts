import type { Redis } from '../../src/base/redis/connection.js';
import { openLanes } from '../../src/engine/lane/lane-finder.js';
import type { SendSettlement } from '../../src/engine/sending/send-claim.js';
import type { CampaignInput } from '../../src/intake/import/campaign-input.js';
import { importCampaign } from '../../src/intake/import/import-campaign.js';
import { outboxResults } from '../../src/intake/outbox/views/outbox-results.js';
import { createResultsFeed } from '../../src/reporting/results-feed.js';
import { laneFixture } from '../engine/lane/lane-fixture.js';
import { importFixture, mobile } from '../intake/import/import-fixture.js';
import { storedLane } from '../scene/stored.js';

let fixtures = 0;

/** A lane with an import and a feed of its own. */
export function resultsFixture(server: Redis, prefix: string) {
  fixtures += 1;
  const own = `${prefix}-${fixtures}`;
  const imports = importFixture(server, own);
  const { keys, config, deps } = imports;
  const lane = laneFixture(server, own, 'default', {
    quota: 1_000_000,
    inFlight: 10_000,
    maxRecipients: 100,
    timeout: 600_000,
  });
  const finder = openLanes({ redis: server, keys, config, events: deps.events, random: Math.random });
  const feed = createResultsFeed({ redis: server, keys, finder, outboxes: outboxResults(server, keys) });
  const stored = storedLane({ redis: server, keys, id: 'default' });
  const [log, latest] = [keys.lane('default', 'results'), keys.lane('default', 'latestResults')];
  let call = 0;
  async function campaign(
    input: Partial<CampaignInput> & Pick<CampaignInput, 'recipients'>,
  ): Promise<string> {
    const outcome = await importCampaign(deps, { message: 'Hi', again: true, ...input });
    if (outcome.outcome !== 'created') throw new Error(`the import ended with ${outcome.outcome}`);
    return outcome.id;
  }
  /** Claims everything that is planned, and settles it with these letters in turn, or with another result. */
  async function send(letters: string, result: 'accepted' | 'unknown' = 'accepted') {
    let settled = 0;
    for (;;) {
      call += 1;
      const { claims } = await lane.claims.send({ turn: 't', call, want: 1_000, seen: 0 });
      if (claims.length === 0) return settled;
      const settlements = claims.map((claim): SendSettlement => {
        const own = Array.from({ length: claim.count }, () => letters[settled++ % letters.length]).join('');
        return result === 'unknown'
          ? { claim, result, letters: 'U'.repeat(claim.count), reason: 'no response' }
          : { claim, result, letters: own, requestId: `r-${claim.number}`, reason: '' };
      });
      await lane.settlements.send(settlements, 0);
    }
  }
  /** A campaign of so many people, whose messages all get the status of this letter. */
  async function settle(count: number, first = 0, letter = 'T'): Promise<string> {
    const id = await campaign({ recipients: people(count, first) });
    await send(letter);
    return id;
  }
  return { ...imports, finder, lane, stored, feed, log, latest, campaign, send, settle };
}

/** Recipients with references. */
export const people = (count: number, first = 0) =>
  Array.from({ length: count }, (_, at) => ({ to: mobile(first + at), reference: `order-${first + at}` }));
