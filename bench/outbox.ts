/*
 * What the messages of an outbox cost, and how soon they are sent:
 *
 *   npm run bench -- outbox [messages] [races] [parts] [messages per send time]
 *
 * `messages` are stored for later in bulk; some are stored one at a time over HTTP, and some are sent. `races` cancels
 * and updates arrive around the due time of their messages. `parts`, such as `waiting,http`: only these; default: all.
 *
 *   waiting    bytes of a waiting message with 45 bytes of content, with 35 and with 5 messages per send time or as many as you say; puts
 *              per second in bulk
 *   set        how long it takes to preview and change the settings, to list what waits by time, number, and reference, and to scan and
 *              cancel messages; bytes before and after
 *   http       puts per second one at a time over HTTP, and their CPU time; then each message as a campaign
 *   final      bytes of a message whose delivery status is final
 *   wire       from the due time to the request
 *   now        from a put that is to be sent now to the request, one message at a time, at several rates, with a fast and a slow
 *              service; the quota is known, or `auto` and not learned yet
 *   races      cancels and updates against the due time
 *
 * Each part has a Redis of its own, with `appendfsync always`.
 */
import { final } from './outbox/final.js';
import { http } from './outbox/http.js';
import { now, wire } from './outbox/latency.js';
import { races } from './outbox/races.js';
import { set } from './outbox/set.js';
import { waiting } from './outbox/waiting.js';

const [
  count = '100000',
  raceCount = '10000',
  parts = 'waiting,set,http,final,wire,now,races',
  perSendTime = '35,5',
] = process.argv.slice(2);
const perSendTimes = perSendTime.split(',').map(Number);
const some = Math.min(20_000, Math.max(1_000, Number(count) / 10));
const all: Readonly<Record<string, () => Promise<void>>> = {
  waiting: () => waiting(Number(count), perSendTimes),
  set: () => set(Number(count)),
  http: () => http(some / 2),
  final: () => final(some),
  wire,
  now,
  races: () => races(Number(raceCount)),
};
for (const part of parts.split(',')) {
  const run = all[part];
  if (run === undefined) throw new Error(`no part ${part}; there are ${Object.keys(all).join(', ')}`);
  await run();
}
