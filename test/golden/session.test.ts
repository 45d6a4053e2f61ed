import { hostname, userInfo } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { privateRedis } from '../base/redis/servers/private-redis.js';
import { scene } from '../scene/scene.js';
import { transcriptOf } from './transcript.js';

const { shell, startSimulator, write, folder: cwd } = scene('golden');
// The doctor shows the settings of Redis, and those of the run may be any.
const { url: REDIS_URL } = await privateRedis();
const list = (name: string, ...rows: readonly string[]): string =>
  write(name, `name,phone,ref\n${rows.join('\n')}\n`);

const DELIVERED = '+4795550101';
const REFUSED = '+4795550140';
const UNKNOWN = '+4795550131';
const SUPPRESSED = '+4795550102';

list('spring.csv', `Anna,${DELIVERED},a-1`, `Bo,${REFUSED},b-2`, `Anna,${DELIVERED},a-1`);
list('unknown.csv', `Cy,${UNKNOWN},c-3`);
list('messy.csv', 'Di,+44 12,d-4', 'Ed,07700 900101,e-5', `Flo,${DELIVERED},f-6`);
list('reminders.csv', `Gil,${DELIVERED},g-7`);
write('opt-outs.csv', '+447700900101\n+447700900102\n');
const FAR = '2030-05-01T09:00:00Z';

/** One session of one user, from the first preview to the audit trail, with each command that ends by itself. */
test('The texts and the --json output of each command are those in session.txt', {
  timeout: 240_000,
}, async () => {
  const keys = [{ key: 'the-key', quota: 500 }];
  const { settings: addresses } = await startSimulator({ keys, deliveryTime: 50 });
  const cli = shell({
    ...addresses,
    REDIS_URL,
    API_KEY: 'the-key',
    HOURLY_QUOTA: '500',
    FOLLOW_UP_FIRST_MS: '200',
    REQUEST_TIMEOUT_MS: '10000',
    MAX_SCHEDULE_AHEAD: '36500d',
  });
  const { run, once, text } = transcriptOf(cli, {
    [`${userInfo().username}@${hostname()}`]: 'user@host',
    [cwd]: '.',
  });
  const campaign = ['-m', 'Hi {{name}}', '-s', 'ACME'];
  /** Waits until the newest campaign has this state, or waits for this. */
  const reached = (expected: object): Promise<void> =>
    expect
      .poll(async () => (await cli.json('status', 'last')).output, { interval: 250 })
      .toMatchObject(expected);

  await run('list');
  await run('lanes');
  await once('lane', 'hold', 'default');
  await run('lanes');
  await once('lane', 'resume', 'default');
  await run('preview', 'spring.csv', ...campaign);
  await run('preview', 'messy.csv', ...campaign);
  const worker = await cli.start(/./, 'work');
  onTestFinished(async () => void (await worker.stop()));
  const working = {
    checks: expect.arrayContaining([
      { code: 'workers', name: 'workers', state: 'ok', message: '1 process', advice: null },
    ]),
  };
  await expect.poll(async () => (await cli.json('doctor')).output, { interval: 250 }).toMatchObject(working);
  await once(
    'send',
    'spring.csv',
    ...campaign,
    '--yes',
    '--name',
    'Spring',
    '--metadata',
    'team=blue',
    '--tag',
    'vip',
  );
  await reached({ state: 'completed' });
  await once('send', 'spring.csv', ...campaign, '--yes');
  await once('send', 'unknown.csv', ...campaign, '--yes', '--json');
  await reached({ waitingFor: 'resolve' });
  await run('status', 'last');
  await run('list');
  await once('resolve', 'last', '--abandon');
  await reached({ state: 'completed' });
  await run('status', 'last');
  await run('report', 'last');
  await run('find', DELIVERED);
  await run('results');

  await once('send', 'reminders.csv', ...campaign, '--yes', '--at', FAR, '--json');
  await once('send', 'reminders.csv', ...campaign, '--yes', '--at', FAR, '--again');
  await run('status', 'last');
  const changed = ['set', 'last', '--message', 'Hello {{name}}'];
  for (const more of [['--preview'], [], [], ['--revision', '0', '--sender', 'SHOP']])
    await once(...changed, ...more);
  for (const text of ['{{nme}}', '{{color}}', 'Hi {{phone}}']) await once('set', 'last', '--message', text);
  for (const command of ['pause', 'resume']) await once(command, 'last');
  await once('cancel', 'last', '--yes');
  await run('list', '--state', 'cancelled');
  await once('list', '--name', 'SPRING', '--lane', 'default', '--tag', 'vip', '--created-from', '2020-01-01');
  await once('list', '--created-before', '2020-01-01');

  await once(
    'schedule',
    'add',
    'reminders.csv',
    ...campaign,
    '--id',
    'weekly',
    '--cron',
    '0 9 * * 1',
    '--zone',
    'UTC',
  );
  await run('schedule', 'list');
  await run('schedule', 'show', 'weekly');
  await run('schedule', 'next', 'weekly');
  for (const command of ['pause', 'resume', 'remove']) await once('schedule', command, 'weekly');

  for (const text of ['Hi {{name}}', 'Hi {{name}}', 'Bye'])
    await once('outbox', 'create', 'visits', '-m', text, '-s', 'ACME', '--late', '1h');
  await once('outbox', 'put', 'visits', 'v1', DELIVERED, '--send-at', FAR, '--set', 'name=Gil');
  await run('outbox', 'list');
  await run('outbox', 'show', 'visits');
  await run('outbox', 'message', 'visits', 'v1');
  await once('outbox', 'cancel', 'visits', 'v1');
  await run('outbox', 'report', 'visits');
  // Only now: a report is in no order.
  await once('outbox', 'put', 'visits', 'v2', DELIVERED, '--send-at', FAR, '--set', 'name=Hal', '--json');
  for (const command of ['pause', 'resume', 'close']) await once('outbox', command, 'visits');

  await run('token', 'show');
  await run('subscription', 'get');
  await once('suppress', 'add', SUPPRESSED, '--reason', 'asked');
  await run('suppress', 'list');
  await run('find', SUPPRESSED);
  await run('suppress', 'operations');
  await once('suppress', 'undo', 'last');
  await once('suppress', 'undo', 'last');
  await once('suppress', 'import', 'opt-outs.csv', '--lane', 'default', '--reason', 'monthly list');
  await once('suppress', 'remove', SUPPRESSED);
  await once('keys', 'create', '--name', 'shop', '--scope', 'read,send');
  await run('keys', 'list');
  await run('keys', 'show', 'last');
  await once('keys', 'rotate', 'last');
  await once('keys', 'revoke', 'last');
  await run('records', 'list');
  await run('audit', '--limit', '4');
  await run('doctor');
  await expect(text()).toMatchFileSnapshot('files/session.txt');
});
