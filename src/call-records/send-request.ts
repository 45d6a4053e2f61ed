import { type Machine, startStopwatch } from '../base/clock.js';
import type { Events } from '../base/events/events.js';
import type { RecordsClient } from './client.js';
import type { Contract } from './contract.js';
import type { ContractCredentials } from './credentials.js';
import { type CheckedInput, parameterValues } from './input.js';
import type { RecordsLane } from './lanes.js';
import { type RecordsOptions, slotWait } from './slots.js';
import { mayLackCalls, type RecordsStore, type StoredRequest } from './store.js';

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

/** A request to send. */
interface Sendable {
  readonly id: string;
  readonly key: string;
  /** Of a new request. */
  readonly details?: CheckedInput & { readonly lane: string };
}

/** The content of a request. */
type Content = Pick<CheckedInput, 'from' | 'to' | 'parameters'>;
/** `again`: although another request with the same key is open. */
type SendOptions = RecordsOptions & { readonly again?: boolean | undefined };

/** Sends requests for call records, each at most once. */
export function requestSender(context: RecordsContext) {
  const { store, contract, client, credentials: all, machine, inFlight } = context;
  const leaseMs = 2 * contract.timeouts.request;

  /** Sends a new request, or one that is planned. Returns the request as it is afterwards, or the open one with its key. */
  return async (
    lane: RecordsLane,
    first: Sendable,
    content: Content,
    options: SendOptions,
  ): Promise<StoredRequest> => {
    const credential = all.ownerOf(lane);
    const values = parameterValues(content, contract);
    const wait = slotWait(machine, options);
    let { id, details } = first;
    let mayRenew = true;
    let replaces = '';
    let credentials = await all.of(lane);
    for (;;) {
      options.signal?.throwIfAborted();
      const post = client.request(values, credentials.values);
      const claim = machine.nonce();
      const claimAge = startStopwatch(machine);
      const reply = await store.claim(
        credential,
        {
          id,
          claim,
          leaseMs,
          limit: inFlight,
          ...(details && { details }),
          again: options.again === true,
          replaces,
        },
        first.key,
      );
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
      const claimed = { credential, id, key: first.key, claim };
      if (outcome.kind !== 'unauthorised') {
        await record(context, lane, claimed, outcome);
        return store.read(id);
      }
      const { reason } = outcome;
      await store.settle(claimed, ['requesting'], { state: 'planned', reason }, { claim });
      details = undefined;
      const newer = mayRenew ? await all.renewed(lane, credentials) : null;
      mayRenew = false;
      if (newer === null) {
        await store.settle(claimed, ['planned'], { state: 'refused', reason });
        emitNotAccepted(context, lane, id, 'refused', reason);
        return store.read(id);
      }
      credentials = newer;
    }
  };
}

/** See {@link requestSender}. */
export type RequestSender = ReturnType<typeof requestSender>;

/** A request that this process has claimed and sent. */
type Claimed = Pick<StoredRequest, 'credential' | 'id' | 'key'> & { readonly claim: string };
/** How it ended. */
type Outcome = Awaited<ReturnType<ReturnType<RecordsClient['request']>>>;

async function record(
  context: RecordsContext,
  lane: RecordsLane,
  claimed: Claimed,
  outcome: Exclude<Outcome, { kind: 'unauthorised' }>,
): Promise<void> {
  const { store, contract, events } = context;
  const { id, claim } = claimed;
  const settle = (changes: Parameters<RecordsStore['settle']>[2], waitMs = 0): Promise<boolean> =>
    store.settle(claimed, ['requesting'], changes, { claim, waitMs });
  switch (outcome.kind) {
    case 'accepted':
      await settle({ state: 'pending', serviceId: outcome.serviceId });
      events.emit({ type: 'records.requested', lane: lane.name, records: id });
      return;
    case 'notAccepted': {
      const { reason, retryAfterMs } = outcome;
      await settle({ state: 'planned', reason }, Math.max(contract.intervals.retry, retryAfterMs ?? 0));
      return emitNotAccepted(context, lane, id, 'notAccepted', reason);
    }
    case 'refused':
    case 'unknown':
      await settle({ state: outcome.kind, reason: outcome.reason });
      return emitNotAccepted(context, lane, id, outcome.kind, outcome.reason);
    default:
      outcome satisfies never;
  }
}

function emitNotAccepted(
  { events }: RecordsContext,
  lane: RecordsLane,
  records: string,
  outcome: 'notAccepted' | 'refused' | 'unknown',
  reason: string,
): void {
  events.emit({ type: 'records.notAccepted', lane: lane.name, records, outcome, reason });
}
