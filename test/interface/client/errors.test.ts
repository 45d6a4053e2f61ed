import { describe, expect, it, onTestFinished } from 'vitest';
import { createAccountClient } from '../../../src/service/client/accounts.js';
import { createSubscriptionClient } from '../../../src/service/client/subscriptions.js';
import { PERMIT, rawServer, reply } from '../raw-server.js';
import { clientOf, MESSAGE, poll, send } from './messaging-client.js';

/** Written by hand in the form of the OneAPI family, of which the interface is a variant. */
const POLICY = `{"requestError": {"policyException": {
  "messageId": "POL0013",
  "text": "Duplicated addresses %1 in part %2",
  "variables": ["tel:+358401234567", "address"]
}}}`;
const SERVICE = `{"requestError": {"serviceException": {
  "messageId": "SVC0002",
  "text": "Invalid input value for message part %1",
  "variables": ["senderAddress"]
}}}`;
const WORDS = 'POL0013: Duplicated addresses tel:… in part address';
const TYPE = 'Content-Type: application/json';

const sent = async (answer: string) => send(clientOf((await rawServer(answer)).origin));
const polled = async (answer: string) => poll(clientOf((await rawServer(answer)).origin));

describe('An error of the OneAPI family is quoted by its code and its text, with the variables filled in,', () => {
  it.each([
    ['400 Bad Request', 'refused'],
    ['401 Unauthorized', 'unauthorised'],
    ['403 Forbidden', 'stopped'],
    ['404 Not Found', 'stopped'],
    ['500 Internal Server Error', 'unknown'],
    ['503 Service Unavailable', 'unknown'],
  ])('in the reason of a send with %s, which stays %s', async (status, kind) => {
    const outcome = await sent(reply([`HTTP/1.1 ${status}`, TYPE], POLICY));
    expect(outcome).toMatchObject({ kind, reason: expect.stringContaining(`The service says: ${WORDS}`) });
    expect(JSON.stringify(outcome)).not.toContain('requestError');
    expect((await sent(reply([`HTTP/1.1 ${status}`]))).kind).toBe(kind);
  });

  it('beside the wait of a 429', async () => {
    const answer = reply(['HTTP/1.1 429 Too Many Requests', TYPE, 'Retry-After: 7'], POLICY);
    const outcome = { kind: 'throttled', retryAfterMs: 7_000, message: WORDS };
    expect(await sent(answer)).toEqual(outcome);
    expect(await polled(answer)).toEqual(outcome);
  });

  it.each(['404 Not Found', '400 Bad Request'])(
    'with a poll whose request is missing (%s)',
    async (status) => {
      const message = 'SVC0002: Invalid input value for message part senderAddress';
      expect(await polled(reply([`HTTP/1.1 ${status}`, TYPE], SERVICE))).toEqual({
        kind: 'missing',
        message,
      });
    },
  );

  it.each(['401 Unauthorized', '403 Forbidden', '500 Error'])(
    'in the reason of a poll with %s',
    async (status) => {
      const reason = expect.stringContaining(WORDS);
      expect(await polled(reply([`HTTP/1.1 ${status}`, TYPE], POLICY))).toMatchObject({ reason });
    },
  );

  it.each([
    '400 Bad Request',
    '401 Unauthorized',
    '403 Forbidden',
    '406 Not Acceptable',
    '500 Internal Server Error',
  ])('in the reason of a subscription with %s', async (status) => {
    const { origin } = await rawServer(reply([`HTTP/1.1 ${status}`, TYPE], POLICY));
    const client = createSubscriptionClient({ baseUrl: origin, timeoutMs: 10_000 });
    onTestFinished(() => client.close());
    const callback = { url: 'https://volley.example/in/s3cret', securityToken: 'the-token' };
    expect(await client.create(callback, { authorization: 'KEY-1' })).toMatchObject({
      reason: expect.stringContaining(WORDS),
    });
  });

  it('in the reason of a login that is refused', async () => {
    const { origin } = await rawServer(reply(['HTTP/1.1 403 Forbidden', TYPE], POLICY));
    const client = createAccountClient({ baseUrl: origin, timeoutMs: 10_000 });
    onTestFinished(() => client.close());
    const outcome = await client.login({ username: 'acme', password: 'open sesame' });
    expect(outcome).toEqual({ kind: 'refused', reason: expect.stringContaining(WORDS) });
  });
});

describe('An error in another form', () => {
  it.each([
    ['a variable that is missing', POLICY.replace(', "address"', ''), 'in part %2'],
    [
      'no variables',
      SERVICE.replace(/,\s*"variables".*\]/, ''),
      'SVC0002: Invalid input value for message part %1',
    ],
    ['a variable that names another', SERVICE.replace('"senderAddress"', '"%2", "x"'), 'message part %2'],
    ['a number among the variables', SERVICE.replace('"senderAddress"', '11'), 'message part 11'],
    [
      'an exception of another name',
      SERVICE.replace('serviceException', 'otherException'),
      '"otherException"',
    ],
    ['no code', SERVICE.replace('"messageId": "SVC0002",', ''), '"serviceException"'],
    ['a plain message', '{"message":"no such sender"}', '{"message":"no such sender"}'],
    ['plain text', 'no such sender', 'The service says: no such sender'],
    ['markup', '<html><h1>no such sender</h1></html>', 'The service says: no such sender'],
  ])('is quoted as far as it can be read: %s', async (_, body, words) => {
    const outcome = await sent(reply(['HTTP/1.1 400 Bad Request', TYPE], body));
    expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringContaining(words) });
  });

  it('is no message if it is empty', async () => {
    expect(await sent(reply(['HTTP/1.1 429 Too Many Requests']))).toEqual({
      kind: 'throttled',
      retryAfterMs: null,
    });
    const reason = 'The service answered 403: it cannot be used with this API key.';
    expect(await sent(reply(['HTTP/1.1 403 Forbidden']))).toEqual({ kind: 'stopped', reason });
  });

  it('quotes nothing of a subscription that a 406 contains', async () => {
    const theirs = '{"callback":{"url":"https://other.example/in/abc","securityToken":"s3cret"}}';
    const { origin } = await rawServer(reply(['HTTP/1.1 406 Not Acceptable', TYPE], theirs));
    const client = createSubscriptionClient({ baseUrl: origin, timeoutMs: 10_000 });
    onTestFinished(() => client.close());
    const mine = { url: 'https://volley.example/in/1', securityToken: 'the-token' };
    const reason = 'The service answered 406: it does not accept the subscription; one exists already.';
    expect(await client.create(mine, { authorization: 'KEY-1' })).toEqual({ kind: 'notAccepted', reason });
  });
});

describe('The clientCorrelator of a 201', () => {
  const created = (correlator: string): string =>
    reply(
      ['HTTP/1.1 201 Created', TYPE],
      `{"outboundSMSMessageRequest": {${correlator}"resourceURL": "https://h.example/outbound/ACME/requests/b2c3"}}`,
    );
  const sentWith = async (answer: string, clientCorrelator?: string) => {
    const message = clientCorrelator === undefined ? MESSAGE : { ...MESSAGE, clientCorrelator };
    return clientOf((await rawServer(answer)).origin).send(message, { authorization: 'KEY-1' }, PERMIT);
  };
  const accepted = { kind: 'accepted', requestId: 'b2c3', statuses: new Map() };

  it('is reported if it is another than that of the request, which is accepted nevertheless', async () => {
    const outcome = await sentWith(created('"clientCorrelator": "67893", '), 'spring-1');
    expect(outcome).toEqual({ ...accepted, otherCorrelator: '67893' });
  });

  it.each([
    ['is that of the request', '"clientCorrelator": "spring-1", ', 'spring-1'],
    ['is missing', '', 'spring-1'],
    ['is not a text', '"clientCorrelator": 5, ', 'spring-1'],
    [
      'was generated by the service, because the request has none',
      '"clientCorrelator": "67893", ',
      undefined,
    ],
  ])('is not reported if it %s', async (_, correlator, own) => {
    expect(await sentWith(created(correlator), own)).toEqual(accepted);
  });
});
