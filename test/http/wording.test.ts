import { expect, test } from 'vitest';
import { z } from 'zod';
import { inWords } from '../../src/http/wording.js';
import { testRedis } from '../redis/test-redis.js';
import { served } from './api.js';

const { url, prefix } = testRedis('http-wording');
const { ask } = await served({ REDIS_URL: url, REDIS_PREFIX: prefix });

const wholeNumber = z.coerce.number().int().min(1).max(200);

test.each([
  ['nothing for a text', z.string(), undefined, 'is missing; it must be a text'],
  ['nothing for one of a few', z.enum(['a', 'b']), undefined, 'is missing; it must be one of a, b'],
  ['nothing for a list', z.array(z.string()), undefined, 'is missing; it must be a list'],
  ['a number for a text', z.string(), 7, 'must be a text'],
  ['null for an object', z.strictObject({}), null, 'must be an object'],
  ['a text for a switch', z.boolean(), 'yes', 'must be true or false'],
  ['a text for a number', z.number(), '7', 'must be a number'],
  ['letters for a whole number', wholeNumber, 'abc', 'must be a whole number from 1 to 200'],
  ['a fraction for a whole number', wholeNumber, '1.5', 'must be a whole number from 1 to 200'],
  ['a number that is too small', wholeNumber, '0', 'must be a whole number from 1 to 200'],
  ['a number that is too large', wholeNumber, '201', 'must be a whole number from 1 to 200'],
  ['a number below the only bound', z.int().min(0), -1, 'must be a whole number of at least 0'],
  ['a number above the only bound', z.number().max(9), 10, 'must be a number of at most 9'],
  ['no whole number', z.int(), 1.5, 'must be a whole number'],
  ['another multiple', z.number().multipleOf(5), 7, 'must be a multiple of 5'],
  ['an empty text', z.string().trim().min(1), '  ', 'is empty'],
  ['a text that is too short', z.string().min(3), 'ab', 'is shorter than 3 letters'],
  ['a text that is too long', z.string().max(3), 'abcd', 'is longer than 3 letters'],
  ['an empty list', z.array(z.string()).min(1), [], 'is empty'],
  ['a list that is too short', z.array(z.string()).min(2), ['a'], 'holds fewer than 2'],
  ['a list that is too long', z.array(z.string()).max(1), ['a', 'b'], 'holds more than 1'],
  ['none of a few', z.enum(['a', 'b']), 'c', 'must be one of a, b'],
  ['not the one', z.literal('a'), 'b', 'must be a'],
  ['a member where there is none', z.strictObject({}), { a: 1 }, 'there is no such member'],
  [
    'a member that nobody knows',
    z.strictObject({ b: z.int().optional(), c: z.int().optional() }).meta({ title: 'T' }),
    { a: 1 },
    'there is no such member, only b, c',
  ],
  ['another form', z.string().regex(/^a$/), 'b', 'must have the form /^a$/'],
  ['none of several', z.union([z.string(), z.number()]), [], /^must have one of the forms .*\/docs$/],
  ['what a check refuses', z.string().refine(() => false), 'a', /^must have one of the forms .*\/docs$/],
])(
  'What a schema finds wrong is said in plain words, with what would be right: %s',
  (_what, schema, given, says) => {
    const { error } = z.safeParse(schema, given, { error: inWords });
    expect(error?.issues.map(({ message }) => message)).toEqual([
      typeof says === 'string' ? says : expect.stringMatching(says),
    ]);
  },
);

test('A schema with words of its own keeps them', () => {
  const { error } = z.safeParse(z.string().min(1, 'must hold a letter'), '', { error: inWords });
  expect(error?.issues[0]?.message).toBe('must hold a letter');
});

const recipients = [{ to: '+447700900123' }];

test.each([
  ['POST', '/v1/campaigns', { recipients }, '/message', 'is missing; it must be a text'],
  ['POST', '/v1/campaigns', { recipients, message: '' }, '/message', 'is empty'],
  [
    'POST',
    '/v1/campaigns',
    { recipients, message: 'Hi', mesage: '' },
    '/mesage',
    'there is no such member, only recipients, message, sender, senderName, lane, name, country, at, priority, validFor, skipInvalid, again',
  ],
  ['POST', '/v1/campaigns', { recipients, message: 'Hi', sender: ' ' }, '/sender', 'is empty'],
  ['POST', '/v1/preview', [], '', 'must be an object'],
  ['POST', '/v1/suppressions', { numbers: [7] }, '/numbers/0', 'must be a text'],
  ['POST', '/v1/find', undefined, '', 'must be an object'],
  ['GET', '/v1/campaigns?limit=abc', undefined, 'query/limit', 'must be a whole number from 1 to 200'],
  [
    'GET',
    '/v1/campaigns?state=gone',
    undefined,
    'query/state',
    'must be one of importing, scheduled, running, paused, cancelled, completed',
  ],
  [
    'GET',
    '/v1/campaigns?stat=x',
    undefined,
    'query/stat',
    'there is no such member, only state, limit, cursor',
  ],
  ['GET', `/v1/campaigns/${'x'.repeat(41)}`, undefined, 'path/id', 'is longer than 40 letters'],
] as const)('They are what a request is answered: %s %s', async (method, path, body, pointer, message) => {
  const { status, said } = await ask(method, path, { body });
  expect([status, said]).toMatchObject([
    400,
    { detail: `${pointer || 'the body'}: ${message}`, errors: [{ pointer, message }] },
  ]);
});

test('The part of a form that is JSON is answered in the same words', async () => {
  const form = new FormData();
  form.append('campaign', JSON.stringify({ message: '' }));
  form.append('recipients', new Blob(['phone\n+447700900123\n']), 'list.csv');
  const { status, said } = await ask('POST', '/v1/campaigns', { form });
  expect([status, said]).toMatchObject([400, { errors: [{ pointer: '/message', message: 'is empty' }] }]);
});
