import { readFile } from 'node:fs/promises';
import { getNodeValue } from 'jsonc-parser';
import { z } from 'zod';
import { readProblem } from '../base/config/file-problem.js';
import { ConfigError } from '../base/config/index.js';
import { parseJsonFile } from '../base/config/json-file.js';
import { DURATION_FORM, parseDuration } from '../base/duration.js';
import { HEADER_TEXT, hasStrayBrace, placeholdersIn, textsIn } from './template.js';

/*
 * The contract: how a service takes requests for call records. The interface page shows no endpoint, field, or state of this
 * area, so nothing here has a default: the operator states every member, with null or an empty list where the service has none.
 * docs/call-records.md says what the members mean.
 */

/** Values that every contract has. The parameters of a contract are further ones. */
const DATES = ['from', 'from.year', 'from.month', 'from.day', 'to', 'to.year', 'to.month', 'to.day'];
const CREDENTIALS = ['apiKey', 'accessToken'];
const RESERVED = [...DATES, ...CREDENTIALS, 'id'];

/** Headers that belong to the connection, or that would contradict the body. */
const FORBIDDEN_HEADERS =
  /^(host|content-length|transfer-encoding|connection|keep-alive|proxy-.*|te|trailer|upgrade|expect|accept-encoding|range|if-range)$/i;

const STRAY_BRACE = 'has a brace that belongs to no placeholder';
const text = z.string('must be a text').min(1, 'must not be empty');

const httpUrl = text.superRefine((value, context) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    context.addIssue('must be an http or https address');
  } else if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    context.addIssue('must not contain a user, a password, a query, or a fragment');
  }
});
const origin = httpUrl.transform((value, context) => {
  const url = new URL(value);
  if (url.pathname !== '/')
    context.addIssue('must be an origin, such as https://files.example.com, without a path');
  return url.origin;
});

const method = z.enum(['GET', 'POST', 'PUT'], 'must be "GET", "POST", or "PUT"');
const path = text
  .startsWith('/', 'must begin with /')
  .regex(/^[^\s#\\\p{Cc}]*$/u, 'must not contain spaces, control characters, # or \\')
  .refine((value) => !hasStrayBrace(value), STRAY_BRACE);
const headers = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'is not the name of a header')
      .refine((name) => !FORBIDDEN_HEADERS.test(name), 'is a header that Volley sets itself'),
    z
      .string('must be a text')
      .regex(/^[^\r\n]*$/, { error: 'must not contain CR or LF', abort: true })
      .regex(HEADER_TEXT, 'must contain only printable ASCII characters')
      .refine((value) => !hasStrayBrace(value), STRAY_BRACE),
  )
  .refine((value) => {
    const names = Object.keys(value).map((name) => name.toLowerCase());
    return new Set(names).size === names.length;
  }, 'names a header twice');
const body = z
  .union(
    [
      z.strictObject({ json: z.json() }),
      z.strictObject({ form: z.record(z.string(), z.string()) }),
      z.null(),
    ],
    'must be { "json": … }, { "form": { … } }, or null for no body',
  )
  .superRefine((value, context) => {
    for (const { at, text: template } of textsIn(value)) {
      if (hasStrayBrace(template)) context.addIssue({ code: 'custom', path: at, message: STRAY_BRACE });
    }
  });

/** RFC 6901. */
const pointer = z
  .string('must be a JSON pointer, such as /id')
  .regex(/^(\/([^~/]|~[01])*)*$/, 'must be a JSON pointer, such as /id');
const words = z.array(text, 'must be a list of words; empty if the service has none');

/** The longest time that a timer of Node.js takes. */
const MAX_DURATION_MS = 2_147_483_647;
const duration = z
  .string(`must be ${DURATION_FORM}`)
  .transform((value) => parseDuration(value) ?? 0)
  .refine((ms) => ms >= 1 && ms <= MAX_DURATION_MS, `must be ${DURATION_FORM}`);
const bytes = z.int('must be a whole number of bytes').min(1, 'must be at least 1');
const count = z.int().min(1).nullable();

const parameter = z.strictObject({
  type: z.enum(['text', 'integer', 'number', 'boolean'], 'must be "text", "integer", "number", or "boolean"'),
  required: z.boolean('must be true or false'),
  values: z.array(z.string()).min(1, 'must not be empty').nullable(),
});

const members = z.strictObject({
  /** For people. */
  description: z.string().optional(),
  baseUrl: httpUrl.transform((value) => value.replace(/\/+$/, '')),
  request: z.strictObject({ method, path, headers, body, id: pointer }),
  status: z.strictObject({
    ...{ method, path, headers, body, word: pointer },
    ...{ pending: words, ready: words, failed: words, expired: words, empty: words },
  }),
  download: z.strictObject({ method, path: path.nullable(), address: pointer.nullable(), headers, body }),
  client: z
    .strictObject({
      tokenUrl: httpUrl,
      /** Separated by spaces (RFC 6749, section 3.3). */
      scope: text.regex(
        /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/,
        'must be scopes separated by single spaces',
      ),
    })
    .nullish(),
  downloadOrigins: z.array(origin),
  privateAddresses: z.array(
    z.union(
      [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
      'must be an IP address or a range, such as 10.1.2.3 or 10.0.0.0/8',
    ),
  ),
  parameters: z.record(
    z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,39}$/, 'must be a letter, then letters, digits, and _'),
    parameter,
  ),
  limits: z.strictObject({ days: count, ageDays: count }),
  globalMobile: z
    .strictObject({ parameter: text, values: z.array(text).min(1, 'must not be empty') })
    .nullable(),
  intervals: z.strictObject({ status: duration, retry: duration }),
  timeouts: z.strictObject({
    ...{ request: duration, status: duration, download: duration },
    ...{ silence: duration, ready: duration },
  }),
  maxBytes: z.strictObject({ response: bytes, download: bytes }),
});

/** How a service takes requests for call records. Durations in ms. */
export type Contract = z.output<typeof members>;
/** The OAuth 2 client of a {@link Contract}. */
export type ContractClient = NonNullable<Contract['client']>;
/** A parameter of a {@link Contract}. */
export type ContractParameter = z.output<typeof parameter>;
/** The kinds of requests of a contract. */
export const PARTS = ['request', 'status', 'download'] as const;
/** The kinds of words of a service, and what they mean. */
export const MEANINGS = ['pending', 'ready', 'failed', 'expired', 'empty'] as const;

/** A text with placeholders, and where in the contract it is. */
interface Template {
  readonly at: readonly PropertyKey[];
  readonly place: 'path' | 'query' | 'header' | 'body';
  readonly names: readonly string[];
}

/** The texts of a part that have placeholders. */
export function templatesOf(contract: Contract, part: (typeof PARTS)[number]): Template[] {
  const { path: whole, headers: own, body: sent } = contract[part];
  const [before = '', query = ''] = (whole ?? '').split(/\?(.*)/s);
  const all: [at: PropertyKey[], place: Template['place'], text: string][] = [
    [['path'], 'path', before],
    [['path'], 'query', query],
    ...Object.entries(own).map(([name, value]): (typeof all)[number] => [['headers', name], 'header', value]),
    ...textsIn(sent).map(({ at, text: value }): (typeof all)[number] => [['body', ...at], 'body', value]),
  ];
  return all.map(([at, place, value]) => ({ at: [part, ...at], place, names: placeholdersIn(value) }));
}

/** The members that contradict others, and why. */
function* contradictions(contract: Contract): Generator<readonly [readonly PropertyKey[], string]> {
  const { status, download, parameters, globalMobile } = contract;
  for (const [name, { type, values }] of Object.entries(parameters)) {
    if (RESERVED.includes(name)) yield [['parameters', name], 'is a placeholder that every contract has'];
    for (const [at, value] of (values ?? []).entries()) {
      if (parameterValue(value, type) === undefined)
        yield [['parameters', name, 'values', at], `must be ${ARTICLE[type]}`];
    }
  }
  for (const part of PARTS) {
    if (contract[part].method === 'GET' && contract[part].body !== null)
      yield [[part, 'body'], 'must be null: a GET has no body'];
    for (const template of templatesOf(contract, part)) yield* wrongPlaceholders(template, part, parameters);
  }
  const used = (part: (typeof PARTS)[number]) => templatesOf(contract, part).flatMap(({ names }) => names);
  if (contract.client && !PARTS.flatMap(used).includes('accessToken'))
    yield [['client'], 'is never used: no header contains {accessToken}; add it, or remove the client'];
  if (!used('status').includes('id'))
    yield [['status', 'path'], 'must contain {id}, or the service cannot know which request is meant'];
  if ((download.path === null) === (download.address === null))
    yield [['download'], 'must have either a path or an address; set the other one to null'];
  if (download.address !== null && (download.method !== 'GET' || download.body !== null))
    yield [['download', 'method'], 'must be "GET" without a body: the download has an address of its own'];
  const seen = new Map<string, string>();
  for (const meaning of MEANINGS) {
    for (const [at, word] of status[meaning].entries()) {
      const other = seen.get(word);
      if (other !== undefined)
        yield [['status', meaning, at], `is also in status.${other}; each word means one thing`];
      seen.set(word, meaning);
    }
  }
  if (status.ready.length === 0) yield [['status', 'ready'], 'must have at least one word'];
  if (globalMobile !== null && parameters[globalMobile.parameter] === undefined) {
    const names = Object.keys(parameters).join(', ');
    yield [['globalMobile', 'parameter'], `must be one of the parameters: ${names}`];
  }
}

function* wrongPlaceholders(
  { at, place, names }: Template,
  part: (typeof PARTS)[number],
  parameters: Contract['parameters'],
): Generator<readonly [readonly PropertyKey[], string]> {
  const valid = [
    ...DATES,
    ...Object.keys(parameters),
    ...(part === 'request' ? [] : ['id']),
    ...(place === 'header' ? CREDENTIALS : []),
  ];
  for (const name of names) {
    if (!valid.includes(name)) {
      yield [
        at,
        CREDENTIALS.includes(name)
          ? `must not contain {${name}}: credentials belong into headers`
          : `contains {${name}}, which is not a placeholder here; use ${valid.map((each) => `{${each}}`).join(', ')}`,
      ];
    } else if ((place === 'path' || place === 'header') && parameters[name]?.required === false) {
      yield [
        at,
        `contains {${name}}, which is optional: only a member of the body or of the query can be left out`,
      ];
    }
  }
}

/** How an error names a value of a type. */
export const ARTICLE = {
  text: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};

/** The typed value of a text; undefined if it is not of this type. */
export function parameterValue(
  value: string,
  type: ContractParameter['type'],
): string | number | boolean | undefined {
  switch (type) {
    case 'text':
      return value === '' ? undefined : value;
    case 'boolean':
      return value === 'true' ? true : value === 'false' ? false : undefined;
    case 'integer':
      return /^-?\d{1,15}$/.test(value) ? Number(value) : undefined;
    case 'number':
      return /^-?\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : undefined;
    default:
      return type satisfies never;
  }
}

/** Reads the contract in a file; see {@link parseContract}. */
export async function readContract(file: string): Promise<Contract> {
  const contents = await readFile(file, 'utf8').catch((error: unknown) => {
    const reason = readProblem(error, file) ?? `The file ${file} cannot be read`;
    throw new ConfigError([`RECORDS_CONTRACT must be a file that you can read. ${reason}`]);
  });
  return parseContract(file, contents);
}

/** Parses a contract. Throws a ConfigError with a line for every problem, which names the file and the member. */
export function parseContract(file: string, contents: string): Contract {
  const { root, problem } = parseJsonFile(file, contents);
  if (root === undefined) throw new ConfigError([problem]);
  const value: unknown = getNodeValue(root);
  const schema = members.superRefine((contract, context) => {
    for (const [at, message] of contradictions(contract))
      context.addIssue({ code: 'custom', path: [...at], message });
  });
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  throw new ConfigError(
    error.issues.flatMap((issue) => problemsOf(issue, value)).map((each) => `${file}: ${each}`),
  );
}

function problemsOf(issue: z.core.$ZodIssue, contract: unknown): string[] {
  const at = issue.path.length === 0 ? 'the contract' : issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${[...issue.path, key].join('.')} is not a member of a contract`);
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => `${at} ${message}`);
  const given = issue.path.reduce<unknown>((value, step) => Object(value)[step], contract);
  if (given === undefined) return [`${at} is missing; nothing in a contract has a default`];
  const expected = issue.code === 'invalid_type' ? EXPECTED[issue.expected] : undefined;
  return [`${at} ${expected === undefined ? issue.message : `must be ${expected}`}`];
}

/** How a problem names a JSON type. */
const EXPECTED: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a whole number',
  object: 'an object',
  record: 'an object',
  string: 'a text',
};
