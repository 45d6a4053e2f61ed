import type { Exchange, Reply } from './exchange.js';
import { whatFailed } from './outcome.js';
import { reasonOf } from './reason.js';
import { readTokenPair } from './schemas.js';

/** How a login or a refresh ended. */
export type LoginOutcome =
  | { kind: 'pair'; accessToken: string; refreshToken: string }
  /** 10126: username or password not valid. */
  | { kind: 'badCredential' }
  /** 10126 in a reply that speaks of a timeout: it says nothing of the password. */
  | { kind: 'loginTimeout' }
  /** 10117: incorrect value in targetAccountId. */
  | { kind: 'wrongTarget' }
  /** 11044: blocked after multiple failed logins; recovered through a forgot-password reset. */
  | { kind: 'blocked' }
  /** Any other clear no. */
  | { kind: 'refused'; reason: string }
  /** Nobody knows: no answer, or none that could be read. */
  | { kind: 'noAnswer'; reason: string };

/** Headers whose numbers and words are HTTP's own and not the service's; `keep-alive` even speaks of a timeout. */
const OWN_TO_HTTP =
  /^(content-|access-control-|x-ratelimit|ratelimit|keep-alive$|connection$|age$|date$|etag$|expires$|last-modified$|retry-after$|set-cookie$|via$|alt-svc$|cache-control$|strict-transport|server-timing$)|request-?id|trace|correlation/;

/** A result code that is not a part of a longer number. */
const CODE = /(?<!\d)(?<!\d\.)(?:10126|10117|11044)(?!\d)/g;

/** Runs that are an id or a token if they hold more digits than a code and a few: those digits mean nothing. */
const LONG_RUN = /[\w.-]{24,}/g;
const CODE_AND_A_FEW = 8;

const TIMEOUT = /time[sd]?[\s_-]*out/i;

/** Answers that ask for another try later rather than say no: too slow, too early, too many. */
const LATER = new Set([408, 425, 429]);

/**
 * The outcome of a login or refresh, for every status and every failure. Which status a failed login carries is not
 * shown (interface page, Authentication, rule 7), nor where the result code stands, so it is looked for in the headers,
 * the status line and the body of every reply that carries no token pair. `secrets` are texts no reason may repeat.
 */
export function loginOutcome(exchange: Exchange, secrets: readonly string[]): LoginOutcome {
  if (exchange.kind === 'failure') return { kind: 'noAnswer', reason: `${whatFailed(exchange)}.` };
  const { status, body } = exchange;
  const success = status >= 200 && status < 300;
  const pair = success && body !== null ? readTokenPair(body) : null;
  if (pair !== null) return { kind: 'pair', ...pair };
  const coded = codedOutcome(exchange);
  if (coded !== null) return coded;
  if (status < 300 || status >= 500 || LATER.has(status)) {
    const what = success ? `${status}, but without a token pair that could be read` : `${status}`;
    return {
      kind: 'noAnswer',
      reason: reasonOf(`The service answered ${what}.`, success ? '' : (body ?? ''), secrets),
    };
  }
  return { kind: 'refused', reason: reasonOf(`The service answered ${status}.`, body ?? '', secrets) };
}

/** By result code (interface page, area B result codes); the more lasting one first if there are several. */
function codedOutcome(reply: Reply): LoginOutcome | null {
  const words = wordsOf(reply);
  const codes = new Set(words.replace(LONG_RUN, withoutId).match(CODE));
  if (codes.has('11044')) return { kind: 'blocked' };
  if (codes.has('10117')) return { kind: 'wrongTarget' };
  if (codes.has('10126')) return { kind: TIMEOUT.test(words) ? 'loginTimeout' : 'badCredential' };
  return null;
}

function withoutId(run: string): string {
  return run.replace(/\D/g, '').length > CODE_AND_A_FEW ? ' ' : run;
}

/** Everything in a reply that may be the service's own word. */
function wordsOf({ headers, statusText, body }: Reply): string {
  const spoken = Object.entries(headers)
    .filter(([name]) => !OWN_TO_HTTP.test(name))
    .map(([name, value]) => `${name}: ${value}`);
  return [statusText, ...spoken, body ?? ''].join('\n');
}
