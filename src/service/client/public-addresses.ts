import type { Agent } from 'node:http';
import type { AgentOptions } from 'node:https';
import { isIP } from 'node:net';
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

/**
 * Agents that connect only to public addresses and to the private ones that are listed (addresses or ranges, `10.0.0.0/8`). The
 * address is checked when connecting, so neither a literal address in any spelling nor a name that resolves to a private one gets
 * through. A request to another address fails with the code {@link PRIVATE_ADDRESS}. A proxy resolves names itself, so it must refuse
 * private addresses; a literal address is connected to without the proxy.
 */
export function onlyPublicAddresses(allowed: readonly string[], route: Route): AgentFactory {
  return (url, pooling): Agent => {
    const { protocol, hostname } = new URL(url);
    const options = { ...pooling, allowIPAddressList: [...allowed] };
    if (protocol !== 'https:') return naming(new RequestFilteringHttpAgent(options));
    const { proxy, ca, timeoutMs } = route(url);
    const trusted: AgentOptions = ca === undefined ? {} : { ca: [...rootCertificates, ca] };
    const isLiteral = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
    if (proxy !== undefined && !isLiteral) return proxyAgent(proxy, { ...pooling, ...trusted }, timeoutMs);
    return naming(new RequestFilteringHttpsAgent({ ...options, ...trusted }));
  };
}

/** Gives the errors of the library a code, for it gives them none. */
function naming(agent: Agent): Agent {
  const connect = agent.createConnection.bind(agent);
  // A refused literal address reaches the callback, a refused name the socket.
  agent.createConnection = (to, callback) => {
    const socket = connect(to, callback && ((error, made) => callback(error && named(error), made)));
    socket?.prependOnceListener('error', named);
    return socket;
  };
  return agent;
}

function named(error: Error): Error {
  const isRefusal = error.message.includes('is not allowed. Because');
  return isRefusal ? Object.assign(error, { code: PRIVATE_ADDRESS }) : error;
}
