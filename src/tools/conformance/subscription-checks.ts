import { readCallback, readErrorCode } from '../../service/client/read-response.js';
import { type FoundSubscription, noteSubscriptionPer, SUBSCRIPTIONS } from './read-checks.js';
import { formOf } from './redacted.js';
import type { ConformanceCheck } from './report.js';
import type { Run } from './run.js';

/** Why a profile may refuse a subscription. */
const NOT_HTTPS = 'NOT_HTTPS';

/**
 * Creates a subscription, reads it, and deletes it. Does nothing if there is one: its notifications would be lost. Whatever happens,
 * the test deletes what it has created. `during`: further checks while it exists. Returns whether they were made.
 */
export async function* subscriptionChecks(
  run: Run,
  url: string,
  before: FoundSubscription,
  during?: (securityToken: string) => AsyncGenerator<ConformanceCheck>,
): AsyncGenerator<ConformanceCheck, boolean> {
  const { session, checker, ways, nonce, config } = run;
  const create = {
    name: `POST ${SUBSCRIPTIONS}`,
    operation: 'createSubscription',
    expected: '201 with the callback',
    statuses: [201],
  } as const;
  if (before?.kind !== 'none') {
    yield checker.skip(
      create,
      before === null
        ? 'it is not known whether there is a subscription'
        : 'there is a subscription already, which the test does not touch',
    );
    return false;
  }
  const securityToken = nonce();
  const body = JSON.stringify({ callback: { url, securityToken } });
  const post = { method: 'POST', path: SUBSCRIPTIONS, body } as const;
  const get = { method: 'GET', path: SUBSCRIPTIONS, as: 'lane' } as const;
  const remove = { method: 'DELETE', path: SUBSCRIPTIONS, as: 'lane' } as const;
  let mayExist = false;
  try {
    const malformed = await checker.run(
      session,
      { ...post, body: '{}', as: 'lane' },
      {
        name: `POST ${SUBSCRIPTIONS} without a callback`,
        operation: 'createSubscription',
        expected: '400: not well formed',
        statuses: [400],
      },
    );
    mayExist = (malformed.reply?.status ?? 400) < 300;
    yield malformed.check;
    const keyless = await session.request({ ...post, as: 'keyless' });
    if (keyless.kind === 'reply') {
      const { status } = keyless.reply;
      mayExist ||= status < 300;
      ways.note(
        'subscriptionWithoutKey',
        status < 300 ? `${status}: it creates one` : `${status}, ${formOf(keyless.reply)}`,
        'Nothing to set: Volley always sends a key.',
      );
    }
    const codes = Object.keys(run.profile.notAcceptable);
    // A listener on this machine has no https address.
    if (codes.includes(NOT_HTTPS) && url.startsWith('https:')) {
      const insecure = JSON.stringify({ callback: { url: url.replace(/^https:/, 'http:'), securityToken } });
      const refused = await checker.run(
        session,
        { ...post, body: insecure, as: 'lane' },
        {
          name: `POST ${SUBSCRIPTIONS} with an http address`,
          operation: 'createSubscription',
          expected: `406 with the code ${NOT_HTTPS}`,
          statuses: [406],
          also: (reply) =>
            readErrorCode(reply.body ?? '') === NOT_HTTPS ? null : `the code is not ${NOT_HTTPS}`,
        },
      );
      mayExist ||= (refused.reply?.status ?? 406) < 300;
      yield refused.check;
    }
    const created = await checker.run(
      session,
      { ...post, as: 'lane' },
      {
        ...create,
        also: (reply) => {
          const got = readCallback(reply.body ?? '');
          if (got?.url !== url) return 'callback.url is not that of the request';
          return got.securityToken === securityToken
            ? null
            : 'callback.securityToken is not that of the request';
        },
      },
    );
    // Without a response it may exist.
    mayExist ||= created.reply === undefined ? created.check.result === 'failed' : created.reply.status < 300;
    yield created.check;
    if (created.reply === undefined || created.reply.status >= 300) return false;
    const read = await checker.run(session, get, {
      name: `GET ${SUBSCRIPTIONS}, created`,
      operation: 'getSubscription',
      expected: '200 with the callback that was created',
      statuses: [200],
      also: (reply) =>
        readCallback(reply.body ?? '')?.url === url ? null : 'callback.url is not the created one',
    });
    yield read.check;
    const shown = readCallback(read.reply?.body ?? '')?.securityToken;
    if (read.reply?.status === 200)
      ways.note(
        'securityToken',
        shown === securityToken
          ? 'it is shown'
          : shown === undefined || shown === ''
            ? 'it is left out'
            : 'it is masked',
        'Nothing to set: Volley recognises its subscription in each case.',
      );
    await noteSubscriptionPer(run, { kind: 'exists', url });
    const second = await session.request({ ...post, as: 'lane' });
    if (second.kind === 'reply') {
      const { reply } = second;
      ways.note(
        'secondSubscription',
        reply.status < 300 ? `${reply.status}: it replaces the first` : `${reply.status}, ${formOf(reply)}`,
        'Nothing to set: Volley deletes its own subscription before it creates another.',
      );
    }
    if (during !== undefined) yield* during(securityToken);
    const removed = await checker.run(
      session,
      { ...remove, cleansUp: true },
      {
        name: `DELETE ${SUBSCRIPTIONS}`,
        operation: 'deleteSubscription',
        expected: '204 without content',
        statuses: [204],
      },
    );
    yield removed.check;
    mayExist = removed.reply?.status !== 204;
    yield (
      await checker.run(session, get, {
        name: `GET ${SUBSCRIPTIONS}, deleted`,
        operation: 'getSubscription',
        expected: '404: there is no subscription',
        statuses: [404],
      })
    ).check;
    for (const [as, name, status] of [
      ['lane', 'without a subscription', 404],
      ['keyless', 'without a key', 401],
    ] as const) {
      const expectation = {
        name: `DELETE ${SUBSCRIPTIONS}, ${name}`,
        operation: 'deleteSubscription',
        expected: String(status),
        statuses: [status],
      } as const;
      if (as === 'lane' && config.callback !== undefined)
        yield checker.skip(expectation, 'a worker may have subscribed the lane meanwhile');
      else yield (await checker.run(session, { ...remove, as }, expectation)).check;
    }
    return during !== undefined;
  } finally {
    if (mayExist) await session.request({ ...remove, cleansUp: true });
  }
}
