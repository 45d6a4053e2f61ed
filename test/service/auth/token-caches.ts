import { randomBytes } from 'node:crypto';
import { beforeEach } from 'vitest';
import { keyNames } from '../../../src/base/redis/keys.js';
import {
  createTokenCache,
  type TokenCache,
  type TokenCacheOptions,
} from '../../../src/service/auth/token-cache.js';
import { accountId } from '../../../src/service/auth/token-record.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { accountService } from './account-service.js';

/** Caches of processes that share only Redis and an account service. Each test has an account and a service of its own. */
export function tokenCaches(name: string) {
  const { url, prefix, redis } = testRedis(name);
  const keys = keyNames(prefix);
  const own = { service: accountService(), username: '' };
  beforeEach(() => {
    own.service = accountService();
    own.username = `user-${randomBytes(4).toString('hex')}`;
  });
  return {
    url,
    redis,
    own,
    /** The cache of one process. */
    cache: (options: Partial<TokenCacheOptions> = {}): TokenCache =>
      createTokenCache({
        redis,
        keys,
        account: { username: own.username, password: 'right' },
        requestTimeoutMs: 10_000,
        login: own.service.login,
        refresh: own.service.refresh,
        ...options,
      }),
    /** The Redis key of this test's token. */
    tokenKey: (): string => keys.token(accountId({ username: own.username, password: 'right' })),
  };
}
