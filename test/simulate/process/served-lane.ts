import type { PollClaims } from '../../../src/engine/follow-up/poll-claim.js';
import { pollClaims } from '../../../src/engine/follow-up/poll-claims.js';
import { type FollowedRequests, openRequests } from '../../../src/engine/follow-up/requests.js';
import type { TokenSource } from '../../../src/engine/jobs/token-source.js';
import { type Lane, openLane } from '../../../src/engine/lane/lane.js';
import { laneTokenSource } from '../../../src/engine/lane/lane-token-source.js';
import { type MatchStore, matchStore } from '../../../src/engine/notifications/match-store.js';
import { replayClaims } from '../../../src/engine/recovery/replay-claims.js';
import { campaignContent } from '../../../src/engine/sending/campaign-content.js';
import type { Messages } from '../../../src/engine/sending/message.js';
import { openMessages } from '../../../src/engine/sending/messages.js';
import type { RecentClaims } from '../../../src/engine/sending/recent-claims.js';
import type { SendClaims } from '../../../src/engine/sending/send-claim.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import type { Suppression } from '../../../src/engine/suppression/suppression.js';
import type { TokenCache } from '../../../src/service/auth/token-cache.js';
import type { LanePlan } from '../scenario/scenario.js';
import type { World } from '../world.js';
import type { Process } from './process.js';

/** A lane as a process serves it: the code under test on the Redis connection and the machine of the process. */
export interface ServedLane {
  readonly lane: Lane;
  readonly recent: RecentClaims;
  readonly messages: Messages;
  readonly requests: FollowedRequests;
  readonly matches: MatchStore;
  readonly sends: SendClaims;
  readonly polls: PollClaims;
  readonly tokens: TokenSource;
  /** Undefined if the lane has an API key. */
  readonly tokenCache: TokenCache | undefined;
}

export function openServedLane(
  world: World,
  process: Process,
  suppression: Suppression,
  settings: LanePlan['settings'],
): ServedLane {
  const { machine, config, redis, events, name } = process;
  const lane = {
    ...openLane(redis, world.keys, config, settings, events, machine.random, machine),
    startStopwatch: () => world.parts.startStopwatch(machine),
  };
  const content = campaignContent(lane);
  const suppressed = {
    areSuppressed: (numbers: readonly string[]) => suppression.areSuppressed(lane.id, numbers),
    isOnlyBy: (operation: string, number: string) => suppression.isOnlyBy(operation, lane.id, number),
    lastRemoval: () => suppression.lastRemoval(lane.id),
  };
  const { lossMs } = world.scenario;
  const mayLose = () => ({ ms: lossMs, withReplicaMs: lossMs });
  const tokenCache = openTokenCache(world, process, settings);
  return {
    lane,
    recent: world.parts.recentClaims(machine.monotonic, { process: name, mayLose }, (recent) =>
      replayClaims(lane, recent),
    ),
    messages: openMessages(lane, content, suppressed),
    requests: openRequests(lane, content),
    matches: matchStore(lane),
    sends: sendClaims(lane),
    polls: pollClaims(lane),
    tokens: laneTokenSource(settings.name, settings.credentials, tokenCache),
    tokenCache,
  };
}

function openTokenCache(
  world: World,
  process: Process,
  { credentials, name }: LanePlan['settings'],
): TokenCache | undefined {
  if (credentials.kind === 'apiKey') return undefined;
  const accounts = world.accountsOf(name);
  return world.parts.tokenCache({
    redis: process.redis,
    keys: world.keys,
    account: credentials,
    requestTimeoutMs: process.config.requestTimeoutMs,
    login: () => accounts.login(process),
    refresh: (token) => accounts.refresh(process, token),
    retryAfterMs: [5_000, 20_000],
    freshMs: 5_000,
    machine: process.machine,
  });
}
