import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../../src/base/config/index.js';
import { parseContract } from '../../../src/call-records/contract/read-contract.js';
import { CONTRACT, contractOf, WITH_ADDRESS } from './contract.js';

/** The problems of a contract in which the member at `path` has another value; without one, it is missing. */
function problemsWith(path: string, ...value: [] | [unknown]): readonly string[] {
  const contract = structuredClone(CONTRACT) as Record<string, unknown>;
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  const parent = steps.reduce((at, step) => at[step] as Record<string, unknown>, contract);
  if (value.length === 0) delete parent[last];
  else parent[last] = value[0];
  try {
    contractOf(contract);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** Every member of the contract but the description and the members of lists and maps. */
function membersOf(value: object, path = ''): string[] {
  return Object.entries(value).flatMap(([name, member]) => {
    const own = path === '' ? name : `${path}.${name}`;
    const isMap = ['headers', 'body', 'parameters'].includes(name);
    const below = typeof member === 'object' && member !== null && !Array.isArray(member) && !isMap;
    return [own, ...(below ? membersOf(member, own) : [])];
  });
}

test('The contract of the published interface is valid', () => {
  const path = fileURLToPath(new URL('../../../examples/call-records-v1.json', import.meta.url));
  const contract = parseContract('call-records-v1.json', readFileSync(path, 'utf8'));
  expect(contract.baseUrl).toBe('https://api.bics.com/mynumbers-cdr/v1');
  expect(contract.timeouts.ready).toBe(6 * 3_600_000);
});

test('A download may have an address instead of a path', () => {
  expect(contractOf(WITH_ADDRESS).download.address).toBe('/report/file~1url');
});

test.each(membersOf(CONTRACT).filter((path) => path !== 'description'))(
  'Without %s, the error names it: nothing has a default',
  (path) => {
    expect(problemsWith(path).join('\n')).toContain(
      `contract.json: ${path} is missing; nothing in a contract has a default`,
    );
  },
);

test('A member of a parameter must not be missing either', () => {
  expect(problemsWith('parameters.zone', { type: 'text' })).toEqual([
    'contract.json: parameters.zone.required is missing; nothing in a contract has a default',
    'contract.json: parameters.zone.values is missing; nothing in a contract has a default',
  ]);
});

describe('The error names an invalid member', () => {
  test.each([
    ['baseUrl', 'ftp://host', 'must be an http or https address'],
    ['baseUrl', 'https://user:word@host', 'must not contain a user, a password, a query, or a fragment'],
    ['baseUrl', 'https://host/?a', 'must not contain a user, a password, a query, or a fragment'],
    ['baseUrl', 5, 'must be a text'],
    ['request.method', 'PATCH', 'must be "GET", "POST", or "PUT"'],
    ['request.method', 'GET', 'request.body must be null: a GET has no body'],
    ['request.path', 'reports', 'must begin with /'],
    ['request.path', '/a b', 'must not contain spaces'],
    ['request.path', '/a\r\nHost: b', 'must not contain spaces, control characters'],
    ['request.path', '/{product', 'has a brace that belongs to no placeholder'],
    ['request.path', '/{nothing}', 'contains {nothing}, which is not a placeholder here'],
    ['request.path', '/{id}', 'contains {id}, which is not a placeholder here'],
    ['request.path', '/{zone}', 'contains {zone}, which is optional'],
    ['request.path', '/?key={apiKey}', 'must not contain {apiKey}: credentials belong into headers'],
    ['request.body', 'text', 'must be { "json": … }, { "form": { … } }, or null for no body'],
    [
      'request.body',
      { json: { token: '{accessToken}' } },
      'request.body.json.token must not contain {accessToken}',
    ],
    ['request.body', { json: { a: ['{b'] } }, 'request.body.json.a.0 has a brace'],
    ['request.id', 'id', 'must be a JSON pointer, such as /id'],
    ['request.id', '/a~2', 'must be a JSON pointer, such as /id'],
    ['request.headers', { 'X-Key': 'a\r\nX-Other: b' }, 'request.headers.X-Key must not contain CR or LF'],
    ['request.headers', { 'X-Key': 'a\nb' }, 'request.headers.X-Key must not contain CR or LF'],
    ['request.headers', { 'X Key': 'a' }, 'request.headers.X Key is not the name of a header'],
    ['request.headers', { 'X-Key': 'ä' }, 'must contain only printable ASCII characters'],
    ['request.headers', { Host: 'other' }, 'request.headers.Host is a header that Volley sets itself'],
    ['request.headers', { 'Content-Length': '5' }, 'is a header that Volley sets itself'],
    ['request.headers', { a: '1', A: '2' }, 'request.headers names a header twice'],
    ['status.path', '/reports', 'status.path must contain {id}'],
    ['status.word', 'state', 'must be a JSON pointer'],
    ['status.pending', 'queued', 'status.pending must be a list'],
    ['status.ready', [], 'status.ready must have at least one word'],
    ['status.failed', ['done'], 'status.failed.0 is also in status.ready; each word means one thing'],
    ['download.path', null, 'download must have either a path or an address'],
    ['download.address', '/url', 'download must have either a path or an address'],
    ['downloadOrigins', ['https://files.example/x'], 'downloadOrigins.0 must be an origin'],
    ['downloadOrigins', ['files.example'], 'downloadOrigins.0 must be an http or https address'],
    ['privateAddresses', ['10.0.0.0/99'], 'privateAddresses.0 must be an IP address or a range'],
    ['privateAddresses', ['localhost'], 'privateAddresses.0 must be an IP address or a range'],
    [
      'parameters',
      { id: { type: 'text', required: true, values: null } },
      'parameters.id is a placeholder that every',
    ],
    ['parameters', { 'a b': { type: 'text', required: true, values: null } }, 'parameters.a b'],
    [
      'parameters.zero',
      { type: 'boolean', required: false, values: ['maybe'] },
      'parameters.zero.values.0 must be true or false',
    ],
    [
      'parameters.zero',
      { type: 'bool', required: false, values: null },
      'parameters.zero.type must be "text", "integer"',
    ],
    ['limits.days', 0, 'limits.days'],
    ['globalMobile.parameter', 'nothing', 'globalMobile.parameter must be one of the parameters'],
    ['intervals.status', '0s', 'intervals.status must be a whole number and a unit'],
    ['intervals.status', 10, 'intervals.status must be a text'],
    ['timeouts.request', '99d', 'timeouts.request must be a whole number and a unit'],
    ['maxBytes.download', '5 MB', 'maxBytes.download must be a whole number'],
    ['extra', 1, 'extra is not a member of a contract'],
  ] as const)('%s: %j', (path, value, expected) => {
    expect(problemsWith(path, value).join('\n')).toContain(expected);
  });

  test('and its line, if the file is not JSON', () => {
    expect(() => parseContract('c.json', '{\n  "baseUrl": "a",,\n}')).toThrow(
      'c.json, line 2: not valid JSON',
    );
    expect(() => parseContract('c.json', '')).toThrow('c.json, line 1: not valid JSON');
  });
});

test('No error contains the value of a header', () => {
  const problems = problemsWith('request.headers', { 'X-Key': 'hunter2\n', Host: 'hunter2' });
  expect(problems).toHaveLength(2);
  expect(problems.join()).not.toContain('hunter2');
});
