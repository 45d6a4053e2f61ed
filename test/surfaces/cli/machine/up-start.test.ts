import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { test as anyTest, expect, onTestFinished } from 'vitest';
import { findEmbedded } from '../../../../src/base/redis/embedded.js';
import { findServer } from '../../../../src/base/redis/find-server.js';
import { temporaryFolder } from '../../../scene/closing.js';
import { type CommandLine, commandLine, type Running } from '../../../scene/command-line.js';

const test = anyTest.skipIf((await findServer()) === undefined);

const ROUNDS = Number(process.env['UP_RACES'] ?? 2);

/** A service that counts the requests it gets, and refuses them. */
async function startService(): Promise<{ host: string; requests(): number }> {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    response.writeHead(403).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => requests };
}

/** Sends again and again while `until` is pending, and once more. Resolves with the destinations that commands named. */
async function sendWhile(shell: CommandLine, until: Promise<unknown>): Promise<unknown[]> {
  const destinations: unknown[] = [];
  let isOver = false;
  const over = until.finally(() => {
    isOver = true;
  });
  do {
    const { exit, output } = await shell.json(
      'send',
      'list.csv',
      '--sender',
      'ACME',
      '--message',
      'Hi {{name}}',
      '--again',
      '--yes',
    );
    // Otherwise there was no Redis: nothing is stored.
    if (exit === 0) destinations.push((output as { destination: unknown }).destination);
    // Leaves the event loop to the process that starts or stops.
    await delay(5);
  } while (!isOver);
  await over;
  return destinations;
}

async function redisAnswers(folder: string): Promise<void> {
  while ((await findEmbedded(folder)) === undefined) await delay(5);
}

test('a campaign that is sent while `volley up --simulator` starts or stops never waits for the real service', {
  timeout: 60_000 + ROUNDS * 60_000,
}, async () => {
  const { path: folder, write } = temporaryFolder();
  const service = await startService();
  write('list.csv', 'name,phone\nAnna,+447700900101\n');
  write(
    '.env',
    `MESSAGING_BASE_URL=http://${service.host}/smsmessaging/v1\nAPI_KEY=the-real-key\nHTTP_PORT=0\n`,
  );
  const shell = commandLine(folder);
  const destinations: unknown[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const starting = shell.start(/Messages go to a simulator/, 'up', '--simulator');
    let up: Running | undefined;
    onTestFinished(async () => void (await up?.stop()));
    await redisAnswers(folder);
    destinations.push(
      ...(await sendWhile(
        shell,
        starting.then((started) => {
          up = started;
        }),
      )),
    );
    destinations.push(...(await sendWhile(shell, (await starting).stop())));
  }
  expect(destinations.length).toBeGreaterThan(2 * ROUNDS);
  expect(new Set(destinations)).toEqual(new Set(['SIMULATOR']));

  const real = await shell.start(/Running with its own Redis/, 'up');
  onTestFinished(async () => void (await real.stop()));
  expect((await shell.json('list')).output).toMatchObject({ campaigns: [] });
  const preview = await shell.volley('preview', 'list.csv', '--sender', 'ACME', '--message', 'Hi {{name}}');
  expect(preview.stdout).toMatch(new RegExp(`^service +${service.host}$`, 'm'));
  expect(service.requests()).toBe(0);

  // Shows that the check above can see a campaign for the real service.
  const { stdout } = await shell.volley('send', 'list.csv', '--sender', 'ACME', '--message', 'Hi', '--yes');
  expect(stdout).toContain(`1 recipient via ${service.host}`);
  while (service.requests() === 0) await delay(20);
});
