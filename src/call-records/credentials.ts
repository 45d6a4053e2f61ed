import { InputError } from '../campaign/errors.js';
import type { TokenOutcome } from '../service/auth/outcome.js';
import type { Contract } from './contract.js';
import { NoTokenError } from './errors.js';
import type { RecordsAccess, RecordsAccount, RecordsLane } from './requests.js';
import { placeholdersIn, type Values } from './template.js';

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
  const names = [contract.request, contract.status, contract.download].flatMap(({ headers }) =>
    Object.values(headers).flatMap(placeholdersIn),
  );
  const needs = { apiKey: names.includes('apiKey'), accessToken: names.includes('accessToken') };
  const accessOf = (lane: RecordsLane): RecordsAccess => {
    // A lane with another kind of credentials can request records, too.
    if (client !== undefined && !needs.apiKey) return { apiKey: undefined, account: client };
    const access = lane.access();
    return client === undefined ? access : { ...access, account: client };
  };

  /** Rejects with an InputError if the lane lacks one, and with a NoTokenError if there is no token now. */
  async function of(lane: RecordsLane): Promise<Credentials> {
    const { apiKey, account } = accessOf(lane);
    if (needs.apiKey && apiKey === undefined) {
      throw new InputError(`the contract sends {apiKey}, and the lane ${lane.name} has no API key`, {
        field: 'lane',
      });
    }
    if (!needs.accessToken) return { values: { apiKey }, generation: null };
    if (account === undefined) {
      throw new InputError(`the contract sends {accessToken}, and the lane ${lane.name} has no account`, {
        field: 'lane',
      });
    }
    return withToken(await account.get(), apiKey);
  }

  /**
   * Credentials with a newer token, after a 401; null if no newer token can be the answer. The service may refuse the call rather
   * than the token, so nothing counts against the account.
   */
  async function renewed(lane: RecordsLane, used: Credentials): Promise<Credentials | null> {
    const { apiKey, account } = accessOf(lane);
    if (used.generation === null || account === undefined) return null;
    return withToken(await account.newerThan(used.generation), apiKey);
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
  if (outcome.kind === 'token') {
    return { values: { apiKey, accessToken: outcome.token }, generation: outcome.generation };
  }
  throw new NoTokenError(outcome.reason, outcome.kind === 'later');
}
