import { pause } from '../../base/clock.js';
import { durationOption } from '../../base/duration.js';
import { senderSegment } from '../../service/client/address.js';
import { type DeliveryReport, reportsIn } from '../../service/client/notification.js';
import { carriesToken, listCarriesToken } from '../../service/client/notification-token.js';
import { jsonOf } from '../../service/client/read-response.js';
import type { Rows } from './check.js';
import { differencesBetween } from './differences.js';
import type { Listener, Recorded } from './listener.js';
import { redactedReply } from './redacted.js';
import type { Run, TestMessage } from './run.js';
import { poll } from './session.js';

/** How long notifications are waited for. */
const WAIT_MS = 60_000;
const LOOK_EVERY_MS = 50;
/** A repeated notification arrives soon after the first. */
const REPEATS_WITHIN_MS = 500;
/** A longer text may have several parts, which have one notification in all. */
const ONE_PART = 70;

const DOCUMENTED = 'One for each change of a state, with the delivery information that a poll returns';

/** What the checks of notifications are about. */
interface Notified {
  readonly message: TestMessage;
  readonly securityToken: string;
  /** In the order of their arrival. */
  readonly arrived: readonly Report[];
}

/** Checks of the notifications that have arrived. */
export const NOTIFICATION_CHECKS: Rows<Notified> = [
  {
    name: 'Notifications of the message',
    operation: 'getDeliveryInfos',
    section: 'Events',
    documented: DOCUMENTED,
    expected:
      'one POST for each change of the status of each recipient, with the delivery information that a poll returns',
    sends(notified, run) {
      const { message, securityToken, arrived } = notified;
      const problem = problemIn(notified, run);
      if (problem === null) {
        const { length } = message.content.recipients;
        return {
          result: 'passed',
          found: `${arrived.length} for ${length} ${length === 1 ? 'recipient' : 'recipients'}`,
        };
      }
      const [first] = arrived;
      const found = first === undefined ? problem : `${problem}; ${shown(first.recorded, securityToken)}`;
      return { result: 'failed', found };
    },
  },
  {
    name: 'GET the delivery infos of a request, after its notifications',
    operation: 'getDeliveryInfos',
    documented: DOCUMENTED,
    expected: '200 with the statuses that were notified',
    sends: ({ message: { content, ids }, arrived }) =>
      arrived.length === 0 ? undefined : poll(senderSegment(content.sender), ids[0] ?? ''),
    also({ body }, { message, arrived }, { history, profile }) {
      const back = history.note(body ?? '');
      if (back !== null) return back;
      const reports = arrived.flatMap((each) => each.reports ?? []);
      const isOther = message.content.recipients.some((number) => {
        const notified = finalOf(number, reports)[0];
        return notified !== undefined && profile.statuses[history.latest(number) ?? ''] !== notified;
      });
      return isOther ? 'a final status that was notified is not that of the poll' : null;
    },
    learn({ status, body }, { arrived }, { ways }) {
      if (status !== 200) return;
      const differences = differencesBetween(jsonOf(body ?? ''), arrived[0]?.document);
      const method = [...new Set(arrived.map(({ recorded }) => recorded.method))].join(' and ');
      ways.note(
        'notification',
        `${method}, ${differences === null ? 'with what a poll returns' : `compared with a poll: ${differences}`}`,
      );
    },
  },
  {
    sends({ arrived: [first], securityToken }, { ways }) {
      if (first === undefined) return undefined;
      const place = placeOf(first, securityToken);
      const advice =
        place === null
          ? 'CALLBACK_PROOF: path.'
          : 'Nothing to set: Volley finds the token in each of these places.';
      ways.note('notificationToken', place ?? 'nowhere', advice);
      return undefined;
    },
  },
];

/** Waits for the notifications of the message. Undefined if there are none to wait for. */
export async function notificationsOf(run: Run): Promise<Notified | undefined> {
  const { listener, message, subscription } = run;
  if (listener === undefined || message === undefined || subscription?.isCreated !== true) return undefined;
  if (message.resourceUrl === null || message.ids.length === 0) return undefined;
  const arrived = await reportsFor(run, listener, message);
  return { message, securityToken: subscription.securityToken, arrived };
}

/** Waits until all notifications of the message have arrived, or for as long as the test may wait. */
async function reportsFor(
  { session, options, profile }: Run,
  listener: Listener,
  message: TestMessage,
): Promise<Report[]> {
  const { signal } = options;
  const reportsOf = (): Report[] =>
    listener.received.map((recorded) => {
      const document = jsonOf(recorded.body);
      return { recorded, document, reports: reportsIn(document, profile) };
    });
  const isComplete = (): boolean => {
    const reports = reportsOf().flatMap((each) => each.reports ?? []);
    return message.content.recipients.every(
      (number) => missingOf(number, reports, isShort(message)) === null,
    );
  };
  const wait = (ms: number): Promise<void> => pause(session.lane.alarm, ms, signal).catch(() => {});
  const waitMs = durationOption('listen.wait', options.listen?.wait, WAIT_MS);
  for (let waited = 0; waited < waitMs && !isComplete() && signal?.aborted !== true; waited += LOOK_EVERY_MS)
    await wait(LOOK_EVERY_MS);
  await wait(Math.min(REPEATS_WITHIN_MS, waitMs));
  return reportsOf();
}

const isShort = ({ content }: TestMessage): boolean => content.text.length <= ONE_PART;

interface Report {
  readonly recorded: Recorded;
  readonly document: unknown;
  /** Null if it contains no delivery information. */
  readonly reports: readonly DeliveryReport[] | null;
}

/** The first thing that is wrong with the notifications; null if nothing is. */
function problemIn({ message, securityToken, arrived }: Notified, { profile }: Run): string | null {
  if (arrived.length === 0) return 'no notification arrived';
  const { ids } = message;
  const { recipients } = message.content;
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
      const isCounted = status !== 'DeliveredToNetwork' || isShort(message);
      if (isCounted && (seen.get(key) ?? 0) > ids.length) return `${status} of a recipient arrived twice`;
    }
  }
  const reports = arrived.flatMap((each) => each.reports ?? []);
  for (const number of recipients) {
    if (new Set(finalOf(number, reports)).size > ids.length) return 'a recipient has two final statuses';
    const missing = missingOf(number, reports, isShort(message));
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
function missingOf(number: string, reports: readonly DeliveryReport[], isShortText: boolean): string | null {
  const ofNumber = reports.filter((each) => each.number === number);
  if (ofNumber.length === 0) return 'a recipient has no notification';
  const [final] = finalOf(number, ofNumber);
  if (final === undefined) return 'a recipient has no notification of a final status';
  // A message that is impossible at once was never in the network.
  const isTypical = isShortText && final === 'DeliveredToTerminal';
  return isTypical && !ofNumber.some(({ status }) => status === 'DeliveredToNetwork')
    ? 'a recipient has no notification of DeliveredToNetwork'
    : null;
}

function shown({ method, headers, body }: Recorded, securityToken: string): string {
  const redacted = redactedReply({ status: 200, headers, body }, [securityToken]);
  return `the first came by ${method}${redacted.replace(/^200/, '')}`;
}

/** Where a notification has the token; null: nowhere. */
function placeOf({ recorded, document }: Report, securityToken: string): string | null {
  const { headers, query, body } = recorded;
  const nothing = { headers: {}, query: '', body: '', document: undefined };
  if (carriesToken({ ...nothing, query }, [securityToken])) return 'in the query';
  if (carriesToken({ ...nothing, body, document }, [securityToken])) return 'in the body';
  const name = Object.keys(headers).find((each) =>
    carriesToken({ ...nothing, headers: { [each]: headers[each] }, body }, [securityToken]),
  );
  return name === undefined ? null : `in the header ${name}`;
}
