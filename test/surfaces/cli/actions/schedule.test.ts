import { rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scene } from '../../../scene/scene.js';

const {
  folder: cwd,
  open,
  shell,
  startSimulator,
  write,
} = scene('cli-schedule', {
  settings: { SENDER_ADDRESS: 'ACME', MESSAGING_BASE_URL: 'https://sms.example/smsmessaging/v1' },
});
write('Spring sale.csv', 'name,phone\nAnna,+447700900101\n');
const { volley, json } = shell();
/** Neither today nor tomorrow, wherever the test runs: a time of today has no day. */
const later = new Date(Date.now() + 3 * 86_400_000);
const DAY = later.toLocaleDateString('en', { weekday: 'short' });
const CRON = `0 9 * * ${later.getDay()}`;
const TIMES = ['--cron', CRON, '--zone', 'Europe/London', '-m', 'Hi {{name}}'];

const { settings: service } = await startSimulator({ keys: [{ key: 'key' }], deliveryTime: 20 });
const worker = open({ ...service, API_KEY: 'key', FOLLOW_UP_FIRST_MS: '100', REDIS_MAY_LOSE: '0s' });

test('A schedule is added once; its id comes from its file', async () => {
  const added = await volley('schedule', 'add', 'Spring sale.csv', ...TIMES);
  expect(added.exit).toBe(0);
  expect(added.stdout).toMatch(
    new RegExp(
      `^Schedule spring-sale is added on lane default and sends via sms\\.example\\.\nIt is due next:\n {2}${DAY} .* 09:00 [A-Z]+\n`,
    ),
  );
  const again = await volley('schedule', 'add', 'Spring sale.csv', ...TIMES);
  expect(again.stdout).toMatch(
    /^Schedule spring-sale exists already and sends via sms\.example; nothing has changed\./,
  );
  const other = await volley('schedule', 'add', 'Spring sale.csv', ...TIMES, '--priority', 'high');
  expect(other).toMatchObject({
    exit: 2,
    stderr: expect.stringMatching(
      /another\s+schedule\s+with\s+the\s+id\s+spring-sale:[\s\S]*replace\s+that\s+one\s+with\s+--replace/,
    ),
  });
  const replaced = await volley(
    'schedule',
    'add',
    'Spring sale.csv',
    ...TIMES,
    '--priority',
    'high',
    '--replace',
  );
  expect(replaced.stdout).toMatch(/^Schedule spring-sale is updated on lane default/);
  expect((await json('schedule', 'show', 'spring-sale')).output).toMatchObject({
    campaign: { priority: 'high' },
  });
  expect((await volley('schedule', 'show', 'spring-sale')).stdout).toContain(join(cwd, 'Spring sale.csv'));
});

test('Run: a worker creates the campaign from the list that its code provides', async () => {
  const asked: unknown[] = [];
  worker.schedules.provide('customers', async function* ({ at, ...about }) {
    asked.push([at.getTime(), about]);
    yield { to: '+447700900102', name: 'Ben' };
  });
  await worker.work().ready;
  await volley('schedule', 'add', '--provided', 'customers', ...TIMES, '--metadata', 'shop=17');
  const { exit, output } = await json('schedule', 'run', 'customers');
  expect({ exit, output }).toMatchObject({
    exit: 0,
    output: { outcome: 'created', campaign: expect.any(String) },
  });
  const { campaign, sendAt } = output as { campaign: string; sendAt: string };
  const about = { schedule: 'customers', lane: 'default', tags: [], metadata: { shop: '17' } };
  expect(asked).toEqual([[Date.parse(sendAt), about]]);
  await worker.finished(campaign);
  expect(await worker.status(campaign)).toMatchObject({ createdBy: { kind: 'schedule', id: 'customers' } });
  expect((await volley('schedule', 'show', 'customers')).stdout).toMatch(/created, by hand +\w+/);
});

test('A schedule that is run before its window opens says until when the campaign waits, and what that means', async () => {
  await worker.work().ready;
  const times = ['--cron', '0 9 * * *', '--zone', 'Europe/London', '-m', 'Hi {{name}}'];
  const window = ['--window', `${DAY} 09:00-17:00`];
  await volley('schedule', 'add', 'Spring sale.csv', '--id', 'shut', ...times, ...window);
  const { exit, stdout } = await volley('schedule', 'run', 'shut');
  expect(exit).toBe(0);
  expect(stdout).toMatch(/It created campaign \w+ .*\nThe window is closed \(.*\); opens /);
  // Before nine o'clock, the occurrence is that of today, and has no date.
  expect(stdout).toMatch(/\nThe occurrence of .*\b09:00 .* will be skipped, because this campaign waits\.\n/);
});

test('A follow-up waits for its time, and goes to those who have the states then', async () => {
  await worker.work().ready;
  const { output: sent } = await json('send', 'Spring sale.csv', '-m', 'Welcome {{name}}', '--yes');
  const { id: campaign } = sent as { id: string };
  const list = ['--to-results-of', 'last', '--status', 'delivered,deliveredToNetwork'];
  const later = await volley('schedule', 'add', ...list, '--after', '6h', '-m', 'Thanks {{name}}');
  const id = `${campaign}-after-6h`;
  expect(later.stdout).toMatch(new RegExp(`^Schedule ${id} is added .*\nIt is due next:\n`));
  expect((await volley('schedule', 'list')).stdout).toMatch(new RegExp(`${id} +active +once `));
  const now = ['--after', '1s', '--id', 'thanks', '-m', 'Thanks {{name}}'];
  await volley('schedule', 'add', ...list, ...now);
  await expect.poll(() => worker.schedules.get('thanks')).toMatchObject({ state: 'ended', next: null });
  const { lastCampaign } = await worker.schedules.get('thanks');
  expect(await worker.status(lastCampaign ?? '')).toMatchObject({
    createdBy: { kind: 'schedule', id: 'thanks' },
    counts: { total: 1 },
  });
  const shown = (await volley('schedule', 'show', 'thanks')).stdout.replaceAll(/\s+/g, ' ');
  expect(shown).toContain('thanks ended due once lane');
  expect(shown).toContain(`of campaign ${campaign}, 1s after its start`);
});

test('A schedule whose file is missing is shown as failing, until the file is there again', async () => {
  await worker.work().ready;
  const file = write('moved.csv', 'name,phone\nAnna,+447700900101\n');
  await volley('schedule', 'add', 'moved.csv', ...TIMES);
  rmSync(file);
  const problem = `there is no file ${file} on ${hostname()}`;
  expect((await volley('schedule', 'list')).stdout).toMatch(/\nmoved +failing /);
  expect((await volley('schedule', 'show', 'moved')).stdout).toContain(
    `moved  failing\n  problem   ${problem}`,
  );
  expect((await json('schedule', 'show', 'moved')).output).toMatchObject({ state: 'active', problem });
  expect((await volley('doctor')).stdout).toContain(`moved is failing: ${problem}`);
  // A run fails as the next occurrence would.
  expect(await json('schedule', 'run', 'moved')).toMatchObject({ exit: 1, output: { outcome: 'failed' } });
  write('moved.csv', 'name,phone\nAnna,+447700900101\n');
  expect((await volley('schedule', 'list')).stdout).toMatch(/\nmoved +failing /);
  expect(await json('schedule', 'run', 'moved')).toMatchObject({ exit: 0 });
  expect((await volley('schedule', 'list')).stdout).toMatch(/\nmoved +active /);
});

test('The ids of schedules and the names of zones are completed', async () => {
  await volley('schedule', 'add', 'Spring sale.csv', '--id', 'completed', ...TIMES);
  const { stdout } = await volley('__complete', '--', 'schedule', 'show', 'comp');
  expect(stdout.startsWith(`completed\t${CRON}`)).toBe(true);
  expect((await volley('__complete', '--', 'schedule', 'add', '--zone', 'Europe/Lon')).stdout).toMatch(
    /^Europe\/London/,
  );
  expect((await volley('__complete', '--', 'schedule', 'add', '--overlap', '')).stdout).toMatch(
    /skip\s+wait\s+allow/,
  );
});
