import type { Config } from './config.js';
import type { LaneRules } from './lane.js';

/** Where requests go, how long they may take, and how they get there. */
export interface ServiceConnection {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly timeoutMs: number;
  /** The address of a proxy for an https service. */
  readonly proxy: string | undefined;
  /** Certificates in PEM that an https service may use beside the public ones. */
  readonly ca: string | undefined;
}

/** How to reach this address of the service. */
export function serviceConnection(
  { requestTimeoutMs, httpsProxy, noProxy, serviceCa }: Config,
  baseUrl: string,
): ServiceConnection {
  const isProxied = baseUrl.startsWith('https:') && !isExcluded(baseUrl, noProxy);
  return { baseUrl, timeoutMs: requestTimeoutMs, proxy: isProxied ? httpsProxy : undefined, ca: serviceCa };
}

/** How to reach the messaging service of a lane. */
export function messagingConnection(
  config: Config,
  { baseUrl }: Pick<LaneRules, 'baseUrl'>,
): ServiceConnection {
  return serviceConnection(config, baseUrl ?? config.messagingBaseUrl);
}

/**
 * Whether `url` is excluded from the proxy by a list like that of curl: hosts, each with its subdomains and optionally with a port,
 * separated by commas or spaces; `*` excludes all.
 */
function isExcluded(url: string, noProxy: string): boolean {
  const { hostname, port, protocol } = new URL(url);
  const actualPort = port === '' ? { 'https:': '443', 'http:': '80' }[protocol] : port;
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      const [, name = '', onPort] = /^(.+?)(?::(\d+))?$/.exec(entry) ?? [];
      const host = name.replace(/^\*?\./, '');
      const isHost = hostname === host || hostname.endsWith(`.${host}`);
      return isHost && (onPort === undefined || onPort === actualPort);
    });
}
