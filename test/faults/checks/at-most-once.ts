import { eventsOf, type HistoryEvent } from '../history.js';
import { deliveriesOf } from './deliveries.js';

/**
 * No recipient of a campaign is accepted twice, unless an operator had asked for it in between: each further acceptance
 * needs a `resend` of its own that was begun before it. Nobody is sent to who is not on the list.
 */
export function atMostOnce(events: readonly HistoryEvent[]): string[] {
  const resends = eventsOf(events, 'command').filter(({ command }) => command === 'resend');
  return deliveriesOf(events).flatMap(({ campaign: { campaign }, accepted, strangers }) => {
    const asked = resends.filter((resend) => resend.campaign === campaign);
    const found = strangers.map((number) => `${number} is not on the list of ${campaign} and was sent to`);
    for (const [number, times] of accepted) {
      const allowed = (at: number): number => 1 + asked.filter((resend) => resend.at <= at).length;
      const tooMany = times.find(({ at }, index) => index + 1 > allowed(at));
      if (tooMany === undefined) continue;
      const when = times.map(({ at }) => at).join(', ');
      found.push(`${number} of ${campaign} was accepted ${times.length} times, at ${when}`);
    }
    return found;
  });
}
