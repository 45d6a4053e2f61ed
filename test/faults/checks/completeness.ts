import { type EventOf, eventsOf, type HistoryEvent } from '../history.js';
import { type Acceptance, deliveriesOf, lastReports, withoutEarlier } from './deliveries.js';

/**
 * At the end every recipient is accounted for: the service accepted it and both report the same status, or it was never
 * accepted and its status says why, or its outcome is unknown. The faults must explain the number of unknown outcomes.
 */
export function completeness(events: readonly HistoryEvent[]): string[] {
  const reports = lastReports(events);
  const commands = eventsOf(events, 'command');
  const found = deliveriesOf(events).flatMap(({ campaign, accepted, cancelled }) => {
    const own = commands.filter((command) => command.campaign === campaign);
    const wasIssued = (name: EventOf<'command'>['command']): boolean =>
      own.some(({ command }) => command === name);
    return withoutEarlier(reports.get(campaign) ?? []).flatMap(({ recipient, status }) => {
      const isCancelled = cancelled.has(recipient);
      const fault =
        isCancelled && status !== 'cancelled'
          ? 'its cancel was confirmed'
          : faultOf(status, accepted.get(recipient) ?? [], isCancelled, wasIssued);
      return fault === undefined ? [] : [`${recipient} of ${campaign} is ${status}: ${fault}`];
    });
  });
  return [...unsettled(events), ...found, ...unexplained(events)];
}

/** Reported first, because the other violations may follow from it. */
function unsettled(events: readonly HistoryEvent[]): string[] {
  const end = eventsOf(events, 'end').at(-1);
  if (end === undefined) return ['the run did not end'];
  return end.settled ? [] : [`the run did not settle: ${end.reason}`];
}

/** What is wrong with this status of a recipient; undefined if nothing is. */
function faultOf(
  status: string,
  accepted: readonly Acceptance[],
  isCancelled: boolean,
  wasIssued: (command: EventOf<'command'>['command']) => boolean,
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
      if (!isCancelled && !wasIssued('cancel')) return 'no operator cancelled it';
      return accepted.length === 0 ? undefined : 'the service accepted it';
    case 'unknown':
      return undefined;
    case 'abandoned':
      return wasIssued('abandon') ? undefined : 'no operator abandoned it';
    case 'unconfirmed':
      return accepted.length > 0 || wasIssued('accepted') ? undefined : 'the service never accepted it';
    default:
      return `not settled; the service accepted it ${accepted.length} times`;
  }
}

/**
 * Whether there are more unknown outcomes than the faults can have caused. A request that got no response within its timeout has a cause of
 * its own, as on a busy machine. One whose connection broke has one if a fault before it cut a request, and no other request was that one.
 */
function unexplained(events: readonly HistoryEvent[]): string[] {
  const faults = eventsOf(events, 'fault');
  const cuts = faults.flatMap(({ at, cuts = 0 }) => Array.from({ length: cuts }, () => at)).sort(ascending);
  const causes = new Map(eventsOf(events, 'unknown').map((unknown) => [unknown.request, unknown]));
  const rows = [...lastReports(events).values()].flat().filter(({ status }) => status === 'unknown');
  const requests = new Set(rows.map(({ request = '' }) => request));
  const timeouts = new Set([...requests].filter((request) => causes.get(request)?.cause === 'timeout'));
  const broken = [...requests]
    .flatMap((request) => causes.get(request) ?? [])
    .filter(({ cause }) => cause === 'cut')
    .sort((a, b) => ascending(a.at, b.at));
  const cut = new Set<string>();
  for (const { request, at } of broken) {
    const [first] = cuts;
    if (first === undefined || first > at) continue;
    cuts.shift();
    cut.add(request);
  }
  const left = rows.filter(({ request = '' }) => !timeouts.has(request) && !cut.has(request)).length;
  const explained = faults.reduce((sum, { mayBeUnknown }) => sum + mayBeUnknown, 0);
  return left <= explained
    ? []
    : [`${left} unknown outcomes without a cause of their own; the faults explain at most ${explained}`];
}

const ascending = (a: number, b: number): number => a - b;
