import type { FastifyRequest } from 'fastify';

/** What the route takes that was asked, for words on what would be right. */
export interface Taken {
  /** A body of JSON, or besides it a form with a list. */
  readonly body: 'none' | 'json' | 'list';
  readonly maxJsonBytes: number;
}

/** The body that the route takes; `none` also where there is no route. */
export function bodyTaken({ routeOptions }: FastifyRequest): Taken['body'] {
  if (routeOptions.config?.takesUpload === true) return 'list';
  return routeOptions.schema?.body === undefined ? 'none' : 'json';
}

/** Where an address takes no body. */
export const NOTHING_TAKEN = 'nothing is taken here: send no body';

const BODIES = {
  none: NOTHING_TAKEN,
  json: 'send JSON, with `Content-Type: application/json`',
  list: 'send JSON, with `Content-Type: application/json`, or a form (`multipart/form-data`) for a list as CSV',
} as const;

/** What to send where a body of another type came. */
export function bodyWanted({ body }: Pick<Taken, 'body'>): string {
  return BODIES[body];
}

/** What to send where more JSON came than is taken. */
export function tooMuchJson({ body, maxJsonBytes }: Taken): string {
  const limit = `JSON is taken up to ${maxJsonBytes / 1_000_000} MB (HTTP_MAX_JSON_MB)`;
  return body === 'list' ? `${limit}: send a longer list as CSV, in a form (\`multipart/form-data\`)` : limit;
}
