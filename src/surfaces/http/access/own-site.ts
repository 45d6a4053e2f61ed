import type { FastifyRequest } from 'fastify';
import { isLoopback, type LocalConfig } from '../../../base/config/index.js';
import { Problem } from '../server/problem.js';

/*
 * Browsers send a cookie with every request to its host, whichever page makes it. So what a browser may do here without an API key in a header
 * depends on two rules:
 *
 *   Host           this machine, or that of CONSOLE_URL. A page of another site can make a browser call this server under a name of its own
 *                  (DNS rebinding), and would then be of the same origin
 *   Sec-Fetch-Site `same-origin`. Where a browser omits it, `Origin` must be our own. A request with neither is refused, also one that only
 *                  reads: every browser that can show the console sends one of them to https and to this machine, and CONSOLE_URL is either
 */

type Ours = Pick<LocalConfig, 'http'>;

/** Throws a Problem, `misdirected`, unless the header `Host` is this machine or that of CONSOLE_URL. */
export function requireOwnHost({ headers }: FastifyRequest, { http: { consoleUrl } }: Ours): void {
  const { host = '' } = headers;
  if (isLocal(host) || isHostOf(host, consoleUrl)) return;
  throw new Problem(
    'misdirected',
    consoleUrl === undefined
      ? 'Browsers reach the console under an address of this machine, such as 127.0.0.1. For any other one, set CONSOLE_URL to it.'
      : `Browsers reach the console under the address of CONSOLE_URL, ${consoleUrl}, or one of this machine.`,
  );
}

/** Throws a Problem, `forbidden`, unless a page of this server makes the request. */
export function requireOwnPage(request: FastifyRequest, config: Ours): void {
  const { host = '', origin, 'sec-fetch-site': site } = request.headers;
  const own = [`${isOverTls(request, config) ? 'https' : 'http'}://${host}`, config.http.consoleUrl];
  if (site === undefined ? origin !== undefined && own.includes(origin) : site === 'same-origin') return;
  throw new Problem(
    'forbidden',
    'A session works only in pages of this server: the browser says that another page makes this request. Programs send an API key as `Authorization: Bearer vk_…`.',
  );
}

/** Whether the browser reaches this server over TLS, which a proxy in front ends. */
export function isOverTls({ headers, protocol }: FastifyRequest, { http: { consoleUrl } }: Ours): boolean {
  const isOfUrl = consoleUrl?.startsWith('https:') === true && isHostOf(headers.host ?? '', consoleUrl);
  return protocol === 'https' || isOfUrl;
}

const isLocal = (host: string): boolean => /^[\w.:[\]-]+$/.test(host) && isLoopback(`http://${host}`);

function isHostOf(host: string, url: string | undefined): boolean {
  if (url === undefined || !URL.canParse(`https://${host}`)) return false;
  const { protocol, host: own } = new URL(url);
  return new URL(`${protocol}//${host}`).host === own;
}
