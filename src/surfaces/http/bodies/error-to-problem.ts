import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { isFull, isUnavailable, RedisFullError } from '../../../base/redis/unavailable.js';
import { RecordsBusyError } from '../../../call-records/store/errors.js';
import { type ErrorCode, type ErrorItem, isProblemCode } from '../../../campaign/errors/error-codes.js';
import { pointerStep } from '../../../campaign/errors/error-item.js';
import {
  AmbiguousNameError,
  asSentence,
  InputError,
  InputErrors,
  NoSuchLaneError,
  OtherFormatError,
  VolleyError,
} from '../../../campaign/errors/errors.js';
import { listed } from '../../../campaign/errors/listed.js';
import { MISSING } from '../../../campaign/fields/input.js';
import { LimitError } from '../../../campaign/limits/check-limits.js';
import type { ApiKey } from '../../../campaign/states/api-key.js';
import { RecoveringError } from '../../../intake/outbox/definition/errors.js';
import { invalidParts, itemOf, moreErrors, Problem } from '../server/problem.js';
import { type BodyFormat, expectedBody } from './request-body.js';

/** What of a request an error depends on. */
type Asked = Partial<Pick<FastifyRequest, 'apiKey' | 'params' | 'body'>>;

/**
 * Maps any error that a route throws to an error response. An unexpected error becomes `failed` and reveals nothing. The key of the request
 * limits what an error may name; an error about a member that is in the address points there.
 */
export function errorToProblem(
  error: unknown,
  tooLarge: () => Problem,
  accepted: BodyFormat,
  asked: Asked = {},
): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof z.ZodError) return invalidParts(schemaItems(error));
  if (error instanceof NoSuchLaneError) return noSuchLane(error, asked.apiKey);
  if (error instanceof OtherFormatError) {
    // The message names processes, which are no business of the client.
    return retryIn(10, 'unavailable', 'An upgrade of Volley is in progress. Retry in a moment.');
  }
  if (error instanceof AmbiguousNameError) return ambiguous(error);
  if (error instanceof RecoveringError) return retryIn(5, 'unavailable', error.message);
  if (error instanceof RecordsBusyError) {
    const seconds = Math.ceil(error.retryInMs / 1_000);
    return retryIn(seconds, 'tooManyRequests', 'Another request of this credential is in flight.');
  }
  if (error instanceof RedisFullError) return retryIn(60, 'full', error.message);
  if (isFull(error)) return retryIn(60, 'full', 'Redis is full: it has reached maxmemory');
  if (isUnavailable(error)) return retryIn(2, 'unavailable', 'Redis does not respond. Retry in a moment.');
  if (error instanceof VolleyError && isProblemCode(error.code)) {
    const errors = error instanceof InputError ? error.errors.map((item) => inAddress(item, asked)) : [];
    const detail = error instanceof InputErrors ? firstOf(error) : error.message;
    const members = error instanceof LimitError ? limitOf(error) : {};
    return new Problem(error.code, detail, { errors, members });
  }
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return tooLarge();
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new Problem('unsupported', expectedBody(accepted));
  // The messages of these two repeat the address, which may contain a number.
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') return new Problem('notFound', 'The address is too long.');
  if (code === 'FST_ERR_BAD_URL') {
    return new Problem(
      'badInput',
      'The address is invalid. Encode special characters as UTF-8 and percent signs as `%25`.',
    );
  }
  return ofFramework(error);
}

const MAX_LANES_LISTED = 100;

const PARTS: Readonly<Record<string, string>> = { querystring: 'query', headers: 'header', params: 'path' };

/** What is wrong first, and how much else is. */
function firstOf({ all: [first, ...others] }: InputErrors): string {
  return `${asSentence(first?.message ?? '')}${moreErrors(others.length)}`;
}

const retryIn = (seconds: number, ...[code, detail]: ConstructorParameters<typeof Problem>): Problem =>
  new Problem(code, detail, { headers: { 'retry-after': String(seconds) } });

/** The last part of the address names what the request is about. A body may have a member of that name, or of another part's. */
const inAddress = (item: ErrorItem, { params, body }: Asked): ErrorItem => {
  const name = Object.keys(Object(params)).at(-1) ?? '';
  const isNamed = item.pointer === `/${name}` && !Object.hasOwn(Object(body), name);
  return isNamed ? { ...item, pointer: `path${item.pointer}` } : item;
};

/** Which limit, for programs. */
const limitOf = ({ limit, owner, left, resetsAt }: LimitError) => ({ limit, owner, left, resetsAt });

/** Names only lanes that the key may use. */
export function noSuchLane(
  { message, lane, lanes }: NoSuchLaneError,
  key: ApiKey | null | undefined,
): Problem {
  if (key?.lanes === null) return new Problem('notFound', asSentence(message));
  const allowed = lanes.filter((name) => key?.lanes?.includes(name));
  const others = allowed.length === 0 ? '' : ` The lanes of this key are: ${listed(allowed)}.`;
  return new Problem('notFound', `There is no lane ${lane}.${others}`);
}

/** The library has looked only at lanes that the key may use. */
function ambiguous({ message, lanes }: AmbiguousNameError): Problem {
  return new Problem('ambiguous', `${asSentence(message)} Set \`?lane=\`.`, {
    members: { lanes: lanes.slice(0, MAX_LANES_LISTED) },
  });
}

/** The parts that do not match a schema. Fastify notes on the error which part of the request it validated. */
export function schemaItems(error: z.ZodError & { readonly validationContext?: unknown }): ErrorItem[] {
  const part = PARTS[String(error.validationContext)] ?? '';
  const pointerTo = (path: readonly PropertyKey[]): string =>
    [part, ...path.map((step) => pointerStep(String(step)))].join('/');
  return error.issues.flatMap((issue) => {
    const texts = issue.message.split('\n');
    const paths =
      issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
    return paths.map((path, at) => itemOf(pointerTo(path), texts[at] ?? issue.message, codeOf(issue)));
  });
}

function codeOf({ code, message }: z.core.$ZodIssue): ErrorCode {
  if (code === 'unrecognized_keys') return 'unknown';
  return message === MISSING ? 'missing' : 'badInput';
}

/** What Fastify and its plugins reject by themselves. */
function ofFramework(error: unknown): Problem {
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  const detail = error instanceof Error ? error.message : '';
  switch (status) {
    case 404:
      return new Problem('notFound', detail);
    case 413:
      return new Problem('tooLarge', detail);
    case 406:
    case 415:
      return new Problem('unsupported', detail);
    case 429:
      return new Problem('tooManyRequests', detail);
    default:
      return status >= 400 && status < 500
        ? new Problem('badInput', detail)
        : new Problem(
            'failed',
            'The server has a fault, which it logged. The request may have taken effect.',
          );
  }
}
