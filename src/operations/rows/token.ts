import { z } from 'zod';
import type { TokenCache, TokenState, Volley } from '../../app/volley.js';
import { InputError } from '../../campaign/errors/errors.js';
import { byCallingLane } from '../access.js';
import { call } from '../operation.js';
import { LANE_FLAG, laneName, ofLibrary } from '../schemas/schemas.js';

/** The token of a lane that sends with an account. */
const TOKEN = {
  tag: 'Tokens',
  access: byCallingLane,
  http: { because: 'accounts belong to the operator, and a refused login counts towards their lockout' },
} as const;
const LANE = {
  ...LANE_FLAG,
  about: 'the lane (default: the only one with an account)',
} as const;
const onLane = z.strictObject({ lane: laneName });

/** What a login or a renewal comes to. `later`: it may be tried again `at` that time; `stopped`: an operator must act. */
export type Renewal = { readonly lane: string } & (
  | { readonly outcome: 'token'; readonly generation: number }
  | { readonly outcome: 'later'; readonly reason: string; readonly at: string }
  | { readonly outcome: 'stopped'; readonly reason: string }
);

function tokenOf(volley: Volley, lane: string): TokenCache {
  const token = volley.token(lane);
  if (token !== null) return token;
  throw new InputError(`lane ${lane} has no account, so it has no token`, { field: 'lane' });
}

function renewal(lane: string, result: Awaited<ReturnType<TokenCache['login']>>): Renewal {
  switch (result.kind) {
    case 'token':
      return { lane, outcome: 'token', generation: result.generation };
    case 'later':
      return { lane, outcome: 'later', reason: result.reason, at: new Date(result.at).toISOString() };
    case 'stopped':
      return { lane, outcome: 'stopped', reason: result.reason };
    default:
      return result satisfies never;
  }
}

export const showToken = call({
  ...TOKEN,
  name: 'showToken',
  summary: 'Show the state of a token',
  description: 'This includes its age and expiry, and how many logins are left.',
  cli: { usage: 'token show', lane: 'onlyWithAccount', flags: { lane: LANE }, examples: ['token show'] },
  input: onLane,
  output: ofLibrary<{ readonly lane: string } & TokenState>(),
  returns: 'The state of the token, without the token',
  run: async (volley, { lane }) => ({ lane, ...(await tokenOf(volley, lane).show()) }),
});

export const logIn = call({
  ...TOKEN,
  name: 'logIn',
  summary: 'Log in again',
  audit: 'token.login',
  cli: {
    usage: 'token login',
    lane: 'onlyWithAccount',
    note: 'Exit code 3: the service refuses logins until an operator acts.',
    flags: {
      lane: LANE,
      again: { about: 'also after logins were stopped, once you have fixed the reason' },
    },
    examples: ['token login --again'],
  },
  input: onLane.extend({ again: z.boolean().default(false) }),
  output: ofLibrary<Renewal>(),
  returns: 'What the login came to',
  run: async (volley, { lane, again }) => renewal(lane, await tokenOf(volley, lane).login({ again })),
});

export const renewToken = call({
  ...TOKEN,
  name: 'renewToken',
  summary: 'Renew the token now',
  description: 'It uses the refresh token if there is one.',
  audit: 'token.refresh',
  cli: {
    usage: 'token refresh',
    lane: 'onlyWithAccount',
    flags: { lane: LANE },
    examples: ['token refresh'],
  },
  input: onLane,
  output: ofLibrary<Renewal>(),
  returns: 'What the renewal came to',
  run: async (volley, { lane }) => renewal(lane, await tokenOf(volley, lane).refreshNow()),
});
