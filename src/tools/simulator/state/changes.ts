import type { Activity } from './activity.js';
import type { Arrival } from './arrivals.js';
import type { Accepted } from './ledger.js';

/** A login session. All tokens of a session, including refreshed ones, form a family and are revoked together. */
export interface Session {
  readonly username: string;
  readonly accountId: string;
  readonly family: number;
}

/** An accepted request for call records. */
export interface RecordsJob {
  readonly id: string;
  /** The API key, or `account:` and the id of the account. */
  readonly key: string;
  readonly at: number;
  /** What it asked for, by the placeholders of the contract. */
  readonly values: Readonly<Record<string, string>>;
  readonly end: 'ready' | 'failed' | 'empty';
  readonly readyAt: number;
  readonly secret: string;
  /** Downloads that were sent in full. */
  downloads: number;
}

/** One change of a simulator's state. `key`: the name of a quota. */
export type Change =
  | { readonly kind: 'accepted'; readonly request: Accepted }
  | { readonly kind: 'arrived'; readonly arrival: Arrival }
  | {
      readonly kind: 'subscribed';
      readonly key: string;
      readonly url: string;
      readonly securityToken: string;
      readonly finalDelivery?: boolean | undefined;
    }
  | { readonly kind: 'unsubscribed'; readonly key: string }
  | {
      readonly kind: 'tokens';
      readonly session: Session;
      readonly access: string;
      readonly accessExpiresAt: number;
      readonly refresh: string;
      readonly refreshExpiresAt: number;
    }
  | { readonly kind: 'redeemed'; readonly refresh: string }
  | { readonly kind: 'revoked'; readonly family: number }
  | { readonly kind: 'loginFailed'; readonly username: string }
  | { readonly kind: 'unblocked' }
  | { readonly kind: 'activity'; readonly activity: Activity }
  | { readonly kind: 'recordsAccepted'; readonly job: RecordsJob }
  | { readonly kind: 'cleared' };

/** When a change was made, if its age matters. */
export function madeAt(change: Change): number | undefined {
  switch (change.kind) {
    case 'accepted':
      return change.request.at;
    case 'arrived':
      return change.arrival.at;
    case 'activity':
      return change.activity.at;
    case 'recordsAccepted':
      return change.job.at;
    default:
      return undefined;
  }
}

/** Writes a change to the journal, or forgets it if there is none. */
export type Recorder = (change: Change) => void;
