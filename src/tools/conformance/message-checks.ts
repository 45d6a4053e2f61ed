import { requestIdOf, senderSegment } from '../../service/client/address.js';
import type { Reply } from '../../service/client/exchange.js';
import { sendBody } from '../../service/client/messaging.js';
import { readOutboundRequest } from '../../service/client/read-response.js';
import type { Rows } from './check.js';
import { differenceIn } from './message.js';
import type { Run, TestMessage } from './run.js';
import type { TestRequest } from './session.js';

/** Whether the profile documents that a request carries a correlator, and what a repeated one does. */
const documentsCorrelators = ({ profile }: Run): boolean => profile.correlatorLifetimeMs !== null;

function post({ content }: TestMessage): TestRequest {
  const path = `/outbound/${senderSegment(content.sender)}/requests`;
  return { method: 'POST', path, as: 'lane', counts: 'send', body: sendBody(content) };
}

/** The check that sends the message. It is never repeated, except by `twice`. */
export const SEND_CHECKS: Rows<TestMessage> = [
  {
    name: 'POST a message',
    operation: 'send',
    documented: '201 with the OutboundRequest, all of its fields, and the id in the body and in `Location`',
    expected: (run) =>
      documentsCorrelators(run)
        ? '201 with the request, and its id in resourceURL or Location'
        : '201 with the request, DeliveredToNetwork for each recipient, clientCorrelator, and the id in resourceURL and Location',
    sends: post,
    also: differenceIn,
    learn(reply, message, run) {
      if (reply.status !== 201) return;
      run.history.note(reply.body ?? '');
      const created = readOutboundRequest(reply.body ?? '');
      message.resourceUrl = created?.resourceURL;
      const inBody = requestIdOf(created?.resourceURL) ?? requestIdOf(created?.deliveryInfoList?.resourceURL);
      const inLocation = requestIdOf(reply.headers.location);
      const id = inBody ?? inLocation;
      if (id !== null) message.ids.push(id);
      noteId(run, inBody, inLocation);
      noteAddress(run, created?.resourceURL);
      noteCorrelator(run, message.content.clientCorrelator, created?.clientCorrelator);
    },
  },
];

/** Checks of a message that the service has accepted. */
export const ACCEPTED_CHECKS: Rows<TestMessage> = [
  {
    name: 'GET the delivery infos below the returned resourceURL',
    operation: 'getDeliveryInfos',
    documented: '`resourceURL` of the request: identifies the created request',
    expected: '200: the sender in resourceURL is URL-encoded, so that its path leads to the request',
    sends({ resourceUrl }, run) {
      if (resourceUrl == null && documentsCorrelators(run))
        return { result: 'skipped', found: 'the response has none' };
      // On the tested service: credentials go nowhere else.
      const path = /\/outbound\/[^?#]*$/.exec(resourceUrl ?? '')?.[0];
      return path === undefined || /[^\x21-\x7e]/.test(path)
        ? { result: 'failed', found: 'resourceURL is missing, or not a valid URL' }
        : { method: 'GET', path: `${path}/deliveryInfos`, as: 'lane', counts: 'poll' };
    },
    also: ({ body }, _message, { history }) => history.note(body ?? ''),
  },
  {
    name: 'POST the same message with the same clientCorrelator',
    operation: 'send',
    documented: '`clientCorrelator` appears in responses; whether a request may carry it is not shown',
    expected: (run) =>
      documentsCorrelators(run) ? '201 with the first request: it is not sent again' : '201 again',
    sends: (message, { options }) => (options.send?.twice === true ? post(message) : undefined),
    also: (reply, { ids: [id = null] }, run) =>
      documentsCorrelators(run) && idIn(reply) !== id ? 'it names another request than the first' : null,
    learn(reply, { ids }, run) {
      const second = reply.status === 201 ? idIn(reply) : null;
      if (documentsCorrelators(run) || second === null) return;
      const [first] = ids;
      if (second === first) {
        run.ways.note(
          'deduplication',
          'it returns the first request',
          'clientCorrelator of the lane: "deduplicates: TIME", with the time for which the service remembers it.',
        );
        return;
      }
      // The notifications of a repetition are checked with those of the first request, if that is known.
      if (first !== undefined) ids.push(second);
      run.ways.note(
        'deduplication',
        'it sends a second message',
        'clientCorrelator of the lane: off or send, but not deduplicates.',
      );
    },
  },
];

function idIn({ body, headers }: Reply): string | null {
  return requestIdOf(readOutboundRequest(body ?? '')?.resourceURL) ?? requestIdOf(headers.location);
}

function noteId({ ways }: Run, inBody: string | null, inLocation: string | null): void {
  const places = [...(inBody === null ? [] : ['the body']), ...(inLocation === null ? [] : ['Location'])];
  if (places.length > 0)
    ways.note('requestId', `in ${places.join(' and ')}`, 'Nothing to set: Volley reads both.');
  else
    ways.note(
      'requestId',
      'nowhere',
      'Delivery cannot be polled: its recipients become unconfirmed unless notifications report them.',
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
  );
}

function noteCorrelator(run: Run, sent: string | undefined, received: string | undefined): void {
  const { ways } = run;
  // A lane cannot set what its profile determines.
  const advice = (setting: string): string =>
    documentsCorrelators(run)
      ? 'Nothing to set: every request of this profile carries one.'
      : `clientCorrelator of the lane: ${setting}.`;
  if (sent === undefined) {
    const found =
      received === undefined ? 'there is none in the response' : 'the response has one of its own';
    ways.note('correlator', `${found}; the request had none`, 'To see more: --to with --correlator.');
  } else if (received === sent) {
    ways.note('correlator', 'it repeats that of the request', advice('send is possible'));
  } else {
    const found = received === undefined ? 'it leaves it out' : 'it returns another one';
    ways.note('correlator', found, advice('off'));
  }
}
