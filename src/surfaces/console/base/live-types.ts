import type { Schemas } from './api.js';

/*
 * What the live stream sends. Its types are those of the OpenAPI document.
 */

export type CampaignStatus = Schemas['CampaignStatus'];
export type LaneStatus = Schemas['LaneStatus'];
export type Waiting = Schemas['Waiting'];
export type LiveCampaign = Schemas['LiveCampaign'];
export type LiveLane = Schemas['LiveLane'];
export type Attention = Schemas['Attention'];
export type Overview = Schemas['Overview'];
export type Ledger = Schemas['Ledger'];

/** The items of the stream besides the events of the feed. */
export type LiveItem =
  | { readonly type: 'tick'; readonly data: Schemas['Tick'] }
  | { readonly type: 'overview'; readonly data: Overview }
  | { readonly type: 'campaign'; readonly data: LiveCampaign }
  | { readonly type: 'lane'; readonly data: LiveLane }
  | { readonly type: 'ledger'; readonly data: Ledger }
  | { readonly type: 'gone'; readonly data: Schemas['Gone'] }
  | { readonly type: 'gap' };
