/**
 * The first contender of bench/send.ts: a simple loop of got and p-limit(32). It records nothing, so after a crash it is unknown
 * what was sent.
 */
import { Agent } from 'node:http';
import { got } from 'got';
import pLimit from 'p-limit';
import { IN_FLIGHT, numbers, type Order, request, serve } from './contender.js';

const agent = { http: new Agent({ keepAlive: true, maxSockets: IN_FLIGHT }) };

await serve(async ({ baseUrl, requests }: Order) => {
  const limit = pLimit(IN_FLIGHT);
  const { url, headers, body } = request(baseUrl);
  const post = (to: string) =>
    got.post(url, { headers, json: body(to), agent, retry: { limit: 0 } }).json<unknown>();
  await Promise.all(Array.from(numbers(requests), (to) => limit(() => post(to))));
});
