import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Volley } from '../../app/volley.js';
import { type ApiKey, type ApiScope, allowsScope } from '../../campaign/api-key.js';
import { NotFoundError } from '../../campaign/errors.js';
import { limitsAmong } from '../../campaign/limits.js';
import { allowsLane, type Caller } from '../../operations/access.js';
import { invalidKeyLimit, isWithin } from './address-limits.js';
import { requestEnder } from './end-revoked.js';
import { Problem } from './problem.js';
import { concurrencyLimit, type RateLimit, type RouteCost, rateLimits } from './rate-limit.js';
import type { HttpOptions } from './routes.js';
import { turnsOf } from './turns.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The API key of the request; null until it has been checked. */
    apiKey: ApiKey | null;
    /** The last check of the API key; null before the first one. */
    keyCheck: KeyCheck | null;
  }
  interface FastifyContextConfig {
    /** The scope that the route requires. Every route that requires a key has one. */
    scope?: ApiScope;
    /** Whether the route accepts a form with a list as well as JSON. */
    acceptsUpload?: boolean;
    /** Whether the OpenAPI document shows that form, instead of JSON. */
    showsForm?: boolean;
    /** Whether the route accepts NDJSON and CSV, and reads them from the connection. */
    acceptsLines?: boolean;
    /** The bucket of the rate limit; default: `requests`. */
    limit?: RateLimit;
    /** The member of a JSON body that is a list of any length. All other JSON is short. */
    list?: string;
    /** Whether the route keeps the objects of that list. */
    keepsList?: boolean;
    /** What the request costs; default: a token. Few such requests of a key run at the same time. */
    cost?: RouteCost;
    /** Whether the request or the response is a list, which is refused when the key has used up its bytes. */
    transfersList?: boolean;
    /** Whether the response has an `ETag`, and 304 is a possible status. */
    hasEtag?: boolean;
    /** Whether the address is a secret, so that no response may show that it exists. */
    isSecret?: boolean;
  }
}

/** A check of the API key of a request. */
interface KeyCheck {
  /** The key as the client sent it. Its id would not do: a rotation ends the secret and not the id. */
  readonly key: string;
  /** By `performance.now()`. */
  readonly at: number;
  /** Whether the whole request had arrived by then. */
  readonly isWhole: boolean;
}

/** How long a check holds for a request that had arrived as a whole: about as long as it takes to answer it. */
const CHECK_HOLDS_MS = 100;
/** Uploads of one key in progress: each may take a long time and holds resources here and in Redis. */
const MAX_UPLOADS_PER_KEY = 200;
/** Lists, searches, and results of one key that are read at a time. Further ones wait for their turn. */
const MAX_READS_PER_KEY = 4;

/**
 * Requires a valid API key with the route's scope for every route of `scope`, and limits the requests of each key. The hook
 * runs before the body is read, so the body of an unauthorised request never is.
 */
export function requireApiKey(
  scope: FastifyInstance,
  { volley, config, maxConnectionsPerKey }: HttpOptions,
): void {
  const limitRequests = rateLimits(config.http, maxConnectionsPerKey);
  const takeTurn = turnsOf(MAX_READS_PER_KEY);
  const invalidKeys = invalidKeyLimit(volley.keys);
  const limitUploads = concurrencyLimit(MAX_UPLOADS_PER_KEY, 'uploads');
  const endIfRevoked = requestEnder(volley.keys, revoked);
  scope.decorateRequest('apiKey', null);
  scope.decorateRequest('keyCheck', null);
  scope.addHook('onRoute', ({ url, config: own }) => {
    if (own?.scope === undefined) throw new TypeError(`the route ${url} declares no scope`);
  });
  scope.addHook('onRequest', async (request, reply) => {
    const token = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
    await invalidKeys.admit(request.ip, token);
    // A lane that another process has stored a moment ago is known to this request.
    const refreshing = volley.refreshLanes().catch(() => {});
    const [key] = await Promise.all([token === undefined ? null : volley.keys.check(token), refreshing]);
    if (token === undefined || key === null) {
      if (token !== undefined) volley.keys.refused(request.ip);
      invalidKeys.refused(request.ip, token);
      throw new Problem(
        'unauthorised',
        token === undefined
          ? 'Send an API key as `Authorization: Bearer vk_…`. `volley keys create` creates one.'
          : 'The API key is unknown, expired, or revoked. `volley keys list` lists the valid keys.',
        { headers: { 'www-authenticate': 'Bearer' } },
      );
    }
    invalidKeys.accepted(token);
    request.apiKey = key;
    request.keyCheck = { key: token, at: performance.now(), isWhole: request.raw.complete };
    if (key.addresses !== null && !isWithin(key.addresses, request.ip)) {
      volley.keys.refusedAddress(key, request.ip);
      throw new Problem(
        'overLimit',
        `The key may not be used from ${request.ip}. \`volley keys list\` shows its addresses.`,
        {
          members: { limit: 'addresses', owner: 'key', left: null, resetsAt: null },
        },
      );
    }
    limitRequests(key, request, reply);
    const { scope: required, acceptsUpload, cost } = request.routeOptions.config;
    if (required !== undefined && !allowsScope(key, required)) {
      throw new Problem(
        'forbidden',
        `This request requires the scope ${required}; the key has ${key.scopes.join(', ')}.`,
      );
    }
    if (acceptsUpload === true) limitUploads(key.id, request, reply);
    // Event streams check their key themselves.
    if (request.routeOptions.config.limit !== 'stream') endIfRevoked(token, request, reply);
    if (cost !== undefined) await takeTurn(key.id, request, reply);
  });
}

/** The API key of a request that passed {@link requireApiKey}. */
export function apiKeyOf({ apiKey }: FastifyRequest): ApiKey {
  if (apiKey === null) throw new TypeError('the route requires no API key');
  return apiKey;
}

/** The client of a request, for the rules of access. */
export function callerOf(request: FastifyRequest, { lanes }: HttpOptions['config']): Caller {
  return { key: apiKeyOf(request), configured: lanes.map(({ name }) => name) };
}

/** The API key of a request as the client sent it. */
export function keyTextOf({ keyCheck }: FastifyRequest): string {
  if (keyCheck === null) throw new TypeError('the route requires no API key');
  return keyCheck.key;
}

/** The Volley of the client of a request. It checks the API key again before each write. */
export function actingFor(volley: Volley, request: FastifyRequest): Volley {
  const { id, name, lanes, ...limits } = apiKeyOf(request);
  return volley.as({ kind: 'key', id, name, lanes, limits: limitsAmong(limits) }, async () => {
    const { keyCheck: last } = request;
    if (last?.isWhole === true && performance.now() - last.at < CHECK_HOLDS_MS) return;
    await requireActiveKey(volley, request);
  });
}

/** Throws if the API key was revoked, or its secret replaced, after the request began. */
export async function requireActiveKey(volley: Volley, request: FastifyRequest): Promise<void> {
  if (!(await volley.keys.isActive(keyTextOf(request)))) throw revoked();
}

function revoked(): Problem {
  return new Problem(
    'unauthorised',
    'The API key was revoked, expired, or got a new secret while the request was in progress.',
  );
}

/** Whether a campaign exists on a lane that the key may use. */
export async function allowsCampaign(volley: Volley, key: ApiKey, id: string): Promise<boolean> {
  try {
    return allowsLane(key, await volley.laneOf(id));
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
}
