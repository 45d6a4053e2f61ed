import { createHash } from 'node:crypto';
import { type CallbackSettings, laneCallback, type SubscriptionKind } from '../../base/config/index.js';
import type { LaneId } from '../../base/redis/keys.js';
import type { Bearer } from '../../service/client/bearer.js';
import { withMessage } from '../../service/client/reason.js';
import type {
  SubscriptionClient,
  SubscriptionCreated,
  SubscriptionFound,
  SubscriptionRemoved,
} from '../../service/client/subscriptions.js';
import type { TokenSource } from '../jobs/token-source.js';
import { MAX_LENGTH, normalisedUrl, type SharedSubscriptions } from './shared-subscriptions.js';

/** The secret part of an address, as `laneCallback` makes it. */
const SEGMENT = /^[\w-]{43}$/;
/** A token of which the service hides at least a part. */
const MASKED = /[*\u2022\u25cf\u2026]/;

/** Why a call had no effect. `refused`: a retry will not help. `unanswered`: the service may have acted; a retry may help. */
interface Failure {
  readonly kind: 'refused' | 'unanswered';
  readonly reason: string;
}

/** What the service holds for a lane: one subscription per key, or one for all keys. Every `url` is redacted. */
export type Subscription =
  /** Notifications reach this Volley. */
  | { readonly state: 'ours'; readonly url: string }
  /** Notifications reach this Volley at the address of another lane. */
  | { readonly state: 'shared'; readonly url: string; readonly lane: string; readonly id: LaneId }
  /** It has an earlier address or security token of ours, so notifications get lost or fail the check of their token. */
  | { readonly state: 'outdated'; readonly url: string }
  /** It belongs to another system. */
  | { readonly state: 'foreign'; readonly url: string }
  | { readonly state: 'none' }
  | { readonly state: Failure['kind']; readonly reason: string };

/** Result of `create`. `replaced`: what the service held before. */
export type SubscribeOutcome =
  | { readonly outcome: 'already'; readonly url: string }
  /** The service has one subscription for this lane and for the one that created it. */
  | { readonly outcome: 'shared'; readonly url: string; readonly lane: string; readonly id: LaneId }
  | { readonly outcome: 'created'; readonly url: string; readonly replaced: 'none' | 'outdated' | 'foreign' }
  /** A foreign subscription exists and was not changed. */
  | { readonly outcome: 'foreign'; readonly url: string }
  | { readonly outcome: Failure['kind']; readonly reason: string };

/** Result of `remove`. */
export type UnsubscribeOutcome =
  | { readonly outcome: 'deleted'; readonly url: string }
  | { readonly outcome: 'none' }
  /** These other lanes need it, so it was not changed. */
  | { readonly outcome: 'shared'; readonly url: string; readonly lanes: readonly string[] }
  /** A foreign subscription exists and was not changed. */
  | { readonly outcome: 'foreign'; readonly url: string }
  | { readonly outcome: Failure['kind']; readonly reason: string };

/** The subscription of one lane at the service. Its calls take no permit, because the service does not count them. */
export interface SubscriptionService {
  get(): Promise<Subscription>;
  /**
   * Creates the subscription or replaces an outdated one; with `force`, a foreign one too. A subscription that this process has
   * seen as ours and that is outdated now counts as foreign: another installation with the same secret has taken it, and two
   * that replace each other's would never stop.
   */
  create(options?: { force?: boolean }): Promise<SubscribeOutcome>;
  /** Deletes our subscription; with `force`, also a foreign one, and one that other lanes need. */
  remove(options?: { force?: boolean }): Promise<UnsubscribeOutcome>;
}

/** An open {@link SubscriptionService}. */
export interface OpenSubscription extends SubscriptionService {
  /** A digest of our address and token that reveals neither; '' without `CALLBACK_URL`. */
  readonly fingerprint: string;
}

/** What {@link subscriptionService} works with. */
interface SubscriptionOptions {
  readonly lane: LaneId;
  /** Default: to delivery reports. `client` subscribes to the same. */
  readonly of?: SubscriptionKind;
  readonly client: SubscriptionClient;
  readonly tokenSource: TokenSource;
  /** Undefined without `CALLBACK_URL`: then every subscription counts as foreign, and `create` refuses. */
  readonly callback: CallbackSettings | undefined;
  /** The subscriptions of the installation's other lanes. Default: there are none. */
  readonly shared?: () => Promise<SharedSubscriptions>;
}

type Reply = SubscriptionFound | SubscriptionCreated | SubscriptionRemoved;
type FailedReply = Exclude<Reply, { kind: 'found' | 'none' | 'created' | 'removed' }>;

/** Opens the subscription of one lane without calling the service. The methods reject while Redis, which holds the tokens, is away. */
export function subscriptionService(options: SubscriptionOptions): OpenSubscription {
  const { lane, client, tokenSource, callback, of = 'callback' } = options;
  const ours = callback === undefined ? undefined : laneCallback(callback, lane, of);
  /** This process has seen the subscription as ours, or created it. */
  let wasOurs = false;
  /** The service refused a token that was just renewed, so it refuses these calls and not the token. */
  let refusesNewTokens = false;

  /**
   * Calls with a token, and once more with a newer one after a 401. A 401 has no effect on the lane: a token that may not
   * subscribe may still be good for sending.
   */
  const call = async <Answer extends Reply>(send: (bearer: Bearer) => Promise<Answer>) => {
    const token = await tokenSource.get();
    if (token.kind !== 'token') return withoutToken(token);
    let reply = await send(token.bearer);
    if (reply.kind === 'unauthorised' && !refusesNewTokens) {
      const newer = await tokenSource.newerThan(token.generation);
      if (newer.kind === 'stopped') return withoutToken(newer);
      if (newer.kind === 'later' || newer.generation === token.generation) return reply;
      reply = await send(newer.bearer);
    }
    refusesNewTokens = reply.kind === 'unauthorised';
    return reply;
  };

  const get = async (): Promise<Subscription> => {
    const reply = await call((bearer) => client.get(bearer));
    if (reply.kind === 'none') return { state: 'none' };
    if (reply.kind !== 'found') {
      const { kind: state, reason } = failureOf(reply);
      return { state, reason };
    }
    const url = redactedUrl(reply.url);
    if (callback === undefined) return { state: 'foreign', url };
    const state = ownerOf(reply, { callback, lane, of, wasOurs });
    wasOurs ||= state === 'ours';
    if (state === 'ours') return { state, url };
    const others = await options.shared?.();
    const creator = (await others?.creatorOf(reply.url)) ?? lane;
    if (others === undefined || creator === lane) return { state, url };
    const isCurrent = normalisedUrl(reply.url) === normalisedUrl(laneCallback(callback, creator, of).url);
    return isCurrent && (await others.isServed(creator))
      ? { state: 'shared', url, lane: others.nameOf(creator), id: creator }
      : { state: 'outdated', url };
  };

  const createInPlaceOf = async (replaced: 'none' | 'outdated' | 'foreign'): Promise<SubscribeOutcome> => {
    if (ours === undefined) return { outcome: 'refused', reason: 'CALLBACK_URL is not set.' };
    const { url, securityToken } = ours;
    await (await options.shared?.())?.remember(url, lane);
    const reply = await call((bearer) => client.create({ url, securityToken }, bearer));
    if (reply.kind === 'created') {
      wasOurs = true;
      return { outcome: 'created', url: redactedUrl(url), replaced };
    }
    // The service may have created it nevertheless, or another process was faster.
    const now = await get();
    if (now.state === 'ours') return { outcome: 'created', url: now.url, replaced };
    if (now.state === 'shared') return sharing(now);
    if (now.state === 'foreign') return { outcome: 'foreign', url: now.url };
    const { kind: outcome, reason } = failureOf(reply);
    return { outcome, reason };
  };

  /** Undefined once the service holds no subscription. */
  const removeAny = async () => {
    const reply = await call((bearer) => client.remove(bearer));
    if (reply.kind === 'removed' || reply.kind === 'none') return undefined;
    const { kind: outcome, reason } = failureOf(reply);
    return { outcome, reason };
  };

  /** The other lanes that receive their notifications through this subscription. */
  const usersOf = async (found: Subscription): Promise<string[]> => {
    if (found.state === 'shared') return [found.lane];
    const others = found.state === 'ours' ? await options.shared?.() : undefined;
    return ((await others?.sharers())?.get(lane) ?? []).map((id) => others?.nameOf(id) ?? id);
  };

  return {
    fingerprint: ours === undefined ? '' : fingerprintOf(`${ours.url} ${ours.securityToken}`),
    get,
    async create({ force = false } = {}) {
      const held = await get();
      switch (held.state) {
        case 'ours':
          return { outcome: 'already', url: held.url };
        case 'shared':
          return sharing(held);
        case 'none':
          return createInPlaceOf('none');
        case 'outdated':
        case 'foreign':
          if (!force && (held.state === 'foreign' || wasOurs)) return { outcome: 'foreign', url: held.url };
          return (ours && (await removeAny())) ?? createInPlaceOf(held.state);
        case 'refused':
        case 'unanswered':
          return { outcome: held.state, reason: held.reason };
        default:
          return held satisfies never;
      }
    },
    async remove({ force = false } = {}) {
      const held = await get();
      if (held.state === 'none') return { outcome: 'none' };
      if ('reason' in held) return { outcome: held.state, reason: held.reason };
      if (held.state === 'foreign' && !force) return { outcome: 'foreign', url: held.url };
      const users = force ? [] : await usersOf(held);
      if (users.length > 0) return { outcome: 'shared', url: held.url, lanes: users };
      return (await removeAny()) ?? { outcome: 'deleted', url: held.url };
    },
  };
}

const sharing = ({ url, lane, id }: Extract<Subscription, { state: 'shared' }>): SubscribeOutcome => {
  return { outcome: 'shared', url, lane, id };
};

const withoutToken = ({ kind, reason }: { kind: 'stopped' | 'later'; reason: string }) =>
  ({ kind: kind === 'stopped' ? 'stopped' : 'unanswered', reason }) as const;

function failureOf(reply: FailedReply): Failure {
  switch (reply.kind) {
    case 'unauthorised':
    case 'stopped':
    case 'malformed':
    case 'notAccepted':
      return { kind: 'refused', reason: reply.reason };
    case 'throttled':
      return {
        kind: 'unanswered',
        reason: withMessage('The service answered 429: too many requests for now.', reply.message),
      };
    case 'unanswered':
      return { kind: 'unanswered', reason: reply.reason };
    default:
      return reply satisfies never;
  }
}

function fingerprintOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 11);
}

/**
 * Who owns the subscription that the service shows for a lane. `wasOurs`: this process has seen it as ours, or created it.
 *
 * - `ours`: it has our address and, if the service shows the token, our token. A service that shows something else than the
 *   token it was given is believed once the subscription was ours.
 * - `outdated`: its address has the form of ours, or it contains one of our secrets; the address or the security token has
 *   been changed since.
 * - `foreign`: anything else, even if the address begins like ours.
 */
function ownerOf(
  found: { url: string; securityToken: string | null },
  {
    callback,
    lane,
    of,
    wasOurs,
  }: { callback: CallbackSettings; lane: LaneId; of: SubscriptionKind; wasOurs: boolean },
): 'ours' | 'outdated' | 'foreign' {
  const ours = laneCallback(callback, lane, of);
  const { securityToken: token } = found;
  const url = normalisedUrl(found.url);
  const ownUrl = normalisedUrl(ours.url);
  const isHidden = token === null || token === '' || MASKED.test(token);
  if (url === ownUrl && (isHidden || wasOurs || token === ours.securityToken)) return 'ours';
  const [base, segment] = splitAtLastSlash(url.split('?', 1)[0] ?? '');
  const isAtOurAddress = base === splitAtLastSlash(ownUrl)[0] && SEGMENT.test(segment);
  const hasOurSecret = token === ours.securityToken || segment === ours.segment;
  // A subscription that an operator made by hand may have no secret part and carry the setting itself.
  const isMadeByHand = url === normalisedUrl(callback.url) && token === callback.securityToken;
  return isAtOurAddress || hasOurSecret || isMadeByHand ? 'outdated' : 'foreign';
}

/** An address without its secrets, for people: the last part of the path, every long part, and the query are left out. */
export function redactedUrl(url: string): string {
  if (url.length > MAX_LENGTH || !URL.canParse(url)) return '…';
  const { origin, pathname } = new URL(url);
  if (origin === 'null') return '…';
  const parts = pathname.replace(/\/+$/, '').split('/');
  const isSecret = (part: string, at: number) => at > 0 && (at === parts.length - 1 || part.length >= 20);
  return `${origin}${parts.map((part, at) => (isSecret(part, at) ? '…' : part)).join('/') || '/'}`;
}

function splitAtLastSlash(url: string): [base: string, last: string] {
  const slash = url.lastIndexOf('/');
  return [url.slice(0, slash), url.slice(slash + 1)];
}
