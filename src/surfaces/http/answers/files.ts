import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OpenFile } from '../../../operations/operation.js';
import { Refused } from '../../../operations/outcomes.js';
import { apiKeyOf } from '../access/access.js';
import { concurrencyLimit } from '../limits/rate-limit.js';
import type { HttpOptions } from '../route.js';
import { Problem } from '../server/problem.js';
import { attachment } from './attachment.js';
import { whileActive } from './body-stream.js';

/** Each may wait for hours, and asks Redis again and again. */
const MAX_DOWNLOADS_PER_KEY = 50;

/** Returns a function that sends the file that `open` opens, unchanged. A key has a limited number of them in progress, waiting ones included. */
export function fileSender({ volley, maxDownloadsPerKey = MAX_DOWNLOADS_PER_KEY }: HttpOptions) {
  const limitDownloads = concurrencyLimit(maxDownloadsPerKey, 'downloads of call records');
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    open: () => Promise<OpenFile | Refused<object>>,
  ): Promise<FastifyReply> => {
    limitDownloads(apiKeyOf(request).id, request, reply);
    const opened = await open();
    if (opened instanceof Refused)
      throw new Problem(opened.code, opened.message, { members: { ...opened.detail } });
    const { name, contentType, length, body, headers } = opened;
    return reply
      .type(contentType)
      .headers({
        'content-disposition': attachment(name),
        'x-content-type-options': 'nosniff',
        ...headers,
        ...(length !== null && { 'content-length': String(length) }),
      })
      .send(Readable.from(whileActive(reply, body, volley), { objectMode: false }));
  };
}
