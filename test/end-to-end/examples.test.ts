import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { scene } from '../scene/scene.js';
import { startProgram } from './program.js';

const { url, prefix, shell, startSimulator } = scene('examples');
const { PATH = '', HOME = '' } = process.env;

const startService = (options: Parameters<typeof startSimulator>[0] = {}) =>
  startSimulator({ keys: [{ key: 'k' }], deliveryTime: 20, ...options });

/** Makes a key as a person does. */
async function newKey(settings: Readonly<Record<string, string>>): Promise<string> {
  const made = await shell(settings).json('keys', 'create', '--name', 'bookings', '--scope', 'send,read');
  return (made.output as { key: string }).key;
}

const settingsFor = (name: string, messagingBaseUrl: string) => ({
  REDIS_URL: url,
  REDIS_PREFIX: `${prefix}-${name}`,
  MESSAGING_BASE_URL: messagingBaseUrl,
  API_KEY: 'k',
  FOLLOW_UP_FIRST_MS: '200',
  REDIS_MAY_LOSE: '0s',
  LOG_LEVEL: 'silent',
});

test('examples/library sends, moves, and cancels reminders, once each, and lists the patients to call', {
  timeout: 120_000,
}, async () => {
  const simulator = await startService();
  const folder = await mkdtemp(join(tmpdir(), 'volley-clinic-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'appointments.jsonl');
  const now = Date.now();
  const appointment = (id: string, version: number, phone: string, fromNow: number) => ({
    ...{ id, version, phone, name: 'Ada', appointment: dayAfter(now + fromNow) },
  });
  const lines = [
    appointment('appt-1', 1, '+44 7700 900141', -60_000),
    appointment('appt-2', 1, '+47 955 50 103', -60_000),
    appointment('appt-3', 1, '', 0),
    appointment('appt-4', 1, '+44 7700 900144', 3_600_000),
    appointment('appt-5', 1, '+44 7700 900145', 3_600_000),
    appointment('appt-4', 2, '+44 7700 900144', -60_000),
    { id: 'appt-5', version: 2, cancelled: true },
  ];
  await writeFile(file, lines.map((line) => JSON.stringify(line)).join('\n'));
  const remind = async (): Promise<string[]> => {
    const program = startExample(['examples/library/reminders.js', file], {
      ...settingsFor('library', simulator.messagingBaseUrl),
    });
    for (const id of ['appt-1', 'appt-4']) await program.says(new RegExp(`^${id}: delivered$`));
    await program.says(/^appt-2: call the patient/);
    program.kill('SIGINT');
    expect(await program.ended).toBe(0);
    return program.lines;
  };
  const first = await remind();
  expect(first[2]).toMatch(/^appt-3: left out: `to` is empty/);
  expect(first.slice(3, 7)).toEqual([
    expect.stringMatching(/^appt-4: created, due at /),
    expect.stringMatching(/^appt-5: created, due at /),
    expect.stringMatching(/^appt-4: updated, due at /),
    'appt-5: cancelled',
  ]);
  expect(first.slice(7).sort()).toEqual([
    'appt-1: delivered',
    'appt-2: call the patient (deliveryImpossible)',
    'appt-4: delivered',
  ]);
  expect((await remind()).slice(7).sort()).toEqual(first.slice(7).sort());
  expect(simulator.summary()).toMatchObject({ recipients: 3, duplicates: 0 });
});

/** The time of day in London at this time, on the day after. */
function dayAfter(time: number): string {
  const local = new Date(time).toLocaleString('sv-SE', { timeZone: 'Europe/London' });
  return new Date(Date.parse(`${local}Z`) + 86_400_000).toISOString().slice(0, 19);
}

test('examples/library/newsletter.js provides the list of each occurrence, and adds its schedule once', {
  timeout: 120_000,
}, async () => {
  const simulator = await startService();
  const settings = settingsFor('newsletter', simulator.messagingBaseUrl);
  for (const [outcome, messages] of [
    ['created', 2],
    ['existing', 4],
  ] as const) {
    const program = startExample(['examples/library/newsletter.js'], settings);
    await program.says(new RegExp(`^${outcome}, next on \\d{4}-`));
    expect((await shell(settings).volley('schedule', 'run', 'newsletter')).exit).toBe(0);
    await program.says(/^campaign \w+ created$/);
    // Barbara subscribes in the year 2999.
    await expect.poll(() => simulator.summary().recipients, { timeout: 40_000 }).toBe(messages);
    program.kill('SIGTERM');
    expect(await program.ended).toBe(0);
  }
});

test('examples/platform moves and cancels reminders over HTTP, follows its results, and continues after a kill', {
  timeout: 120_000,
}, async () => {
  const simulator = await startService({ latency: 1_500 });
  const settings = {
    ...settingsFor('platform', simulator.messagingBaseUrl),
    HTTP_PORT: '0',
    LOG_LEVEL: 'info',
  };
  const worker = startProgram('workers/all.js', settings);
  const api = startProgram('workers/http.js', settings);
  onTestFinished(async () => {
    await Promise.all([worker.end('SIGKILL'), api.end('SIGKILL')]);
  });
  const key = await newKey(settings);
  const folder = await mkdtemp(join(tmpdir(), 'volley-bookings-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const environment = {
    VOLLEY_URL: await listening(api.log),
    VOLLEY_KEY: key,
    BOOKINGS_FILE: join(folder, 'bookings.json'),
  };

  const app = 'examples/platform/app.js';
  const first = startExample([app], environment);
  await first.says(/^booking \S+: deliveredToTerminal$/);
  first.kill('SIGKILL');
  await first.ended;
  expect(first.lines.slice(0, 6)).toEqual([
    'booking B-101: created',
    'booking B-102: created',
    'booking B-103: created',
    'booking B-104: created',
    'booking B-102: updated',
    'booking B-103: cancelled',
  ]);
  const kept = JSON.parse(await readFile(environment.BOOKINGS_FILE, 'utf8'));
  expect(kept).toMatchObject({ cursor: expect.stringMatching(/^[\w-]{20,}$/) });

  const second = startExample([app], environment);
  expect(await second.ended).toBe(0);
  const statuses = {
    'B-101': 'deliveredToTerminal',
    'B-102': 'deliveredToTerminal',
    'B-103': 'cancelled',
    'B-104': 'deliveredToTerminal',
  };
  expect(JSON.parse(second.lines.at(-1) ?? '')).toEqual(statuses);
  // Results that were saved before the kill are not received again. It may have come before they were printed.
  const isFinal = ([, status]: [string, unknown]) => status === 'deliveredToTerminal';
  const told = [
    ...Object.entries<unknown>(kept.statuses)
      .filter(isFinal)
      .map(([booking]) => booking),
    ...second.lines.flatMap((line) => /^booking (\S+): deliveredToTerminal$/.exec(line)?.[1] ?? []),
  ];
  expect(told.sort()).toEqual(['B-101', 'B-102', 'B-104']);
  // A platform that has lost its file puts the same messages, and reads all results again.
  const third = startExample([app], { ...environment, BOOKINGS_FILE: join(folder, 'another.json') });
  expect(await third.ended).toBe(0);
  expect(third.lines.slice(0, 6)).toEqual([
    'booking B-101: sent',
    'booking B-102: stale',
    'booking B-103: ended',
    'booking B-104: sent',
    'booking B-102: sent',
    'booking B-103: cancelled',
  ]);
  expect(JSON.parse(third.lines.at(-1) ?? '')).toEqual(statuses);
  // Two messages for one phone, each in a request of its own.
  expect(simulator.summary()).toMatchObject({ recipients: 3, requests: 3, duplicates: 0 });
});

test('examples/library/server.js sends, and serves the API beside a route of its own', {
  timeout: 120_000,
}, async () => {
  const simulator = await startService();
  const settings = { ...settingsFor('server', simulator.messagingBaseUrl), PORT: '0' };
  const server = startExample(['examples/library/server.js'], settings);
  await server.says(/^Listening at /);
  const origin = server.lines.join('').replace('Listening at ', '');
  const key = await newKey(settings);
  const created = await fetch(`${origin}/v1/campaigns`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ sender: 'TABLES', message: 'Hi', recipients: [{ to: '+447700900123' }] }),
  });
  const { id } = (await created.json()) as { id: string };
  await expect.poll(() => simulator.summary().recipients, { timeout: 40_000 }).toBe(1);
  const own = await Promise.all([id, 'none'].map((each) => fetch(`${origin}/campaigns/${each}`)));
  expect(own.map(({ status }) => status)).toEqual([200, 404]);
  expect(await own[1]?.json()).toMatchObject({ statusCode: 404, code: 'notFound' });
  server.kill('SIGTERM');
  expect(await server.ended).toBe(0);
});

/** The address of the API, from its log. */
async function listening(log: readonly string[]): Promise<string> {
  let address: string | undefined;
  await expect
    .poll(
      () => {
        address = log.flatMap((line) => /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? [])[0];
        return address;
      },
      { timeout: 40_000 },
    )
    .toBeDefined();
  if (address === undefined) throw new Error(`the API does not listen: ${log.join('\n')}`);
  return address;
}

test('examples/platform/receiver stores an event that is repeated after a failed write, and answers 401 to a forged one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'volley-receiver-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const results = join(folder, 'missing', 'results.json');
  const secret = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
  const receiver = startExample(['examples/platform/receiver.js'], {
    ...{ WEBHOOK_SECRET: secret, PORT: '0', RESULTS_FILE: results },
  });
  await receiver.says(/^Receiving webhooks at /);
  const address = receiver.lines.join('').replace('Receiving webhooks at ', '');
  const sign = new Webhook(secret);
  const deliver = async (id: string, reference: string, signed = id): Promise<number> => {
    const body = JSON.stringify({
      type: 'recipients.settled',
      data: { results: [{ reference, status: 'delivered' }] },
    });
    const now = new Date();
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': sign.sign(signed, now, body),
    };
    return (await fetch(address, { method: 'POST', body, headers })).status;
  };
  expect(await deliver('evt-1', 'booking-1')).toBe(500);
  await mkdir(join(folder, 'missing'));
  expect(await deliver('evt-1', 'booking-1')).toBe(204);
  expect(await deliver('evt-2', 'booking-2')).toBe(204);
  expect(await deliver('evt-3', 'booking-3', 'evt-2')).toBe(401);
  expect(JSON.parse(await readFile(results, 'utf8'))).toEqual({
    processed: ['evt-1', 'evt-2'],
    statuses: { 'booking-1': 'delivered', 'booking-2': 'delivered' },
  });
});

/** Starts an example as a process and reads its output line by line. */
function startExample([program = '', ...args]: readonly string[], environment: Record<string, string>) {
  const child = spawn(process.execPath, [resolve(program), ...args], {
    env: { PATH, HOME, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => lines.push(line));
  const ended = once(reader, 'close').then(async () => {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return child.exitCode ?? child.signalCode;
  });
  return {
    lines,
    ended,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    says: (wanted: RegExp) =>
      expect.poll(() => lines.some((line) => wanted.test(line)), { timeout: 40_000 }).toBe(true),
  };
}
