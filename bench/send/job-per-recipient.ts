/**
 * The third contender of bench/send.ts: a BullMQ worker with a job per recipient, as its documentation shows. The jobs are in
 * the queue before the measurement starts.
 */
import { Agent } from 'node:http';
import { Worker } from 'bullmq';
import { got } from 'got';
import { connect } from '../../src/base/redis/connection.js';
import { IN_FLIGHT, type Order, QUEUE, request, serve } from './contender.js';

const agent = { http: new Agent({ keepAlive: true, maxSockets: IN_FLIGHT }) };
const connection = connect(process.env['REDIS_URL'] ?? '', 'blocking');

await serve(async ({ baseUrl, requests }: Order) => {
  const { url, headers, body } = request(baseUrl);
  const worker = new Worker<{ to: string }>(
    QUEUE,
    async ({ data }) => {
      await got.post(url, { headers, json: body(data.to), agent, retry: { limit: 0 } }).json<unknown>();
    },
    { connection, concurrency: IN_FLIGHT, removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } },
  );
  let done = 0;
  await new Promise<void>((resolve) => {
    worker.on('completed', () => {
      done += 1;
      if (done === requests) resolve();
    });
  });
  await worker.close();
});
