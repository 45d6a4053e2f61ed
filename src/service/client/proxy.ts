import type { Agent, AgentOptions } from 'node:https';
import { HttpsProxyAgent } from 'hpagent';

/** An agent whose TLS connections go through a tunnel of this proxy (RFC 9110, section 9.3.6). `timeoutMs`: for the tunnel. */
export function proxyAgent(proxy: string, settings: AgentOptions, timeoutMs: number): Agent {
  return new TunnelAgent({ ...settings, proxy }, timeoutMs);
}

/** The proxy did not open a tunnel to the service, so nothing of a request has left. */
class ProxyError extends Error {
  override readonly name = 'ProxyError';
  readonly code: string;

  constructor(cause: Error) {
    super(cause.message, { cause });
    const status = /^Bad response: (\d+)$/.exec(cause.message)?.[1];
    this.code = status === undefined ? 'ERR_PROXY' : `ERR_PROXY_${status}`;
  }
}

class TunnelAgent extends HttpsProxyAgent {
  readonly #timeoutMs: number;

  constructor(options: ConstructorParameters<typeof HttpsProxyAgent>[0], timeoutMs: number) {
    super(options);
    this.#timeoutMs = timeoutMs;
  }

  override createConnection(...[options, callback]: Parameters<Agent['createConnection']>) {
    // The agent's own timeout is that of idle connections.
    return super.createConnection({ ...options, timeout: this.#timeoutMs }, (error, socket) =>
      callback?.(error === null ? null : new ProxyError(error), socket),
    );
  }
}
