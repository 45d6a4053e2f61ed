import type { Simulation } from '../state/simulation.js';
import { type Answer, failure, type Incoming, json } from '../wire/wire.js';
import type { TokenIssuer } from './tokens.js';

/** Where clients get their tokens. */
export const TOKEN_PATH = '/oauth2/token';

/** The token endpoint of version 3: OAuth 2 client credentials (RFC 6749, section 4.4), with the scope `sms` and one product. */
export class Clients {
  readonly #tokens: TokenIssuer;
  readonly #simulation: Simulation;
  /** Requests for a token, and how many were granted. */
  readonly counts = { clientTokens: 0, clientTokensGranted: 0 };

  constructor(simulation: Simulation, tokens: TokenIssuer) {
    this.#simulation = simulation;
    this.#tokens = tokens;
  }

  /** Whether an account is that of a client, whose tokens version 3 accepts. */
  has(account: string): boolean {
    return this.#simulation.settings.clients.some(({ id }) => id === account);
  }

  async handle({ method, headers, body }: Incoming, now: number): Promise<Answer> {
    if (method !== 'POST') return failure(405, 'use POST');
    this.counts.clientTokens += 1;
    if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(headers['content-type'] ?? ''))
      return error(400, 'invalid_request', 'Content-Type must be application/x-www-form-urlencoded');
    const form = new URLSearchParams(body);
    if (form.get('grant_type') !== 'client_credentials') return error(400, 'unsupported_grant_type');
    const client = this.#simulation.settings.clients.find(({ id }) => id === form.get('client_id'));
    if (client === undefined || client.secret !== form.get('client_secret'))
      return error(401, 'invalid_client', 'Invalid client or Invalid client credentials');
    const scopes = (form.get('scope') ?? '').split(' ');
    const [product, ...others] = scopes.filter((scope) => scope !== 'sms');
    const isProduct =
      scopes.includes('sms') &&
      product !== undefined &&
      others.length === 0 &&
      client.products.includes(product);
    const isGranted = client.scope === undefined ? isProduct : form.get('scope') === client.scope;
    if (!isGranted) return error(400, 'invalid_scope', 'Invalid scopes');
    this.counts.clientTokensGranted += 1;
    const { AccessToken } = await this.#tokens.issue(this.#tokens.openSession(client.id, client.id), now);
    return json(200, {
      access_token: AccessToken,
      token_type: 'Bearer',
      expires_in: this.#simulation.settings.tokens.accessLifetimeMs / 1_000,
      scope: client.scope ?? `sms ${product}`,
    });
  }
}

function error(status: number, code: string, description?: string): Answer {
  return json(status, { error: code, error_description: description });
}
