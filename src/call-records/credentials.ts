import { InputError } from '../campaign/errors/errors.js';
import type { TokenOutcome } from '../service/auth/outcome.js';
import { type Contract, PARTS } from './contract/contract.js';
import { templatesOf } from './contract/contradictions.js';
import type { Values } from './contract/template.js';
import { NoTokenError } from './store/errors.js';
import type { RecordsAccess, RecordsAccount, RecordsLane } from './store/lanes.js';

/** What a lane's requests carry. */
export interface Credentials {
  readonly values: Values;
  /** Of the token; null without one. */
  readonly generation: number | null;
}

/**
 * The credentials that a contract names, and how to replace a token that the service refuses. `client`: that of the contract, whose
 * token all lanes send instead of those of their accounts.
 */
export function contractCredentials(contract: Contract, client: RecordsAccount | undefined) {
  const names = PARTS.flatMap((part) => templatesOf(contract, part)).flatMap((template) => template.names);
  const needs = { apiKey: names.includes('apiKey'), accessToken: names.includes('accessToken') };
  const accessOf = (lane: RecordsLane): RecordsAccess => {
    if (client === undefined) return lane.access();
    // A lane with another kind of credentials can request records, too.
    return { apiKey: needs.apiKey ? lane.access().apiKey : undefined, account: client };
  };

  /** Rejects with an InputError if the lane lacks one, and with a NoTokenError if there is no token now. */
  async function of(lane: RecordsLane): Promise<Credentials> {
    const { apiKey, account } = accessOf(lane);
    const lacking = (name: string, what: string): InputError =>
      new InputError(`the contract sends {${name}}, and the lane ${lane.name} has no ${what}`, {
        field: 'lane',
      });
    if (needs.apiKey && apiKey === undefined) throw lacking('apiKey', 'API key');
    if (!needs.accessToken) return { values: { apiKey }, generation: null };
    if (account === undefined) throw lacking('accessToken', 'account');
    return withToken(await account.tokens.get(), apiKey);
  }

  /**
   * Credentials with a newer token, after a 401; null if no newer token can be the answer. The service may refuse the call rather
   * than the token, so nothing counts against the account.
   */
  async function renewed(lane: RecordsLane, { generation }: Credentials): Promise<Credentials | null> {
    const { apiKey, account } = accessOf(lane);
    if (generation === null || account === undefined) return null;
    return withToken(await account.tokens.newerThan(generation), apiKey);
  }

  return {
    of,
    renewed,

    /** The credential whose requests run one at a time. No other lane has the same key. */
    ownerOf(lane: RecordsLane): string {
      const { account } = accessOf(lane);
      return needs.accessToken && account !== undefined ? `account-${account.id}` : `lane-${lane.id}`;
    },

    /** Runs a prepared request with the lane's credentials, and once more with a newer token after a 401. */
    async run<Outcome extends { readonly kind: string }>(
      lane: RecordsLane,
      request: (credentials: Values) => Promise<Outcome>,
    ): Promise<Outcome> {
      const credentials = await of(lane);
      const outcome = await request(credentials.values);
      if (outcome.kind !== 'unauthorised') return outcome;
      const newer = await renewed(lane, credentials);
      return newer === null ? outcome : request(newer.values);
    },
  };
}

/** See {@link contractCredentials}. */
export type ContractCredentials = ReturnType<typeof contractCredentials>;

function withToken(outcome: TokenOutcome, apiKey: string | undefined): Credentials {
  if (outcome.kind !== 'token') throw new NoTokenError(outcome.reason, outcome.kind === 'later');
  return { values: { apiKey, accessToken: outcome.token }, generation: outcome.generation };
}
