import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { returnedOf } from '../../campaign/fields/field-sets.js';
import { CAMPAIGN_STATES } from '../../campaign/states/campaign.js';
import { perName, RECIPIENT_STATES } from '../../campaign/states/recipient.js';
import type { DeliveredEvent, WebhookData } from '../../campaign/views/webhook-events.js';
import { inboundView } from '../../engine/inbound/inbound-service.js';
import { inboundStore } from '../../engine/inbound/inbound-store.js';
import { parseClosed } from '../../engine/lane/closed.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import { orNull } from '../../engine/recipients/damaged.js';
import { readMeta } from '../../engine/store/campaign-meta.js';
import { readState } from '../../engine/store/campaigns.js';
import { campaignIdIn } from '../results-log.js';
import type { ReadResults } from '../results-reader.js';
import { type Delivery, placesOf } from './delivery.js';

/** What a delivery says now. */
export interface Payload {
  /** Null if there is nothing to say any more. */
  readonly data: WebhookData<DeliveredEvent> | null;
  readonly resultCount: number;
  /** Results that were removed at the end of their retention. */
  readonly removedCount: number;
}

const NOTHING: Payload = { data: null, resultCount: 0, removedCount: 0 };
const only = <Type extends DeliveredEvent>(_type: Type, data: WebhookData<Type>): Payload => ({
  ...NOTHING,
  data,
});

/** What {@link payloadReader} needs. */
export interface PayloadDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'nameOf'>;
  readonly read: (places: ReturnType<typeof placesOf>) => Promise<ReadResults>;
}

/** Reads the current state of what deliveries name. */
export function payloadReader({ redis, keys, finder, read }: PayloadDeps) {
  const campaignState = async ({ lane, entries: [entry] }: Delivery): Promise<Payload> => {
    const id = entry === undefined ? null : await campaignIdIn(redis, keys, lane, entry[0]);
    if (id === null) return NOTHING;
    const reading = Promise.all([readMeta(redis, keys, lane, id), readState(redis, keys, lane, id)]);
    const [meta, state] = (await orNull(reading)) ?? [null, null];
    if (meta === null || state === null) return NOTHING;
    // The state has changed again, and a later event says so. Earlier versions logged no state: then, the number is 0.
    const told = CAMPAIGN_STATES[entry?.[2] ?? 0];
    if (told !== 'importing' && told !== state.state) return NOTHING;
    return only('campaign.state', {
      campaign: id,
      name: meta.name,
      lane: await finder.nameOf(lane),
      idempotencyKey: meta.idempotencyKey ?? null,
      ...returnedOf(meta),
      revision: meta.revision ?? 0,
      state: state.state,
      recipientCount: state.total,
      counts: perName(RECIPIENT_STATES, (each) => state.counts[each] ?? 0),
      endedAt: state.endedAt === 0 ? null : new Date(state.endedAt).toISOString(),
    });
  };

  return async (delivery: Delivery): Promise<Payload> => {
    const { type, lane, ref } = delivery;
    switch (type) {
      case 'recipients.settled': {
        const { results, campaigns, removedCount } = await read(placesOf(delivery));
        const data = results.length === 0 ? null : { results, campaigns };
        return { data, resultCount: results.length, removedCount };
      }
      case 'campaign.state':
        return campaignState(delivery);
      case 'lane.stopped': {
        const [closed, epoch] = await redis.hmget(keys.lane(lane, 'lane'), 'closed', 'epoch');
        const { stopped } = parseClosed(closed);
        if (stopped === undefined || epoch !== ref) return NOTHING;
        return only(type, { lane: await finder.nameOf(lane), state: 'stopped', reason: stopped.why });
      }
      case 'inbound.received': {
        const [message] = await inboundStore(redis, keys, lane).before(ref, 1, true);
        return message?.position === ref
          ? only(type, inboundView(await finder.nameOf(lane), message))
          : NOTHING;
      }
      default:
        return type satisfies never;
    }
  };
}

/** See {@link payloadReader}. */
export type PayloadReader = ReturnType<typeof payloadReader>;
