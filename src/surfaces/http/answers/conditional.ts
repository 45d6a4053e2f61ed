import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A weak entity tag: the same for all encodings of a response. */
function tagOf(version: string): string {
  return `W/"${createHash('sha256').update(version).digest('base64url').slice(0, 22)}"`;
}

/**
 * Sets the `ETag` of a response whose content has this version. Returns true if the client has that content: then the response needs
 * no body.
 */
export function isUnchanged({ headers }: FastifyRequest, reply: FastifyReply, version: string): boolean {
  const tag = tagOf(version);
  reply.header('etag', tag);
  const known =
    headers['if-none-match']?.split(',').map((one) => one.trim().replace(/^(?:W\/)?/, 'W/')) ?? [];
  return known.includes(tag) || known.includes('W/*');
}

/** Whether the client accepts a response that is compressed with gzip. */
export function acceptsGzip({ headers }: FastifyRequest): boolean {
  const accepted = String(headers['accept-encoding'] ?? '').split(',');
  const [named] = accepted.filter((one) => /^\s*(?:x-)?gzip\s*(?:;|$)/i.test(one));
  const [any] = accepted.filter((one) => /^\s*\*\s*(?:;|$)/.test(one));
  const chosen = named ?? any;
  return chosen !== undefined && !/;\s*q\s*=\s*0(?:\.0*)?\s*$/i.test(chosen);
}
