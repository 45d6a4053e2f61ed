import { eventsOf, type HistoryEvent } from '../history.js';

/**
 * After `pause` or `cancel` has returned, no send of that campaign arrives except those it reported as in flight, until a
 * `resume` is started.
 */
export function pauseMeansPause(events: readonly HistoryEvent[]): string[] {
  const campaigns = eventsOf(events, 'campaign');
  const commands = eventsOf(events, 'command').filter(({ error }) => error === null);
  const sends = eventsOf(events, 'request').filter(({ kind }) => kind === 'send');
  return commands.flatMap(({ command, campaign, until, inFlight }) => {
    if (command !== 'pause' && command !== 'cancel') return [];
    const own = campaigns.find((one) => one.campaign === campaign);
    const resumed = eventsOf(events, 'command').find(
      (other) => other.campaign === campaign && other.command === 'resume' && other.at >= until,
    );
    const late = sends.filter(
      ({ key, text, at }) =>
        key === own?.key && text === own.text && at > until && at < (resumed?.at ?? Number.POSITIVE_INFINITY),
    );
    if (late.length <= inFlight) return [];
    const times = late.map(({ at }) => `+${at - until}`).join(' ');
    return [
      `${late.length} sends of ${campaign} arrived after ${command}, which reported ${inFlight} in flight; ms later: ${times}`,
    ];
  });
}
