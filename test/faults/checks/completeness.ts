import { type EventOf, eventsOf, type HistoryEvent } from '../history.js';
import { type Acceptance, deliveriesOf, lastReports } from './deliveries.js';

/**
 * In the end every recipient is accounted for: the service accepted it and what it reports is what Volley reports, or it
 * was never accepted and says why, or nobody knows. And no more are unknown than the faults explain.
 */
export function completeness(events: readonly HistoryEvent[]): string[] {
  const reports = lastReports(events);
  const commands = eventsOf(events, 'command');
  const found = deliveriesOf(events).flatMap(({ campaign: { campaign }, accepted }) => {
    const own = commands.filter((command) => command.campaign === campaign);
    const were = (word: EventOf<'command'>['command']): boolean =>
      own.some(({ command }) => command === word);
    return (reports.get(campaign) ?? []).flatMap(({ recipient, status }) => {
      const fault = faultOf(status, accepted.get(recipient) ?? [], were);
      return fault === undefined ? [] : [`${recipient} of ${campaign} is ${status}: ${fault}`];
    });
  });
  return [...restless(events), ...found, ...unexplained(events)];
}

/** Comes first: where the run broke off, all that is not settled follows from it. */
function restless(events: readonly HistoryEvent[]): string[] {
  const end = eventsOf(events, 'end').at(-1);
  if (end === undefined) return ['the run has no end'];
  return end.quiet ? [] : [`the run did not come to rest: ${end.reason}`];
}

/** What is wrong with a recipient that is reported so; undefined if nothing is. */
function faultOf(
  status: string,
  accepted: readonly Acceptance[],
  were: (command: EventOf<'command'>['command']) => boolean,
): string | undefined {
  switch (status) {
    case 'deliveredToTerminal':
    case 'deliveryImpossible': {
      if (accepted.length === 0) return 'the service never accepted it';
      const finals = accepted.map(({ final }) => final);
      // The service spells the same statuses with a capital.
      const isReported = finals.some((final) => final?.toLowerCase() === status.toLowerCase());
      return isReported ? undefined : `the service reports ${finals.join(', ')}`;
    }
    case 'rejected':
    case 'suppressed':
    case 'lapsed':
      return accepted.length === 0 ? undefined : 'the service accepted it';
    case 'cancelled':
      if (!were('cancel')) return 'nobody cancelled it';
      return accepted.length === 0 ? undefined : 'the service accepted it';
    case 'unknown':
      return undefined;
    case 'abandoned':
      return were('abandon') ? undefined : 'nobody gave it up';
    case 'unconfirmed':
      return accepted.length > 0 || were('accepted') ? undefined : 'the service never accepted it';
    default:
      return `not settled; the service accepted it ${accepted.length} times`;
  }
}

/** More unknown recipients than the faults of the run can have left. */
function unexplained(events: readonly HistoryEvent[]): string[] {
  const mayBe = eventsOf(events, 'fault').reduce((sum, { mayLeave }) => sum + mayLeave, 0);
  const unknown = [...lastReports(events).values()]
    .flat()
    .filter(({ status }) => status === 'unknown').length;
  return unknown <= mayBe ? [] : [`${unknown} are unknown; the faults explain at most ${mayBe}`];
}
