import type { LoginOutcome } from '../auth/outcome.js';
import { lifetimeOf } from '../auth/token-record.js';
import type { Events } from '../events/events.js';

/** Emits how a login or a refresh of a lane's account ended. `success` is the event for a new token pair. */
export function emitTokenEvent(
  events: Events,
  lane: string,
  success: 'token.loggedIn' | 'token.refreshed',
  outcome: LoginOutcome,
): void {
  const refused = (reason: string): void => {
    events.emit({ type: 'token.refused', account: lane, reason });
  };
  const unanswered = (reason: string): void => {
    events.emit({ type: 'token.unanswered', account: lane, reason });
  };
  switch (outcome.kind) {
    case 'pair': {
      const lifetimeMs = lifetimeOf(outcome.accessToken)?.expiresAfterMs ?? null;
      events.emit({ type: success, account: lane, lifetimeMs });
      break;
    }
    case 'badCredential':
      refused('user name or password not valid (10126)');
      break;
    case 'wrongTarget':
      refused('target account not valid (10117)');
      break;
    case 'blocked':
      refused('the account is blocked (11044)');
      break;
    case 'refused':
      refused(outcome.reason);
      break;
    case 'loginTimeout':
      unanswered('the account service reports a timeout (10126)');
      break;
    case 'noAnswer':
      unanswered(outcome.reason);
      break;
    default:
      outcome satisfies never;
  }
}
