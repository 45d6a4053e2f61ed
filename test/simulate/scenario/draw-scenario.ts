import type { LaneSettings } from '../../../src/base/config/index.js';
import { inZone, type Opening } from '../../../src/campaign/estimate/window.js';
import { partName } from '../../../src/campaign/estimate/zones.js';
import { QUOTA_MODELS } from '../../../src/tools/simulator/rules/quota-models.js';
import type { RandomStream, Streams } from '../random.js';
import { OUTBOX } from '../server/lane-state.js';
import { START } from '../server/server.js';
import {
  ACCOUNTS,
  type CampaignPlan,
  configOf,
  FAULTS,
  type Fault,
  type KnownAnswer,
  type LanePlan,
  type OutboxPlan,
  type RefusalPlan,
  type ReplyPlan,
  type Scenario,
  type SuspensionPlan,
  type TimeoutPlan,
} from './scenario.js';

/** What services answer that refuse a correlator which they know, instead of repeating their first response. */
const KNOWN_ANSWERS: readonly KnownAnswer[] = ['SVC0005', 400, 403, 409, 422, 429];

/** Clocks that stand still while a machine is suspended. At least one of them shows how long that was. */
const STANDING = [['monotonic'], ['monotonic', 'uptime'], ['monotonic', 'clock']] as const;

/**
 * Draws a world. Most worlds are small; some are made for one purpose, such as a huge campaign before a small one. Each part of a world
 * has a stream of its own.
 */
export function drawScenario(streams: Streams): Scenario {
  const random = streams('scenario');
  const notifying = streams('scenario: notifications');
  const changing = streams('scenario: changed configuration');
  const windowing = streams('scenario: windows');
  const zoning = streams('scenario: zones');
  const clocking = streams('scenario: times');
  const boxing = streams('scenario: outbox');
  const refusing = streams('scenario: refused credentials');
  const suspending = streams('scenario: suspensions');
  const moving = streams('scenario: moved slots');
  const timing = streams('scenario: late request');
  const rolling = streams('scenario: rollback');
  const replying = streams('scenario: replies');
  const notifications = notifying.chance(0.25)
    ? {
        loss: notifying.pick([0, 0.2, 0.6]),
        areLate: notifying.chance(0.3),
        isAmbiguous: notifying.chance(0.5),
      }
    : undefined;
  const isQuiet = random.chance(0.15);
  const faults = new Set<Fault>(
    isQuiet
      ? []
      : FAULTS.filter((fault) => streams(`scenario: ${fault}`).chance(fault === 'forget' ? 0.12 : 0.35)),
  );
  const windowMs = random.pick([60_000, 60_000, 3_600_000]);
  const timeoutMs = windowMs === 60_000 ? 5_000 : random.pick([5_000, 30_000]);
  const deadline = random.pick(['5m', '5m', '2h']);
  const config = configOf(windowMs, timeoutMs, deadline, notifications !== undefined);
  const changed = changing.chance(0.25)
    ? configOf(
        windowMs,
        windowMs === 60_000 ? 3_000 : 35_000 - timeoutMs,
        deadline,
        notifications !== undefined,
      )
    : undefined;
  const isFairness = random.chance(0.04);
  const count = isFairness
    ? 1
    : random.weighted([
        [7, 1],
        [1, 2],
      ]);
  const blocked = count === 2 && random.chance(0.4);
  // Volley cannot know the age of a request by a clock that is set back by more than its margin.
  const remembersForMs = faults.has('clock')
    ? 24 * 3_600_000
    : changing.pick([4, 4, 12]) * Math.max(timeoutMs, changed?.requestTimeoutMs ?? 0);
  const lanes = Array.from({ length: count }, (_, at): LanePlan => {
    const lane = drawLane(
      streams(`scenario: lane${at}`),
      at,
      isFairness,
      blocked && at === 0,
      remembersForMs,
    );
    const knowing = streams(`scenario: known correlators of lane${at}`);
    return { ...lane, knows: knowing.chance(0.4) ? undefined : knowing.pick(KNOWN_ANSWERS) };
  });
  const isShared = notifications?.isAmbiguous === true;
  if (isShared && !isQuiet) faults.add('service');
  const ranges = new Map<string, number>();
  const campaigns = lanes.flatMap((lane, at) => {
    const campaignCount = isFairness
      ? 2
      : streams(`scenario: campaigns of ${lane.settings.name}`).weighted([
          [6, 1],
          [3, 2],
          [1, 3],
        ]);
    return Array.from({ length: campaignCount }, (_, place) => {
      const id = `c${at}${place}`;
      const own = streams(`scenario: ${id}`);
      const most = own.weighted([
        [8, 4],
        [2, 10],
      ]);
      const isHuge = isFairness && place === 0;
      const { hourlyQuota, maxRecipientsPerRequest } = lane.settings;
      // Few requests per campaign keep the run to a few windows, which is where the interesting orders occur.
      const fits = hourlyQuota === 'auto' ? most : Math.min(most, 2 * hourlyQuota * maxRecipientsPerRequest);
      const recipients = isHuge
        ? 30
        : isFairness
          ? 3
          : own.integer(1, campaignCount > 1 ? Math.ceil(fits / 2) : fits);
      const { name } = lane.settings;
      const range = isShared ? (ranges.get(name) ?? ranges.size) : at * 3 + place;
      ranges.set(name, range);
      return { ...drawCampaign(own, id, name, recipients, place, isFairness), range };
    });
  });
  // Whether a request is in its window cannot be judged by a clock that is changed, nor can order by campaigns that wait.
  const hasWindows = !isFairness && !faults.has('clock') && windowing.chance(0.35);
  const windows = new Map<string, readonly Opening[]>();
  const windowed = (rule: string, probability: number): boolean => {
    const isDrawn = hasWindows && windowing.chance(probability);
    if (isDrawn) windows.set(rule, drawOpenings(windowing));
    return isDrawn;
  };
  const outbox = !isFairness && boxing.chance(1 / 8) ? drawOutbox(boxing, lanes) : undefined;
  const hasOwnWindow = outbox !== undefined && !faults.has('clock') && boxing.chance(0.25);
  const boxRule = 'window of the outbox';
  if (hasOwnWindow) windows.set(boxRule, drawOpenings(boxing));
  // A stop word that Redis loses is lost for good (docs/redis.md).
  const mayReply = !isFairness && !faults.has('forget') && replying.chance(1 / 8);
  // Retries wait by the clock, and results are removed by it.
  const hasEndpoint =
    !faults.has('forget') && !faults.has('clock') && streams('scenario: endpoint').chance(1 / 10);
  const scenario = {
    config,
    changed,
    windows,
    outbox: outbox === undefined || !hasOwnWindow ? outbox : { ...outbox, window: boxRule },
    lanes: lanes.map((plan) => {
      const rule = `window of ${plan.settings.name}`;
      return windowed(rule, 0.3) ? { ...plan, settings: { ...plan.settings, sendWindow: rule } } : plan;
    }),
    campaigns: campaigns.map((plan) => {
      const rule = `window of ${plan.id}`;
      const own = windowed(rule, 0.7) ? { ...plan, window: rule } : plan;
      if (!hasWindows || plan.recipients > 250) return own;
      const timed = (zone: string, place: number): string =>
        partName({ zone, at: START + 5 * clocking.integer(-200, 2_000) + place });
      if (!zoning.chance(0.4)) return clocking.chance(0.2) ? { ...own, zones: ['', '', ''].map(timed) } : own;
      const zones = Array.from({ length: zoning.integer(2, 4) }, (_, zone) => `zone${zone}`);
      for (const zone of zones) windows.set(inZone(`${rule}; recipient`, zone), drawOpenings(zoning));
      const parts = clocking.chance(0.5) ? zones.map(timed) : zones;
      return { ...plan, window: `${rule}; recipient`, zones: parts };
    }),
    processes: random.weighted([
      [3, 2],
      [1, 3],
    ]),
    faults,
    chaosMs: isQuiet ? 3_000 : random.pick([4_000, 10_000, 40_000]),
    latencyMs: random.pick([20, 200, 1_000]),
    lossMs: faults.has('forget') || random.chance(0.1) ? 2_000 : 0,
    notifications,
    replies: [],
    hasEndpoint,
  };
  // On a server that may lose nothing, a new run id has no consequences.
  const moves = scenario.lossMs > 0 && moving.chance(0.4) ? moving.integer(1, 2) : 0;
  const drawn = {
    ...scenario,
    replies: mayReply && scenario.lossMs === 0 ? drawReplies(replying, scenario) : [],
    refusal: refusing.chance(0.12) ? drawRefusal(refusing, scenario) : undefined,
    standing: suspending.chance(0.5) ? suspending.pick(STANDING) : [],
    suspension: !isQuiet && suspending.chance(0.15) ? drawSuspension(suspending, scenario) : undefined,
    rollback: undefined,
    lateRequest: isQuiet ? undefined : drawTimeout(timing, scenario),
    movesAt: Array.from({ length: moves }, () => moving.integer(0, scenario.chaosMs)),
  };
  return rolling.chance(0.04) ? withRollback(rolling, drawn) : drawn;
}

/** Matters only if the longer timeout lasts longer than the shorter one of two requests, with the margin. */
function drawTimeout(
  random: RandomStream,
  { config, changed, chaosMs }: Pick<Scenario, 'config' | 'changed' | 'chaosMs'>,
): TimeoutPlan | undefined {
  const timeouts = [config.requestTimeoutMs, changed?.requestTimeoutMs ?? 0];
  const [shortMs, longMs] = [Math.min(...timeouts), Math.max(...timeouts)];
  if (changed === undefined || longMs < 3 * shortMs || random.chance(0.2)) return undefined;
  return { at: random.integer(0, chaosMs / 4), shortMs, longMs };
}

/** A world with one batch and two processes, to which nothing else happens. */
function withRollback(random: RandomStream, drawn: Scenario): Scenario {
  const [lane, campaign] = [drawn.lanes[0], drawn.campaigns[0]];
  if (lane === undefined || campaign === undefined) throw new Error('a world without a lane or a campaign');
  const { name, maxRecipientsPerRequest } = lane.settings;
  const settings: LaneSettings = {
    ...lane.settings,
    profile: 'v1',
    hourlyQuota: 10,
    pacing: 'burst',
    unknownOutcome: { action: 'hold' },
    clientCorrelator: 'off',
    credentials: { kind: 'apiKey', apiKey: `key-${name}` },
  };
  const none: ReadonlySet<number> = new Set();
  // A campaign begins when the server can no longer lose it.
  const at = random.integer(600, 1_500);
  return {
    ...drawn,
    config: configOf(60_000, 5_000, '5m', drawn.notifications !== undefined),
    changed: undefined,
    lanes: [{ ...lane, settings, hidden: 10, isPasswordWrong: false, isBlocked: false }],
    campaigns: [
      {
        ...campaign,
        recipients: random.integer(1, maxRecipientsPerRequest),
        committedAt: 0,
        startsInMs: 0,
        validForMs: 0,
        bad: none,
        suppressed: none,
      },
    ],
    processes: 2,
    faults: new Set(),
    chaosMs: 120_000,
    latencyMs: 20,
    lossMs: 2_000,
    refusal: undefined,
    standing: [],
    suspension: undefined,
    outbox: undefined,
    replies: [],
    hasEndpoint: false,
    rollback: {
      at,
      loseAfterMs: random.integer(50, 400),
      againAfterMs: random.integer(2_050 - at, 1_990),
      forMs: random.integer(40_000, 90_000),
    },
    lateRequest: undefined,
    movesAt: [],
  };
}

/** What is drawn before the incidents. */
type Drawn = Omit<Scenario, 'refusal' | 'standing' | 'suspension' | 'rollback' | 'lateRequest' | 'movesAt'>;

/** Some short openings, and one without an end, so that every campaign ends. */
function drawOpenings(random: RandomStream): Opening[] {
  const openings: Opening[] = [];
  let at = START + random.integer(-5_000, 5_000);
  for (let count = random.integer(1, 12); count > 0; count -= 1) {
    const until =
      at +
      random.weighted([
        [3, random.integer(50, 700)],
        [1, random.integer(700, 5_000)],
      ]);
    openings.push({ from: at, until });
    at = until + random.integer(100, 3_000);
  }
  return [...openings, { from: at, until: Number.MAX_SAFE_INTEGER }];
}

/** The refusals mostly begin while the first requests of the lane are in flight. */
function drawRefusal(random: RandomStream, world: Drawn): RefusalPlan {
  const open = world.lanes.filter(({ isBlocked }) => !isBlocked);
  return {
    lane: random.pick(open).settings.name,
    at: random.weighted([
      [4, random.integer(0, 4 * world.latencyMs)],
      [1, random.integer(0, world.chaosMs)],
    ]),
    rounds: random.integer(1, 3),
    status: random.pick([401, 401, 403]),
  };
}

/** A batch whose worker is suspended may be sent again two timeouts and a margin after its claim. */
function drawSuspension(random: RandomStream, { config, chaosMs }: Drawn): SuspensionPlan {
  const resendAfterMs = 2 * config.requestTimeoutMs + 6_000;
  const command = random.pick(['pause', 'pause', 'resend'] as const);
  const commandAfterMs = random.integer(0, 2_500) + (command === 'pause' ? 0 : resendAfterMs);
  return {
    at: random.integer(0, chaosMs / 4),
    forMs: commandAfterMs + random.integer(2_100, 3_400),
    standing: random.pick(STANDING),
    command,
    commandAfterMs,
  };
}

/** Few people, so that some write more than once. Most write while their campaign is sent. */
function drawReplies(random: RandomStream, { campaigns, chaosMs }: Drawn): ReplyPlan[] {
  return Array.from({ length: random.integer(1, 5) }, () => {
    const { id, recipients, committedAt } = random.pick(campaigns);
    return {
      campaign: id,
      ordinal: random.integer(0, Math.min(recipients, 4) - 1),
      at: committedAt + random.integer(0, chaosMs / 2),
      text: random.weighted([
        [5, 'stop'],
        [2, 'start'],
        [1, 'hello'],
      ] as const),
      isLong: random.chance(0.3),
      times: random.integer(1, 3),
      withinMs: random.pick([50, 5_000]),
    };
  });
}

function drawOutbox(random: RandomStream, lanes: readonly LanePlan[]): OutboxPlan {
  return {
    name: OUTBOX,
    lane: random.pick(lanes).settings.name,
    lateMs:
      1_000 *
      random.weighted([
        [2, random.integer(1, 5)],
        [3, random.integer(5, 60)],
        [2, 3_600],
      ]),
    priority: random.chance(0.2) ? 'high' : 'normal',
    messages: random.integer(2, 8),
    isVersioned: random.chance(0.5),
  };
}

/** `remembersForMs`: for how long the service remembers a correlator, if it deduplicates them. */
function drawLane(
  random: RandomStream,
  at: number,
  isFairness: boolean,
  isBlocked: boolean,
  remembersForMs: number,
): LanePlan {
  const name = `lane${at}`;
  const quota = isFairness
    ? random.pick([4, 10, 1_000])
    : random.weighted<number | 'auto'>([
        [4, random.integer(1, 6)],
        [4, random.integer(8, 30)],
        [3, 1_000],
        [1, 'auto'],
      ]);
  const isAccount = random.chance(0.3);
  const account = ACCOUNTS[at];
  const drawn: Omit<LaneSettings, 'profile'> = {
    name,
    hourlyQuota: quota,
    pollShare: random.pick([0.2, 0.2, 0.5]),
    pacing: random.chance(0.15) ? 'smooth' : 'burst',
    maxRecipientsPerRequest: isFairness ? 1 : random.pick([1, 1, 2, 5]),
    unknownOutcome: random.weighted([
      [6, { action: 'hold' } as const],
      [2, { action: 'resend', afterMs: random.pick([60_000, 300_000]) } as const],
      [2, { action: 'abandon', afterMs: 120_000 } as const],
    ]),
    clientCorrelator: random.weighted<LaneSettings['clientCorrelator']>([
      [7, 'off'],
      [1, 'send'],
      [2, { deduplicatesForMs: remembersForMs }],
    ]),
    credentials:
      isAccount && account !== undefined
        ? { kind: 'account', ...account }
        : { kind: 'apiKey', apiKey: `key-${name}` },
  };
  // Half of the lanes that deduplicate.
  const isV3 = typeof drawn.clientCorrelator === 'object' && at % 2 === 0;
  return {
    settings: { ...drawn, profile: isV3 ? 'v3' : 'v1' },
    model: random.pick(QUOTA_MODELS),
    hidden: quota === 'auto' ? random.integer(20, 40) : quota,
    tokenLifeMs: random.pick([0, 20_000, 90_000, 3_600_000]),
    isPasswordWrong: isAccount && random.chance(0.1),
    isBlocked,
  };
}

function drawCampaign(
  random: RandomStream,
  id: string,
  lane: string,
  recipients: number,
  place: number,
  isFairness: boolean,
): Omit<CampaignPlan, 'range'> {
  const some = (probability: number): Set<number> =>
    new Set(Array.from({ length: recipients }, (_, at) => at).filter(() => random.chance(probability)));
  const allBad = !isFairness && random.chance(0.04);
  return {
    id,
    lane,
    recipients,
    priority: random.chance(0.2) ? 'high' : 'normal',
    committedAt: place === 0 ? 0 : random.integer(0, 8_000),
    startsInMs: !isFairness && random.chance(0.1) ? random.integer(1_000, 20_000) : 0,
    validForMs: !isFairness && random.chance(0.08) ? random.integer(2_000, 90_000) : 0,
    bad: allBad ? some(1) : some(0.04),
    suppressed: random.chance(0.2) ? some(0.2) : new Set(),
  };
}
