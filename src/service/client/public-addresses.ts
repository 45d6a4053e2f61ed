import { lookup as systemLookup } from 'node:dns';
import type { Agent } from 'node:http';
import type { AgentOptions } from 'node:https';
import { BlockList, isIP, isIPv6, type LookupFunction, Socket } from 'node:net';
import { rootCertificates } from 'node:tls';
import { RequestFilteringHttpAgent, RequestFilteringHttpsAgent } from 'request-filtering-agent';
import type { AgentFactory } from './keep-alive.js';
import { proxyAgent } from './proxy.js';
import { PRIVATE_ADDRESS } from './reason.js';

/** How to reach a URL. */
export type Route = (url: string) => {
  readonly proxy: string | undefined;
  /** Certificates in PEM beside the public ones. */
  readonly ca: string | undefined;
  readonly timeoutMs: number;
};

/** The IPv6 addresses that IANA has assigned to the public internet. */
const GLOBAL = new BlockList();
GLOBAL.addSubnet('2000::', 3, 'ipv6');
/** The end of an address that ISATAP makes of one of IPv4, as a URL writes it. */
const ISATAP = /:(?:|0:|200:)5efe:[\da-f]{1,4}:[\da-f]{1,4}\]$/;

/**
 * Whether an address is one of IPv6 that no public host has, or that contains one of IPv4, where a network may deliver it: `::127.0.0.1`.
 * `request-filtering-agent` knows the other forms: 6to4, NAT64 (RFC 6052), Teredo, and `::ffff:127.0.0.1`.
 */
function isUnusual(address: string): boolean {
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return false;
  return !GLOBAL.check(plain, 'ipv6') || ISATAP.test(new URL(`http://[${plain}]`).hostname);
}

/** The addresses and ranges of a list. */
function blockList(listed: readonly string[]): BlockList {
  const list = new BlockList();
  for (const each of listed) {
    const [address = '', bits] = each.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/**
 * Agents that connect only to public addresses and to the private ones that are listed (addresses or ranges, `10.0.0.0/8`). The
 * address is checked when connecting, so neither a literal address in any spelling nor a name that resolves to a private one gets
 * through. A request to another address fails with the code {@link PRIVATE_ADDRESS}. A proxy resolves names itself, so it must refuse
 * private addresses; a literal address is connected to without the proxy.
 */
export function onlyPublicAddresses(allowed: readonly string[], route: Route): AgentFactory {
  const permitted = blockList(allowed);
  return (url, pooling): Agent => {
    const { protocol, hostname } = new URL(url);
    const options = { ...pooling, allowIPAddressList: [...allowed] };
    const isRefused = (address: string): boolean =>
      isUnusual(address) && !permitted.check(address.replace(/%.*$/, ''), 'ipv6');
    if (protocol !== 'https:') return filtering(new RequestFilteringHttpAgent(options), isRefused);
    const { proxy, ca, timeoutMs } = route(url);
    const trusted: AgentOptions = ca === undefined ? {} : { ca: [...rootCertificates, ca] };
    const isLiteral = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
    if (proxy !== undefined && !isLiteral) return proxyAgent(proxy, { ...pooling, ...trusted }, timeoutMs);
    return filtering(new RequestFilteringHttpsAgent({ ...options, ...trusted }), isRefused);
  };
}

/** Lets an agent also refuse other addresses, and gives its refusals a code, for the library gives them none. */
function filtering(agent: Agent, isRefused: (address: string) => boolean): Agent {
  const connect = agent.createConnection.bind(agent);
  // A refused literal address reaches the callback, a refused name the socket.
  agent.createConnection = (to, callback) => {
    const { host, lookup = systemLookup } = to;
    if (host != null && callback !== undefined && isRefused(host))
      return void callback(refusal(host), new Socket());
    const checked = { ...to, lookup: checkedLookup(lookup, isRefused) };
    const socket = connect(checked, callback && ((error, made) => callback(error && named(error), made)));
    socket?.prependOnceListener('error', named);
    return socket;
  };
  return agent;
}

/** Resolves names, unless one of the addresses is refused. */
function checkedLookup(lookup: LookupFunction, isRefused: (address: string) => boolean): LookupFunction {
  return (name, options, callback) =>
    lookup(name, options, (error, found, family) => {
      const addresses = typeof found === 'string' ? [found] : (found ?? []).map(({ address }) => address);
      const refused = error === null ? addresses.find(isRefused) : undefined;
      if (refused !== undefined) callback(refusal(refused), []);
      else callback(error, found, family);
    });
}

const refusal = (address: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`${address} is no public address`), { code: PRIVATE_ADDRESS });

function named(error: Error): Error {
  const isRefusal = error.message.includes('is not allowed. Because');
  return isRefusal ? Object.assign(error, { code: PRIVATE_ADDRESS }) : error;
}
