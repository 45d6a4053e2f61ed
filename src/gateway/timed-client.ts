import type { Clock } from '../clock.js';
import type { Events } from '../events/events.js';
import type { MessagingClient } from './messaging.js';
import type { PollOutcome, SendOutcome } from './outcome.js';

/** The same client for one lane; it tells of each request how it ended and how long that took. */
export function timed(
  messaging: MessagingClient,
  lane: string,
  events: Events,
  monotonic: Clock,
): MessagingClient {
  const told = async <Outcome extends SendOutcome | PollOutcome>(
    kind: 'send' | 'poll',
    request: Promise<Outcome>,
  ): Promise<Outcome> => {
    const began = monotonic();
    const outcome = await request;
    const tookMs = Math.round(monotonic() - began);
    events.emit({ type: 'request.ended', lane, kind, outcome: outcome.kind, tookMs });
    return outcome;
  };
  return {
    send: (request, token, deadline) => told('send', messaging.send(request, token, deadline)),
    deliveryInfos: (sender, id, token, deadline) =>
      told('poll', messaging.deliveryInfos(sender, id, token, deadline)),
    close: () => messaging.close(),
  };
}
