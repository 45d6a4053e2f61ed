import { createHmac } from 'node:crypto';
import type { CallbackSettings, Config, LocalConfig } from './config.js';

/** The address and security token of one lane's subscription. */
export interface LaneCallback {
  /** The secret last part of the address. */
  readonly segment: string;
  readonly url: string;
  readonly securityToken: string;
}

/**
 * The callback of one lane. Address and token are derived from the security token and the lane's name, so every process
 * knows them and nothing is stored. The service never receives the security token itself: anyone with the API key of
 * one lane can read that lane's subscription there, and must not learn those of other lanes from it.
 */
export function laneCallback({ url, securityToken }: CallbackSettings, lane: string): LaneCallback {
  const derive = (purpose: string): string =>
    createHmac('sha256', securityToken).update(`volley ${purpose}\0${lane}`).digest('base64url');
  const segment = derive('callback address');
  return { segment, url: `${url}/${segment}`, securityToken: derive('callback token') };
}

/** Every secret of the configuration, for the log to mask. */
export function secretsOf({ lanes, callback, secretsKey, redisUrl }: Config | LocalConfig): string[] {
  const redisPassword = /^[^/]*\/\/[^:@/]*:([^@/]+)@/.exec(redisUrl ?? '')?.[1];
  const perLane = lanes.flatMap((lane) => {
    const { segment, securityToken } = callback ? laneCallback(callback, lane.name) : {};
    if (!('credentials' in lane)) return [segment, securityToken];
    const { credentials } = lane;
    return [
      segment,
      securityToken,
      credentials.kind === 'apiKey' ? credentials.apiKey : credentials.password,
    ];
  });
  return [...perLane, callback?.securityToken, secretsKey, redisPassword].filter(
    (secret) => secret !== undefined,
  );
}
