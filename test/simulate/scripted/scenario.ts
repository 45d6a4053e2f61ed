import { ACCOUNTS, type CampaignPlan, configOf, type LanePlan, type Scenario } from '../scenario/scenario.js';

/** The settings of a scripted lane that differ from the usual ones. */
type LaneChanges = Partial<Omit<LanePlan, 'settings'>> & {
  readonly settings?: Partial<LanePlan['settings']>;
};

/** A lane with an API key and 10 requests in each window. The service counts sliding windows. */
export function lane({ settings, ...changes }: LaneChanges = {}, at = 0): LanePlan {
  const name = `lane${at}`;
  const hourlyQuota = settings?.hourlyQuota ?? 10;
  return {
    settings: {
      name,
      profile: 'v1',
      hourlyQuota,
      pollShare: 0.2,
      pacing: 'burst',
      maxRecipientsPerRequest: 1,
      unknownOutcome: { action: 'hold' },
      clientCorrelator: 'off',
      credentials: { kind: 'apiKey', apiKey: `key-${name}` },
      ...settings,
    },
    model: 'sliding',
    hidden: hourlyQuota === 'auto' ? 20 : hourlyQuota,
    tokenLifeMs: 0,
    isPasswordWrong: false,
    isBlocked: false,
    ...changes,
  };
}

/** A lane with an account in place of an API key. */
export function accountLane(changes: LaneChanges = {}): LanePlan {
  const [account] = ACCOUNTS;
  if (account === undefined) throw new Error('there are no accounts');
  return lane({
    ...changes,
    settings: { credentials: { kind: 'account', ...account }, ...changes.settings },
  });
}

/** A campaign of the first lane with one recipient, committed at once. The place decides its id (`c00`, `c01`) and its numbers. */
export function campaign(changes: Partial<CampaignPlan> = {}, place = 0): CampaignPlan {
  return {
    id: `c0${place}`,
    lane: 'lane0',
    range: place,
    recipients: 1,
    priority: 'normal',
    committedAt: 0,
    startsInMs: 0,
    validForMs: 0,
    bad: new Set(),
    suppressed: new Set(),
    ...changes,
  };
}

/** The configuration of a scripted world: windows of a minute, a request timeout of 5 s, and a deadline for reports of 5 min. */
export function config(
  changes: {
    readonly windowMs?: number;
    readonly timeoutMs?: number;
    readonly deadline?: string;
    readonly isNotified?: boolean;
  } = {},
): Scenario['config'] {
  const { windowMs = 60_000, timeoutMs = 5_000, deadline = '5m', isNotified = false } = changes;
  return configOf(windowMs, timeoutMs, deadline, isNotified);
}

/** A world with one lane, one campaign, and two processes, in which nothing goes wrong by itself. */
export function scenario(changes: Partial<Scenario> = {}): Scenario {
  return {
    config: config(),
    changed: undefined,
    lanes: [lane()],
    campaigns: [campaign()],
    outbox: undefined,
    replies: [],
    hasEndpoint: false,
    processes: 2,
    faults: new Set(),
    chaosMs: 10_000,
    latencyMs: 20,
    lossMs: 0,
    notifications: undefined,
    refusal: undefined,
    standing: [],
    suspension: undefined,
    rollback: undefined,
    lateRequest: undefined,
    windows: new Map(),
    movesAt: [],
    ...changes,
  };
}
