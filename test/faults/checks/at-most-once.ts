import { eventsOf, type HistoryEvent } from '../history.js';
import { deliveriesOf } from './deliveries.js';

/**
 * The service accepts each recipient of a campaign at most once, plus once for every `resend` that was started before. It
 * accepts no number that is not on the list.
 */
export function atMostOnce(events: readonly HistoryEvent[]): string[] {
  const resends = eventsOf(events, 'command').filter(({ command }) => command === 'resend');
  return deliveriesOf(events).flatMap(({ campaign: { campaign }, accepted, unlisted }) => {
    const own = resends.filter((resend) => resend.campaign === campaign);
    const found = unlisted.map((number) => `${number} was accepted but is not on the list of ${campaign}`);
    for (const [number, times] of accepted) {
      const allowed = (at: number): number => 1 + own.filter((resend) => resend.at <= at).length;
      const tooMany = times.find(({ at }, index) => index + 1 > allowed(at));
      if (tooMany === undefined) continue;
      const when = times.map(({ at }) => at).join(', ');
      found.push(`${number} of ${campaign} was accepted ${times.length} times, at ${when}`);
    }
    return found;
  });
}
