import { z } from 'zod';
import { numberOf, requestIdOf, senderSegment, telAddress } from '../../service/client/address.js';
import type { Reply } from '../../service/client/exchange.js';
import { sendBody } from '../../service/client/messaging.js';
import { jsonOf, readOutboundRequest } from '../../service/client/read-response.js';
import type { SentMessage } from './notification-checks.js';
import { knownRequest } from './read-checks.js';
import { type ConformanceCheck, type ConformanceSend, recipientsOf } from './report.js';
import type { Run } from './run.js';

/** The text of the message, unless another one is given. */
export const DEFAULT_TEXT = 'This is a test of the messaging service.';
const DEFAULT_NAME = 'Volley';

/** What a 201 repeats of the request. */
const echoed = z.object({
  outboundSMSMessageRequest: z.object({
    address: z.array(z.string()),
    senderAddress: z.string(),
    outboundSMSTextMessage: z.object({ message: z.string() }),
    senderName: z.string().optional(),
    deliveryInfoList: z
      .object({ deliveryInfo: z.array(z.object({ address: z.string(), deliveryStatus: z.string() })) })
      .optional(),
  }),
});

/** Sends one message and follows it. It is never repeated, except by `twice`. Returns it if it was accepted with an id. */
export async function* messageChecks(
  run: Run,
  send: ConformanceSend,
): AsyncGenerator<ConformanceCheck, SentMessage | null> {
  const { session, checker, ways, config, nonce, profile, history } = run;
  const { sender, text = DEFAULT_TEXT } = send;
  const to = recipientsOf(send);
  const senderName = config.senderName ?? DEFAULT_NAME;
  const hasCorrelator =
    send.correlator ?? (send.twice === true || session.settings.clientCorrelator !== 'off');
  const isDocumented = profile.correlatorLifetimeMs !== null;
  const correlator = hasCorrelator || isDocumented ? nonce() : undefined;
  const callbackData = profile.request.callbackData ? nonce() : undefined;
  const body = sendBody({
    sender,
    senderName,
    recipients: to,
    text,
    ...(correlator !== undefined && { clientCorrelator: correlator }),
    ...(callbackData !== undefined && { callbackData }),
  });
  const request = {
    method: 'POST',
    path: `/outbound/${senderSegment(sender)}/requests`,
    as: 'lane',
    counts: 'send',
    body,
  } as const;
  const expectation = {
    name: 'POST a message',
    operation: 'send',
    expected: isDocumented
      ? '201 with the request, and its id in resourceURL or Location'
      : '201 with the request, DeliveredToNetwork for each recipient, clientCorrelator, and the id in resourceURL and Location',
    statuses: [201],
    also: (reply: Reply) => differenceIn(reply, { to, sender, text, senderName }),
  } as const;
  const { check, reply } = await checker.run(session, request, expectation);
  yield check;
  if (reply?.status !== 201) return null;
  history.note(reply.body ?? '');
  const created = readOutboundRequest(reply.body ?? '');
  const inBody = requestIdOf(created?.resourceURL) ?? requestIdOf(created?.deliveryInfoList?.resourceURL);
  const inLocation = requestIdOf(reply.headers.location);
  noteId(run, inBody, inLocation);
  noteAddress(run, created?.resourceURL);
  noteCorrelator(run, correlator, created?.clientCorrelator);
  const id = inBody ?? inLocation;
  if (id !== null)
    yield* knownRequest(run, { sender, id, to, ...(callbackData !== undefined && { callbackData }) });
  yield* followed(run, created?.resourceURL);
  const message = (...ids: (string | null)[]): SentMessage | null =>
    id === null
      ? null
      : { recipients: to, segment: senderSegment(sender), ids: ids.filter((each) => each !== null), text };
  if (send.twice !== true) return message(id);
  const again = await checker.run(session, request, {
    ...expectation,
    name: 'POST the same message with the same clientCorrelator',
    expected: isDocumented ? '201 with the first request: it is not sent again' : '201 again',
    also: (reply: Reply) =>
      isDocumented && idIn(reply) !== id ? 'it names another request than the first' : null,
  });
  yield again.check;
  const secondId = again.reply?.status === 201 ? idIn(again.reply) : null;
  if (isDocumented || secondId === null) return message(id);
  const isSame = secondId === id;
  ways.note(
    'deduplication',
    isSame ? 'it returns the first request' : 'it sends a second message',
    isSame
      ? 'clientCorrelator of the lane: "deduplicates: TIME", with the time for which the service remembers it.'
      : 'clientCorrelator of the lane: off or send, but not deduplicates.',
  );
  return message(id, ...(isSame ? [] : [secondId]));
}

/** What the 201 does not repeat of the request, or contradicts. */
function differenceIn(
  { body, headers }: Reply,
  sent: { to: readonly string[]; sender: string; text: string; senderName: string },
): string | null {
  const { data } = echoed.safeParse(jsonOf(body ?? ''));
  if (data === undefined) return 'the request is not repeated';
  const got = data.outboundSMSMessageRequest;
  const infos = got.deliveryInfoList?.deliveryInfo;
  if (
    got.address.length !== sent.to.length ||
    sent.to.some((number) => !got.address.includes(telAddress(number)))
  )
    return 'address is not that of the request';
  if (got.senderAddress !== sent.sender) return 'senderAddress is not that of the request';
  if (got.outboundSMSTextMessage.message !== sent.text) return 'message is not that of the request';
  if (got.senderName !== undefined && got.senderName !== sent.senderName)
    return 'senderName is not that of the request';
  const entriesOf = (number: string) => infos?.filter((each) => numberOf(each.address) === number).length;
  if (
    infos !== undefined &&
    (infos.length !== sent.to.length || sent.to.some((each) => entriesOf(each) !== 1))
  )
    return 'deliveryInfo does not have one entry for each recipient';
  const { resourceURL } = readOutboundRequest(body ?? '') ?? {};
  const [inBody, inLocation] = [requestIdOf(resourceURL), requestIdOf(headers.location)];
  if (resourceURL !== undefined && inBody === null) return 'resourceURL contains no request id';
  if (inBody === null && inLocation === null) return 'the response contains no request id';
  return inBody !== null && inLocation !== null && inBody !== inLocation
    ? 'Location names another request than resourceURL'
    : null;
}

function idIn({ body, headers }: Reply): string | null {
  return requestIdOf(readOutboundRequest(body ?? '')?.resourceURL) ?? requestIdOf(headers.location);
}

function noteId({ ways }: Run, inBody: string | null, inLocation: string | null): void {
  const places = [...(inBody === null ? [] : ['the body']), ...(inLocation === null ? [] : ['Location'])];
  ways.note(
    'requestId',
    places.length === 0 ? 'nowhere' : `in ${places.join(' and ')}`,
    places.length === 0
      ? 'Delivery cannot be polled: its recipients become unconfirmed unless notifications report them.'
      : 'Nothing to set: Volley reads both.',
  );
}

function noteAddress({ ways, session }: Run, address: string | undefined): void {
  if (address === undefined || !URL.canParse(address)) return;
  const url = new URL(address);
  const base = new URL(session.baseUrl);
  const path = url.pathname.replace(/\/outbound\/.*$/, '');
  const isHere = url.origin === base.origin && path === base.pathname.replace(/\/+$/, '');
  ways.note(
    'resourceUrl',
    isHere ? 'to the base URL of the test' : `to ${url.origin}${path}, not to the base URL of the test`,
    'Nothing to set: Volley uses only the id, and never calls another host.',
  );
}

function noteCorrelator(
  { ways, profile }: Run,
  sent: string | undefined,
  received: string | undefined,
): void {
  // A lane cannot set what its profile determines.
  const advice = (setting: string): string =>
    profile.correlatorLifetimeMs === null
      ? `clientCorrelator of the lane: ${setting}.`
      : 'Nothing to set: every request of this profile carries one.';
  if (sent === undefined) {
    const found =
      received === undefined ? 'there is none in the response' : 'the response has one of its own';
    ways.note('correlator', `${found}; the request had none`, 'To see more: --to with --correlator.');
  } else if (received === sent) {
    ways.note('correlator', 'it repeats that of the request', advice('send is possible'));
  } else {
    ways.note(
      'correlator',
      received === undefined ? 'it leaves it out' : 'it returns another one',
      advice('off'),
    );
  }
}

/** Follows the path of the returned address, but on the tested service: credentials go nowhere else. */
async function* followed(
  { session, checker, profile, history }: Run,
  address: string | undefined,
): AsyncGenerator<ConformanceCheck> {
  const path = /\/outbound\/[^?#]*$/.exec(address ?? '')?.[0];
  const expectation = {
    name: 'GET the delivery infos below the returned resourceURL',
    operation: 'getDeliveryInfos',
    expected: '200: the sender in resourceURL is URL-encoded, so that its path leads to the request',
    statuses: [200],
    also: ({ body }: Reply) => history.note(body ?? ''),
  } as const;
  if (address === undefined && profile.correlatorLifetimeMs !== null) {
    yield checker.skip(expectation, 'the response has none');
    return;
  }
  if (path === undefined || /[^\x21-\x7e]/.test(path)) {
    yield { ...checker.skip(expectation, 'resourceURL is missing, or not a valid URL'), result: 'failed' };
    return;
  }
  const { check } = await checker.run(
    session,
    { method: 'GET', path: `${path}/deliveryInfos`, as: 'lane', counts: 'poll' },
    expectation,
  );
  yield check;
}
