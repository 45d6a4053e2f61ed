import { readFile } from 'node:fs/promises';
import { BlockList, isIP } from 'node:net';
import { getNodeValue, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { z } from 'zod';
import { ConfigError } from '../base/config/index.js';
import { DURATION_FORM, parseDuration } from '../base/duration.js';
import { HEADER_TEXT, hasStrayBrace, placeholdersIn, textsIn } from './template.js';

/*
 * The contract: how a service takes requests for call records. The interface page shows no endpoint, field, or state of this
 * area, so nothing here has a default: the operator states every member, with null or an empty list where the service has none.
 */

/** Values that every contract has. The parameters of a contract are further ones. */
const DATES = ['from', 'from.year', 'from.month', 'from.day', 'to', 'to.year', 'to.month', 'to.day'];
const CREDENTIALS = ['apiKey', 'accessToken'];
const RESERVED = [...DATES, ...CREDENTIALS, 'id'];

/** Headers that belong to the connection, or that would contradict the body. */
const FORBIDDEN_HEADERS =
  /^(host|content-length|transfer-encoding|connection|keep-alive|proxy-.*|te|trailer|upgrade|expect|accept-encoding|range|if-range)$/i;

const text = z.string('must be a text').min(1, 'must not be empty');

const httpUrl = text.superRefine((value, context) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    context.addIssue('must be an http or https address');
  } else if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    context.addIssue('must not contain a user, a password, a query, or a fragment');
  }
});
const baseUrl = httpUrl.transform((value) => value.replace(/\/+$/, ''));
const origin = httpUrl.transform((value, context) => {
  const url = new URL(value);
  if (url.pathname !== '/')
    context.addIssue('must be an origin, such as https://files.example.com, without a path');
  return url.origin;
});

const method = z.enum(['GET', 'POST', 'PUT'], 'must be "GET", "POST", or "PUT"');

const path = text.superRefine((value, context) => {
  if (!value.startsWith('/')) context.addIssue('must begin with /');
  if (/[\s#\\]|\p{Cc}/u.test(value)) context.addIssue('must not contain spaces, control characters, # or \\');
  if (hasStrayBrace(value)) context.addIssue('has a brace that belongs to no placeholder');
});

const headers = z.record(z.string(), z.string('must be a text')).superRefine((value, context) => {
  for (const [name, template] of Object.entries(value)) {
    const report = (message: string) => context.addIssue({ code: 'custom', path: [name], message });
    if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) report('is not the name of a header');
    if (FORBIDDEN_HEADERS.test(name)) report('is a header that Volley sets itself');
    if (/[\r\n]/.test(template)) report('must not contain CR or LF');
    else if (!HEADER_TEXT.test(template)) report('must contain only printable ASCII characters');
    if (hasStrayBrace(template)) report('has a brace that belongs to no placeholder');
  }
  const names = Object.keys(value).map((name) => name.toLowerCase());
  if (new Set(names).size < names.length) context.addIssue('names a header twice');
});

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
    for (const { path: at, text: template } of textsIn(value)) {
      if (hasStrayBrace(template)) {
        context.addIssue({ code: 'custom', path: at, message: 'has a brace that belongs to no placeholder' });
      }
    }
  });

/** RFC 6901. */
const pointer = z
  .string('must be a JSON pointer, such as /id')
  .regex(/^(\/([^~/]|~[01])*)*$/, 'must be a JSON pointer, such as /id');

const words = z.array(text, 'must be a list of words; empty if the service has none');

const duration = z.string(`must be ${DURATION_FORM}`).transform((value, context) => {
  const ms = parseDuration(value);
  if (ms !== undefined && ms >= 1 && ms <= MAX_DURATION_MS) return ms;
  context.addIssue(`must be ${DURATION_FORM}`);
  return z.NEVER;
});
/** The longest time that a timer of Node.js takes. */
const MAX_DURATION_MS = 2_147_483_647;

const bytes = z.int('must be a whole number of bytes').min(1, 'must be at least 1');

const parameter = z.strictObject({
  type: z.enum(['text', 'integer', 'number', 'boolean'], 'must be "text", "integer", "number", or "boolean"'),
  required: z.boolean('must be true or false'),
  /** The only valid values. */
  values: z.array(z.string()).min(1, 'must not be empty').nullable(),
});

const privateAddress = text.superRefine((value, context) => {
  const [address = '', prefix] = value.split('/');
  const family = isIP(address);
  try {
    if (family === 0) throw new TypeError();
    const type = family === 4 ? 'ipv4' : 'ipv6';
    if (prefix !== undefined)
      new BlockList().addSubnet(address, /^\d+$/.test(prefix) ? Number(prefix) : -1, type);
  } catch {
    context.addIssue('must be an IP address or a range, such as 10.1.2.3 or 10.0.0.0/8');
  }
});

const schema = z
  .strictObject({
    /** For people. */
    description: z.string().optional(),
    /** The part before every path. */
    baseUrl,
    /** Asks for records. A 2xx response must have the id of the request. */
    request: z.strictObject({ method, path, headers, body, id: pointer }),
    /** Asks how far a request is, and what its words mean. */
    status: z.strictObject({
      method,
      path,
      headers,
      body,
      word: pointer,
      pending: words,
      ready: words,
      failed: words,
      /** The file is no longer available. */
      expired: words,
      /** There are no records to download. */
      empty: words,
    }),
    /** Downloads the file: from `path`, or from the address in the response to the status request. */
    download: z.strictObject({ method, path: path.nullable(), address: pointer.nullable(), headers, body }),
    /** The OAuth 2 client whose token is {accessToken}. Null or left out: the account of the lane. */
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
    /** Other origins that a download address may name. Requests to them carry no credentials. */
    downloadOrigins: z.array(origin),
    /** Private addresses that may be connected to. All others are refused. */
    privateAddresses: z.array(privateAddress),
    /** What a request may ask for, besides its dates. */
    parameters: z.record(
      z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,39}$/, 'must be a letter, then letters, digits, and _'),
      parameter,
    ),
    limits: z.strictObject({
      /** The most days of one request. */
      days: z.int().min(1).nullable(),
      /** How many days ago the first day may be. */
      ageDays: z.int().min(1).nullable(),
    }),
    /** The values of a parameter that make a request one for Global Mobile Numbers. */
    globalMobile: z
      .strictObject({ parameter: text, values: z.array(text).min(1, 'must not be empty') })
      .nullable(),
    intervals: z.strictObject({
      /** Between two status requests. */
      status: duration,
      /** Before a request that failed is repeated; a request for records is repeated only if it was certainly not accepted. */
      retry: duration,
    }),
    timeouts: z.strictObject({
      request: duration,
      status: duration,
      /** From the start of a download to its last byte. */
      download: duration,
      /** The longest silence within a download. */
      silence: duration,
      /** How long `fetch` waits until the file is ready. */
      ready: duration,
    }),
    maxBytes: z.strictObject({ response: bytes, download: bytes }),
  })
  .superRefine((contract, context) => {
    const report = (at: readonly PropertyKey[], message: string) =>
      context.addIssue({ code: 'custom', path: [...at], message });
    const { request, status, download, parameters, globalMobile } = contract;

    for (const name of Object.keys(parameters)) {
      if (RESERVED.includes(name)) report(['parameters', name], 'is a placeholder that every contract has');
    }
    for (const [name, { type, values }] of Object.entries(parameters)) {
      for (const [at, value] of (values ?? []).entries()) {
        if (parameterValue(value, type) === undefined)
          report(['parameters', name, 'values', at], `must be ${ARTICLE[type]}`);
      }
    }
    for (const [name, part] of Object.entries({ request, status, download })) {
      if (part.method === 'GET' && part.body !== null)
        report([name, 'body'], 'must be null: a GET has no body');
      const known = [...DATES, ...Object.keys(parameters), ...(name === 'request' ? [] : ['id'])];
      const check = (
        at: readonly PropertyKey[],
        template: string,
        mayHave: readonly string[],
        isWhole: boolean,
      ) => {
        for (const placeholder of placeholdersIn(template)) {
          if (CREDENTIALS.includes(placeholder) && !mayHave.includes(placeholder)) {
            report(at, `must not contain {${placeholder}}: credentials belong into headers`);
          } else if (!mayHave.includes(placeholder)) {
            report(
              at,
              `contains {${placeholder}}, which is not a placeholder here; use ${mayHave.map((each) => `{${each}}`).join(', ')}`,
            );
          } else if (!isWhole && parameters[placeholder]?.required === false) {
            report(
              at,
              `contains {${placeholder}}, which is optional: only a member of the body or of the query can be left out`,
            );
          }
        }
      };
      if (part.path !== null) {
        const [before = '', query = ''] = part.path.split(/\?(.*)/s);
        check([name, 'path'], before, known, false);
        check([name, 'path'], query, known, true);
      }
      for (const [header, template] of Object.entries(part.headers)) {
        check([name, 'headers', header], template, [...known, ...CREDENTIALS], false);
      }
      for (const { path: at, text: template } of textsIn(part.body))
        check([name, 'body', ...at], template, known, true);
    }
    const sendsToken = [request, status, download].some((part) =>
      Object.values(part.headers).some((header) => placeholdersIn(header).includes('accessToken')),
    );
    if (contract.client && !sendsToken)
      report(['client'], 'is never used: no header contains {accessToken}; add it, or remove the client');
    if (
      ![status.path, ...Object.values(status.headers), ...textsIn(status.body).map((each) => each.text)]
        .join()
        .includes('{id}')
    ) {
      report(['status', 'path'], 'must contain {id}, or the service cannot know which request is meant');
    }
    if ((download.path === null) === (download.address === null)) {
      report(['download'], 'must have either a path or an address; set the other one to null');
    }
    if (download.address !== null && (download.method !== 'GET' || download.body !== null)) {
      report(['download', 'method'], 'must be "GET" without a body: the download has an address of its own');
    }
    const classes = ['pending', 'ready', 'failed', 'expired', 'empty'] as const;
    const seen = new Map<string, string>();
    for (const kind of classes) {
      for (const [at, word] of status[kind].entries()) {
        const other = seen.get(word);
        if (other !== undefined)
          report(['status', kind, at], `is also in status.${other}; each word means one thing`);
        seen.set(word, kind);
      }
    }
    if (status.ready.length === 0) report(['status', 'ready'], 'must have at least one word');
    if (globalMobile !== null && parameters[globalMobile.parameter] === undefined) {
      report(
        ['globalMobile', 'parameter'],
        `must be one of the parameters: ${Object.keys(parameters).join(', ')}`,
      );
    }
  });

/** How a service takes requests for call records. Durations in ms. */
export type Contract = z.output<typeof schema>;
/** The OAuth 2 client of a {@link Contract}. */
export type ContractClient = NonNullable<Contract['client']>;
/** One kind of request of a {@link Contract}. */
export type ContractPart = Pick<Contract['request'], 'headers' | 'body'> & { readonly method: string };
/** A parameter of a {@link Contract}. */
export type ContractParameter = z.output<typeof parameter>;

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
  let contents: string;
  try {
    contents = await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'error';
    throw new ConfigError([`RECORDS_CONTRACT: ${file} cannot be read (${code})`]);
  }
  return parseContract(file, contents);
}

/** Parses a contract. Throws a ConfigError with a line for every problem, which names the file and the member. */
export function parseContract(file: string, contents: string): Contract {
  const json = contents.replace(/^\uFEFF/, '');
  const errors: ParseError[] = [];
  const root = parseTree(json, errors, { disallowComments: true, allowTrailingComma: false });
  const [error] = errors;
  if (root === undefined || error !== undefined) {
    const line = json.slice(0, error?.offset ?? 0).split('\n').length;
    const code = error === undefined ? 'ValueExpected' : printParseErrorCode(error.error);
    const reason = code.replace(/(?!^)[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
    throw new ConfigError([`${file}, line ${line}: not valid JSON (${reason})`]);
  }
  const value: unknown = getNodeValue(root);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new ConfigError(parsed.error.issues.flatMap((issue) => problemsOf(issue, file, value)));
}

function problemsOf(issue: z.core.$ZodIssue, file: string, contract: unknown): string[] {
  const at = (path: readonly PropertyKey[]): string =>
    `${file}: ${path.length === 0 ? 'the contract' : path.map(String).join('.')}`;
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${at([...issue.path, key])} is not a member of a contract`);
  }
  if (memberAt(contract, issue.path) === undefined) {
    return [`${at(issue.path)} is missing; nothing in a contract has a default`];
  }
  const expected = issue.code === 'invalid_type' ? EXPECTED[issue.expected] : undefined;
  return [`${at(issue.path)} ${expected === undefined ? issue.message : `must be ${expected}`}`];
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

function memberAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, step) =>
      typeof at === 'object' && at !== null ? (at as Record<PropertyKey, unknown>)[step] : undefined,
    value,
  );
}
