/**
 * A process that shares an account's token with others: forked by the tests with what it needs in its environment,
 * it answers each order with the outcomes of so many callers at once.
 */
import type { LoginOutcome } from '../../src/auth/outcome.js';
import { createTokenCache } from '../../src/auth/token-cache.js';
import { connect } from '../../src/redis/connection.js';
import { keyNames } from '../../src/redis/keys.js';

/** What a member is told to do, by `callers` callers at the same time. */
export interface Order {
  callers: number;
  /** Ask for a token, or say that this generation was refused. */
  refused?: number;
}

/** What a member is started with, as JSON in FLEET_MEMBER. */
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
