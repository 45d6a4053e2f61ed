import { signal } from '@preact/signals';
import type { Session } from 'built/surfaces/http/access/session.js';
import { allowsScope, type RequiredScope } from '../../../campaign/states/api-key.js';
import { ApiError, commandOf, type Name, offline, ROOT, whenSignedOut } from './api.js';

/** The session; null: signed out; undefined: not known yet. */
export const session = signal<Session | null | undefined>(undefined);
/** Why the session is not known yet; empty while it is asked for. */
export const begunLate = signal('');
export const signedOutBecause = signal<'ended' | 'link' | null>(null);

async function request(method: 'GET' | 'POST' | 'DELETE', body?: object): Promise<Session | null> {
  const json = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const init = { method, credentials: 'same-origin', ...json } as const;
  const response = await fetch(`${ROOT}/session`, init).catch(() => {
    throw offline();
  });
  if (response.status === 204) return null;
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(response.status, answer);
  return answer as Session;
}

/** Signs in with an API key, or with the secret of a link. */
export async function signIn(with_: { readonly key: string } | { readonly link: string }): Promise<void> {
  session.value = await request('POST', with_);
  signedOutBecause.value = null;
}

export async function signOut(): Promise<void> {
  await request('DELETE').catch(() => null);
  signedOutBecause.value = null;
  session.value = null;
}

const AGAIN_MS = 2_000;

/** The secret of a sign-in link, which is in the fragment: browsers never send that to a server. It leaves the address and the history at once. */
function takeLink(): string | undefined {
  const link = /^#signin=(.+)$/.exec(location.hash)?.[1];
  if (link !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return link;
}

/** Signs in with the link that opened the page, or continues the session of the cookie. Tries again while the server does not respond. */
export async function begin(link = takeLink()): Promise<void> {
  try {
    if (link === undefined) session.value = await request('GET');
    else await signIn({ link });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    begunLate.value = error.message;
    if (error.status === 0 || error.status >= 500) return void setTimeout(begin, AGAIN_MS, link);
    if (link === undefined) {
      session.value = null;
      return;
    }
    // The browser may have a session all the same.
    signedOutBecause.value = 'link';
    await begin(undefined);
  }
}

/** Whether the key may run an operation, here on a lane. What it may not run is not shown. */
export function mayRun(name: Name, lane?: string): boolean {
  const key = session.value;
  if (!key) return false;
  const { scope, allLanes } = commandOf(name);
  if (!allowsScope(key, scope as RequiredScope)) return false;
  if (key.lanes === null) return true;
  return !allLanes && (lane === undefined || key.lanes.includes(lane));
}

/** The server does not know the session any more, or its key was revoked. */
export function endSession(): void {
  if (session.value) signedOutBecause.value = 'ended';
  session.value = null;
}
whenSignedOut(endSession);
