import { describe, expect, test } from 'vitest';
import type { CampaignMeta } from '../../src/engine/lane/campaign-meta.js';
import { readState } from '../../src/engine/lane/campaigns.js';
import { readLaneOutlook } from '../../src/engine/lane/lane-outlook.js';
import type { ScriptRules } from '../../src/engine/lane/script-rules.js';
import { campaignStatus } from '../../src/reporting/status.js';
import type { QuotaModelName } from '../../src/tools/simulator/quota-models.js';
import { testRedis } from '../base/redis/test-redis.js';
import { laneFixture, START } from '../engine/lane/lane-fixture.js';
import { serveVirtually, type VirtualCampaign, type VirtualService } from '../engine/lane/virtual-lane.js';

const { redis, prefix } = testRedis('estimate');

/** Repeatable random numbers. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** A window of five seconds: everything else shrinks with it. */
const COMPRESSED: Partial<ScriptRules> = {
  ...{ window: 5_000, timeout: 500, margin: 500, backoff: 50, grace: 0 },
  ...{ firstPoll: 500, pollAgain: 500, deadline: 300_000 },
};
const META: CampaignMeta = {
  ...{ id: '', name: 'Spring', lane: 'main', sender: 'ACME', text: 'Hello', created: START },
  ...{ columns: ['phone'], numberColumn: 'phone', placeholders: [], priority: 'normal', preview: null },
  ...{ duplicates: 0, invalid: 0, suppressed: 0 },
};
const HOURLY: VirtualService = { latencyMs: 200, deliveryMs: 30_000, lagMs: 40 };
const learning = (limit: number, model: QuotaModelName): VirtualService => ({
  ...HOURLY,
  quota: { model, limit },
});
const FAST: VirtualService = { latencyMs: 40, deliveryMs: 3_000, lagMs: 40 };

/** An estimate at a moment, and what was true. All times in windows. */
interface Sample {
  readonly campaign: string;
  /** Tenths of the recipients that were claimed. */
  readonly tenths: number;
  readonly left: number;
  readonly earliest: number;
  readonly latest: number | null;
}

/** Plays a lane and estimates each campaign's last message at each tenth of it, and eight times a window. */
async function samplesOf(
  name: string,
  change: Partial<ScriptRules>,
  campaigns: readonly VirtualCampaign[],
  service: VirtualService,
): Promise<Sample[]> {
  const lane = laneFixture(redis, prefix, name, change);
  const { window } = lane.rules;
  const seen = new Set<string>();
  const found: { id: string; tenths: number; now: number; earliest: number; latest: number | null }[] = [];
  const { lastSent } = await serveVirtually(lane, {
    ...{ begin: START + 1_234_567, campaigns, service, everyMs: window / 8, random: seeded(5) },
    async observe(now) {
      const [outlook, view] = [await readLaneOutlook(lane.store, now), await lane.views.look(now)];
      for (const { id, recipients } of campaigns) {
        const state = await readState(redis, lane.keys, lane.lane, id);
        if (state === null) continue;
        const planned = state.counts.planned ?? 0;
        const tenths = Math.floor(10 * (1 - planned / recipients));
        const moment = `${id} ${tenths} ${Math.floor((8 * now) / window)}`;
        if (tenths < 1 || planned === 0 || seen.has(moment)) continue;
        seen.add(moment);
        const lookedAt = {
          meta: { ...META, id },
          state,
          lane: { name: 'main', rules: lane.rules },
          view,
          outlook,
        };
        const { eta } = campaignStatus({
          ...lookedAt,
          isConfigured: true,
          hasWorkers: true,
          unknownOutcomes: [],
          acceptedCost: null,
        });
        if (eta === null) throw new Error('something is left to send');
        const { earliest, latest } = eta;
        found.push({
          id,
          tenths,
          now,
          earliest: Date.parse(earliest),
          latest: latest === null ? null : Date.parse(latest),
        });
      }
    },
  });
  return found.map(({ id, tenths, now, earliest, latest }) => {
    const last = lastSent.get(id) ?? Number.NaN;
    return {
      ...{ campaign: id, tenths, left: (last - now) / window, earliest: (earliest - last) / window },
      latest: latest === null ? null : (latest - last) / window,
    };
  });
}

describe('The last message is sent within the estimated range, from a tenth of the campaign on', () => {
  const one = (recipients: number): VirtualCampaign[] => [{ id: 'one', recipients }];
  test.each<[string, Partial<ScriptRules>, VirtualCampaign[], VirtualService]>([
    ['250 recipients at 100 per hour', {}, one(250), HOURLY],
    ['500 recipients at 100 per hour', {}, one(500), HOURLY],
    ['250 recipients, with smooth pacing', { smooth: true }, one(250), HOURLY],
    ['400 recipients, with smooth pacing', { smooth: true }, one(400), HOURLY],
    ['250 recipients in a window of 5 s', COMPRESSED, one(250), FAST],
    ['1,000 recipients in a window of 5 s', COMPRESSED, one(1000), FAST],
    [
      '250 recipients in a window of 5 s, with smooth pacing',
      { ...COMPRESSED, smooth: true },
      one(250),
      FAST,
    ],
    [
      'first polls after three windows',
      { ...COMPRESSED, firstPoll: 15_000, pollAgain: 15_000 },
      one(400),
      FAST,
    ],
    [
      'two campaigns, one with priority',
      {},
      [
        { id: 'one', recipients: 150 },
        { id: 'two', recipients: 250, weight: 4 },
      ],
      HOURLY,
    ],
    [
      'three campaigns, among them a small one',
      {},
      [
        { id: 'one', recipients: 20 },
        { id: 'three', recipients: 130 },
        { id: 'two', recipients: 150 },
      ],
      HOURLY,
    ],
    ['polls have half of the quota', { pollShare: 0.5 }, one(200), HOURLY],
    ['polls have no share', { pollShare: 0 }, one(250), HOURLY],
    [
      'a deadline so short that polls get more than their share',
      { deadline: 6 * 3_600_000 },
      one(500),
      HOURLY,
    ],
    ['a quota of 7', { quota: 7 }, one(33), HOURLY],
    ['a quota of 2', { quota: 2 }, one(10), HOURLY],
    ['a quota of 1, which sends and polls use in turn', { quota: 1 }, one(12), HOURLY],
    [
      'a service so slow that the quota is not used up',
      { quota: 10_000 },
      one(500),
      { ...HOURLY, latencyMs: 120_000 },
    ],
  ])('%s', async (name, change, campaigns, service) => {
    const samples = await samplesOf(name.replaceAll(/\W/g, '-'), change, campaigns, service);
    for (const { id } of campaigns) expect(samples.some(({ campaign }) => campaign === id)).toBe(true);
    const isOutside = ({ earliest, latest }: Sample) => earliest > 0 || latest === null || latest < 0;
    expect(samples.filter(isOutside)).toEqual([]);
    const isWide = ({ earliest, latest, left }: Sample) =>
      latest === null || latest - earliest > Math.max(0.5, left / 4);
    expect(samples.filter(isWide)).toEqual([]);
  });
});

describe('Once a quota is learned, the last message is sent within the estimated range', () => {
  test.each<[number, number, QuotaModelName]>([
    [12, 40, 'clock'],
    [30, 150, 'sliding'],
    [100, 300, 'bucket'],
    [300, 1500, 'first'],
  ])('%i an hour, for %i recipients, counted by %s', async (limit, recipients, model) => {
    const campaigns = [{ id: 'one', recipients }];
    const samples = await samplesOf(`learn-${limit}`, { quota: 0 }, campaigns, learning(limit, model));
    const estimated = samples.filter(({ latest }) => latest !== null);
    expect(estimated.length).toBeGreaterThan(samples.length - 4);
    expect(estimated.filter(({ earliest, latest }) => earliest > 0 || (latest ?? 0) < 0)).toEqual([]);
  });
});
