import { BlockList, isIP } from 'node:net';
import { ConfigError } from './environment.js';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** True for an http(s) URL whose host is this machine: 127.0.0.0/8, `[::1]` or `localhost`. */
export function isLoopback(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') return false;
  if (hostname === 'localhost') return true;
  const address = hostname.replace(/^\[|\]$/g, '');
  const family = isIP(address);
  return family !== 0 && LOOPBACK.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

/**
 * Throws a {@link ConfigError} unless the URL's host is this machine. Demos, tests, and the simulator call it, so that
 * trying out Volley never sends a real message.
 */
export function assertLoopback(url: string): void {
  if (isLoopback(url)) return;
  throw new ConfigError([
    'only a base URL on this machine (127.0.0.0/8, [::1] or localhost) is allowed here, so that no real message is sent',
  ]);
}
