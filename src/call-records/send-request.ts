import { type Machine, startStopwatch } from '../base/clock.js';
import type { Events } from '../base/events/events.js';
import type { RequestOutcome } from './contract/answers.js';
import type { RecordsClient } from './contract/client.js';
import type { Contract } from './contract/contract.js';
import { type CheckedInput, parameterValues } from './contract/input.js';
import type { ContractCredentials } from './credentials.js';
import type { RecordsLane } from './store/lanes.js';
import { type RecordsOptions, slotWait } from './store/slots.js';
import {
  mayLackCalls,
  type RecordsChange,
  type RecordsStore,
  type RequestKey,
  type StoredRequest,
} from './store/store.js';

/** What the steps of a request work with. */
export interface RecordsContext {
  readonly store: RecordsStore;
  readonly contract: Contract;
  readonly client: RecordsClient;
  readonly credentials: ContractCredentials;
  readonly events: Events;
  readonly machine: Machine;
  /** Requests of a credential on the wire at a time. */
  readonly inFlight: number;
}

/** What a request asks for. */
type Content = Pick<CheckedInput, 'from' | 'to' | 'parameters'>;

/** A request to send. */
interface Sendable {
  readonly id: string;
  readonly key: string;
  readonly content: Content;
  /** Of a new request. */
  readonly details?: CheckedInput & { readonly lane: string };
}

/** `again`: although another request with the same key is open. */
export interface RequestOptions extends RecordsOptions {
  readonly again?: boolean | undefined;
}

/** Sends requests for call records, each at most once. */
export function requestSender(context: RecordsContext) {
  const { store, contract, client, credentials: all, machine, inFlight: limit } = context;
  const leaseMs = 2 * contract.timeouts.request;

  /** Sends a new request, or one that is planned. Returns the request as it is afterwards, or the open one with its key. */
  return async (
    lane: RecordsLane,
    { key, content, ...first }: Sendable,
    options: RequestOptions,
  ): Promise<StoredRequest> => {
    const credential = all.ownerOf(lane);
    const values = parameterValues(content, contract);
    const wait = slotWait(machine, options);
    const again = options.again === true;
    let { id, details } = first;
    let replaces = '';
    let credentials = await all.of(lane);
    let mayRenew = true;
    for (;;) {
      options.signal?.throwIfAborted();
      const post = client.request(values, credentials.values);
      const claim = machine.nonce();
      const claimAge = startStopwatch(machine);
      const request = { credential, id, key };
      const reply = await store.claim(request, { claim, leaseMs, limit, details, again, replaces });
      switch (reply.kind) {
        case 'open': {
          const open = await store.read(reply.id);
          if (mayLackCalls(open, machine.clock())) {
            replaces = open.id;
            continue;
          }
          if (open.state !== 'planned') return open;
          [id, details] = [open.id, undefined];
          continue;
        }
        case 'taken':
          return store.read(id);
        case 'wait':
          await wait(reply.ms);
          continue;
        case 'claimed':
          break;
        default:
          return reply satisfies never;
      }
      // A call that took long must not send: another process may count the outcome as unknown by then.
      const outcome = await post({ isLate: () => claimAge() > contract.timeouts.request });
      if (outcome.kind !== 'unauthorised') {
        await record(context, lane, { ...request, claim }, outcome);
        return store.read(id);
      }
      const { reason } = outcome;
      // The claim may end while a newer token is fetched.
      await store.settle(request, ['requesting'], { state: 'planned', reason }, { claim });
      details = undefined;
      const newer = mayRenew ? await all.renewed(lane, credentials) : null;
      mayRenew = false;
      if (newer === null) {
        await store.settle(request, ['planned'], { state: 'refused', reason });
        const event = { lane: lane.name, records: id, outcome: 'refused', reason } as const;
        context.events.emit({ type: 'records.notAccepted', ...event });
        return store.read(id);
      }
      credentials = newer;
    }
  };
}

/** See {@link requestSender}. */
export type RequestSender = ReturnType<typeof requestSender>;

/** Records how a request ended that this process has claimed and sent. */
async function record(
  { store, contract, events }: RecordsContext,
  { name: lane }: RecordsLane,
  { claim, ...request }: RequestKey & { readonly claim: string },
  outcome: Exclude<RequestOutcome, { kind: 'unauthorised' }>,
): Promise<void> {
  const settle = (changes: RecordsChange, waitMs = 0): Promise<boolean> =>
    store.settle(request, ['requesting'], changes, { claim, waitMs });
  const { id: records } = request;
  if (outcome.kind === 'accepted') {
    await settle({ state: 'pending', serviceId: outcome.serviceId });
    events.emit({ type: 'records.requested', lane, records });
    return;
  }
  const { kind, reason } = outcome;
  if (kind === 'notAccepted') {
    await settle({ state: 'planned', reason }, Math.max(contract.intervals.retry, outcome.retryAfterMs ?? 0));
  } else await settle({ state: kind, reason });
  events.emit({ type: 'records.notAccepted', lane, records, outcome: kind, reason });
}
