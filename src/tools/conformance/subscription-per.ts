import { readCallback } from '../../service/client/read-response.js';
import type { FoundSubscription, Run } from './run.js';
import { GET_SUBSCRIPTION } from './session.js';

/** Compares the lane's subscription with those of other lanes. */
export async function noteSubscriptionPer(
  { others, ways, session }: Run,
  found: FoundSubscription,
): Promise<undefined> {
  if (found === null) return undefined;
  for (const other of others) {
    const arrived = await other.request(GET_SUBSCRIPTION);
    if (arrived.kind !== 'reply') continue;
    const { status, body } = arrived.reply;
    const url = status === 200 ? readCallback(body ?? '')?.url : undefined;
    if (status !== 404 && url === undefined) continue;
    if (status === 404 && found.kind === 'none') continue;
    const lanes = `the lanes ${session.lane.name} and ${other.lane.name}`;
    const isShared = found.kind === 'exists' && url === found.url;
    ways.note('subscriptionPer', isShared ? `${lanes} have the same one` : `${lanes} have one each`);
    return undefined;
  }
  return undefined;
}
