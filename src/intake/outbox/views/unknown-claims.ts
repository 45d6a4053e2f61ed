import type { Redis } from '../../../base/redis/connection.js';
import type { Keys, LaneId } from '../../../base/redis/keys.js';
import { outboxId } from '../../../engine/recipients/outbox-messages.js';
import { listUnknown } from '../../../engine/sending/unknown.js';

/** The numbers of the claims of an outbox with an unknown outcome, by the number and the id of their message: they name its request. */
export async function unknownClaims(
  lane: { readonly redis: Redis; readonly keys: Keys; readonly id: LaneId },
  outbox: string,
): Promise<ReadonlyMap<string, number>> {
  const batches = await listUnknown(lane);
  const ofOutbox = batches.filter(({ campaign }) => campaign === outboxId(outbox));
  return new Map(ofOutbox.map(({ first, message, number }) => [`${first} ${message}`, number]));
}
