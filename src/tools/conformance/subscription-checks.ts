import { readCallback, readErrorCode } from '../../service/client/read-response.js';
import type { Check, Rows } from './check.js';
import { formOf } from './redacted.js';
import type { TestSubscription } from './run.js';
import { GET_SUBSCRIPTION, SUBSCRIPTIONS, type TestRequest } from './session.js';
import { noteSubscriptionPer } from './subscription-per.js';

/** Why a profile may refuse a subscription. */
const NOT_HTTPS = 'NOT_HTTPS';

/** Deletes the subscription of the lane. */
export const DELETE = { method: 'DELETE', path: SUBSCRIPTIONS, as: 'lane' } as const;

function post(callback: { readonly url: string; readonly securityToken: string }): TestRequest {
  const { url, securityToken } = callback;
  const body = JSON.stringify({ callback: { url, securityToken } });
  return { method: 'POST', path: SUBSCRIPTIONS, body, as: 'lane' };
}

/** A service that accepts a subscription that it should refuse has one. */
const learnWhetherItExists: Check<TestSubscription>['learn'] = ({ status }, subscription) => {
  subscription.mayExist ||= status < 300;
};

/** Creates it, unless there is one: its notifications would be lost. */
export const CREATE = {
  name: `POST ${SUBSCRIPTIONS}`,
  operation: 'createSubscription',
  documented: '`POST /outbound/subscriptions` creates it: 201 with the callback',
  expected: '201 with the callback',
  sends(subscription, { found }) {
    if (found?.kind === 'none') return post(subscription);
    const why = 'there is a subscription already, which the test does not touch';
    const isUnknown = found === null;
    return { result: 'skipped', found: isUnknown ? 'it is not known whether there is a subscription' : why };
  },
  also({ body }, { url, securityToken }) {
    const callback = readCallback(body ?? '');
    if (callback?.url !== url) return 'callback.url is not that of the request';
    return callback.securityToken === securityToken
      ? null
      : 'callback.securityToken is not that of the request';
  },
  learn({ status }, subscription) {
    subscription.isCreated = status < 300;
    subscription.mayExist ||= subscription.isCreated;
  },
  unanswered(subscription) {
    subscription.mayExist = true;
  },
} as const satisfies Check<TestSubscription>;

/** Checks that create the subscription. */
export const CREATE_CHECKS: Rows<TestSubscription> = [
  {
    name: `POST ${SUBSCRIPTIONS} without a callback`,
    operation: 'createSubscription',
    documented: '400: the request is not well formed',
    expected: '400: not well formed',
    sends: (subscription) => ({ ...post(subscription), body: '{}' }),
    learn: learnWhetherItExists,
  },
  {
    sends: (subscription) => ({ ...post(subscription), as: 'keyless' }),
    learn(reply, subscription, { ways }) {
      const { status } = reply;
      subscription.mayExist ||= status < 300;
      ways.note(
        'subscriptionWithoutKey',
        status < 300 ? `${status}: it creates one` : `${status}, ${formOf(reply)}`,
      );
    },
  },
  {
    name: `POST ${SUBSCRIPTIONS} with an http address`,
    operation: 'createSubscription',
    documented: null,
    expected: `406 with the code ${NOT_HTTPS}`,
    sends(subscription, { profile }) {
      const { url } = subscription;
      // A listener on this machine has no https address.
      if (!(NOT_HTTPS in profile.notAcceptable) || !url.startsWith('https:')) return undefined;
      return post({ ...subscription, url: url.replace(/^https:/, 'http:') });
    },
    also: ({ body }) => (readErrorCode(body ?? '') === NOT_HTTPS ? null : `the code is not ${NOT_HTTPS}`),
    learn: learnWhetherItExists,
  },
  CREATE,
];

/** Checks of the subscription that exists. */
export const CREATED_CHECKS: Rows<TestSubscription> = [
  {
    name: `GET ${SUBSCRIPTIONS}, created`,
    operation: 'getSubscription',
    documented: '`callback.url`: where notifications go',
    expected: '200 with the callback that was created',
    sends: () => GET_SUBSCRIPTION,
    also: ({ body }, { url }) =>
      readCallback(body ?? '')?.url === url ? null : 'callback.url is not the created one',
    learn({ status, body }, { securityToken }, { ways }) {
      if (status !== 200) return;
      const shown = readCallback(body ?? '')?.securityToken ?? '';
      ways.note(
        'securityToken',
        shown === securityToken ? 'it is shown' : shown === '' ? 'it is left out' : 'it is masked',
      );
    },
  },
  {
    sends: post,
    learn(reply, _subscription, { ways }) {
      const { status } = reply;
      ways.note(
        'secondSubscription',
        status < 300 ? `${status}: it replaces the first` : `${status}, ${formOf(reply)}`,
      );
    },
  },
  { sends: ({ url }, run) => noteSubscriptionPer(run, { kind: 'exists', url }) },
];

/** Checks that delete the subscription. */
export const DELETE_CHECKS: Rows<TestSubscription> = [
  {
    name: `DELETE ${SUBSCRIPTIONS}`,
    operation: 'deleteSubscription',
    documented: '`DELETE /outbound/subscriptions`: 204 without content',
    expected: '204 without content',
    sends: () => ({ ...DELETE, cleansUp: true }),
    learn({ status }, subscription) {
      subscription.mayExist = status !== 204;
    },
  },
  {
    name: `GET ${SUBSCRIPTIONS}, deleted`,
    operation: 'getSubscription',
    documented: '404 to GET and DELETE: there is no subscription',
    expected: '404: there is no subscription',
    sends: () => GET_SUBSCRIPTION,
  },
  {
    name: `DELETE ${SUBSCRIPTIONS}, without a subscription`,
    operation: 'deleteSubscription',
    documented: '404 to GET and DELETE: there is no subscription',
    expected: '404',
    sends: (_subscription, { config }) =>
      config.callback === undefined
        ? DELETE
        : { result: 'skipped', found: 'a worker may have subscribed the lane meanwhile' },
  },
  {
    name: `DELETE ${SUBSCRIPTIONS}, without a key`,
    operation: 'deleteSubscription',
    documented: '401 to GET and DELETE',
    expected: '401',
    sends: () => ({ ...DELETE, as: 'keyless' }),
  },
];
