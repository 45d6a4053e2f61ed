import { createHmac } from 'node:crypto';

/** Where the service is asked to send its notifications, and what they prove themselves with. */
export interface CallbackSettings {
  /** The public address in front of the receiver, without a trailing slash. */
  readonly url: string;
  readonly securityToken: string;
  /**
   * What proves that a notification is the service's, besides the secret address: the `token`, or nothing (`path`). The
   * interface page does not show whether and how the token comes back.
   */
  readonly proof: 'token' | 'path';
}

/** What one lane subscribes with. */
export interface LaneCallback {
  /** The secret last part of the address. */
  readonly segment: string;
  readonly url: string;
  readonly securityToken: string;
}

/**
 * The callback of one lane. Address and token follow from the security token and the lane's name, so that every process
 * knows them and nothing is stored. The security token itself is never given to the service: whoever holds the API key
 * of one lane can read that lane's subscription there, and must not learn from it those of the others.
 */
export function laneCallback({ url, securityToken }: CallbackSettings, lane: string): LaneCallback {
  const derived = (purpose: string): string =>
    createHmac('sha256', securityToken).update(`volley ${purpose}\0${lane}`).digest('base64url');
  const segment = derived('callback address');
  return { segment, url: `${url}/${segment}`, securityToken: derived('callback token') };
}
