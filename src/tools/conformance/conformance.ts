import { createHash, randomBytes } from 'node:crypto';
import { type Config, cleartextProblems, type LaneSettings } from '../../base/config/index.js';
import type { Events } from '../../base/events/events.js';
import { PROFILES } from '../../base/profiles/index.js';
import type { Redis } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import type { Operator } from '../../campaign/audit.js';
import { InputError } from '../../campaign/errors.js';
import { checkSender } from '../../campaign/sender.js';
import { openTokenSources } from '../../engine/lane/credentials.js';
import { laneNamed } from '../../engine/lane/lane.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import { accountChecks, openAccountRecorder } from './account-checks.js';
import { openChecker } from './check.js';
import { readInterfaceDescription } from './description.js';
import { openStatusHistory } from './history.js';
import { openListener } from './listener.js';
import { DEFAULT_TEXT, messageChecks } from './message-checks.js';
import { notificationChecks } from './notification-checks.js';
import { knownRequest, readChecks } from './read-checks.js';
import { type ConformanceOptions, type ConformanceResult, recipientsOf } from './report.js';
import type { Run } from './run.js';
import { openSession, type Session } from './session.js';
import { subscriptionChecks } from './subscription-checks.js';
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
  checkMessage(options);
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

  const recorder = openAccountRecorder();
  const own = keysFor(dependencies, accountBaseUrl);
  const tokenSources = openTokenSources({
    redis,
    keys: own.keys,
    events,
    config: () => ({ ...config, accountBaseUrl }),
    observe: recorder.observe,
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
  const checker = openChecker(readInterfaceDescription(profileName), [
    ...(send === undefined ? [] : [...recipients, send.text ?? DEFAULT_TEXT]),
    ...(callbackUrl === undefined ? [] : [callbackUrl]),
  ]);
  const profile = PROFILES[profileName];
  const ways = openWays(profile);
  const sender = options.request?.sender ?? send?.sender ?? config.senderAddress ?? DEFAULT_SENDER;
  const history = openStatusHistory();
  const run: Run = { config, options, profile, session, others, checker, ways, history, nonce, sender };
  const during =
    listener === undefined || send === undefined
      ? undefined
      : async function* (securityToken: string) {
          const message = yield* messageChecks(run, send);
          if (message !== null) yield* notificationChecks(run, listener, message, securityToken);
        };
  try {
    yield* accountChecks(run, recorder);
    const subscription = yield* readChecks(run);
    if (options.request !== undefined) yield* knownRequest(run, options.request);
    let isSent = false;
    if (callbackUrl !== undefined) isSent = yield* subscriptionChecks(run, callbackUrl, subscription, during);
    if (send !== undefined && !isSent) yield* messageChecks(run, send);
    yield* ways.list(checker);
  } finally {
    await listener?.close();
    for (const each of [session, ...others]) each.close();
    await tokenSources.close();
    await own.expire();
  }
}

const nonce = (): string => `conformance-${randomBytes(12).toString('hex')}`;

function laneOf({ lanes }: Config, name: string | undefined): LaneSettings {
  const names = lanes.map((each) => each.name).join(', ');
  const found =
    name === undefined
      ? lanes.length === 1
        ? lanes[0]
        : undefined
      : lanes.find((each) => each.name === name);
  if (found !== undefined) return found;
  const why =
    name === undefined ? 'there are several lanes; choose one' : `there is no lane ${name}; the lanes are`;
  throw new InputError(`${why}: ${names}`, { field: 'lane' });
}

/** The addresses of the tested services, without trailing slashes. */
function addressesOf(
  config: Config,
  lane: LaneSettings,
  options: ConformanceOptions,
): { baseUrl: string; accountBaseUrl: string } {
  const baseUrl = addressOf('baseUrl', options.baseUrl ?? lane.baseUrl ?? config.messagingBaseUrl);
  const isDerived =
    options.baseUrl !== undefined && config.accountBaseUrl === new URL(config.messagingBaseUrl).origin;
  const accountBaseUrl = isDerived ? new URL(baseUrl).origin : config.accountBaseUrl;
  const addresses = {
    baseUrl,
    accountBaseUrl: addressOf('accountBaseUrl', options.accountBaseUrl ?? accountBaseUrl),
  };
  const [problem] = cleartextProblems({
    allowed: config.allowInsecure,
    redisUrl: undefined,
    secretsKey: undefined,
    previousSecretsKey: undefined,
    services: { '`baseUrl`': addresses.baseUrl, '`accountBaseUrl`': addresses.accountBaseUrl },
    hasAccounts: false,
  });
  if (problem !== undefined) throw new InputError(problem);
  return addresses;
}

function addressOf(field: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url !== undefined && `${url.username}${url.password}${url.search}${url.hash}` === '';
  if (!isPlain || !/^https?:$/.test(url.protocol))
    throw new InputError(
      `\`${field}\` must be an http or https address without a user, a query, and a fragment`,
      { field },
    );
  return url.href.replace(/\/+$/, '');
}

function checkMessage({ send, request, subscribe, listen }: ConformanceOptions): void {
  for (const sender of [send?.sender, request?.sender]) {
    const check = sender === undefined ? undefined : checkSender(sender);
    if (check?.kind === 'invalid') throw new InputError(check.reason, { field: 'sender' });
  }
  const recipients = send === undefined ? [] : recipientsOf(send);
  if (send !== undefined && (recipients.length === 0 || new Set(recipients).size < recipients.length))
    throw new InputError('to must be one number, or several different ones', { field: 'to' });
  if (recipients.some((number) => !/^\+[1-9]\d{3,14}$/.test(number)))
    throw new InputError('to must be an international number such as +447700900123', { field: 'to' });
  if (send?.twice === true && send.correlator === false)
    throw new InputError('twice needs a correlator', { field: 'twice' });
  if (subscribe !== undefined) addressOf('subscribe', subscribe.url);
  if (listen === undefined) return;
  addressOf('listen', listen.url);
  if (send === undefined)
    throw new InputError('listen records the notifications of a message: send one with it', {
      field: 'listen',
    });
}

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
