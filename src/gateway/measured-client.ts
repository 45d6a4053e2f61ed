import type { Clock } from '../clock.js';
import type { Events } from '../events/events.js';
import type { MessagingClient } from './messaging.js';
import type { PollOutcome, SendOutcome } from './outcome.js';

/** The client of one lane: emits for each request how it ended and how long it took. */
export function measuredClient(
  messaging: MessagingClient,
  lane: string,
  events: Events,
  monotonic: Clock,
): MessagingClient {
  const measured = async <Outcome extends SendOutcome | PollOutcome>(
    kind: 'send' | 'poll',
    request: Promise<Outcome>,
  ): Promise<Outcome> => {
    const startedAt = monotonic();
    const outcome = await request;
    const tookMs = Math.round(monotonic() - startedAt);
    events.emit({ type: 'request.ended', lane, kind, outcome: outcome.kind, tookMs });
    return outcome;
  };
  return {
    send: (...request) => measured('send', messaging.send(...request)),
    deliveryInfos: (...poll) => measured('poll', messaging.deliveryInfos(...poll)),
    close: () => messaging.close(),
  };
}
