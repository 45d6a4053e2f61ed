import { Agent, request } from 'node:http';
import pLimit from 'p-limit';
import { startServer } from '../server.js';
import { grouped, OUTBOX, say, withBench } from './bench.js';
import { messageAt } from './messages.js';

/** `count` puts over HTTP, one message each, in several ways; then as many campaigns of one recipient. */
export async function http(count: number): Promise<void> {
  await withBench(async ({ volley, env, spent }) => {
    const { key } = await volley.keys.create({ name: 'bench', scopes: ['read', 'send', 'operate'] });
    const server = await startServer({ ...env, LOG_LEVEL: 'info' });
    const { hostname, port } = new URL(server.origin);
    let next = 0;
    for (const [connections, what] of [
      [1, 'due later'],
      [8, 'due later'],
      [32, 'due later'],
      [32, 'due now'],
      [32, 'as a campaign of its own'],
    ] as const) {
      const agent = new Agent({ keepAlive: true, maxSockets: connections });
      const put = (at: number): Promise<void> =>
        new Promise((resolve, reject) => {
          const { id, to, name } = messageAt(at);
          const sendAt = new Date(Date.now() + 86_400_000 + Math.floor(at / 35) * 60_000).toISOString();
          const isCampaign = what === 'as a campaign of its own';
          const body = JSON.stringify(
            isCampaign
              ? { message: 'Hi {{name}}', recipients: [{ to, name }] }
              : { to, name, ...(what === 'due now' ? {} : { sendAt }) },
          );
          const path = isCampaign ? '/v1/campaigns' : `/v1/outboxes/${OUTBOX}/messages/${id}`;
          const method = isCampaign ? 'POST' : 'PUT';
          const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
          const sent = request({ hostname, port, path, method, agent, headers }, (reply) => {
            let text = '';
            reply.setEncoding('utf8');
            reply.on('data', (part: string) => {
              text += part;
            });
            reply.on('end', () =>
              reply.statusCode === 200 || reply.statusCode === 201 ? resolve() : reject(new Error(text)),
            );
          });
          sent.on('error', reject);
          sent.end(body);
        });
      const limit = pLimit(connections);
      const run = (some: number): Promise<unknown> => {
        const from = next;
        next += some;
        return Promise.all(Array.from({ length: some }, (_, at) => limit(() => put(from + at))));
      };
      await run(500);
      const before = server.meter().processorMs;
      const own = process.cpuUsage();
      const began = performance.now();
      const cost = await spent(() => run(count));
      const seconds = (performance.now() - began) / 1_000;
      const cpu = server.meter().processorMs - before;
      const client = process.cpuUsage(own);
      say(
        'http',
        `${connections} at a time, ${what}: ${grouped(count / seconds)} messages/s; CPU of each: server ${(cpu / count).toFixed(2)} ms, Redis ${(cost.redisMs / count).toFixed(2)} ms, client ${((client.user + client.system) / 1e3 / count).toFixed(2)} ms; ${(cost.commands / count).toFixed(1)} commands`,
      );
      agent.destroy();
    }
    await server.stop();
  });
}
