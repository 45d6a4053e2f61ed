import { describe, expect, test, vi } from 'vitest';
import { API_SCOPES, type ApiScope, allowsScope } from '../../../src/campaign/api-key.js';
import type { SomeLimits } from '../../../src/campaign/limit-values.js';
import { OPERATIONS } from '../../../src/operations/index.js';
import { isThere } from '../../../src/operations/operation.js';
import { scene } from '../../scene/scene.js';

/*
 * Every operation of the HTTP API with every kind of key that is refused before the input is read, so no operation needs one here, and a new
 * operation is tested by its row alone. lane-matrix.test.ts has the keys that are refused because of the input.
 */

const { origin, volley } = await scene('http-key-matrix', { lanes: ['main', 'other'] }).api({
  HTTP_TRUSTED_PROXIES: '127.0.0.1',
});

const operations = OPERATIONS.flatMap(({ name, http, scope }) =>
  isThere(http) && scope !== undefined ? [{ name, http, scope }] : [],
);
let requests = 0;
interface Answer {
  readonly status: number;
  readonly code: string | undefined;
  readonly detail: string;
  readonly limit: string | undefined;
}

/** Requests an operation with nothing but a key. */
async function request(http: string, key: string | undefined, from?: string): Promise<Answer> {
  requests += 1;
  const [method = '', path = ''] = http.split(' ');
  const control = new AbortController();
  const reply = await fetch(`${origin}/v1${path.replace(/\{\w+\}/g, 'x')}`, {
    method,
    signal: control.signal,
    headers: {
      'x-forwarded-for': from ?? `198.51.${requests >> 8}.${requests & 255}`,
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
  });
  const { status } = reply;
  // An event stream has no end.
  const body: Partial<Answer> = status < 400 ? {} : Object(await reply.json());
  control.abort();
  return { status, code: body.code, detail: body.detail ?? '', limit: body.limit };
}

const newKey = async (
  more: SomeLimits & { readonly lifetime?: string; readonly lanes?: readonly string[] } = {},
  scopes: readonly ApiScope[] = API_SCOPES,
) => volley.keys.create({ name: 'matrix', scopes, ...more });

const [revoked, expired, elsewhere] = await Promise.all([
  newKey(),
  newKey({ lifetime: '1ms' }),
  newKey({ addresses: ['192.0.2.0/24', '2001:db8::/32', '203.0.113.7'] }),
]);
await volley.keys.revoke(revoked.id);
const ofScope = new Map<ApiScope, string>();
for (const scope of API_SCOPES)
  ofScope.set(scope, (await newKey({ requestsPerMinute: 100_000 }, [scope])).key);

describe.each(operations)('$name', ({ http, scope }) => {
  test('refuses requests without a valid key', async () => {
    for (const key of [undefined, revoked.key, expired.key, `vk_${'0'.repeat(12)}_${'A'.repeat(43)}`])
      expect(await request(http, key)).toMatchObject({ status: 401, code: 'unauthorised' });
  });

  test('refuses a key from another address, and takes it from one of its own', async () => {
    for (const from of ['198.51.100.1', '192.0.3.1', '2001:db9::1', '::ffff:192.0.3.1'])
      expect(await request(http, elsewhere.key, from)).toMatchObject({ status: 403, limit: 'addresses' });
    const { limit } = await request(http, elsewhere.key, '::ffff:192.0.2.9');
    expect(limit).toBeUndefined();
  });

  test.each(API_SCOPES)('answers a key with the scope %s as its row says', async (own) => {
    const { status, detail } = await request(http, ofScope.get(own));
    const isRefused = status === 403 && detail.includes('requires the scope');
    expect(isRefused).toBe(!allowsScope({ scopes: [own] }, scope));
    expect(status).not.toBe(401);
  });

  test('refuses a key that has used up its requests', async () => {
    const { key } = await newKey({ requestsPerMinute: 1 });
    await request(http, key);
    expect(await request(http, key)).toMatchObject({ status: 429, code: 'tooManyRequests' });
  });
});

test('The audit trail names the address from which a key may not be used', async () => {
  await request('GET /lanes', elsewhere.key, '198.51.100.99');
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 });
  await request('GET /lanes', elsewhere.key, '198.51.100.98');
  vi.useRealTimers();
  await expect
    .poll(async () => (await volley.audit({ limit: 200 })).entries)
    .toContainEqual(
      expect.objectContaining({
        action: 'request.refused',
        actor: expect.objectContaining({ id: elsewhere.id }),
        details: expect.objectContaining({ from: expect.stringContaining('198.51.100') }),
      }),
    );
});
