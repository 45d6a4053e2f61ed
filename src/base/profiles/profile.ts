import type { DeliveryStatus } from '../../campaign/states/recipient.js';

/**
 * What one version of the service documents, as data. A lane has one profile. A profile changes only what its documents state:
 * everything else is the same for all profiles, and a response that leaves the outcome open stays open.
 */
export interface ServiceProfile {
  /** How a lane authenticates: an API key or account (login and token area), or an OAuth 2 client with scopes. */
  readonly credentials: KeyOrAccount | OAuthClient;
  /** Optional fields of a send request beyond those of the interface page. */
  readonly request: {
    /** The request carries the reference of its batch, and every report of it repeats the reference. */
    readonly callbackData: boolean;
  };
  /**
   * How long the service answers a repeated `clientCorrelator` with its first response, without sending again; null if that is not
   * documented, so that a setting of the lane decides.
   */
  readonly correlatorLifetimeMs: number | null;
  /** The words of a delivery status, and what each means. Any other word is not final. */
  readonly statuses: Readonly<Record<string, DeliveryStatus>>;
  /** Where a notification carries the security token of its subscription: `anywhere` if that is not documented. */
  readonly securityToken: 'anywhere' | 'deliveryInfoList';
  /** Whether the service has a subscription to the messages that people send. */
  readonly hasInbound: boolean;
  /**
   * What a 400 to a send says. `notAccepted`: no message of the request was accepted. `notAcceptedOrImpossible`: this, or that the
   * first message cannot be delivered, which leaves open what happened to the others.
   */
  readonly badRequest: 'notAccepted' | 'notAcceptedOrImpossible';
  /** Why a subscription is not accepted (406), by the `code` in the response: what the operator can do. */
  readonly notAcceptable: Readonly<Record<string, string>>;
}

interface KeyOrAccount {
  readonly kind: 'keyOrAccount';
}

interface OAuthClient {
  readonly kind: 'client';
  /** The scope that every token needs. The product of the client is a second one. */
  readonly scope: string;
}
