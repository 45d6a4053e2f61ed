import { readCallback } from '../../service/client/read-response.js';
import type { Check, Rows } from './check.js';
import { infosPath, SUBSCRIPTIONS } from './session.js';
import type { FoundSubscription } from './subscription-per.js';

/** What the checks that only read are about. */
interface Reading {
  /** The delivery infos of a request that does not exist. */
  readonly unknownPath: string;
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
    sends: () => ({ method: 'GET', path: SUBSCRIPTIONS, as: 'lane' }),
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
    path: () => SUBSCRIPTIONS,
  }),
  {
    name: 'GET the delivery infos of an unknown request',
    operation: 'getDeliveryInfos',
    documented: '404: no such message',
    expected: '404: no such message',
    sends: ({ unknownPath }) => ({ method: 'GET', path: unknownPath, as: 'lane', counts: 'poll' }),
  },
  ...unauthorised({
    name: 'GET the delivery infos of an unknown request',
    operation: 'getDeliveryInfos',
    documented: '401: the key is missing or not valid',
    path: ({ unknownPath }) => unknownPath,
  }),
];

/** 401 without a key, and with an unknown one. */
function unauthorised({
  name,
  path,
  ...row
}: Pick<Check<Reading>, 'name' | 'operation' | 'documented'> & {
  readonly path: (reading: Reading) => string;
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
    sends: (reading) => ({ method: 'GET', path: path(reading), as }),
  }));
}

/** Before anything is read. `unknownId`: of a request that does not exist. */
export function openReading(senderSegment: string, unknownId: string): Reading {
  return { unknownPath: infosPath(senderSegment, unknownId), isAnswered: false, subscription: null };
}
