import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LoginOutcome } from '../../../src/service/login-outcome.js';
import { closeLater } from '../../scene/closing.js';
import { type AccountService, accountService } from './account-service.js';

/** An account service that other processes can reach; it counts the requests of all of them. */
export interface AccountServer {
  url: string;
  service: AccountService;
}

/** Starts an account service that answers each request with a `LoginOutcome` as JSON; the tests of the client cover the real format. */
export async function accountServer(service = accountService()): Promise<AccountServer> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const presented = request.headers['x-authorization'];
    const outcome: LoginOutcome =
      typeof presented === 'string' ? await service.refresh(presented) : await service.login();
    response.setHeader('content-type', 'application/json').end(JSON.stringify(outcome));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closeLater(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, service };
}
