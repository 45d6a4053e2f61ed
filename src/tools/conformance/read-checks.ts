import { senderSegment } from '../../service/client/address.js';
import { readCallback } from '../../service/client/read-response.js';
import type { Check, Rows } from './check.js';
import { noteHeaders } from './headers.js';
import type { Run } from './run.js';
import { GET_SUBSCRIPTION, poll, SUBSCRIPTIONS, type TestRequest } from './session.js';
import { noteSubscriptionPer } from './subscription-per.js';

/** The section of the page with the statuses of area A. */
const STATUSES = 'Errors, Area A HTTP statuses';

/** Checks that only read. */
export const READ_CHECKS: Rows<Run> = [
  {
    name: `GET ${SUBSCRIPTIONS}`,
    operation: 'getSubscription',
    documented: '`GET /outbound/subscriptions`: 200 with the callback',
    expected: '200 with the callback, or 404 if there is no subscription',
    sends: () => GET_SUBSCRIPTION,
    learn({ status, body }, run) {
      run.isAnswered = true;
      if (status === 404) run.found = { kind: 'none' };
      const url = status === 200 ? readCallback(body ?? '')?.url : undefined;
      if (url !== undefined) run.found = { kind: 'exists', url };
    },
  },
  ...unauthorised({
    name: `GET ${SUBSCRIPTIONS}`,
    operation: 'getSubscription',
    documented: '401 to GET and DELETE',
    request: () => GET_SUBSCRIPTION,
  }),
  {
    name: 'GET the delivery infos of an unknown request',
    operation: 'getDeliveryInfos',
    documented: '404: no such message',
    expected: '404: no such message',
    sends: unknownRequest,
  },
  ...unauthorised({
    name: 'GET the delivery infos of an unknown request',
    operation: 'getDeliveryInfos',
    documented: '401: the key is missing or not valid',
    request: unknownRequest,
  }),
  { sends: noteHeaders },
  { sends: (run) => noteSubscriptionPer(run, run.found) },
];

/** Asks for the delivery infos of a request that does not exist. */
function unknownRequest({ sender, nonce }: Run): TestRequest {
  return poll(senderSegment(sender), nonce());
}

/** 401 without a key, and with an unknown one. */
function unauthorised({
  name,
  request,
  ...row
}: Pick<Check<Run>, 'name' | 'operation' | 'documented'> & {
  readonly request: (run: Run) => TestRequest;
}): Check<Run>[] {
  const identities = [
    ['keyless', 'without a key'],
    ['unknownKey', 'with an unknown key'],
  ] as const;
  return identities.map(([as, how]) => ({
    ...row,
    name: `${name}, ${how}`,
    section: STATUSES,
    expected: '401',
    // It has no quota to count against.
    sends: (run) => ({ ...request(run), as, counts: undefined }),
  }));
}
