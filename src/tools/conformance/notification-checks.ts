import { pause } from '../../base/clock.js';
import { type DeliveryReport, reportsIn } from '../../service/client/notification.js';
import { carriesToken, listCarriesToken } from '../../service/client/notification-token.js';
import { jsonOf } from '../../service/client/read-response.js';
import { differencesBetween } from './differences.js';
import type { Listener, Recorded } from './listener.js';
import { infosPath } from './read-checks.js';
import { redactedReply } from './redacted.js';
import type { ConformanceCheck } from './report.js';
import type { Run } from './run.js';

/** A message whose notifications are checked. */
export interface SentMessage {
  readonly recipients: readonly string[];
  /** The sender as a path segment. */
  readonly segment: string;
  /** Of the request, and of its repetition. */
  readonly ids: readonly string[];
  readonly text: string;
}

/** How long notifications are waited for. */
const WAIT_MS = 60_000;
const LOOK_EVERY_MS = 50;
/** A repeated notification arrives soon after the first. */
const REPEATS_WITHIN_MS = 500;
/** A longer text may have several parts, which have one notification in all. */
const ONE_PART = 70;

const EXPECTATION = {
  name: 'Notifications of the message',
  operation: 'getDeliveryInfos',
  section: 'Events',
  expected:
    'one POST for each change of the status of each recipient, with the delivery information that a poll returns',
} as const;

/** Waits for the notifications of a message, checks each, and polls once more. */
export async function* notificationChecks(
  run: Run,
  listener: Listener,
  { recipients, segment, ids, text }: SentMessage,
  securityToken: string,
): AsyncGenerator<ConformanceCheck> {
  const { checker, session, options, profile, ways, history } = run;
  const { signal } = options;
  const isShort = text.length <= ONE_PART;
  const reportsOf = (): Report[] =>
    listener.received.map((recorded) => {
      const document = jsonOf(recorded.body);
      return { recorded, document, reports: reportsIn(document, profile) };
    });
  const isComplete = (): boolean => {
    const reports = reportsOf().flatMap((each) => each.reports ?? []);
    return recipients.every((number) => missingOf(number, reports, isShort) === null);
  };
  const wait = (ms: number): Promise<void> => pause(session.lane.alarm, ms, signal).catch(() => {});
  const waitMs = options.listen?.forMs ?? WAIT_MS;
  for (let waited = 0; waited < waitMs && !isComplete() && signal?.aborted !== true; waited += LOOK_EVERY_MS)
    await wait(LOOK_EVERY_MS);
  await wait(Math.min(REPEATS_WITHIN_MS, waitMs));

  const arrived = reportsOf();
  const problem = problemIn(arrived, { recipients, ids, isShort, run, securityToken });
  const [first] = arrived;
  yield problem === null
    ? checker.pass(
        EXPECTATION,
        `${arrived.length} for ${recipients.length} ${recipients.length === 1 ? 'recipient' : 'recipients'}`,
      )
    : checker.fail(
        EXPECTATION,
        first === undefined ? problem : `${problem}; ${shown(first.recorded, securityToken)}`,
      );
  if (first === undefined) return;

  const { check, reply } = await checker.run(
    session,
    { method: 'GET', path: infosPath(segment, ids[0] ?? ''), as: 'lane', counts: 'poll' },
    {
      name: 'GET the delivery infos of a request, after its notifications',
      operation: 'getDeliveryInfos',
      expected: '200 with the statuses that were notified',
      statuses: [200],
      also: ({ body }) => {
        const back = history.note(body ?? '');
        if (back !== null) return back;
        const reports = arrived.flatMap((each) => each.reports ?? []);
        const isOther = recipients.some((number) => {
          const notified = finalOf(number, reports)[0];
          return notified !== undefined && profile.statuses[history.latest(number) ?? ''] !== notified;
        });
        return isOther ? 'a final status that was notified is not that of the poll' : null;
      },
    },
  );
  yield check;
  if (reply?.status === 200) {
    const differences = differencesBetween(jsonOf(reply.body ?? ''), first.document);
    const method = [...new Set(arrived.map(({ recorded }) => recorded.method))].join(' and ');
    ways.note(
      'notification',
      `${method}, ${differences === null ? 'with what a poll returns' : `compared with a poll: ${differences}`}`,
      'Nothing to set: Volley reads delivery information wherever it appears.',
    );
  }
  ways.note('notificationToken', placeOf(first, securityToken), adviceOf(first, securityToken));
}

interface Report {
  readonly recorded: Recorded;
  readonly document: unknown;
  /** Null if it contains no delivery information. */
  readonly reports: readonly DeliveryReport[] | null;
}

interface Expected {
  readonly recipients: readonly string[];
  readonly ids: readonly string[];
  readonly isShort: boolean;
  readonly run: Run;
  readonly securityToken: string;
}

/** The first thing that is wrong with the notifications; null if nothing is. */
function problemIn(
  arrived: readonly Report[],
  { recipients, ids, isShort, run, securityToken }: Expected,
): string | null {
  if (arrived.length === 0) return 'no notification arrived';
  const { profile } = run;
  const seen = new Map<string, number>();
  for (const { recorded, document, reports } of arrived) {
    if (profile.securityToken === 'deliveryInfoList') {
      if (recorded.method !== 'POST') return `a notification came by ${recorded.method}`;
      if (!listCarriesToken(document, [securityToken]))
        return 'a notification does not carry the security token in its list';
    }
    if (reports === null) return 'a notification contains no delivery information';
    for (const { number, requestId, status } of reports) {
      if (!recipients.includes(number)) return 'a notification names another recipient';
      if (requestId !== null && !ids.includes(requestId)) return 'a notification names another request';
      const key = `${number} ${status}`;
      seen.set(key, (seen.get(key) ?? 0) + 1);
      // A message in several parts is in the network for each of them.
      const isCounted = status !== 'DeliveredToNetwork' || isShort;
      if (isCounted && (seen.get(key) ?? 0) > ids.length) return `${status} of a recipient arrived twice`;
    }
  }
  const reports = arrived.flatMap((each) => each.reports ?? []);
  for (const number of recipients) {
    if (new Set(finalOf(number, reports)).size > ids.length) return 'a recipient has two final statuses';
    const missing = missingOf(number, reports, isShort);
    if (missing !== null) return missing;
  }
  return null;
}

function finalOf(number: string, reports: readonly DeliveryReport[]): DeliveryReport['status'][] {
  return reports.flatMap((each) =>
    each.number === number && each.status !== 'DeliveredToNetwork' ? [each.status] : [],
  );
}

/** What has not arrived of a recipient; null if nothing is missing. */
function missingOf(number: string, reports: readonly DeliveryReport[], isShort: boolean): string | null {
  const own = reports.filter((each) => each.number === number);
  if (own.length === 0) return 'a recipient has no notification';
  const [final] = finalOf(number, own);
  if (final === undefined) return 'a recipient has no notification of a final status';
  // A message that is impossible at once was never in the network.
  const isTypical = isShort && final === 'DeliveredToTerminal';
  return isTypical && !own.some(({ status }) => status === 'DeliveredToNetwork')
    ? 'a recipient has no notification of DeliveredToNetwork'
    : null;
}

function shown({ method, headers, body }: Recorded, securityToken: string): string {
  const redacted = redactedReply({ status: 200, headers, body }, [securityToken]);
  return `the first came by ${method}${redacted.replace(/^200/, '')}`;
}

/** Where a notification has the token. */
function placeOf({ recorded, document }: Report, securityToken: string): string {
  const { headers, query, body } = recorded;
  const nothing = { headers: {}, query: '', body: '', document: undefined };
  if (carriesToken({ ...nothing, query }, [securityToken])) return 'in the query';
  if (carriesToken({ ...nothing, body, document }, [securityToken])) return 'in the body';
  const name = Object.keys(headers).find((each) =>
    carriesToken({ ...nothing, headers: { [each]: headers[each] }, body }, [securityToken]),
  );
  return name === undefined ? 'nowhere' : `in the header ${name}`;
}

function adviceOf(report: Report, securityToken: string): string {
  return placeOf(report, securityToken) === 'nowhere'
    ? 'CALLBACK_PROOF: path.'
    : 'Nothing to set: Volley finds the token in each of these places.';
}
