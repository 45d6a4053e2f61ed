import { BlockList, isIP } from 'node:net';
import { z } from 'zod';
import { laneLimits } from '../../campaign/limits/limits.js';
import { parsePrice } from '../../campaign/limits/price.js';
import { planOfCountry } from '../../campaign/numbers/numbering-plan.js';
import type { SomeLimits } from '../../campaign/states/limit-values.js';
import { checkSender } from '../../campaign/text/sender.js';
import { DURATION_FORM, parseDuration } from '../duration.js';
import { jsonOrUndefined } from '../json.js';
import { parseRedisUrl } from '../redis/redis-url.js';

/** A format with this metadata has values that never appear in an error message. */
export const SECRET = { secret: true };

/**
 * A format of setting texts. `expected` completes "must be …", in errors and in `.env.example`. `parse` returns the
 * value of a text. If the text is invalid, it returns undefined, or calls `reject` with a more precise message. `Code`: as what else the
 * value may be written in code (code-settings.ts), which makes the text.
 */
function format<Value, Code = never>(
  expected: string,
  parse: (text: string, reject: (message: string) => undefined) => Value | undefined,
): z.ZodType<Value, string | Code> {
  return z
    .string()
    .transform((text, context): Value => {
      let message = `must be ${expected}`;
      const value = parse(text, (own) => {
        message = own;
        return undefined;
      });
      if (value !== undefined) return value;
      context.addIssue(message);
      return z.NEVER;
    })
    .meta({ expected }) as z.ZodType<Value, string | Code>;
}

const matching = (pattern: RegExp, expected: string) =>
  format(expected, (text) => (pattern.test(text) ? text : undefined));

export const apiKey = matching(/^[\x21-\x7e]+$/, 'printable characters without spaces').meta(SECRET);

/** Braces would change the hash tag of the keys. */
export const redisPrefix = matching(
  /^[A-Za-z0-9_.:-]{1,60}$/,
  'up to 60 letters, digits and _ . : - without spaces or braces',
);

export const secretsKey = matching(
  /^(?:[0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{43}=?)$/,
  '32 random bytes in base64 or hex; generate them with `openssl rand -base64 32`',
).meta(SECRET);

export const securityToken = matching(
  /^[\x21-\x7e]{16,200}$/,
  '16 to 200 printable characters without spaces; generate one with `openssl rand -base64 32`',
).meta(SECRET);

export function oneOf<const Values extends readonly [string, ...string[]]>(...values: Values) {
  const list = values.map((value) => `"${value}"`).join(', ');
  const expected = list.replace(/, (?=[^,]*$)/, ' or ');
  return z.enum(values, `must be ${expected}`).meta({ expected });
}

/** Some of a few names, separated by commas. */
export function someOf<const Value extends string>(values: readonly Value[]) {
  return format<readonly Value[], readonly Value[]>(
    `some of ${values.join(', ')}, separated by commas`,
    (text) => {
      const parts = text.split(',').map((part) => part.trim());
      const known = values.filter((value) => parts.includes(value));
      return parts.every((part) => known.some((value) => value === part)) ? known : undefined;
    },
  );
}

/** A whole number of `unit`, written without the unit. */
export function count(min: number, max: number, unit: string) {
  const expected = `a whole number of ${unit} from ${min} to ${max}`;
  return format<number, number>(expected, (text, reject) => {
    const ms = parseDuration(text);
    if (unit === 'milliseconds' && ms !== undefined)
      return reject(`must be ${expected}, without a unit: ${ms}`);
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : undefined;
  });
}

/** A number of bytes, written in megabytes. */
export function megabytes(min: number, max: number) {
  const whole = count(min, max, 'megabytes');
  return whole.transform((megabytes) => megabytes * 1_000_000).meta({ ...whole.meta() });
}

/** Texts that are separated by commas, each of which is valid. */
const listOf = (form: string, isValid: (one: string) => boolean) =>
  format<string[], readonly string[]>(form, (text) => {
    const all = text.split(',').map((one) => one.trim());
    return all.every(isValid) ? all : undefined;
  });

/** Addresses and networks (CIDR), separated by commas. */
export const networks = listOf(
  'addresses or networks separated by commas, such as 127.0.0.1, 10.0.0.0/8',
  (one) => {
    const [address = '', bits = '0', ...more] = one.split('/');
    const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
    return more.length === 0 && /^\d+$/.test(bits) && Number(bits) <= most;
  },
);

/** Names of hosts, separated by commas. */
export const hostNames = listOf('names of hosts separated by commas, such as metrics.example', (one) =>
  /^[\w-]+(?:\.[\w-]+)*$/.test(one),
);

/** A text that is sent as it is. */
export const plainText = format('a text of 1 to 500 characters without {{placeholders}}', (text) =>
  text.length <= 500 && !text.includes('{{') ? text : undefined,
);

/** Words or short phrases, separated by commas. */
export const words = listOf(
  'words separated by commas, such as stop,opt out',
  (one) => /^.*[\p{L}\p{N}].*$/u.test(one) && one.length <= 100,
);

/** Dates; whether they exist is checked with the window that they belong to. */
export const dates = listOf('dates separated by commas, such as 2030-05-01,2030-12-25', (one) =>
  /^\d{4}-\d{2}-\d{2}$/.test(one),
);

/** What everyone may send on a lane, as a lanes file has it. */
export const limits = format<z.output<typeof laneLimits>, SomeLimits>(
  'a JSON object with limits, such as {"countries":["GB"]}',
  (text, reject) => {
    const value = jsonOrUndefined(text);
    if (value === undefined) return undefined;
    const { data, error } = laneLimits.safeParse(value);
    const [issue] = error?.issues ?? [];
    return issue === undefined ? data : reject([...issue.path, issue.message].join(' '));
  },
);

/** A duration in ms; the bounds are written as a user writes them. */
export function duration(min: string, max: string) {
  const [minMs = 0, maxMs = 0] = [parseDuration(min), parseDuration(max)];
  return format(`a duration from ${min} to ${max}: ${DURATION_FORM}`, (text) => {
    const ms = parseDuration(text);
    return ms !== undefined && ms >= minMs && ms <= maxMs ? ms : undefined;
  });
}

/** A whole number or duration that `schema` accepts, or this word. */
const orWord = <const Word extends string, Given>(schema: z.ZodType<number, Given>, word: Word) => {
  const expected = `${schema.meta()?.['expected']}, or "${word}"`;
  return format<number | Word, Given>(expected, (text) =>
    text === word ? word : schema.safeParse(text).data,
  );
};

/** A whole number or duration that `schema` accepts, or `auto`. */
export const orAuto = <Given>(schema: z.ZodType<number, Given>) => orWord(schema, 'auto');

/** A duration that `schema` accepts, or `never`. */
export const orNever = <Given>(schema: z.ZodType<number, Given>) => orWord(schema, 'never');

// URLs are secret because people put passwords into them.
export const redisUrl = format(
  'a Redis URL: redis://host:6379, rediss://user:password@host:6379/0, redis+sentinel://host:26379,host:26379/master-name or redis+cluster://host:7000,host:7001, with special characters in the password escaped (@ as %40, / as %2F)',
  (text) => {
    try {
      const { nodes } = parseRedisUrl(text);
      // A password with an unescaped / or @ ends up in the host.
      const isHost = /^[^@:\s]+$|^\[[^\]]+\]$/;
      return nodes.every(({ host, port }) => isHost.test(host) && port <= 65_535) ? text : undefined;
    } catch {
      // The parser's message is dropped: it may contain part of the password if an escape sequence is broken.
      return undefined;
    }
  },
).meta(SECRET);

export const proxyUrl = format('the URL of a proxy, such as http://proxy.example:3128', (text) => {
  const address = text.includes('://') ? text : `http://${text}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isProxy = url !== undefined && /^https?:$/.test(url.protocol) && url.hostname !== '';
  return isProxy && url.pathname === '/' && url.search === '' ? address : undefined;
}).meta(SECRET);

/** The part of a service's address before `path`. A trailing slash, or `path` at the end, is removed. */
export const baseUrl = (path: string, example: string) =>
  format(`an http(s) URL, the part before ${path}, such as ${example}`, (text, reject) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return undefined;
    if (url.username !== '' || url.password !== '')
      return reject('must not contain a user or password: credentials have their own settings');
    if (url.search !== '' || url.hash !== '') return reject('must not contain a ? or # part');
    const before = url.pathname.replace(/\/+$/, '');
    const base = before.endsWith(path) ? before.slice(0, -path.length) : before;
    if (`${base}/`.includes(`${path}/`)) {
      return reject(`must be only the part before ${path}: ${url.origin}${base.split(path)[0]}`);
    }
    return url.origin + base.replace(/\/+$/, '');
  }).meta(SECRET);

export const tokenUrl = format('an http(s) URL, such as https://idm.example/oauth2/token', (text, reject) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return undefined;
  if (url.username !== '' || url.password !== '') {
    return reject('must not contain a user or password: lanes have their own credentials');
  }
  return url.search === '' && url.hash === '' ? url.href : reject('must not contain a ? or # part');
}).meta(SECRET);

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** True for an http(s) URL whose host is this machine: 127.0.0.0/8, `[::1]` or `localhost`. */
export function isLoopback(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') return false;
  if (hostname === 'localhost') return true;
  const address = hostname.replace(/^\[|\]$/g, '');
  const family = isIP(address);
  return family !== 0 && LOOPBACK.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

/** The public address of the notification receiver, without a trailing slash. */
export const callbackUrl = format(
  'an https URL that the service can reach, such as https://sms.example.com/notifications; http is allowed only on this machine',
  (text, reject) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || (url.protocol !== 'https:' && !isLoopback(text))) return undefined;
    if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
      return reject('must not contain a user, a password, a ? or a # part: Volley appends a secret path');
    }
    // Our router reads * as a wildcard and %2F as an ordinary character, and /v1 is the HTTP API.
    if (/\*|%2f/i.test(url.pathname) || /^\/v1(\/|$)/.test(url.pathname)) {
      return reject('must have a path without * and %2F that is not below /v1, where the HTTP API is');
    }
    return url.href.replace(/\/+$/, '');
  },
).meta(SECRET);

/** Where browsers reach the console: an origin. */
export const consoleUrl = format(
  'an https URL without a path, such as https://volley.example; http is allowed only on this machine',
  (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || (url.protocol !== 'https:' && !isLoopback(text))) return undefined;
    const isBare = `${url.username}${url.password}${url.search}${url.hash}` === '';
    return isBare && /^\/(?:console\/?)?$/.test(url.pathname) ? url.origin : undefined;
  },
);

export const sender = format(
  'a number of up to 15 digits, or a text of up to 11 characters',
  (text, reject) => {
    const check = checkSender(text);
    if (check.kind !== 'invalid') return text;
    return reject(
      `must be a number of up to 15 digits, or a text of up to 11 characters: ${check.reason.replace(/\.$/, '')}`,
    );
  },
);

export const country = format(
  'an ISO 3166 country code of two letters, such as GB, DK or US',
  (text, reject) => {
    const code = text.toUpperCase();
    if (code === 'UK') return reject('must be an ISO 3166 country code; the United Kingdom is GB');
    return planOfCountry(code) === undefined ? undefined : code;
  },
);

export const price = format(
  'an amount with at most six decimals and its currency (ISO 4217), such as 0.042 EUR',
  (text, reject) => {
    const parsed = parsePrice(text);
    return typeof parsed === 'string' ? reject(parsed) : parsed;
  },
);

export const port = format<number, number>('a port from 0 to 65535; 0 picks any free port', (text) =>
  /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined,
);

export const host = matching(
  /^[A-Za-z0-9_.:-]+$/,
  'an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of its addresses',
);
