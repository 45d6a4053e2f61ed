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
