import { createHash } from 'node:crypto';
import type { CallbackSettings, LaneCallback } from '../../config.js';
import { laneCallback } from '../../config.js';
import type {
  SubscriptionClient,
  SubscriptionCreated,
  SubscriptionFound,
  SubscriptionRemoved,
} from '../../gateway/subscriptions.js';
import type { Bearer } from '../bearer.js';

/** How the one subscription that a lane may have stands at the service. */
export type Subscription =
  /** Notifications come to us. */
  | { readonly state: 'ours'; readonly url: string }
  /** It is of an earlier address or token of ours: notifications do not reach us, or do not prove themselves. */
  | { readonly state: 'outdated'; readonly url: string }
  /** Somebody else's. */
  | { readonly state: 'foreign'; readonly url: string }
  | { readonly state: 'none' }
  /** Nobody knows: the service said why, or said nothing. `final`: asking again will not help. */
  | { readonly state: 'unanswered'; readonly reason: string; readonly final: boolean };

/** What came of a wish to subscribe. `replaced`: what was there before. */
export type Subscribed =
  | { readonly outcome: 'already'; readonly url: string }
  | { readonly outcome: 'created'; readonly url: string; readonly replaced: 'none' | 'outdated' | 'foreign' }
  /** Somebody else's is there, and was left alone. */
  | { readonly outcome: 'foreign'; readonly url: string }
  /** 400 or 406, or any other clear no. */
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'unanswered'; readonly reason: string };

/** What came of a wish to end it. */
export type Unsubscribed =
  | { readonly outcome: 'deleted'; readonly url: string }
  | { readonly outcome: 'none' }
  | { readonly outcome: 'foreign'; readonly url: string }
  | { readonly outcome: 'refused'; readonly reason: string }
  | { readonly outcome: 'unanswered'; readonly reason: string };

/** The subscription of one lane. Its calls take no permit, because the service does not count them. */
export interface SubscriptionDesk {
  /** Tells address and token of ours from any others, and gives neither away; '' where there are none. */
  readonly mark: string;
  get(): Promise<Subscription>;
  /**
   * Subscribes, or renews what is outdated; `force` replaces somebody else's, too. What is outdated after it was ours is
   * somebody else's who has our secret, another installation: two that renew it would take it from each other for ever.
   */
  create(options?: { force?: boolean }): Promise<Subscribed>;
  /** Ends ours; `force` ends somebody else's, too. */
  remove(options?: { force?: boolean }): Promise<Unsubscribed>;
}

/** What {@link subscriptionDesk} goes by. */
export interface SubscriptionOptions {
  readonly lane: string;
  readonly client: SubscriptionClient;
  readonly bearer: Bearer;
  /** Undefined: what is there can be looked at and ended, and nothing is ours. */
  readonly callback: CallbackSettings | undefined;
}

type Failure = Exclude<
  SubscriptionFound | SubscriptionCreated | SubscriptionRemoved,
  { kind: 'found' | 'none' | 'created' | 'removed' }
>;

/** Looks after the subscription of one lane; nothing is asked of the service before somebody asks. */
export function subscriptionDesk({ lane, client, bearer, callback }: SubscriptionOptions): SubscriptionDesk {
  const own = callback === undefined ? undefined : laneCallback(callback, lane);
  /** It was seen to be ours, or made. */
  let wasOurs = false;
  /** A token that had just been renewed was refused: it is these calls that the service refuses. */
  let isRefused = false;

  /**
   * With a token, and once more with the next one if that is refused. Nobody else hears of it: who may not subscribe may
   * send all the same, and a token that is good for that must not stop the lane.
   */
  const asked = async <Answer extends { kind: string }>(
    ask: (token: string) => Promise<Answer>,
  ): Promise<Answer | Failure> => {
    for (let isRenewed = false; ; isRenewed = true) {
      const held = await bearer.get();
      if (held.kind === 'stopped') return { kind: 'stopped', reason: held.reason };
      if (held.kind === 'later') return { kind: 'unanswered', reason: held.reason };
      const answer = await ask(held.token);
      if (answer.kind !== 'unauthorised') {
        isRefused = false;
        return answer;
      }
      if (isRenewed) isRefused = true;
      if (isRefused) return answer;
      const next = await bearer.renewed(held.generation);
      if (next.kind === 'stopped') return { kind: 'stopped', reason: next.reason };
      if (next.kind !== 'token' || next.generation === held.generation) return answer;
    }
  };

  const get = async (): Promise<Subscription> => {
    const found = await asked((token) => client.get(token));
    switch (found.kind) {
      case 'found': {
        const state = own === undefined ? 'foreign' : whose(found, own, callback, wasOurs);
        if (state === 'ours') wasOurs = true;
        return { state, url: shown(found.url) };
      }
      case 'none':
        return { state: 'none' };
      default:
        return { state: 'unanswered', ...failureOf(found) };
    }
  };

  const remove = async (): Promise<{ reason: string; final: boolean } | null> => {
    const removed = await asked((token) => client.remove(token));
    return removed.kind === 'removed' || removed.kind === 'none' ? null : failureOf(removed);
  };

  const create = async (replaced: 'none' | 'outdated' | 'foreign'): Promise<Subscribed> => {
    if (own === undefined)
      return { outcome: 'refused', reason: 'CALLBACK_URL is not set: there is nothing to subscribe.' };
    const { url, securityToken } = own;
    const created = await asked((token) => client.create({ url, securityToken }, token));
    if (created.kind === 'created') {
      wasOurs = true;
      return { outcome: 'created', url: shown(url), replaced };
    }
    if (created.kind === 'malformed') return { outcome: 'refused', reason: created.reason };
    const failure = failureOf(created);
    // It may have been done all the same, or somebody was quicker.
    const now = await get();
    if (now.state === 'ours') return { outcome: 'created', url: now.url, replaced };
    if (now.state === 'foreign') return { outcome: 'foreign', url: now.url };
    return { outcome: failure.final ? 'refused' : 'unanswered', reason: failure.reason };
  };

  return {
    mark:
      own === undefined
        ? ''
        : createHash('sha256').update(`${own.url} ${own.securityToken}`).digest('base64url').slice(0, 11),
    get,
    async create({ force = false } = {}) {
      const isHeld = wasOurs;
      const found = await get();
      switch (found.state) {
        case 'ours':
          return { outcome: 'already', url: found.url };
        case 'none':
          return create('none');
        case 'foreign':
          if (!force) return { outcome: 'foreign', url: found.url };
          break;
        case 'outdated':
          if (isHeld && !force) return { outcome: 'foreign', url: found.url };
          break;
        case 'unanswered':
          return { outcome: found.final ? 'refused' : 'unanswered', reason: found.reason };
        default:
          return found satisfies never;
      }
      if (own === undefined) return create(found.state);
      const failure = await remove();
      if (failure === null) return create(found.state);
      return { outcome: failure.final ? 'refused' : 'unanswered', reason: failure.reason };
    },
    async remove({ force = false } = {}) {
      const found = await get();
      if (found.state === 'none') return { outcome: 'none' };
      if (found.state === 'unanswered') {
        return { outcome: found.final ? 'refused' : 'unanswered', reason: found.reason };
      }
      if (found.state === 'foreign' && !force) return { outcome: 'foreign', url: found.url };
      const failure = await remove();
      if (failure === null) return { outcome: 'deleted', url: found.url };
      return { outcome: failure.final ? 'refused' : 'unanswered', reason: failure.reason };
    },
  };
}

/**
 * Ours is what has our address and, where the service shows it, our token; one that shows another than it was given shows
 * something else. Outdated is what has an address as we make them, or carries one of our secrets: the address or the
 * security token was changed since. Anything else is somebody else's, though it may begin like ours.
 */
function whose(
  found: { url: string; securityToken: string | null },
  own: LaneCallback,
  callback: CallbackSettings | undefined,
  wasOurs: boolean,
): 'ours' | 'outdated' | 'foreign' {
  const { securityToken: token } = found;
  const url = compared(found.url);
  const ours = compared(own.url);
  const isHidden = token === null || token === '' || BLOTTED.test(token);
  if (url === ours && (isHidden || wasOurs || token === own.securityToken)) return 'ours';
  const path = url.split('?', 1)[0] ?? '';
  const [base, segment] = [path.slice(0, path.lastIndexOf('/')), path.slice(path.lastIndexOf('/') + 1)];
  const leadsHere = base === ours.slice(0, ours.lastIndexOf('/')) && SEGMENT.test(segment);
  const isSecret = token === own.securityToken || segment === own.segment;
  // One made by hand may be without the secret part, and carry the setting itself.
  const isByHand =
    callback !== undefined && url === compared(callback.url) && token === callback.securityToken;
  return leadsHere || isSecret || isByHand ? 'outdated' : 'foreign';
}

/** Longer than any address that is compared or shown. */
const LONGEST = 2_048;
/** The secret part of an address, as `laneCallback` makes it. */
const SEGMENT = /^[\w-]{43}$/;
/** A token that is not shown whole. */
const BLOTTED = /[*\u2022\u25cf\u2026]/;

/** An address as two are compared: a service may spell host, port and last slash in its own way. */
function compared(url: string): string {
  if (url.length > LONGEST || !URL.canParse(url)) return url;
  const { origin, pathname, search } = new URL(url);
  return `${origin}${pathname.replace(/\/+$/, '')}${search}`;
}

/** An address as people may see it: its last part, any long one, and what follows a question mark may be a secret. */
export function shown(url: string): string {
  if (url.length > LONGEST || !URL.canParse(url)) return '…';
  const { origin, pathname } = new URL(url);
  if (origin === 'null') return '…';
  const parts = pathname.replace(/\/+$/, '').split('/');
  const last = parts.length - 1;
  return `${origin}${parts.map((part, at) => (at > 0 && (at === last || part.length >= 20) ? '…' : part)).join('/') || '/'}`;
}

function failureOf(failure: Failure): { reason: string; final: boolean } {
  switch (failure.kind) {
    case 'unauthorised':
    case 'stopped':
    case 'malformed':
    case 'notAccepted':
      return { reason: failure.reason, final: true };
    case 'throttled':
      return { reason: 'The service answered 429: too many requests for now.', final: false };
    case 'unanswered':
      return { reason: failure.reason, final: false };
    default:
      return failure satisfies never;
  }
}
