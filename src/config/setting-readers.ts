import { isSupportedCountry } from 'libphonenumber-js/max';
import { z } from 'zod';
import { checkSender } from '../campaign/sender.js';
import { DURATION_FORM, parseDuration } from '../duration.js';
import { parseRedisUrl } from '../redis/connection.js';
import { HOURLY_QUOTA, hourlyQuota } from './limits.js';
import { isLoopback } from './loopback.js';

/** The value of a setting's text, or what it must be instead. */
export type Reader<Value> = (text: string) => Value | Wrong;

/** `wanted`: what would be right, as the rest of a sentence that begins with the setting's name. */
export class Wrong {
  readonly wanted: string;
  constructor(wanted: string) {
    this.wanted = wanted;
  }
}

/** A setting whose text `read` turns into its value; what it wants instead becomes the problem's message. */
export function text<Value>(read: Reader<Value>) {
  return z.string().transform((given, context): Value => {
    const value = read(given);
    if (!(value instanceof Wrong)) return value;
    context.addIssue(value.wanted);
    return z.NEVER;
  });
}

/** A whole number of a unit, without one. */
export const count = (min: number, max: number, unit: string): Reader<number> => {
  const form = `must be a whole number of ${unit} from ${min} to ${max}`;
  return (given) => {
    const unitless = parseDuration(given);
    if (unit === 'milliseconds' && unitless !== undefined) {
      return new Wrong(`${form}, without a unit: ${unitless}`);
    }
    const value = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN;
    return value >= min && value <= max ? value : new Wrong(form);
  };
};

/** A duration, in ms; the bounds as one would write them. */
export const span = (min: string, max: string): Reader<number> => {
  const [least, most] = [parseDuration(min) ?? 0, parseDuration(max) ?? 0];
  return (given) => {
    const value = parseDuration(given);
    if (value === undefined) return new Wrong(`must be ${DURATION_FORM}`);
    return value >= least && value <= most ? value : new Wrong(`must be from ${min} to ${max}`);
  };
};

/** Requests an hour, or `auto`. */
export function readQuota(given: string): number | 'auto' | Wrong {
  const read = hourlyQuota.safeParse(/^\d+$/.test(given) ? Number(given) : given);
  return read.success ? read.data : new Wrong(HOURLY_QUOTA);
}

/** A duration in ms, or `auto`. */
export function readMayLose(given: string): number | 'auto' | Wrong {
  if (given === 'auto') return given;
  const value = span('0s', '1m')(given);
  return value instanceof Wrong ? new Wrong(`${value.wanted}, or "auto"`) : value;
}

/** A URL that `connect` takes. */
export function readRedisUrl(given: string): string | Wrong {
  try {
    // A password with an unescaped / or @ ends up in the host.
    if (parseRedisUrl(given).nodes.every(({ host }) => /^[^@:\s]+$|^\[[^\]]+\]$/.test(host))) return given;
  } catch {
    // The parser's own message may hold a piece of the password when an escape in it is broken.
  }
  return new Wrong(
    'must be a Redis URL: redis://host:6379, rediss://user:password@host:6379/0, redis+sentinel://host:26379,host:26379/master-name or redis+cluster://host:7000,host:7001; special letters in a password are written as %40, %2F, …',
  );
}

/** Base URLs come with a trailing slash or with the first step of the path, which are put right. */
export const baseUrl =
  (before: string): Reader<string> =>
  (given) => {
    const form = `must be an http(s) URL, the part before ${before}, such as https://host.example${before === '/outbound' ? '/smsmessaging/v1' : ''}`;
    if (!URL.canParse(given)) return new Wrong(form);
    const url = new URL(given);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') return new Wrong(form);
    if (url.username !== '' || url.password !== '') {
      return new Wrong('must not hold a user or password: credentials have settings of their own');
    }
    if (url.search !== '' || url.hash !== '') return new Wrong('must not hold a ? or # part');
    const path = url.pathname.replace(/\/+$/, '');
    const base = path.endsWith(before) ? path.slice(0, -before.length) : path;
    if (`${base}/`.includes(`${before}/`)) {
      return new Wrong(`must be only the part before ${before}: ${url.origin}${base.split(before)[0]}`);
    }
    return url.origin + base.replace(/\/+$/, '');
  };

const CALLBACK_URL =
  'must be an https address that the service can reach, such as https://sms.example.com/notifications; http only on this machine';

/** A public address, without a trailing slash. */
export function readCallbackUrl(given: string): string | Wrong {
  if (!URL.canParse(given)) return new Wrong(CALLBACK_URL);
  const url = new URL(given);
  if (url.protocol !== 'https:' && !isLoopback(given)) return new Wrong(CALLBACK_URL);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    return new Wrong(
      'must not hold a user, a password, a ? or a # part: Volley adds a secret path of its own',
    );
  }
  // To the router of our own door * means anything and %2F is no slash; and below /v1 lies the API.
  if (/\*|%2f/i.test(url.pathname) || /^\/v1(\/|$)/.test(url.pathname)) {
    return new Wrong('must have a path without * and %2F, and not below /v1, where the HTTP API is');
  }
  return url.href.replace(/\/+$/, '');
}

/** A sender that the service takes. */
export function readSender(given: string): string | Wrong {
  const form = checkSender(given);
  if (form.kind !== 'invalid') return given;
  return new Wrong(
    `must be a number of up to 15 digits, or a text of up to 11 letters: ${form.reason.replace(/\.$/, '')}`,
  );
}

/** An ISO 3166 code, in capitals. */
export function readCountry(given: string): string | Wrong {
  const code = given.toUpperCase();
  if (isSupportedCountry(code)) return code;
  const hint = code === 'UK' ? '; the United Kingdom is GB' : '';
  return new Wrong(`must be an ISO 3166 country code of two letters, such as GB, DK or US${hint}`);
}

/** A text of a form. */
export const matching =
  (pattern: RegExp, wanted: string): Reader<string> =>
  (given) =>
    pattern.test(given) ? given : new Wrong(wanted);

/** A TCP port. */
export function readPort(given: string): number | Wrong {
  const port = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
  return port <= 65_535 ? port : new Wrong('must be a port from 0 (any free one) to 65535');
}

/** An address of this machine. */
export const readHost = matching(
  /^[A-Za-z0-9_.:-]+$/,
  'must be an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all it has',
);
