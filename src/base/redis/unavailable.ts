import { VolleyError } from '../../campaign/errors/errors.js';
import { isIterable, later } from '../lazily.js';

/** Replies of a server that is starting, full, or changing its role. It has not run the command. */
const TRANSIENT =
  /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|OOM|BUSY|MISCONF|UNKILLABLE)\b/;

/** How Redis 6.2 reports the error of a command in a script; later versions begin with the error itself. */
const IN_SCRIPT = /^ERR Error running script \(call to \w+\): (?:@\S+ \d+: )*-/;

/** A script used a key that is not on this node, because a slot is moving; see lane_load in engine/store/record.lua. */
const KEY_ELSEWHERE = /script attempted to access a non local key in a cluster node/i;

/** Messages of ioredis and `untilAnswered` when no server answered. */
const NO_ANSWER =
  /^(Connection is closed|Redis did not answer|Stream isn't writeable|Too many Cluster redirections)/;

/**
 * Redis cannot be reached, or cannot run commands for now because it is starting, full, or changing its role. Whether the command
 * ran before the connection broke is unknown. Every call may be repeated, `enqueue` with an idempotency key. `cause` is the
 * connection's error.
 */
export class RedisUnavailableError extends VolleyError {
  override readonly name: 'RedisUnavailableError' | 'RedisFullError' = 'RedisUnavailableError';
  readonly code: 'unavailable' | 'full' = 'unavailable';
}

/** Redis has reached `maxmemory`, or comes so close to it that it takes nothing new. */
export class RedisFullError extends RedisUnavailableError {
  override readonly name = 'RedisFullError';
  override readonly code = 'full';
}

const replyOf = (message: string): string => message.replace(IN_SCRIPT, '');

/** Whether a server's reply means that it may run the command later. */
export function isTransient({ name, message }: Error): boolean {
  return name === 'ReplyError' && (TRANSIENT.test(replyOf(message)) || KEY_ELSEWHERE.test(message));
}

/** Whether a command failed because Redis is full. */
export function isFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof RedisFullError) return true;
  if ('previousErrors' in error && Array.isArray(error.previousErrors))
    return error.previousErrors.some(isFull);
  return error.name === 'ReplyError' && replyOf(error.message).startsWith('OOM');
}

/** A node refuses a command whose keys are not all there. ioredis repeats it, on one node and the other, sixteen times. */
const SLOT_MOVING =
  /^TRYAGAIN\b|^Too many Cluster redirections\. Last error: ReplyError: (TRYAGAIN|MOVED|ASK)\b/;

/** Whether a command failed because a cluster is moving the slot of its keys to another node. */
export function isSlotMoving(error: unknown): boolean {
  return error instanceof Error && (SLOT_MOVING.test(error.message) || KEY_ELSEWHERE.test(error.message));
}

/** Whether an error means that Redis is unavailable, rather than that a command failed. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof RedisUnavailableError || error.name === 'RedisUnavailableError') return true;
  if (error.name === 'MaxRetriesPerRequestError' || error.name === 'ClusterAllFailedError') return true;
  // A transaction fails because of the errors of its commands.
  if ('previousErrors' in error && Array.isArray(error.previousErrors) && error.previousErrors.length > 0) {
    return error.previousErrors.every(isUnavailable);
  }
  return isTransient(error) || (error.name !== 'ReplyError' && NO_ANSWER.test(error.message));
}

/** This Volley is closed, so it does nothing more. */
export class ClosedError extends VolleyError {
  override readonly name = 'ClosedError';
  readonly code = 'unavailable';
}

/** Methods that need no {@link Usable}: they return neither a promise nor rows, because what they return asks Redis, or because they only count and end something. */
const AT_ONCE: ReadonlySet<PropertyKey> = new Set([
  'as',
  'close',
  'knownLanes',
  'outbox',
  'provide',
  'refused',
  'subscription',
  'token',
  'watchLive',
  'work',
]);

/** Whether a method may be called: undefined if it may. Rejects with why it may not. */
export type Usable = (name: PropertyKey) => Promise<void> | undefined;

/**
 * The same object, but its methods wait until they are `usable`, and reject with a {@link RedisUnavailableError} in place of the connection's
 * own errors. Covers promises and async iterables.
 */
export function withUnavailableErrors<Service extends object>(
  service: Service,
  usable: Usable = () => undefined,
): Service {
  return new Proxy(service, {
    get(target, name): unknown {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]): unknown => {
        const call = (): unknown => translated(Reflect.apply(member, target, args));
        const waiting = AT_ONCE.has(name) ? undefined : usable(name);
        return waiting === undefined ? call() : later(waiting.catch(rethrow).then(call));
      };
    },
  });
}

export const closedError = (): ClosedError =>
  new ClosedError('this Volley is closed: create another one with createVolley');

function translated(result: unknown): unknown {
  if (result instanceof Promise) return result.catch(rethrow);
  return isIterable(result) ? translatedRows(result) : result;
}

/** Forwards each step. A generator in between would prevent callers from returning while a step is pending. */
function translatedRows(rows: AsyncIterable<unknown>): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]() {
      const steps = rows[Symbol.asyncIterator]();
      return {
        next: () => steps.next().catch(rethrow),
        return: async () => (await steps.return?.()) ?? { done: true, value: undefined },
      };
    },
  };
}

/** What people read when a command failed because Redis is full. */
const REDIS_IS_FULL =
  'Redis is full: it has reached maxmemory, and stores nothing new until maxmemory is raised or old campaigns are removed';

function rethrow(error: unknown): never {
  if (!isUnavailable(error) || error instanceof RedisUnavailableError) throw error;
  if (isFull(error)) throw new RedisFullError(REDIS_IS_FULL, { cause: error });
  const message = isSlotMoving(error)
    ? 'Redis is moving this lane to another node of its cluster; if that lasts, finish the reshard with redis-cli --cluster fix'
    : error instanceof Error && isTransient(error)
      ? `Redis cannot do that now: ${error.message}`
      : 'Redis does not answer: check that it is running, and check REDIS_URL if it is set';
  throw new RedisUnavailableError(message, { cause: error });
}
