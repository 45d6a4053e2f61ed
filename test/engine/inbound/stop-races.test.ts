import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createVolley } from '../../../src/app/runtime.js';
import { systemClock } from '../../../src/base/clock.js';
import { loadLocalConfig } from '../../../src/base/config/index.js';
import { createEvents } from '../../../src/base/events/events.js';
import { keyNames } from '../../../src/base/redis/keys.js';
import { inboundService } from '../../../src/engine/inbound/inbound-service.js';
import { sweepLane } from '../../../src/engine/recovery/sweep.js';
import { campaignContent } from '../../../src/engine/sending/campaign-content.js';
import { openMessages } from '../../../src/engine/sending/messages.js';
import { recentClaims } from '../../../src/engine/sending/recent-claims.js';
import { sendTurn } from '../../../src/engine/sending/send.js';
import { sendClaims } from '../../../src/engine/sending/send-claims.js';
import { suppression } from '../../../src/engine/suppression/suppression.js';
import { seededRandom } from '../../../src/tools/simulator/rules/random.js';
import { testRedis } from '../../base/redis/test-redis.js';
import { openDefaultLane } from '../lane/lane-fixture.js';

const { redis, prefix, url } = testRedis('stop-races');
/** The nightly checks run 10,000 races. */
const RACES = Number(process.env['RACES'] ?? 300);
const KILLS = Math.ceil(RACES / 500) + 1;

const by = {
  actor: { kind: 'library', id: null, name: 'a test' } as const,
  isLimited: false,
  authorise: async () => {},
  audited: async <Result>(_operation: object, run: () => Promise<Result>) => run(),
};

test('While senders die, no request that is claimed after a stop word goes to its sender, and each message in flight is counted', {
  timeout: 60_000 + 60 * RACES,
}, async () => {
  const random = seededRandom(7);
  const settings = {
    REDIS_URL: url,
    REDIS_PREFIX: prefix,
    API_KEY: 'k',
    SENDER_ADDRESS: '447700900999',
    REQUEST_TIMEOUT_MS: '1500',
    QUOTA_WINDOW_MS: '30000',
    HOURLY_QUOTA: '1000000',
  };
  const config = loadLocalConfig(settings);
  const volley = createVolley({ config, events: createEvents({ level: 'silent' }) });
  const numbers = Array.from({ length: RACES }, (_, at) => `+4670${String(at).padStart(7, '0')}`);
  const created = await volley.enqueue({ recipients: numbers.map((to) => ({ to })), message: 'Sale' });
  const countsNow = async () => (await volley.status(created.outcome === 'created' ? created.id : '')).counts;
  const keys = keyNames(prefix);
  const { lane, tokens } = openDefaultLane(redis, prefix, { env: settings });
  const list = suppression(redis, keys);
  const found = { ids: async () => ['default'], idOf: async () => 'default', nameOf: async () => 'default' };
  const receiver = () =>
    inboundService({
      redis,
      keys,
      finder: found,
      suppression: list,
      events: createEvents({ level: 'silent' }),
      clock: systemClock,
      retentionMs: 86_400_000,
      replies: { stopWords: ['stop'], startWords: [], stopScope: 'lane' },
      by,
      lastSent: async () => null,
      sentSince: async () => [],
    });

  let tick = 0;
  let isDone = false;
  const wires = new Map<string, { wire: number; claim: number }[]>();
  const stopped = new Map<string, number>();
  const claimed = new Set<number>();
  let sent = 0;
  const content = campaignContent(lane);
  const messages = openMessages(lane, content, {
    areSuppressed: (some) => list.areSuppressed('default', some),
    isOnlyBy: (operation, number) => list.isOnlyBy(operation, 'default', number),
    lastRemoval: () => list.lastRemoval('default'),
  });
  const claims = sendClaims(lane);

  /** A process that sends: what it waits for never comes after it was killed. */
  const sender = () => {
    let isDead = false;
    const alive = async <Value>(value: Promise<Value>): Promise<Value> => {
      const got = await value.catch((error: unknown) => {
        if (isDead) return new Promise<Value>(() => {});
        throw error;
      });
      return isDead ? new Promise<Value>(() => {}) : got;
    };
    const turn = async (): Promise<void> => {
      const current = new Map<string, number>();
      await sendTurn(
        lane,
        {
          tokens,
          recent: recentClaims(lane.monotonic),
          failed: (_lane, error) => {
            throw error;
          },
          messages: {
            render: (some) => alive(messages.render(some)),
            isAllowed: (claim, message) => alive(messages.isAllowed(claim, message)),
          },
          claims: {
            async take(call) {
              // Otherwise, a busy process could claim everything before the first stop words are stored.
              while (claimed.size < RACES / 3 && stopped.size < claimed.size + 10) await alive(delay(2));
              tick += 1;
              const began = tick;
              const reply = await alive(claims.take(call));
              for (const { first } of reply.claims) {
                current.set(numbers[first] ?? '', began);
                claimed.add(first);
              }
              return reply;
            },
            confirm: (claim) => alive(claims.confirm(claim)),
            settle: (some) => alive(claims.settle(some)),
          },
          client: {
            async send({ recipients }) {
              await alive(delay(500 * random()));
              const [number = ''] = recipients;
              tick += 1;
              wires.set(number, [
                ...(wires.get(number) ?? []),
                { wire: tick, claim: current.get(number) ?? 0 },
              ]);
              sent += 1;
              await alive(delay(10 + 30 * random()));
              return {
                kind: 'accepted',
                requestId: `r${sent}`,
                statuses: new Map(recipients.map((to) => [to, 'DeliveredToTerminal'])),
              };
            },
          },
        },
        { turnMs: 2_000, waitHereMs: 50, signal: new AbortController().signal },
      );
    };
    return {
      kill: () => {
        isDead = true;
      },
      turn,
    };
  };

  let killed = 0;
  const work = async (): Promise<void> => {
    while (!isDone) {
      const one = sender();
      const killAt =
        killed < KILLS
          ? delay(400 + 1_200 * random()).then(() => 'killed' as const)
          : new Promise<'killed'>(() => {});
      const end = await Promise.race([one.turn().then(() => 'ended' as const), killAt]);
      if (end === 'killed') {
        one.kill();
        killed += 1;
      }
      await delay(20);
    }
  };
  const sweep = async (): Promise<void> => {
    const options = {
      redis,
      keys,
      lanes: [lane],
      wakers: { wake: async () => {}, depth: async () => ({}) },
      events: createEvents({ level: 'silent' }),
      retentionMs: 86_400_000,
      alive: async () => [],
      discardImport: async () => {},
      removeCampaign: async () => {},
    };
    for (; !isDone; await delay(200)) await sweepLane(lane, options as never);
  };
  const reply = async (): Promise<void> => {
    const ahead = numbers.map(() => 70 * random());
    const left = new Set(numbers.keys());
    let service = receiver();
    for (; left.size > 0; await delay(2)) {
      const counts = await countsNow();
      const cursor = RACES - counts.planned;
      const ready = [...left].filter((at) => at < cursor + (ahead[at] ?? 0) || cursor >= RACES).slice(0, 40);
      for (const at of ready) left.delete(at);
      if (random() < 0.01) service = receiver();
      await Promise.all(
        ready.map(async (at) => {
          await service.receive('default', {
            messageId: `m${at}`,
            from: numbers[at] ?? '',
            to: '447700900999',
            text: 'STOP',
          });
          tick += 1;
          stopped.set(numbers[at] ?? '', tick);
        }),
      );
    }
    for (const deadline = Date.now() + 30_000; Date.now() < deadline; await delay(200)) {
      const counts = await countsNow();
      if (counts.planned + counts.sending === 0) break;
    }
    isDone = true;
  };
  await Promise.all([work(), sweep(), reply()]);

  const counted = new Map<string, number>();
  const log = receiver().log('default');
  for (let position = '0-0'; ; ) {
    const some = await log.after(position, 500);
    for (const { from, inFlight = 0 } of some) counted.set(from, inFlight);
    const last = some.at(-1);
    if (last === undefined) break;
    position = last.position;
  }
  const problems: string[] = [];
  let [late, inFlight, twice] = [0, 0, 0];
  for (const number of numbers) {
    const at = stopped.get(number) ?? 0;
    const after = (wires.get(number) ?? []).filter(({ wire }) => wire > at);
    if ((wires.get(number) ?? []).length > 1) twice += 1;
    late += after.length;
    inFlight += counted.get(number) ?? 0;
    if (after.some(({ claim }) => claim > at)) problems.push(`${number}: claimed after the stop`);
    if (after.length > (counted.get(number) ?? -1))
      problems.push(`${number}: ${after.length} late, ${counted.get(number)} counted`);
  }
  const counts = await countsNow();
  console.info(
    JSON.stringify({
      races: RACES,
      killed,
      sent,
      suppressed: counts.suppressed,
      unknown: counts.unknown,
      late,
      inFlight,
      twice,
      stored: counted.size,
      problems: problems.length,
      first: problems.slice(0, 3),
    }),
  );
  await volley.close();
  expect(problems).toEqual([]);
  expect(counts.suppressed).toBeGreaterThan(0);
  expect([counted.size, twice]).toEqual([RACES, 0]);
});
