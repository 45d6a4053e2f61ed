import { eventsOf, type HistoryEvent } from '../history.js';
import { deliveriesOf } from './deliveries.js';

/**
 * The service accepts each recipient of a campaign at most once before the first `resend`, and at most once after each: a resend
 * permits one request more, which it makes itself, and not a late one of the process that claimed the message before. The service
 * accepts no number that is not on the list. Messages of an outbox are its recipients: none is accepted with a text that was replaced, or after its
 * cancel was confirmed.
 */
export function atMostOnce(events: readonly HistoryEvent[]): string[] {
  const resends = eventsOf(events, 'command').filter(({ command }) => command === 'resend');
  return deliveriesOf(events).flatMap(({ campaign, accepted, unlisted }) => {
    const own = resends.filter((resend) => resend.campaign === campaign);
    const found = unlisted.map((number) => `${number} was accepted but is not on the list of ${campaign}`);
    for (const [number, times] of accepted) {
      const resendsBefore = times.map(({ at }) => own.filter((resend) => resend.at <= at).length);
      if (new Set(resendsBefore).size === times.length) continue;
      const when = times.map(({ at }) => at).join(', ');
      found.push(`${number} of ${campaign} was accepted ${times.length} times, at ${when}`);
    }
    return found;
  });
}
