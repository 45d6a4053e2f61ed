import { fastifyCookie as cookie } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LONGEST_MS } from '../../../app/access/sessions.js';
import type { LocalConfig } from '../../../base/config/index.js';
import { isOverTls } from './own-site.js';

/*
 * The cookie of a session. No script can read it, and browsers send it only with requests of our own pages. Under TLS, no other host can set it
 * (`__Host-`). Without TLS it is used on this machine only, whose cookies all ports share, so its name has the port.
 */

type Site = Pick<LocalConfig, 'http'>;

function nameOf(request: FastifyRequest, config: Site): string {
  if (isOverTls(request, config)) return '__Host-volley';
  return `volley-${/:(\d+)$/.exec(request.headers.host ?? '')?.[1] ?? '80'}`;
}

/** The text of the session that a request has; undefined if it has none. */
export function sessionOf(request: FastifyRequest, config: Site): string | undefined {
  const { cookie: header } = request.headers;
  return header === undefined ? undefined : cookie.parse(header)[nameOf(request, config)];
}

/** Gives the browser a session, or takes it away (null). */
export function setSession(
  request: FastifyRequest,
  reply: FastifyReply,
  config: Site,
  session: string | null,
): void {
  const set = cookie.serialize(nameOf(request, config), session ?? '', {
    path: '/',
    httpOnly: true,
    sameSite: 'strict',
    secure: isOverTls(request, config),
    maxAge: session === null ? 0 : LONGEST_MS / 1_000,
  });
  reply.header('set-cookie', set);
}
