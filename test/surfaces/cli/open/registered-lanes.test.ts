import { expect, test } from 'vitest';
import { createEvents, createVolley } from '../../../../src/index.js';
import { scene } from '../../../scene/scene.js';

const { url, prefix, open, shell, list } = scene('cli-registered-lanes', {
  list: 'phone\n+447700900101\n',
});
const lane = (name: string) => ({ name, apiKey: `key-${name}` });

test('The command line beside settings in code knows the lanes that the program has registered', async () => {
  const { volley } = shell();
  expect((await volley('lanes')).stdout).toContain('default');
  const program = createVolley({
    redis: url,
    redisPrefix: prefix,
    messagingBaseUrl: 'http://127.0.0.1:1/v1',
    lanes: [lane('promo'), lane('orders')],
    events: createEvents({ level: 'silent' }),
  });
  await program.work().ready;
  const shown = JSON.parse((await volley('lanes', '--json')).stdout);
  expect(shown.lanes.map(({ name }: { name: string }) => name)).toEqual(['orders', 'promo']);
  const { stdout } = await volley('doctor');
  expect(stdout).toContain('lane orders: open');
  expect(stdout).not.toMatch(/lane rename|not registered|not configured/);

  const send = ['send', list, '--message', 'Hi', '--sender', 'ACME', '--yes', '--json'];
  // Which of them is the first one, only the program knows.
  expect(await volley(...send)).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining('There are several lanes: choose one with --lane (orders, promo)'),
  });
  const sent = JSON.parse((await volley(...send, '--lane', 'promo')).stdout);
  expect(await program.status(sent.id)).toMatchObject({ lane: 'promo', counts: { total: 1 } });
  await program.close();
  expect(await open().unconfiguredLanes()).toMatchObject([{ name: 'promo' }]);
});
