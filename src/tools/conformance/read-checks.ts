import { senderSegment } from '../../service/client/address.js';
import type { Bearer } from '../../service/client/bearer.js';
import { readCallback, readDeliveryInfoList } from '../../service/client/read-response.js';
import type { ConformanceCheck } from './report.js';
import type { Run } from './run.js';
import type { Session } from './session.js';

/** The path of the subscription. */
export const SUBSCRIPTIONS = '/outbound/subscriptions';
/** The section of the page with the statuses of area A. */
const STATUSES = 'Errors, Area A HTTP statuses';

/** The path of a request's delivery infos. `segment`: the sender, encoded. */
export function infosPath(segment: string, requestId: string): string {
  return `/outbound/${segment}/requests/${encodeURIComponent(requestId)}/deliveryInfos`;
}

/** Senders of other messages. */
const OTHER_SENDERS = ['OtherSender', 'Another'] as const;

/** What the subscription of the lane was found to be; null if it could not be read. */
export type FoundSubscription =
  | { readonly kind: 'none' }
  | { readonly kind: 'exists'; readonly url: string }
  | null;

/** Checks that only read. Returns what the lane's subscription is. */
export async function* readChecks(run: Run): AsyncGenerator<ConformanceCheck, FoundSubscription> {
  const { session, checker } = run;
  const { check, reply } = await checker.run(
    session,
    { method: 'GET', path: SUBSCRIPTIONS, as: 'lane' },
    {
      name: `GET ${SUBSCRIPTIONS}`,
      operation: 'getSubscription',
      expected: '200 with the callback, or 404 if there is no subscription',
      statuses: [200, 404],
    },
  );
  yield check;
  yield* unauthorised(run, 'getSubscription', `GET ${SUBSCRIPTIONS}`, { method: 'GET', path: SUBSCRIPTIONS });
  yield* unknownRequest(run);
  if (run.profile.credentials.kind === 'keyOrAccount') await noteHeaders(run, reply?.status);
  const url = reply?.status === 200 && reply.body !== null ? readCallback(reply.body)?.url : undefined;
  const found: FoundSubscription =
    reply?.status === 404 ? { kind: 'none' } : url === undefined ? null : { kind: 'exists', url };
  await noteSubscriptionPer(run, found);
  return found;
}

/** 401 without a key and with an unknown one. */
async function* unauthorised(
  { session, checker }: Run,
  operation: 'getSubscription' | 'getDeliveryInfos' | 'deleteSubscription',
  name: string,
  request: { method: 'GET' | 'DELETE'; path: string },
): AsyncGenerator<ConformanceCheck> {
  for (const [as, without] of [
    ['keyless', 'without a key'],
    ['unknownKey', 'with an unknown key'],
  ] as const) {
    const { check } = await checker.run(
      session,
      { ...request, as },
      { name: `${name}, ${without}`, operation, section: STATUSES, expected: '401', statuses: [401] },
    );
    yield check;
  }
}

/** 404 for a request that does not exist, and 401 without a key. */
async function* unknownRequest(run: Run): AsyncGenerator<ConformanceCheck> {
  const { session, checker, sender, nonce } = run;
  const path = infosPath(senderSegment(sender), nonce());
  const { check } = await checker.run(
    session,
    { method: 'GET', path, as: 'lane', counts: 'poll' },
    {
      name: 'GET the delivery infos of an unknown request',
      operation: 'getDeliveryInfos',
      expected: '404: no such message',
      statuses: [404],
    },
  );
  yield check;
  yield* unauthorised(run, 'getDeliveryInfos', 'GET the delivery infos of an unknown request', {
    method: 'GET',
    path,
  });
}

/** Checks the delivery infos of a request that exists. */
export async function* knownRequest(
  { session, checker, ways, history }: Run,
  {
    sender,
    id,
    to = [],
    callbackData,
  }: {
    readonly sender: string;
    readonly id: string;
    readonly to?: readonly string[];
    readonly callbackData?: string;
  },
): AsyncGenerator<ConformanceCheck> {
  const encoded = senderSegment(sender);
  const { check, reply } = await checker.run(
    session,
    { method: 'GET', path: infosPath(encoded, id), as: 'lane', counts: 'poll' },
    {
      name: 'GET the delivery infos of a request',
      operation: 'getDeliveryInfos',
      expected: '200 with one entry per recipient and its delivery status',
      statuses: [200],
      also: ({ body }) => {
        const infos = readDeliveryInfoList(body ?? '')?.deliveryInfo ?? [];
        if (infos.length === 0) return 'there is no entry';
        const entriesOf = (number: string) =>
          infos.filter((info) => info?.address === `tel:${number}`).length;
        if (to.some((number) => entriesOf(number) === 0)) return 'there is no entry for the recipient';
        if (to.some((number) => entriesOf(number) > 1)) return 'there are several entries for a recipient';
        const back = history.note(body ?? '');
        if (back !== null) return back;
        const isRepeated =
          callbackData === undefined || infos.every((info) => info?.callbackData === callbackData);
        return isRepeated ? null : 'callbackData is not that of the request';
      },
    },
  );
  yield check;
  if (reply?.status !== 200) return;
  const another = sender === OTHER_SENDERS[0] ? OTHER_SENDERS[1] : OTHER_SENDERS[0];
  yield (
    await checker.run(
      session,
      { method: 'GET', path: infosPath(another, id), as: 'lane', counts: 'poll' },
      {
        name: 'GET the delivery infos of a request with another sender',
        operation: 'getDeliveryInfos',
        expected: '404: the sender in the path is the one of the message',
        statuses: [404],
      },
    )
  ).check;
  const plain = plainSegment(sender);
  if (plain === encoded) return;
  const other = await session.request({
    method: 'GET',
    path: infosPath(plain, id),
    as: 'lane',
    counts: 'poll',
  });
  if (other.kind !== 'reply' || other.reply.status === 429) return;
  const { status } = other.reply;
  ways.note(
    'spelling',
    status === 200
      ? 'percent-encoded, or with : + and punctuation as they are'
      : `only percent-encoded (otherwise ${status})`,
    'Nothing to set: Volley encodes everything that may be encoded.',
  );
}

/** The sender with the characters as they are that a path may contain. */
function plainSegment(sender: string): string {
  return encodeURIComponent(sender).replace(/%(3A|2B|24|26|2C|3B|3D|40)/g, (code) =>
    decodeURIComponent(code),
  );
}

/** The ways to send the credentials of a lane, with the settings that choose them. */
async function formsOf({
  settings,
  tokens,
}: Session): Promise<{ bearer: Bearer; text: string; setting: string }[]> {
  const { credentials } = settings;
  const key = credentials.kind === 'apiKey' ? credentials.apiKey : undefined;
  const outcome = tokens === null ? undefined : await tokens.get();
  const token = outcome?.kind === 'token' ? outcome.token : undefined;
  const form = (
    authorization: string,
    xAuthorization: string | undefined,
    text: string,
    setting: string,
  ) => ({
    bearer: { authorization, ...(xAuthorization !== undefined && { xAuthorization }) },
    text,
    setting,
  });
  return [
    ...(key === undefined
      ? []
      : [form(key, undefined, 'the API key alone', 'authorization: apiKey, xAuthorization: none')]),
    ...(key === undefined || token === undefined
      ? []
      : [
          form(
            key,
            token,
            'the API key with the access token in X-Authorization',
            'authorization: apiKey, xAuthorization: accessToken',
          ),
        ]),
    ...(token === undefined
      ? []
      : [
          form(
            token,
            undefined,
            'the access token alone',
            'an account without an API key, xAuthorization: none',
          ),
          form(
            token,
            token,
            'the access token in both headers',
            'an account without an API key, xAuthorization: accessToken',
          ),
        ]),
  ];
}

/** Tries which headers the service accepts, of those that the credentials of the lane allow. */
async function noteHeaders({ session, ways }: Run, status: number | undefined): Promise<void> {
  if (status === undefined) return;
  const forms = await formsOf(session);
  const accepted: typeof forms = [];
  const refused: string[] = [];
  for (const form of forms) {
    const arrived = await session.request({ method: 'GET', path: SUBSCRIPTIONS, as: form.bearer });
    if (arrived.kind !== 'reply') continue;
    const { reply } = arrived;
    if (reply.status === 200 || reply.status === 404) accepted.push(form);
    else refused.push(`${form.text} (${reply.status})`);
  }
  const found = [
    ...(accepted.length > 0 ? [`accepts ${accepted.map(({ text }) => text).join(', and ')}`] : []),
    ...(refused.length > 0 ? [`refuses ${refused.join(', and ')}`] : []),
  ];
  if (found.length === 0) return;
  const [first] = accepted;
  ways.note(
    'headers',
    found.join('; '),
    first === undefined
      ? 'Check the credentials of the lane: the service accepts none of these.'
      : `For the lane: ${first.setting}.`,
  );
}

/** Compares the lane's subscription with those of other lanes. */
export async function noteSubscriptionPer(
  { others, ways, session }: Run,
  found: FoundSubscription,
): Promise<void> {
  for (const other of others) {
    const arrived = await other.request({ method: 'GET', path: SUBSCRIPTIONS, as: 'lane' });
    if (arrived.kind !== 'reply') continue;
    const { status, body } = arrived.reply;
    const url = status === 200 ? readCallback(body ?? '')?.url : undefined;
    if ((status !== 404 && url === undefined) || found === null) continue;
    if (status === 404 && found.kind === 'none') continue;
    const lanes = `the lanes ${session.lane.name} and ${other.lane.name}`;
    const isShared = found.kind === 'exists' && url === found.url;
    ways.note(
      'subscriptionPer',
      isShared ? `${lanes} have the same one` : `${lanes} have one each`,
      'Nothing to set: Volley supports both.',
    );
    return;
  }
}
