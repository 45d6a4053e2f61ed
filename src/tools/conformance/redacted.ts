import { jsonOf, readCallback } from '../../service/client/read-response.js';
import { quoteOf } from '../../service/client/reason.js';
import type { CheckedReply } from './description.js';

const MAX_LENGTH = 320;
/** Entries of a list that are shown. */
const MAX_ENTRIES = 1;

/** A response for people: its status, and its body without anything that may be a secret. */
export function redactedReply({ status, headers, body }: CheckedReply, secrets: readonly string[]): string {
  if (body === null) return `${status}, and a body that broke off`;
  if (body === '') return `${status} without a body`;
  const json = jsonOf(body);
  // A body of success contains numbers, addresses, and tokens: only its members are shown.
  if (json !== undefined && (status < 400 || readCallback(body) !== null))
    return `${status}, ${cut(outline(json))}`;
  const type = (headers['content-type'] ?? 'no Content-Type').split(';', 1)[0];
  const quote = status < 400 ? '' : quoteOf(body, secrets);
  return quote === '' ? `${status}, ${type}` : `${status}, ${type}: ${cut(quote)}`;
}

/** JSON with its members and statuses, but no other values. */
function outline(value: unknown, name = ''): string {
  if (typeof value === 'string') {
    if (name === 'resourceURL') return JSON.stringify(shapeOfUrl(value));
    return name === 'deliveryStatus' ? JSON.stringify(quoteOf(value).slice(0, 30)) : '"…"';
  }
  if (Array.isArray(value)) {
    const shown = value.slice(0, MAX_ENTRIES).map((entry) => outline(entry));
    return `[${[...shown, ...(value.length > MAX_ENTRIES ? ['…'] : [])].join(',')}]`;
  }
  if (typeof value !== 'object' || value === null) return String(value).replace(/\d/g, '0');
  return `{${Object.entries(value)
    .map(([key, inner]) => `${JSON.stringify(quoteOf(key))}:${outline(inner, key)}`)
    .join(',')}}`;
}

/** A `resourceURL` without the sender, the id, and everything else that may be a secret or a number. */
export function shapeOfUrl(url: string): string {
  if (!URL.canParse(url)) return 'not a URL';
  const { protocol, host, pathname, search } = new URL(url);
  const segments = pathname.split('/').map((segment, at, all) => {
    if (all[at - 1] === 'outbound') return '{sender}';
    if (all[at - 1] === 'requests') return '{id}';
    return /^[A-Za-z][\w.-]{0,19}$/.test(segment) || segment === '' ? segment : '…';
  });
  return `${protocol}//${host}${segments.join('/')}${search === '' ? '' : '?…'}`;
}

/** What form the body of an error has. */
export function formOf({ headers, body }: CheckedReply): string {
  if (body === null || body.trim() === '') return 'no body';
  const json = jsonOf(body);
  const type = headers['content-type'] ?? '';
  if (json === undefined) return /html/i.test(type) || /^\s*</.test(body) ? 'HTML or XML' : 'text';
  const exception = oneApiCode(json);
  if (exception !== null) return `OneAPI error (${exception})`;
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return 'JSON';
  return readCallback(body) === null
    ? `JSON with ${
        Object.keys(json)
          .slice(0, 4)
          .map((key) => quoteOf(key))
          .join(', ') || 'no members'
      }`
    : 'the callback that exists';
}

function oneApiCode(json: unknown): string | null {
  const error = member(json, 'requestError');
  const exception = member(error, 'serviceException') ?? member(error, 'policyException');
  const code = member(exception, 'messageId');
  return typeof code === 'string' ? quoteOf(code) : null;
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function cut(text: string): string {
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1)}…` : text;
}
