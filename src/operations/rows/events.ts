import { z } from 'zod';
import { BROADCAST_EVENTS } from '../../reporting/event-feed.js';
import { byCampaign, byConfiguredLanes, byKey } from '../access.js';
import { feed } from '../operation.js';
import { campaignEventData, eventData, liveData } from '../schemas/event-schema.js';
import { laneName, onlyOfLane, separated, several } from '../schemas/schemas.js';

const eventTypes = <const Types extends readonly [string, ...string[]]>(types: Types) =>
  separated(z.enum(types)).optional().describe('Only events of these types. A `gap` is always sent.');

const isOneOf = (type: string, types: readonly string[] | undefined): boolean =>
  types === undefined || types.includes(type);

export const followEvents = feed({
  name: 'followEvents',
  summary: 'Follow all events',
  description: `Server-sent events of the campaigns and lanes that the key may use. Each has an \`id\`; send the last one as \`Last-Event-ID\` to resume after it. A \`gap\` event says that some events are no longer stored. The events are ${BROADCAST_EVENTS.map((type) => `\`${type}\``).join(', ')}.`,
  tag: 'Events',
  scope: 'read',
  access: byConfiguredLanes,
  http: 'GET /events',
  cli: { because: 'the log of a worker has the events, and `volley status --watch` shows the progress' },
  input: z.strictObject({
    lane: onlyOfLane('events'),
    type: eventTypes(BROADCAST_EVENTS),
  }),
  item: eventData,
  outcomes: ['unavailable', 'notFound'],
  run: (_volley, { type: types }, { lanes }) => ({
    includes: ({ lane, type }) => (lanes?.includes(lane) ?? true) && isOneOf(type, types),
  }),
});

export const followCampaign = feed({
  name: 'followCampaign',
  summary: 'Follow a campaign',
  description:
    'Server-sent events of one campaign. `campaign.status` has the status of the campaign: it comes first, and again after each change, at most once a second. The stream does not end with the campaign: close it when `endedAt` is set.',
  tag: 'Events',
  scope: 'read',
  access: byCampaign,
  http: 'GET /campaigns/{id}/events',
  cli: { because: '`volley status --watch` follows a campaign' },
  input: z.strictObject({
    id: z.string().min(1).max(40),
    type: eventTypes([...BROADCAST_EVENTS, 'campaign.status']),
  }),
  item: campaignEventData,
  outcomes: ['unavailable', 'notFound'],
  run: (_volley, { id, type: types }) => ({
    includes: (event) => 'campaign' in event && event.campaign === id && isOneOf(event.type, types),
    statusOf: isOneOf('campaign.status', types) ? id : undefined,
  }),
});

/** Lanes and campaigns that one stream shows in detail. */
const MOST_IN_DETAIL = 20;

export const followLive = feed({
  name: 'followLive',
  summary: 'Follow what is happening',
  description:
    'Server-sent items for a page that shows what is happening, at most twice a second, and only what has changed: a `tick` with the time, which also says whether Redis is available; the `overview`; a `campaign` for each running one; a `lane` for each; and the events of both, which resume as those of `/v1/events` do. With `lanes`, also their `ledger`; with `campaigns`, also these campaigns, or `gone`. Of hundreds of lanes or campaigns, some items are a few seconds old.',
  tag: 'Events',
  scope: 'read',
  access: byKey,
  http: 'GET /live',
  cli: { because: '`volley status --watch` follows a campaign' },
  input: z.strictObject({
    lanes: several(laneName, MOST_IN_DETAIL).optional().describe('Lanes whose ledger is shown'),
    campaigns: several(z.string().min(1).max(40), MOST_IN_DETAIL)
      .optional()
      .describe('Campaigns that are shown although they do not run'),
  }),
  item: liveData,
  outcomes: ['unavailable'],
  run: (_volley, input, { lanes }) => ({
    includes: ({ lane }) => lanes?.includes(lane) ?? true,
    live: { allowed: lanes, lanes: input.lanes ?? [], campaigns: input.campaigns ?? [] },
  }),
});
