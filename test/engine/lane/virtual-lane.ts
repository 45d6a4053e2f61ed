import type { PollSettlement } from '../../../src/engine/follow-up/poll-claim.js';
import type { SendSettlement } from '../../../src/engine/sending/send-claim.js';
import { createQuotaModel, type QuotaModelName } from '../../../src/tools/simulator/rules/quota-models.js';
import type { laneFixture } from './lane-fixture.js';

/** A campaign of a virtual lane. */
export interface VirtualCampaign {
  readonly id: string;
  readonly recipients: number;
  /** When it is committed, ms after the start; default 0. */
  readonly at?: number;
  readonly weight?: number;
}

/** Averages: how long a request takes, and until a report is final; and how late a job at most begins. */
export interface VirtualService {
  readonly latencyMs: number;
  readonly deliveryMs: number;
  readonly lagMs: number;
  /** How it counts its requests per window; default: it refuses none. */
  readonly quota?: { readonly model: QuotaModelName; readonly limit: number };
}

interface VirtualRun {
  readonly begin: number;
  readonly campaigns: readonly VirtualCampaign[];
  readonly service: VirtualService;
  random(): number;
  /** Called this often, and at every fifth recipient of a campaign. */
  readonly everyMs: number;
  observe(now: number): Promise<void>;
  /** Whether it goes on until every report is final, rather than until every message is sent. */
  readonly untilFinal?: boolean;
}

/** How a virtual lane ended: when each campaign's last message was claimed, when it all ended, and the requests that the service refused. */
export interface VirtualEnd {
  readonly lastSent: ReadonlyMap<string, number>;
  readonly endedAt: number;
  readonly refused: number;
}

interface Step {
  readonly at: number;
  run(): Promise<void>;
}

type Kind = 'send' | 'poll';

/** Serves a lane as its workers do, in virtual time: the scripts are the real ones on a real Redis. Ends when every campaign is sent, or final. */
export async function serveVirtually(
  lane: ReturnType<typeof laneFixture>,
  { begin, campaigns, service, random, everyMs, observe, untilFinal = false }: VirtualRun,
): Promise<VirtualEnd> {
  const { rules } = lane;
  const { quota } = service;
  const model = quota && createQuotaModel(quota.model, quota.limit, rules.window);
  const isRefused = (arrival: number): boolean => (model?.arrive(arrival) ?? 0) > 0;
  const steps: Step[] = [];
  const lastSent = new Map<string, number>();
  const finalAt = new Map<string, number>();
  const planned = new Map(campaigns.map(({ id, recipients }) => [id, recipients]));
  const asked: Record<Kind, number> = { send: Number.POSITIVE_INFINITY, poll: Number.POSITIVE_INFINITY };
  const inFlight: Record<Kind, number> = { send: 0, poll: 0 };
  const calls: Record<Kind, number> = { send: 0, poll: 0 };
  let [now, refused, open] = [begin, 0, 0];

  const at = (time: number, run: () => Promise<void>): void => {
    const place = steps.findIndex((step) => step.at > time);
    steps.splice(place === -1 ? steps.length : place, 0, { at: time, run });
  };
  /** Half to one and a half of an average. */
  const about = (average: number): number => Math.ceil(average * (0.5 + random()));
  const lag = (): number => Math.ceil(service.lagMs * random());

  const ask = (kind: Kind, time: number): void => {
    if (time >= asked[kind]) return;
    asked[kind] = time;
    at(time, async () => {
      if (asked[kind] !== time) return;
      asked[kind] = Number.POSITIVE_INFINITY;
      if (inFlight[kind] < rules.inFlight) await turn[kind](rules.inFlight - inFlight[kind]);
    });
  };
  const askAgain = (kind: Kind, { why, againInMs }: { why: string; againInMs: number | null }): void => {
    // Answers make room.
    if (why === 'inFlight' || againInMs === null) return;
    ask(kind, now + Math.max(1, againInMs) + (againInMs > 0 ? lag() : 0));
  };
  /** A request takes half of its time to arrive. */
  const answered = (kind: Kind, settle: (isThrottled: boolean) => Promise<void>): void => {
    inFlight[kind] += 1;
    const half = Math.ceil(about(service.latencyMs) / 2);
    at(now + half, async () => {
      const isThrottled = isRefused(now);
      at(now + half, async () => {
        inFlight[kind] -= 1;
        await settle(isThrottled);
        ask(kind, now);
      });
    });
  };

  const turn: Record<Kind, (want: number) => Promise<void>> = {
    async send(want) {
      calls.send += 1;
      const reply = await lane.claims.send({ turn: 's', call: calls.send, want, seen: 0, now });
      for (const claim of reply.claims) {
        const requestId = `${claim.campaign}-${claim.first}`;
        const left = (planned.get(claim.campaign) ?? 0) - claim.count;
        planned.set(claim.campaign, left);
        lastSent.set(claim.campaign, now);
        answered('send', async (isThrottled) => {
          if (isThrottled) {
            refused += 1;
            planned.set(claim.campaign, (planned.get(claim.campaign) ?? 0) + claim.count);
            await lane.settlements.send([{ claim, result: 'throttled' }], 0.5, now);
            return;
          }
          open += 1;
          finalAt.set(requestId, now + about(service.deliveryMs));
          const letters = 'N'.repeat(claim.count);
          const settlement: SendSettlement = { claim, result: 'accepted', letters, requestId };
          await lane.settlements.send([settlement], 0.5, now);
          ask('poll', now + rules.firstPoll);
          if (left % 5 === 0) await observe(now);
        });
      }
      askAgain('send', reply);
    },
    async poll(want) {
      calls.poll += 1;
      const reply = await lane.claims.poll({ turn: 'p', call: calls.poll, want, seen: 0, now });
      for (const claim of reply.claims) {
        const requestId = `${claim.campaign}-${claim.first}`;
        answered('poll', async (isThrottled) => {
          if (isThrottled) {
            refused += 1;
            await lane.settlements.poll([{ claim, result: 'throttled' }], 0.5, now);
            return;
          }
          const isFinal = now >= (finalAt.get(requestId) ?? 0);
          if (isFinal) open -= 1;
          const letters = isFinal ? 'T' : 'N';
          const settlement: PollSettlement = { claim, result: 'infos', letters, requestId };
          await lane.settlements.poll([settlement], 0.5, now);
        });
      }
      askAgain('poll', reply);
    },
  };

  const sweep = async (): Promise<void> => {
    const { sendAt, pollAt } = await lane.views.look(now);
    if (sendAt >= 0) ask('send', Math.max(now, sendAt) + lag());
    if (pollAt >= 0) ask('poll', Math.max(now, pollAt) + lag());
    at(now + Math.max(2_000, rules.window / 25), sweep);
  };
  const watch = async (): Promise<void> => {
    await observe(now);
    at(now + everyMs, watch);
  };
  for (const { id, recipients, at: after = 0, weight = 1 } of campaigns) {
    at(begin + after, async () => {
      await lane.campaign(id, recipients, { batch: 1, weight });
      ask('send', now + lag());
    });
  }
  at(begin, sweep);
  at(begin, watch);
  while ([...planned.values()].some((count) => count > 0) || (untilFinal && open + inFlight.send > 0)) {
    const step = steps.shift();
    if (step === undefined) throw new Error('the lane has stopped');
    now = Math.max(now, step.at);
    await step.run();
  }
  return { lastSent, endedAt: now, refused };
}
