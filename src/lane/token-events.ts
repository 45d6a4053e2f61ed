import { lifetimeOf } from '../auth/lifetime.js';
import type { LoginOutcome } from '../auth/outcome.js';
import type { Events } from '../events/events.js';

/** How a token was come by. */
export type TokenGot = 'token.loggedIn' | 'token.refreshed';

/** Tells how a login or a refresh of a lane's account ended, and hands the outcome on. */
export function tellOfToken(events: Events, lane: string, got: TokenGot) {
  return <Outcome extends LoginOutcome>(outcome: Outcome): Outcome => {
    switch (outcome.kind) {
      case 'pair': {
        const lifeMs = lifetimeOf(outcome.accessToken)?.expiresAfterMs ?? null;
        events.emit({ type: got, account: lane, lifeMs });
        break;
      }
      case 'badCredential':
        events.emit({
          type: 'token.refused',
          account: lane,
          reason: 'user name or password not valid (10126)',
        });
        break;
      case 'wrongTarget':
        events.emit({ type: 'token.refused', account: lane, reason: 'target account not valid (10117)' });
        break;
      case 'blocked':
        events.emit({ type: 'token.refused', account: lane, reason: 'the account is blocked (11044)' });
        break;
      case 'refused':
        events.emit({ type: 'token.refused', account: lane, reason: outcome.reason });
        break;
      case 'loginTimeout':
        events.emit({
          type: 'token.unanswered',
          account: lane,
          reason: 'the service speaks of a timeout (10126)',
        });
        break;
      case 'noAnswer':
        events.emit({ type: 'token.unanswered', account: lane, reason: outcome.reason });
        break;
      default:
        outcome satisfies never;
    }
    return outcome;
  };
}
