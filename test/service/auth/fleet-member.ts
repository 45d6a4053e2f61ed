/**
 * A process that shares an account's token with others. The tests fork it with its settings in the environment. It answers each
 * order with the outcomes of that many concurrent callers.
 */

import { connect } from '../../../src/base/redis/connection.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { createTokenCache } from '../../../src/service/auth/token-cache.js';
import type { LoginOutcome } from '../../../src/service/login-outcome.js';

/** What `callers` callers of a member do at the same time. */
export interface Order {
  callers: number;
  /** The generation that the service refused; without it the callers ask for a token. */
  refused?: number;
}

/** A member's settings, as JSON in FLEET_MEMBER. */
export interface MemberSettings {
  redisUrl: string;
  prefix: string;
  accountUrl: string;
  username: string;
  password: string;
  requestTimeoutMs: number;
}

const settings: MemberSettings = JSON.parse(process.env['FLEET_MEMBER'] ?? '{}');

async function ask(headers: Record<string, string>, signal?: AbortSignal): Promise<LoginOutcome> {
  const response = await fetch(settings.accountUrl, { headers, ...(signal === undefined ? {} : { signal }) });
  return (await response.json()) as LoginOutcome;
}

const cache = createTokenCache({
  redis: connect(settings.redisUrl),
  keys: keyNames(settings.prefix),
  account: { username: settings.username, password: settings.password },
  requestTimeoutMs: settings.requestTimeoutMs,
  login: (signal) => ask({}, signal),
  refresh: (refreshToken, signal) => ask({ 'x-authorization': refreshToken }, signal),
});

process.on('message', async ({ callers, refused }: Order) => {
  const call = () => (refused === undefined ? cache.get() : cache.replaceRefused(refused));
  process.send?.(await Promise.all(Array.from({ length: callers }, call)));
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
