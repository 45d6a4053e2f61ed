import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isSession } from '../../../app/access/sessions.js';
import type { Volley } from '../../../app/volley.js';
import { limitsAmong } from '../../../campaign/limits/limits.js';
import { type ApiKey, allowsScope, type RequiredScope } from '../../../campaign/states/api-key.js';
import type { Caller } from '../../../operations/access.js';
import { invalidKeyLimit, isWithin } from '../limits/address-limits.js';
import { concurrencyLimit, type RateLimit, type RouteCost, rateLimits } from '../limits/rate-limit.js';
import { turnsOf } from '../limits/turns.js';
import type { HttpOptions } from '../route.js';
import { Problem } from '../server/problem.js';
import { requestEnder } from './end-revoked.js';
import { requireOwnHost, requireOwnPage } from './own-site.js';
import { sessionOf } from './session-cookie.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The API key of the request; null until it has been checked. */
    apiKey: ApiKey | null;
    /** The last check of the API key; null before the first one. */
    keyCheck: LastCheck | null;
  }
  interface FastifyContextConfig {
    /** What the route requires of a key. Every route that requires one says so. */
    scope?: RequiredScope;
    /** Whether the route accepts a form with a list as well as JSON. */
    acceptsUpload?: boolean;
    /** Whether the OpenAPI document shows that form, instead of JSON. */
    showsForm?: boolean;
    /** Whether the route accepts NDJSON and CSV, and reads them from the connection. */
    acceptsLines?: boolean;
    /** The bucket of the rate limit; default: `requests`. */
    limit?: RateLimit;
    /** The member of a JSON body that is a list, for which it may have 1 MB. All other JSON is shorter. */
    list?: string;
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
interface LastCheck {
  /** The key or the session as the client sent it. The id of the key would not do: a rotation ends the secret and not the id. */
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

/** Checks API keys, and the sessions that stand for one. */
export type KeyCheck = ReturnType<typeof keyCheck>;

/** Opens the check of API keys and sessions, and the limits of both. */
export function keyCheck(app: FastifyInstance, { volley, config, maxConnectionsPerKey }: HttpOptions) {
  const limits = rateLimits(config.http, maxConnectionsPerKey);
  const invalidKeys = invalidKeyLimit(volley.keys);
  app.decorateRequest('apiKey', null);
  app.decorateRequest('keyCheck', null);
  app.decorateRequest('rowsSent', 0);
  /**
   * Tries a secret from an address. Returns what `check` returns; null if the secret is not valid. Throws a Problem, `tooManyRequests`, if the
   * address has tried too many invalid ones and this one may be another.
   */
  const tried = async <Result>(
    address: string,
    secret: string | undefined,
    check: () => Promise<Result | null>,
  ): Promise<Result | null> => {
    await invalidKeys.admit(address, secret);
    const result = await check();
    if (result !== null && secret !== undefined) invalidKeys.accepted(secret);
    else {
      if (secret !== undefined) volley.keys.refused({ address });
      invalidKeys.refused(address, secret);
    }
    return result;
  };
  return {
    tried,
    /** Charges a valid request what it costs. Throws a Problem, `tooManyRequests`, if its key has not so many tokens left. */
    charge: (request: FastifyRequest, reply: FastifyReply): void =>
      limits.charge(apiKeyOf(request), request, reply),
    /** Remembers a valid session or key, which then works however many invalid ones its address tries. */
    accepted: invalidKeys.accepted,
    /**
     * Returns the key with this text, or that of the session; null if it is not valid. Throws a Problem if it may not be used from this address,
     * or too often.
     */
    async admit(
      request: FastifyRequest,
      reply: FastifyReply,
      text: string | undefined,
    ): Promise<ApiKey | null> {
      const key = await tried(request.ip, text, async () => {
        // A lane that another process has stored a moment ago is known to this request.
        const refreshing = volley.refreshLanes().catch(() => {});
        const [checked] = await Promise.all([
          text === undefined ? null : volley.keys.check(text),
          refreshing,
        ]);
        return checked;
      });
      if (key === null || text === undefined) return null;
      request.apiKey = key;
      request.keyCheck = { key: text, at: performance.now(), isWhole: request.raw.complete };
      if (key.addresses !== null && !isWithin(key.addresses, request.ip)) {
        volley.keys.refused({ key, address: request.ip });
        throw new Problem(
          'overLimit',
          `The key may not be used from ${request.ip}. \`volley keys list\` shows its addresses.`,
          {
            members: { limit: 'addresses', owner: 'key', left: null, resetsAt: null },
          },
        );
      }
      limits.admit(key, request, reply);
      return key;
    },
  };
}

/**
 * Requires a valid API key, or a session, with the route's scope for every route of `scope`, and limits the requests of each key. The hook
 * runs before the body is read, so the body of an unauthorised request never is.
 */
export function requireApiKey(scope: FastifyInstance, { volley, config }: HttpOptions, keys: KeyCheck): void {
  const takeTurn = turnsOf(MAX_READS_PER_KEY);
  const limitUploads = concurrencyLimit(MAX_UPLOADS_PER_KEY, 'uploads');
  const endIfRevoked = requestEnder(volley.keys, revoked);
  scope.addHook('onRoute', ({ url, config: own }) => {
    if (own?.scope === undefined) throw new TypeError(`the route ${url} declares no scope`);
  });
  scope.addHook('onRequest', async (request, reply) => {
    const token = credentialOf(request, config);
    const key = await keys.admit(request, reply, token);
    if (token === undefined || key === null) {
      throw new Problem('unauthorised', invalidText(token), { headers: { 'www-authenticate': 'Bearer' } });
    }
    const { scope: required, acceptsUpload, cost } = request.routeOptions.config;
    if (required !== undefined && !allowsScope(key, required)) {
      throw new Problem(
        'forbidden',
        `This request requires the scope ${required}; the key has ${key.scopes.join(', ')}.`,
      );
    }
    if (acceptsUpload === true) limitUploads(key.id, request, reply);
    // Event streams check their key themselves, and a key that revokes itself gets the answer.
    const isOwn = Object(request.params).id === key.id;
    if (request.routeOptions.config.limit !== 'stream' && !isOwn) endIfRevoked(token, request, reply);
    if (cost !== undefined) await takeTurn(key.id, request, reply);
  });
  scope.addHook('preHandler', async (request, reply) => {
    if (request.routeOptions.config.cost !== undefined) keys.charge(request, reply);
  });
}

/**
 * The API key or the session of a request; undefined if it has neither. A session counts only in the cookie of one of our pages, which throws a
 * Problem otherwise.
 */
function credentialOf(request: FastifyRequest, config: HttpOptions['config']): string | undefined {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    const [, token] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
    return token === undefined || isSession(token) ? undefined : token;
  }
  const session = sessionOf(request, config);
  if (session === undefined) return undefined;
  requireOwnHost(request, config);
  requireOwnPage(request, config);
  return isSession(session) ? session : undefined;
}

function invalidText(token: string | undefined): string {
  if (token === undefined)
    return 'Send an API key as `Authorization: Bearer vk_…`. `volley keys create` creates one.';
  return isSession(token)
    ? 'The session has ended, or its API key was revoked. Sign in again.'
    : 'The API key is unknown, expired, or revoked. `volley keys list` lists the valid keys.';
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
