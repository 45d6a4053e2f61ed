// A server of your own with Volley inside: one process that is configured in code, sends, and serves Volley's API beside routes of its own.
//
//   npm install fastify
//   export REDIS_URL=redis://127.0.0.1:6379 MESSAGING_BASE_URL=https://host.example/smsmessaging/v1 API_KEY=…
//   node examples/library/server.js                                    # PORT: default 8080
//   VOLLEY_KEY=$(npx volley keys create --name bookings --scope send,read) node examples/platform/app.js   # a client
//
// app.js and its API keys work as they do with `volley up`.
import Fastify from 'fastify';
import { createVolley, defineConfig } from 'volley';
import { volleyHttp } from 'volley/http';

const { REDIS_URL, REDIS_PREFIX, MESSAGING_BASE_URL, API_KEY, PORT = '8080' } = process.env;

// Members have the names of the settings in .env.example.
const config = defineConfig({
  redis: REDIS_URL,
  redisPrefix: REDIS_PREFIX,
  messagingBaseUrl: MESSAGING_BASE_URL,
  lanes: [{ name: 'tables', apiKey: API_KEY, hourlyQuota: 5_000 }],
  retention: '30d',
});
const volley = createVolley({ config });

const app = Fastify();
app.register(volleyHttp, { volley, config });
// An error of Volley has a `code`, and the `statusCode` with which Fastify answers.
app.get('/campaigns/:id', ({ params }) => volley.status(params.id));
const origin = await app.listen({ host: '127.0.0.1', port: Number(PORT) });
await volley.work().ready;
console.log(`Listening at ${origin}`);

for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, async () => {
    await app.close();
    await volley.close();
  });
