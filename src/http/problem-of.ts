import { z } from 'zod';
import { InputError, NotFoundError } from '../campaign/errors.js';
import { bodyWanted, type Taken, tooMuchJson } from './consumed-body.js';
import { Problem } from './problem.js';
import { isUnavailable } from './redis-unavailable.js';

/** Whatever a route may throw, as an answer. What nobody foresaw is `failed`, and tells nothing of itself. */
export function problemOf(error: unknown, taken: Taken): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof z.ZodError) return ofIssues(error);
  if (error instanceof NotFoundError) return new Problem('notFound', error.message);
  if (error instanceof InputError) {
    const { message, field } = error;
    const errors = field === undefined ? [] : [{ pointer: `/${field}`, message }];
    return new Problem('badInput', message, { errors });
  }
  if (isUnavailable(error)) {
    return new Problem('unavailable', 'Redis does not answer: ask again in a moment', {
      headers: { 'retry-after': '2' },
    });
  }
  return ofFramework(error, taken);
}

const PLACES: Readonly<Record<string, string>> = { querystring: 'query', headers: 'header', params: 'path' };

/** What a schema found: Fastify notes which part of the request it was for. */
function ofIssues(error: z.ZodError & { readonly validationContext?: unknown }): Problem {
  const place = PLACES[String(error.validationContext)] ?? '';
  const errors = error.issues.flatMap(({ path, message, ...issue }) => {
    const pointer = (more: readonly string[]): string =>
      [place, ...path.map(String), ...more]
        .map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1'))
        .join('/');
    // A name that nobody knows is a fault at that name.
    return issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ pointer: pointer([key]), message }))
      : [{ pointer: pointer([]), message }];
  });
  const [first] = errors;
  const where = first === undefined || first.pointer === '' ? 'the body' : first.pointer;
  return new Problem('badInput', `${where}: ${first?.message ?? 'is not as it should be'}`, { errors });
}

/** What Fastify and its plugins refuse by themselves. */
function ofFramework(error: unknown, taken: Taken): Problem {
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  const detail = error instanceof Error ? error.message : '';
  switch (error instanceof Error && 'code' in error ? error.code : undefined) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('tooLarge', tooMuchJson(taken));
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem('unsupported', bodyWanted(taken));
  }
  switch (status) {
    case 404:
      return new Problem('notFound', detail);
    case 413:
      return new Problem('tooLarge', detail);
    case 406:
    case 415:
      return new Problem('unsupported', detail);
    case 429:
      return new Problem('tooMany', detail);
    default:
      return status >= 400 && status < 500
        ? new Problem('badInput', detail)
        : new Problem(
            'failed',
            'the fault is ours, and is in the log; what was asked for may have been done',
          );
  }
}
