import { describe, expect, test } from 'vitest';
import type { LaneOutlook } from '../../src/campaign/estimate/lane-outlook.js';
import { readLaneOutlook } from '../../src/engine/lane/lane-outlook.js';
import type { ScriptRules } from '../../src/engine/scripts/script-rules.js';
import type { CampaignMeta } from '../../src/engine/store/campaign-meta.js';
import { readState } from '../../src/engine/store/campaigns.js';
import { campaignStatus } from '../../src/reporting/status.js';
import type { QuotaModelName } from '../../src/tools/simulator/rules/quota-models.js';
import { testRedis } from '../base/redis/test-redis.js';
import { laneFixture, START } from '../engine/lane/lane-fixture.js';
import { serveVirtually, type VirtualCampaign, type VirtualService } from '../engine/lane/virtual-lane.js';
import { seeded } from '../engine/quota/learning-runs.js';

const { redis, prefix } = testRedis('estimate');

const META: CampaignMeta = {
  ...{ id: '', name: 'Spring', lane: 'main', sender: 'ACME', text: 'Hello', created: START },
  ...{ columns: ['phone'], numberColumn: 'phone', placeholders: [], priority: 'normal', preview: null },
  ...{ duplicates: 0, invalid: 0, suppressed: 0 },
};
/** A window of five seconds: everything else shrinks with it. */
const COMPRESSED: Partial<ScriptRules> = {
  ...{ window: 5_000, timeout: 500, margin: 500, backoff: 50, grace: 0 },
  ...{ firstPoll: 500, pollAgain: 500, deadline: 300_000 },
};
const HOURLY: VirtualService = { latencyMs: 200, deliveryMs: 30_000, lagMs: 40 };
const FAST: VirtualService = { latencyMs: 40, deliveryMs: 3_000, lagMs: 40 };

/** An estimate, `left` windows before the last message, and by how many windows its range begins and ends after that. */
interface Sample {
  readonly campaign: string;
  readonly left: number;
  readonly earliest: number;
  readonly latest: number | null;
  readonly isApproximate: boolean;
}

/**
 * Plays a lane on its real scripts and estimates each campaign's last message at each tenth of it, and four times a window. `planted`: what
 * the estimate is wrong about.
 */
async function samplesOf(
  change: Partial<ScriptRules>,
  campaigns: readonly VirtualCampaign[],
  service: VirtualService,
  planted: Partial<LaneOutlook> = {},
): Promise<Sample[]> {
  const lane = laneFixture(
    redis,
    prefix,
    expect.getState().currentTestName?.replaceAll(/\W/g, '-') ?? '',
    change,
  );
  const { window } = lane.rules;
  const seen = new Set<string>();
  const found: {
    readonly id: string;
    readonly now: number;
    readonly eta: Awaited<ReturnType<typeof etaOf>>;
  }[] = [];
  const etaOf = async (id: string, state: Parameters<typeof campaignStatus>[0]['state'], now: number) => {
    const { eta } = campaignStatus({
      ...{ meta: { ...META, id }, state, lane: { name: 'main', rules: lane.rules } },
      ...{ isConfigured: true, hasWorkers: true, unknownOutcomes: [], acceptedCost: null },
      view: await lane.views.look(now),
      outlook: { ...(await readLaneOutlook(lane.store, now)), ...planted },
    });
    if (eta === null) throw new Error('something is left to send');
    return eta;
  };
  const { lastSent } = await serveVirtually(lane, {
    ...{ begin: START + 1_234_567, campaigns, service, everyMs: window / 4, random: seeded(5) },
    async observe(now) {
      for (const { id, recipients } of campaigns) {
        const state = await readState(redis, lane.keys, lane.lane, id);
        const planned = state?.counts.planned ?? 0;
        const tenths = Math.floor(10 * (1 - planned / recipients));
        const moment = `${id} ${tenths} ${Math.floor((4 * now) / window)}`;
        if (state === null || tenths < 1 || planned === 0 || seen.has(moment)) continue;
        seen.add(moment);
        found.push({ id, now, eta: await etaOf(id, state, now) });
      }
    },
  });
  return found.map(({ id, now, eta: { earliest, latest, isApproximate } }) => {
    const after = (ms: number): number => (ms - (lastSent.get(id) ?? Number.NaN)) / window;
    return {
      ...{ campaign: id, left: -after(now), isApproximate },
      ...{
        earliest: after(Date.parse(earliest)),
        latest: latest === null ? null : after(Date.parse(latest)),
      },
    };
  });
}

const one = (recipients: number): VirtualCampaign[] => [{ id: 'one', recipients }];

const isOutside = ({ earliest, latest }: Sample) => earliest > 0 || latest === null || latest < 0;

describe('The last message is sent within the estimated range, from a tenth of the campaign on', () => {
  test.each<[string, Partial<ScriptRules>, VirtualCampaign[], VirtualService]>([
    ['250 recipients at 100 per hour', {}, one(250), HOURLY],
    ['125 recipients, with smooth pacing', { quota: 50, smooth: true }, one(125), HOURLY],
    ['390 recipients in a window of 5 s', COMPRESSED, one(390), FAST],
    [
      'first polls after three windows',
      { ...COMPRESSED, quota: 50, firstPoll: 15_000, pollAgain: 15_000 },
      one(200),
      FAST,
    ],
    [
      'three campaigns, one small and one with priority',
      { quota: 50 },
      [
        { id: 'one', recipients: 10 },
        { id: 'three', recipients: 65, weight: 4 },
        { id: 'two', recipients: 75 },
      ],
      HOURLY,
    ],
    ['polls have half of the quota', { quota: 50, pollShare: 0.5 }, one(100), HOURLY],
    ['polls have no share', { quota: 50, pollShare: 0 }, one(125), HOURLY],
    ['polls are late for a short deadline', { quota: 50, deadline: 6 * 3_600_000 }, one(250), HOURLY],
    ['a quota of 7', { quota: 7 }, one(33), HOURLY],
    ['a quota of 2', { quota: 2 }, one(10), HOURLY],
    ['a quota of 1, which sends and polls use in turn', { quota: 1 }, one(6), HOURLY],
    [
      'a service so slow that the quota is not used up',
      { quota: 10_000 },
      one(200),
      { ...HOURLY, latencyMs: 120_000 },
    ],
  ])('%s', async (_, change, campaigns, service) => {
    const samples = await samplesOf(change, campaigns, service);
    expect(new Set(samples.map(({ campaign }) => campaign)).size).toBe(campaigns.length);
    expect(samples.filter(isOutside)).toEqual([]);
    // A window, and what its permits return late.
    expect(samples.filter(({ earliest, latest }) => Number(latest) - earliest > 1.3)).toEqual([]);
    expect(samples.some(({ isApproximate }) => isApproximate)).toBe(false);
  });
});

describe('It is not, if the estimate is wrong about', () => {
  test.each<[string, Partial<LaneOutlook>]>([
    ['the share of polls, which is larger', { pollsAtLeast: 2, pollsAtMost: 2 }],
    ['the share of polls, which is smaller', { pollsAtLeast: 25, pollsAtMost: 25 }],
    ['the permits that return', { returning: [] }],
    ['the quota', { quota: 60, limit: 60 }],
  ])('%s', async (_, planted) => {
    const samples = await samplesOf({ quota: 50 }, one(125), HOURLY, planted);
    expect(samples.filter(isOutside)).not.toEqual([]);
  });
});

describe('With a learned quota, the last message is sent at about the estimated time', () => {
  test.each<[number, number, QuotaModelName]>([
    [12, 40, 'clock'],
    [30, 100, 'sliding'],
    [50, 150, 'bucket'],
  ])('%i an hour, for %i recipients, counted by %s', async (limit, recipients, model) => {
    const service = { ...HOURLY, quota: { model, limit } };
    const samples = await samplesOf({ quota: 0 }, one(recipients), service);
    const estimated = samples.filter(({ latest }) => latest !== null);
    expect(estimated.length).toBeGreaterThan(samples.length - 4);
    expect(samples.every(({ isApproximate }) => isApproximate)).toBe(true);
    // The trial of a quota takes up to a window.
    expect(estimated.filter(({ earliest, latest }) => earliest > 1 || Number(latest) < -1)).toEqual([]);
  });
});
