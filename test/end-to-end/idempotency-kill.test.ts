import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createVolley } from '../../src/app/runtime.js';
import { loadLocalConfig } from '../../src/base/config/index.js';
import { createEvents } from '../../src/base/events/events.js';
import { freePort } from '../../src/base/redis/private-server.js';
import { NIGHTLY } from '../base/parts.js';
import { testRedis } from '../base/redis/test-redis.js';
import { type Program, startProgram } from './program.js';

const { url, prefix } = testRedis('idempotency-kill');

/** More for a long run: `ROUNDS=500 npx vitest run test/end-to-end/idempotency-kill.test.ts`. */
const ROUNDS = Number(process.env['ROUNDS'] ?? (NIGHTLY ? 4 : 2));
const REQUESTS = 20;

const settings = {
  REDIS_URL: url,
  REDIS_PREFIX: prefix,
  API_KEY: 'key',
  SENDER_ADDRESS: 'ACME',
  MAX_SCHEDULE_AHEAD: '365000d',
  LOG_LEVEL: 'warn',
};

/** A response of the API. */
interface Json {
  readonly id?: string;
  readonly code?: string;
}

/** What one client got in the end. */
type Answer = { readonly id: string } | 'conflict';

/** Half of the clients send one text and half another, over HTTP and through the library, while the server is killed. */
test(`Twenty parallel requests with one idempotency key create one campaign, in ${ROUNDS} rounds with a kill of the server`, {
  timeout: 60_000 + ROUNDS * 30_000,
}, async () => {
  const volley = createVolley({
    config: loadLocalConfig(settings),
    events: createEvents({ level: 'silent' }),
  });
  onTestFinished(() => volley.close());
  const { key } = await volley.keys.create({ name: 'clients', scopes: ['read', 'send'] });
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  let server: Program | undefined;
  onTestFinished(async () => void (await server?.end('SIGKILL')));
  const start = async (): Promise<void> => {
    server = startProgram('workers/http.js', { ...settings, HTTP_PORT: String(port) });
    await expect
      .poll(
        () =>
          fetch(`${origin}/readyz`).then(
            ({ ok }) => ok,
            () => false,
          ),
        { timeout: 30_000 },
      )
      .toBe(true);
  };
  await start();

  const input = (text: string, idempotencyKey: string) => ({
    recipients: [{ to: '+447700900124' }, { to: '+447700900125' }],
    message: text,
    sendAt: Date.UTC(2999, 0, 1),
    idempotencyKey,
  });
  /** Repeats a request until it gets an answer, as a client does after a broken connection, 500, or 503. */
  const overHttp = async (text: string, idempotencyKey: string): Promise<Answer> => {
    const { idempotencyKey: _, sendAt, ...body } = input(text, idempotencyKey);
    for (;;) {
      const reply = await fetch(`${origin}/v1/campaigns`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'idempotency-key': idempotencyKey,
        },
        body: JSON.stringify({ ...body, sendAt: new Date(sendAt).toISOString() }),
      }).catch(() => undefined);
      const isAnswer = reply !== undefined && reply.status < 500 && reply.status !== 429;
      const json = isAnswer ? ((await reply.json().catch(() => undefined)) as Json | undefined) : undefined;
      if (reply === undefined || json === undefined) {
        // The server that starts needs the processor.
        await delay(50);
        continue;
      }
      if (json.id !== undefined) return { id: json.id };
      expect([reply.status, json.code]).toEqual([422, 'conflict']);
      return 'conflict';
    }
  };
  const inLibrary = async (text: string, idempotencyKey: string): Promise<Answer> => {
    const outcome = await volley.enqueue(input(text, idempotencyKey));
    if (outcome.outcome !== 'refused') return { id: outcome.id };
    if (outcome.code === 'conflict') return outcome.code;
    throw new Error(`unexpected: ${outcome.code}`);
  };

  let killedWhileOpen = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const idempotencyKey = `round-${round}`;
    let open = 0;
    const clients = Array.from({ length: REQUESTS }, async (_, at): Promise<Answer> => {
      const text = at % 2 === 0 ? 'Your table is ready' : 'Your table is not ready';
      open += 1;
      const answer = await (at % 4 < 3 ? overHttp : inLibrary)(text, idempotencyKey);
      open -= 1;
      return answer;
    });
    // A different moment in each round: before, while, and after the campaign is committed.
    await delay((round * 7) % 60);
    await server?.end('SIGKILL');
    killedWhileOpen += open > 0 ? 1 : 0;
    await start();
    const answers = await Promise.all(clients);
    const ids = new Set(answers.flatMap((answer) => (answer === 'conflict' ? [] : [answer.id])));
    expect(ids.size).toBe(1);
    // The text that won answers all its clients with the campaign, and the other one all of its with a conflict.
    expect(answers.filter((answer) => answer === 'conflict')).toHaveLength(REQUESTS / 2);
    const { campaigns } = await volley.page({ idempotencyKey, limit: 10 });
    expect(campaigns.map(({ id }) => id)).toEqual([...ids]);
    expect(campaigns).toMatchObject([{ state: 'scheduled', counts: { total: 2 } }]);
  }
  expect(killedWhileOpen).toBeGreaterThan(ROUNDS / 4);
});
