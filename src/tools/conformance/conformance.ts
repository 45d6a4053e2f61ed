import { createHash, randomBytes } from 'node:crypto';
import type { Config, LaneSettings } from '../../base/config/index.js';
import type { Events } from '../../base/events/events.js';
import { PROFILES } from '../../base/profiles/index.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { InputError } from '../../campaign/errors/errors.js';
import type { Operator } from '../../campaign/states/audit.js';
import { openTokenSources } from '../../engine/lane/credentials.js';
import { laneNamed } from '../../engine/lane/lane.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import { CHECKS } from './checks.js';
import { readInterfaceDescription } from './description.js';
import { openStatusHistory } from './history.js';
import { openJudge } from './judge.js';
import { openListener } from './listener.js';
import { DEFAULT_TEXT, openMessage } from './message.js';
import { addressesOf, checkOptions, laneOf } from './options.js';
import { type ConformanceOptions, type ConformanceResult, recipientsOf } from './report.js';
import type { AccountExchange, Run } from './run.js';
import { openSession, type Session } from './session.js';
import { DELETE } from './subscription-checks.js';
import { openWays } from './ways.js';

/*
 * Checks a service against the interface page. Requests that the service counts take permits of the lane, so that the test and the
 * campaigns together keep to the quota. By default nothing is written: no message, no subscription, no login if there is a token.
 */

/** What a conformance test uses of its process. */
interface ConformanceDependencies {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly events: Events;
  readonly config: Config;
  readonly finder: Pick<LaneFinder, 'registered'>;
  /** Which of these numbers never get a message. */
  readonly areSuppressed: (lane: LaneId, numbers: readonly string[]) => Promise<readonly boolean[]>;
  readonly by: Operator;
}

/** Other lanes whose subscriptions are compared. */
const MOST_OTHERS = 3;
/** How long Redis keeps the tokens of an account service that the configuration does not name, s. */
const KEEP_OTHER_TOKENS_S = 86_400;
const DEFAULT_SENDER = 'Volley';

/** Tests a service. Throws an InputError if an option is invalid, before anything is sent. */
export async function* testConformance(
  dependencies: ConformanceDependencies,
  options: ConformanceOptions,
): AsyncGenerator<ConformanceResult> {
  const { config, finder, by, redis, events } = dependencies;
  const settings = laneOf(config, options.lane);
  const { baseUrl, accountBaseUrl } = addressesOf(config, settings, options);
  const profileName = options.profile ?? settings.profile;
  checkOptions(options);
  const lanes = await finder.registered(settings.name);
  const lane = laneNamed(lanes, settings.name);
  const { send } = options;
  const recipients = send === undefined ? [] : recipientsOf(send);
  if ((await dependencies.areSuppressed(lane.id, recipients)).includes(true))
    throw new InputError('the number is on a suppression list', { field: 'to' });

  const callbackUrl = options.subscribe?.url ?? options.listen?.url;
  const listener = options.listen === undefined ? undefined : await openListener(options.listen.url);
  const details = {
    baseUrl,
    profile: profileName,
    messages: recipients.length * (send?.twice === true ? 2 : 1),
    subscriptions: callbackUrl === undefined ? 0 : 1,
  };
  await by.audited({ action: 'conformance.test', lane: lane.id, details }, async () => {});

  const accountExchanges: AccountExchange[] = [];
  const testKeys = keysFor(dependencies, accountBaseUrl);
  const tokenSources = openTokenSources({
    redis,
    keys: testKeys.keys,
    events,
    config: () => ({ ...config, accountBaseUrl }),
    observe: (operation, exchange) => void accountExchanges.push({ operation, exchange }),
  });
  const unknownKey = nonce();
  const sessionOf = (each: LaneSettings): Session =>
    openSession({
      config,
      lane: laneNamed(lanes, each.name),
      settings: each,
      tokenSource: tokenSources.tokenSourceOf(each.name),
      tokens: tokenSources.cacheOf(each.name),
      baseUrl,
      unknownKey,
      signal: options.signal,
    });
  const session = sessionOf(settings);
  // The credentials of other lanes go to no service but that of the configuration.
  const others =
    options.baseUrl === undefined
      ? config.lanes
          .filter((each) => each.name !== settings.name && each.baseUrl === settings.baseUrl)
          .slice(0, MOST_OTHERS)
          .map(sessionOf)
      : [];
  const profile = PROFILES[profileName];
  const run: Run = {
    config,
    options,
    profile,
    session,
    others,
    judge: openJudge(readInterfaceDescription(profileName), [
      ...(send === undefined ? [] : [...recipients, send.text ?? DEFAULT_TEXT]),
      ...(callbackUrl === undefined ? [] : [callbackUrl]),
    ]),
    seen: [],
    accountExchanges,
    ways: openWays(profile),
    history: openStatusHistory(),
    nonce,
    sender: options.request?.sender ?? send?.sender ?? config.senderAddress ?? DEFAULT_SENDER,
    isAnswered: false,
    found: null,
    subscription:
      callbackUrl === undefined
        ? undefined
        : { url: callbackUrl, securityToken: nonce(), mayExist: false, isCreated: false },
    message: send && openMessage({ session, config, nonce, profile }, send),
    listener,
  };
  try {
    for (const part of CHECKS) yield* part.run(run);
    yield* run.ways.list(run.seen);
  } finally {
    if (run.subscription?.mayExist) await session.request({ ...DELETE, cleansUp: true });
    await listener?.close();
    for (const each of [session, ...others]) each.close();
    await tokenSources.close();
    await testKeys.expire();
  }
}

const nonce = (): string => `conformance-${randomBytes(12).toString('hex')}`;

/** The tokens of another account service are kept apart from those of the fleet, and not for long. */
function keysFor({ keys, config, redis }: ConformanceDependencies, accountBaseUrl: string) {
  if (accountBaseUrl === config.accountBaseUrl) return { keys, expire: async () => {} };
  const service = createHash('sha256').update(accountBaseUrl).digest('hex').slice(0, 16);
  const used = new Set<string>();
  const token = (id: string): string => {
    const key = keys.token(`${id}:${service}`);
    used.add(key);
    return key;
  };
  return {
    keys: { ...keys, token },
    expire: async () =>
      void (await Promise.all([...used].map((key) => redis.expire(key, KEEP_OTHER_TOKENS_S)))),
  };
}
