import type {
  Callback,
  SubscriptionClient,
  SubscriptionCreated,
  SubscriptionFound,
  SubscriptionRemoved,
} from '../gateway/subscriptions.js';
import type { TokenSource } from '../lane/token-source.js';

/** Why a call was not answered as it should be, for people. `final`: asking again will not help. */
export interface NotDone {
  readonly kind: 'notDone';
  readonly reason: string;
  readonly final: boolean;
}

/** The calls about the subscription of one lane, each with the token of the lane. They reject while Redis is away. */
export interface SubscriptionCalls {
  get(): Promise<Extract<SubscriptionFound, { kind: 'found' | 'none' }> | NotDone>;
  create(
    callback: Callback,
  ): Promise<Extract<SubscriptionCreated, { kind: 'created' | 'malformed' }> | NotDone>;
  /** Done also where there was none. */
  remove(): Promise<{ readonly kind: 'removed' } | NotDone>;
}

type Failure = Exclude<
  SubscriptionFound | SubscriptionCreated | SubscriptionRemoved,
  { kind: 'found' | 'none' | 'created' | 'removed' }
>;

/** The calls of one lane; nothing is asked before the first of them. */
export function subscriptionCalls(client: SubscriptionClient, tokenSource: TokenSource): SubscriptionCalls {
  /** A token that had just been renewed was refused: it is these calls that the service refuses. */
  let isRefused = false;

  /**
   * With a token, and once more with the next one if that is refused. Nobody else hears of it: who may not subscribe may
   * send all the same, and a token that is good for that must not stop the lane.
   */
  const asked = async <Answer extends { kind: string }>(
    ask: (token: string) => Promise<Answer>,
  ): Promise<Answer | Failure> => {
    for (let isRenewed = false; ; isRenewed = true) {
      const held = await tokenSource.get();
      if (held.kind === 'stopped') return { kind: 'stopped', reason: held.reason };
      if (held.kind === 'later') return { kind: 'unanswered', reason: held.reason };
      const answer = await ask(held.token);
      if (answer.kind !== 'unauthorised') {
        isRefused = false;
        return answer;
      }
      if (isRenewed) isRefused = true;
      if (isRefused) return answer;
      const next = await tokenSource.newerThan(held.generation);
      if (next.kind === 'stopped') return { kind: 'stopped', reason: next.reason };
      if (next.kind !== 'token' || next.generation === held.generation) return answer;
    }
  };

  return {
    async get() {
      const found = await asked((token) => client.get(token));
      return found.kind === 'found' || found.kind === 'none' ? found : notDone(found);
    },

    async create(callback) {
      const created = await asked((token) => client.create(callback, token));
      return created.kind === 'created' || created.kind === 'malformed' ? created : notDone(created);
    },

    async remove() {
      const removed = await asked((token) => client.remove(token));
      return removed.kind === 'removed' || removed.kind === 'none' ? { kind: 'removed' } : notDone(removed);
    },
  };
}

function notDone(failure: Failure): NotDone {
  switch (failure.kind) {
    case 'unauthorised':
    case 'stopped':
    case 'malformed':
    case 'notAccepted':
      return { kind: 'notDone', reason: failure.reason, final: true };
    case 'throttled':
      return {
        kind: 'notDone',
        reason: 'The service answered 429: too many requests for now.',
        final: false,
      };
    case 'unanswered':
      return { kind: 'notDone', reason: failure.reason, final: false };
    default:
      return failure satisfies never;
  }
}
