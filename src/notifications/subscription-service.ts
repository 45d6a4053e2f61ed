import { createHash } from 'node:crypto';
import { type CallbackSettings, laneCallback } from '../config/index.js';
import type { SubscriptionClient } from '../gateway/subscriptions.js';
import type { TokenSource } from '../lane/token-source.js';
import { shown } from './callback-address.js';
import type { Subscribed, Subscription, SubscriptionDesk } from './subscription.js';
import { subscriptionCalls } from './subscription-calls.js';
import { whose } from './subscription-owner.js';

/** What {@link subscriptionDesk} goes by. */
export interface SubscriptionOptions {
  readonly lane: string;
  readonly client: SubscriptionClient;
  readonly tokenSource: TokenSource;
  /** Undefined: what is there can be looked at and ended, and nothing is ours. */
  readonly callback: CallbackSettings | undefined;
}

/**
 * Looks after the subscription of one lane; nothing is asked of the service before somebody asks. Rejects while Redis, which
 * has the token of an account, is away.
 */
export function subscriptionDesk({
  lane,
  client,
  tokenSource,
  callback,
}: SubscriptionOptions): SubscriptionDesk {
  const own = callback === undefined ? undefined : laneCallback(callback, lane);
  const calls = subscriptionCalls(client, tokenSource);
  /** It was seen to be ours, or made. */
  let wasOurs = false;

  const get = async (): Promise<Subscription> => {
    const found = await calls.get();
    switch (found.kind) {
      case 'found': {
        const state =
          own === undefined || callback === undefined ? 'foreign' : whose(found, own, callback, wasOurs);
        if (state === 'ours') wasOurs = true;
        return { state, url: shown(found.url) };
      }
      case 'none':
        return { state: 'none' };
      case 'notDone':
        return { state: 'unanswered', reason: found.reason, final: found.final };
      default:
        return found satisfies never;
    }
  };

  const create = async (replaced: 'none' | 'outdated' | 'foreign'): Promise<Subscribed> => {
    if (own === undefined)
      return { outcome: 'refused', reason: 'CALLBACK_URL is not set: there is nothing to subscribe.' };
    const { url, securityToken } = own;
    const created = await calls.create({ url, securityToken });
    switch (created.kind) {
      case 'created':
        wasOurs = true;
        return { outcome: 'created', url: shown(url), replaced };
      case 'malformed':
        return { outcome: 'refused', reason: created.reason };
      case 'notDone': {
        // It may have been done all the same, or somebody was quicker.
        const now = await get();
        if (now.state === 'ours') return { outcome: 'created', url: now.url, replaced };
        if (now.state === 'foreign') return { outcome: 'foreign', url: now.url };
        return failed(created);
      }
      default:
        return created satisfies never;
    }
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
          return failed(found);
        default:
          return found satisfies never;
      }
      if (own === undefined) return create(found.state);
      const removed = await calls.remove();
      return removed.kind === 'removed' ? create(found.state) : failed(removed);
    },
    async remove({ force = false } = {}) {
      const found = await get();
      if (found.state === 'none') return { outcome: 'none' };
      if (found.state === 'unanswered') return failed(found);
      if (found.state === 'foreign' && !force) return { outcome: 'foreign', url: found.url };
      const removed = await calls.remove();
      return removed.kind === 'removed' ? { outcome: 'deleted', url: found.url } : failed(removed);
    },
  };
}

/** What was not done, as an outcome: a clear no, or nobody knows. */
function failed({ reason, final }: { readonly reason: string; readonly final: boolean }) {
  return { outcome: final ? 'refused' : 'unanswered', reason } as const;
}
