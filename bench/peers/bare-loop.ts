/**
 * A simple loop of got and p-limit. It uses got's retries, which wait as long as the `Retry-After` of a 429 says
 * (https://github.com/sindresorhus/got/blob/main/documentation/7-retry.md); p-limit bounds the requests in flight
 * (https://github.com/sindresorhus/p-limit#readme). It does not know the quota and sends as fast as it can.
 *
 * Each worker takes every second line of the list, sends it, and polls each request until it is final. A progress file has a
 * line for each accepted and each final request. After a restart it skips those; requests that were in flight at the kill have
 * no line and are sent again.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { got } from 'got';
import pLimit from 'p-limit';
import { readOrder, SENDER } from './order.js';
import { isFinal, requestIdOf, sendBody } from './service.js';

const { baseUrl, apiKey, listFile, worker, workers, inFlight, pollMs } = readOrder();

const client = got.extend({
  prefixUrl: `${baseUrl}/outbound/${SENDER}`,
  headers: { authorization: `Bearer ${apiKey}` },
  retry: { limit: Number.MAX_SAFE_INTEGER, methods: ['GET', 'POST'], statusCodes: [429] },
});
const limit = pLimit(inFlight);

const progressFile = `${listFile}.${worker}.progress`;
const note = (line: string): void => appendFileSync(progressFile, `${line}\n`);

/** Request ids of what was accepted, by number; null once it is final. */
const known = new Map<string, string | null>();
for (const line of existsSync(progressFile) ? readFileSync(progressFile, 'utf8').split('\n') : []) {
  const [to = '', word = ''] = line.split(' ');
  known.set(to, word === 'final' ? null : word);
}

const own = readFileSync(listFile, 'utf8')
  .trim()
  .split('\n')
  .filter((_, at) => at % workers === worker);
await Promise.all(own.map(carryThrough));

async function carryThrough(to: string): Promise<void> {
  const id = known.get(to);
  if (id === null) return;
  await follow(to, id ?? (await send(to)));
}

async function send(to: string): Promise<string> {
  return limit(async () => {
    const id = requestIdOf(await client.post('requests', { json: sendBody(to) }));
    note(`${to} ${id}`);
    return id;
  });
}

async function follow(to: string, id: string): Promise<void> {
  for (;;) {
    await delay(pollMs);
    const { body } = await limit(() => client.get(`requests/${id}/deliveryInfos`));
    if (isFinal(body)) break;
  }
  note(`${to} final`);
}
