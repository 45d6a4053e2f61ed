import type { Clocks } from '../../src/base/clock.js';
import { type Config, type LaneSettings, loadConfig } from '../../src/base/config/index.js';
import type { Opening } from '../../src/campaign/window.js';
import { QUOTA_MODELS, type QuotaModelName } from '../../src/tools/simulator/quota-models.js';
import { OUTBOX } from './lane-state.js';
import type { SeededRandom } from './random.js';
import { START } from './server.js';

/** The kinds of faults. Each world draws some of them. */
export const FAULTS = ['kill', 'stop', 'cut', 'lock', 'clock', 'full', 'forget', 'service', 'slow'] as const;
export type Fault = (typeof FAULTS)[number];

export interface CampaignPlan {
  readonly id: string;
  readonly lane: string;
  /** The range of its phone numbers. Campaigns with the same range have the same recipients. */
  readonly range: number;
  readonly recipients: number;
  readonly priority: 'high' | 'normal';
  /** ms of virtual time. */
  readonly committedAt: number;
  readonly startsInMs: number;
  readonly validForMs: number;
  /** The rule of its window: a key of {@link Scenario.windows}. */
  readonly window?: string;
  /** Ordinals of the numbers that the service refuses. */
  readonly bad: ReadonlySet<number>;
  /** Ordinals of the numbers that are suppressed after the import. */
  readonly suppressed: ReadonlySet<number>;
}

/** An outbox, whose messages a platform puts, moves, and cancels. */
export interface OutboxPlan {
  /** It is the text of its messages as well. */
  readonly name: string;
  readonly lane: string;
  readonly lateMs: number;
  readonly priority: 'high' | 'normal';
  /** The rule of its window: a key of {@link Scenario.windows}. */
  readonly window?: string;
  readonly messages: number;
  /** Whether operations have versions. */
  readonly isVersioned: boolean;
}

export interface LanePlan {
  readonly settings: LaneSettings;
  readonly model: QuotaModelName;
  /** The quota that the service enforces, in requests per window. */
  readonly hidden: number;
  /** Lifetime of an access token, ms; 0: the token does not state its expiry, and the service answers 401 once it has expired. */
  readonly tokenLifeMs: number;
  readonly isPasswordWrong: boolean;
  /** Whether the service does not answer this lane until all other lanes have ended. */
  readonly isBlocked: boolean;
}

/** How the service notifies. */
export interface NotificationPlan {
  /** The share of notifications that never arrive. */
  readonly loss: number;
  /** Whether some notifications arrive hours late. */
  readonly areLate: boolean;
  /** Whether campaigns share recipients and many requests get no response, so that notifications are hard to match. */
  readonly isAmbiguous: boolean;
}

/** A lane whose API key or account the service refuses until an operator has fixed it. */
export interface RefusalPlan {
  readonly lane: string;
  /** When the refusals begin, ms of virtual time. */
  readonly at: number;
  /** How often it may happen. */
  readonly rounds: number;
  /** The status for a refused API key. */
  readonly status: 401 | 403;
}

/** The machine of a process is suspended while it has a claim. */
export interface SuspensionPlan {
  /** The earliest time, ms of virtual time. */
  readonly at: number;
  readonly forMs: number;
  /** The clocks that stand still meanwhile. */
  readonly standing: readonly (keyof Clocks)[];
  /** What an operator does with the campaign meanwhile, and when. */
  readonly command: 'pause' | 'resend';
  readonly commandAfterMs: number;
}

/** Two servers take over from one, so that they assign the same claim numbers. Times in ms. */
export interface RollbackPlan {
  /** When Redis last saves its data. */
  readonly at: number;
  /** When the first server takes over, and when the second one does, after that. */
  readonly loseAfterMs: number;
  readonly againAfterMs: number;
  /** For how long the owner of a claim of the first one is suspended. */
  readonly forMs: number;
}

/** A machine is suspended as its request leaves, while the request timeout is being changed. */
export interface TimeoutPlan {
  /** The earliest time, ms of virtual time. */
  readonly at: number;
  readonly shortMs: number;
  readonly longMs: number;
}

/** Everything that a seed determines about a world in advance. */
export interface Scenario {
  readonly config: Config;
  /** Set while REQUEST_TIMEOUT_MS is being changed: the configuration of every second process. */
  readonly changed: Config | undefined;
  readonly lanes: readonly LanePlan[];
  readonly campaigns: readonly CampaignPlan[];
  /** Most worlds have none. */
  readonly outbox: OutboxPlan | undefined;
  readonly processes: number;
  readonly faults: ReadonlySet<Fault>;
  /** The end of the faults and of random commands, ms of virtual time. */
  readonly chaosMs: number;
  readonly latencyMs: number;
  /** How much acknowledged data Redis may lose, ms. Volley knows this value. */
  readonly lossMs: number;
  /** Undefined when the service sends no notifications. */
  readonly notifications: NotificationPlan | undefined;
  readonly refusal: RefusalPlan | undefined;
  /** The clocks of a machine that stand still while a process is stopped; none if only the process is stopped. */
  readonly standing: readonly (keyof Clocks)[];
  /** Undefined when no machine is suspended while its process has a claim. */
  readonly suspension: SuspensionPlan | undefined;
  readonly rollback: RollbackPlan | undefined;
  readonly lateRequest: TimeoutPlan | undefined;
  /** The openings of windows by their rules, ms by the clock of Redis. The last ones stay open. */
  readonly windows: ReadonlyMap<string, readonly Opening[]>;
  /** When all slots move to another server, which loses nothing and breaks no connection, ms of virtual time. */
  readonly movesAt: readonly number[];
}

/** Clocks that stand still while a machine is suspended. At least one of them shows how long that was. */
const STANDING = [['monotonic'], ['monotonic', 'uptime'], ['monotonic', 'clock']] as const;

/** The accounts of the lanes, in order. */
export const ACCOUNTS = ['lane0', 'lane1'].map((username) => ({ username, password: 'secret' }));

const configs = new Map<string, Config>();

/** Configurations are validated once and shared by the worlds. */
function configOf(windowMs: number, timeoutMs: number, deadline: string, isNotified: boolean): Config {
  const name = `${windowMs} ${timeoutMs} ${deadline} ${isNotified}`;
  const known = configs.get(name);
  if (known !== undefined) return known;
  const made = loadConfig({
    MESSAGING_BASE_URL: 'http://127.0.0.1:1',
    API_KEY: 'key',
    HOURLY_QUOTA: '10',
    QUOTA_WINDOW_MS: String(windowMs),
    REQUEST_TIMEOUT_MS: String(timeoutMs),
    FOLLOW_UP_DEADLINE: deadline,
    RETENTION: '1h',
    ...(isNotified
      ? {
          CALLBACK_URL: 'http://127.0.0.1:2',
          CALLBACK_SECURITY_TOKEN: 'a-token-of-32-letters-or-of-more',
        }
      : {}),
  });
  configs.set(name, made);
  return made;
}

/**
 * Draws a world. Most worlds are small; some are made for one purpose, such as a huge campaign before a small one.
 * Notifications, refused credentials, suspensions, changes of the configuration, moves, overlapping claims, windows, and outboxes are drawn from separate
 * random sources, so that they do not change the other draws.
 */
export function draw(
  random: SeededRandom,
  sources: Record<
    'notifying' | 'refusing' | 'suspending' | 'changing' | 'moving' | 'overlapping' | 'windowing' | 'boxing',
    SeededRandom
  >,
): Scenario {
  const { notifying, refusing, suspending, changing, moving, overlapping, windowing, boxing } = sources;
  const notifications = notifying.chance(0.25)
    ? {
        loss: notifying.pick([0, 0.2, 0.6]),
        areLate: notifying.chance(0.3),
        isAmbiguous: notifying.chance(0.5),
      }
    : undefined;
  const isQuiet = random.chance(0.15);
  const faults = new Set<Fault>(
    isQuiet ? [] : FAULTS.filter((fault) => random.chance(fault === 'forget' ? 0.12 : 0.35)),
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
  const lanes = Array.from({ length: count }, (_, at) =>
    drawLane(random, at, isFairness, blocked && at === 0, remembersForMs),
  );
  const isShared = notifications?.isAmbiguous === true;
  if (isShared && !isQuiet) faults.add('service');
  const ranges = new Map<string, number>();
  const campaigns = lanes.flatMap((lane, at) => {
    const campaignCount = isFairness
      ? 2
      : random.weighted([
          [6, 1],
          [3, 2],
          [1, 3],
        ]);
    return Array.from({ length: campaignCount }, (_, place) => {
      const most = random.weighted([
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
          : random.integer(1, campaignCount > 1 ? Math.ceil(fits / 2) : fits);
      const { name } = lane.settings;
      const range = isShared ? (ranges.get(name) ?? ranges.size) : at * 3 + place;
      ranges.set(name, range);
      return { ...drawCampaign(random, `c${at}${place}`, name, recipients, place, isFairness), range };
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
  // Where Redis loses data, the results of what ended while it waited are not understood yet; see seed 469 without this condition.
  const mayHaveOutbox = !isFairness && !faults.has('forget');
  const outbox = mayHaveOutbox && boxing.chance(1 / 8) ? drawOutbox(boxing, lanes) : undefined;
  const hasOwnWindow = outbox !== undefined && !faults.has('clock') && boxing.chance(0.25);
  const boxRule = 'window of the outbox';
  if (hasOwnWindow) windows.set(boxRule, drawOpenings(boxing));
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
      return windowed(rule, 0.7) ? { ...plan, window: rule } : plan;
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
  };
  // On a server that may lose nothing, a new run id has no consequences.
  const moves = scenario.lossMs > 0 && moving.chance(0.4) ? moving.integer(1, 2) : 0;
  const drawn = {
    ...scenario,
    refusal: refusing.chance(0.12) ? drawRefusal(refusing, scenario) : undefined,
    standing: suspending.chance(0.5) ? suspending.pick(STANDING) : [],
    suspension: !isQuiet && suspending.chance(0.15) ? drawSuspension(suspending, scenario) : undefined,
    rollback: undefined,
    lateRequest: isQuiet ? undefined : drawTimeout(overlapping, scenario),
    movesAt: Array.from({ length: moves }, () => moving.integer(0, scenario.chaosMs)),
  };
  return overlapping.chance(0.04) ? withRollback(overlapping, drawn) : drawn;
}

/** Matters only if the longer timeout lasts longer than the shorter one of two requests, with the margin. */
function drawTimeout(
  random: SeededRandom,
  { config, changed, chaosMs }: Pick<Scenario, 'config' | 'changed' | 'chaosMs'>,
): TimeoutPlan | undefined {
  const timeouts = [config.requestTimeoutMs, changed?.requestTimeoutMs ?? 0];
  const [shortMs, longMs] = [Math.min(...timeouts), Math.max(...timeouts)];
  if (changed === undefined || longMs < 3 * shortMs || random.chance(0.2)) return undefined;
  return { at: random.integer(0, chaosMs / 4), shortMs, longMs };
}

/** A world with one batch and two processes, to which nothing else happens. */
function withRollback(random: SeededRandom, drawn: Scenario): Scenario {
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
function drawOpenings(random: SeededRandom): Opening[] {
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
function drawRefusal(random: SeededRandom, world: Drawn): RefusalPlan {
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
function drawSuspension(random: SeededRandom, { config, chaosMs }: Drawn): SuspensionPlan {
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

function drawOutbox(random: SeededRandom, lanes: readonly LanePlan[]): OutboxPlan {
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
  random: SeededRandom,
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
  // Half of the lanes that deduplicate. This draws nothing, so that the other worlds stay as they are.
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
  random: SeededRandom,
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

/** The phone number of a recipient; it contains the range of the campaign and the ordinal. */
export function numberOf(range: number, ordinal: number): string {
  return `+4915${String(10 + range)}${String(100_000 + ordinal)}`;
}

export function ordinalOf(number: string): number {
  return Number(number.slice(7)) - 100_000;
}
