import { readCallback } from '../../service/client/read-response.js';
import type { Check, Rows } from './check.js';
import { GET_SUBSCRIPTION, SUBSCRIPTIONS, type TestRequest } from './session.js';
import type { FoundSubscription } from './subscription-per.js';

/** What the checks that only read are about. */
export interface Reading {
  /** Asks for the delivery infos of a request that does not exist. */
  readonly unknown: TestRequest;
  /** Whether the service answered the first request. */
  isAnswered: boolean;
  /** The subscription of the lane. */
  subscription: FoundSubscription;
}

/** The section of the page with the statuses of area A. */
const STATUSES = 'Errors, Area A HTTP statuses';

/** Checks that only read. */
export const READ_CHECKS: Rows<Reading> = [
  {
    name: `GET ${SUBSCRIPTIONS}`,
    operation: 'getSubscription',
    documented: '`GET /outbound/subscriptions`: 200 with the callback',
    expected: '200 with the callback, or 404 if there is no subscription',
    sends: () => GET_SUBSCRIPTION,
    learn({ status, body }, reading) {
      reading.isAnswered = true;
      if (status === 404) reading.subscription = { kind: 'none' };
      const url = status === 200 ? readCallback(body ?? '')?.url : undefined;
      if (url !== undefined) reading.subscription = { kind: 'exists', url };
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
    sends: ({ unknown }) => unknown,
  },
  ...unauthorised({
    name: 'GET the delivery infos of an unknown request',
    operation: 'getDeliveryInfos',
    documented: '401: the key is missing or not valid',
    request: ({ unknown }) => unknown,
  }),
];

/** 401 without a key, and with an unknown one. */
function unauthorised({
  name,
  request,
  ...row
}: Pick<Check<Reading>, 'name' | 'operation' | 'documented'> & {
  readonly request: (reading: Reading) => TestRequest;
}): Check<Reading>[] {
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
    sends: (reading) => ({ ...request(reading), as, counts: undefined }),
  }));
}
