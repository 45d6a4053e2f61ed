import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ApiKey, ApiScope } from '../campaign/views.js';
import type { Volley } from '../volley.js';
import { countAtOnce } from './counter.js';
import { onceOver } from './on-close.js';
import { Problem } from './problem.js';
import type { HttpOptions } from './routes.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose request it is; null before the key was checked. */
    apiKey: ApiKey | null;
  }
  interface FastifyContextConfig {
    /** What a key must be allowed to, to come here. Every route behind the keys has one. */
    scope?: ApiScope;
    /** Takes a form with a list, beside JSON. */
    takesUpload?: boolean;
  }
}

const MINUTE_MS = 60_000;
/** Wrong keys that an address may try in a minute. Right ones are not held up by it. */
const WRONG_KEYS_A_MINUTE = 60;
/** Lists of a key that may be on their way at once: each may take its time, and holds something here and in Redis. */
const LISTS_AT_ONCE = 200;

/**
 * Lets nobody in without a key that may do what the route does, and no key more often than it may. It looks at the
 * headers alone, so that a stranger's body is never read.
 */
export async function guard(scope: FastifyInstance, { volley, config }: HttpOptions): Promise<void> {
  await scope.register(rateLimit, { global: false });
  const ofKey = scope.createRateLimit({
    max: config.http.requestsPerMinute,
    timeWindow: MINUTE_MS,
    keyGenerator: (request) => keyOf(request).id,
  });
  const ofStranger = scope.createRateLimit({ max: WRONG_KEYS_A_MINUTE, timeWindow: MINUTE_MS });
  const lists = countAtOnce();
  scope.decorateRequest('apiKey', null);
  scope.addHook('onRoute', ({ url, config: own }) => {
    if (own?.scope === undefined) throw new TypeError(`the route ${url} says nothing of its scope`);
  });
  scope.addHook('onRequest', async (request, reply) => {
    const given = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    const key = given === undefined ? null : await volley.keys.check(given);
    if (key === null) {
      mustBeWithin(await ofStranger(request));
      throw new Problem(
        'unauthorised',
        given === undefined
          ? 'send a key as `Authorization: Bearer vk_…`; `volley keys create` makes one'
          : 'this key is not known here, or was revoked; `volley keys list` shows those there are',
        { headers: { 'www-authenticate': 'Bearer' } },
      );
    }
    request.apiKey = key;
    const used = await ofKey(request);
    if (!used.isAllowed) {
      reply.headers({ 'x-ratelimit-limit': used.max, 'x-ratelimit-remaining': used.remaining });
      mustBeWithin(used);
    }
    const needed = request.routeOptions.config.scope;
    if (needed !== undefined && !key.scopes.includes(needed)) {
      throw new Problem(
        'forbidden',
        `this needs a key with the scope ${needed}; this one has ${key.scopes.join(', ')}`,
      );
    }
    if (request.routeOptions.config.takesUpload !== true) return;
    if (lists.of(key.id) >= LISTS_AT_ONCE) {
      throw new Problem(
        'tooMany',
        `${LISTS_AT_ONCE} lists of this key are on their way; again when one is in`,
        {
          headers: { 'retry-after': '1' },
        },
      );
    }
    onceOver(request, reply, lists.begin(key.id));
  });
}

type Counted = Awaited<ReturnType<ReturnType<FastifyInstance['createRateLimit']>>>;

function mustBeWithin(counted: Counted): void {
  if (counted.isAllowed || !counted.isExceeded) return;
  const { ttlInSeconds, max } = counted;
  throw new Problem('tooMany', `no more than ${max} requests a minute; again in ${ttlInSeconds} s`, {
    headers: { 'retry-after': String(ttlInSeconds) },
  });
}

/** The key of a request that was let in. */
export function keyOf({ apiKey }: FastifyRequest): ApiKey {
  if (apiKey === null) throw new TypeError('the request has not been let in by a key');
  return apiKey;
}

/** Throws if the key of a request that was let in has been revoked since. */
export async function mustStillStand(volley: Volley, request: FastifyRequest): Promise<void> {
  if (await volley.keys.isActive(keyOf(request).id)) return;
  throw new Problem('unauthorised', 'this key was revoked while the request was under way');
}

/** Whether a key may see a lane. */
export function maySee({ lanes }: ApiKey, lane: string): boolean {
  return lanes === null || lanes.includes(lane);
}

/** Throws for a lane that the key may not see, in words that tell nothing of it. */
export function mustSee(key: ApiKey, lane: string): void {
  if (maySee(key, lane)) return;
  const own = key.lanes?.join(', ') ?? '';
  throw new Problem('forbidden', `this key may not use lane ${lane}; it may use ${own}`);
}

/** Throws unless the key is one of the whole house: what it asks for belongs to all lanes. */
export function mustSeeAll(key: ApiKey, what: string): void {
  if (key.lanes === null) return;
  throw new Problem(
    'forbidden',
    `${what} belongs to all lanes, and this key is limited to ${key.lanes.join(', ')}`,
  );
}
