import { isIP } from 'node:net';

/*
 * A web page can make a browser send requests to this machine under a name that the page's owner controls (DNS rebinding), and
 * read the responses. The header `Host` then has that name.
 */

/** Whether a host is reached only from this machine. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase();
  // A name may begin like an address.
  return bare === 'localhost' || bare === '::1' || (isIP(bare) !== 0 && /^(?:::ffff:)?127\./.test(bare));
}

/**
 * Whether the header `Host` of a request is one that no such page can cause: an address, `localhost`, a name without a dot, such as
 * that of a container, the host that the server listens on, or one of the names in `allowed`.
 */
export function isTrustedHost(
  header: string | undefined,
  listeningOn: string,
  allowed: readonly string[] = [],
): boolean {
  // Browsers always send it.
  if (header === undefined) return true;
  const name = header
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
  const isOurs = [listeningOn, ...allowed].some((own) => own.toLowerCase() === name);
  return isOurs || isIP(name) !== 0 || /^[\w-]+(?:\.localhost)?$/.test(name);
}
