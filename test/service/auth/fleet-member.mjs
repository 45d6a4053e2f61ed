/*
 * A process that shares an account's token with others. The tests fork it with its settings (`MemberSettings` in fleet.ts) as JSON in
 * FLEET_MEMBER. It answers each order with the outcomes of that many concurrent callers.
 */
import { connect } from '../../../dist/src/base/redis/connection.js';
import { keyNames } from '../../../dist/src/base/redis/keys.js';
import { createTokenCache } from '../../../dist/src/service/auth/token-cache.js';

const { redisUrl, prefix, accountUrl, username, password, requestTimeoutMs } = JSON.parse(
  process.env['FLEET_MEMBER'] ?? '{}',
);

async function ask(headers, signal) {
  return (await fetch(accountUrl, { headers, signal })).json();
}

const cache = createTokenCache({
  redis: connect(redisUrl),
  keys: keyNames(prefix),
  account: { username, password },
  requestTimeoutMs,
  login: (signal) => ask({}, signal),
  refresh: (refreshToken, signal) => ask({ 'x-authorization': refreshToken }, signal),
});

process.on('message', async ({ callers, refused }) => {
  const call = () => (refused === undefined ? cache.get() : cache.replaceRefused(refused));
  process.send?.(await Promise.all(Array.from({ length: callers }, call)));
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
