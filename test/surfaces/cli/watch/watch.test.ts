import { expect, onTestFinished, test } from 'vitest';
import { startTcpProxy } from '../../../faults/tcp-proxy.js';
import { scene } from '../../../scene/scene.js';

const { list, shell, url } = scene('cli-watch', {
  list: 'phone\n+447700900101\n',
  settings: { SENDER_ADDRESS: 'ACME' },
});
const AGE = /This is from \d\d:\d\d:\d\d \S+, \d+s ago\. Redis does not answer.*Volley keeps trying\./;

/** A campaign of one recipient, and a command line whose Redis is behind a proxy. */
async function watched() {
  const proxy = await startTcpProxy(Number(new URL(url).port));
  onTestFinished(() => proxy.close());
  const behind = new URL(url);
  behind.port = String(proxy.port);
  const direct = shell();
  const { output } = await direct.json('send', list, '--message', 'Hi', '--yes', '--again');
  const { id } = output as { id: string };
  return { proxy, id, direct, cli: shell({ REDIS_URL: behind.href }) };
}

test('While Redis is away, status --watch shows how old its data is, and then follows the campaign to its end', async () => {
  const { proxy, id, direct, cli } = await watched();
  const watching = await cli.start('0 of 1 done', 'status', id, '--watch');
  // Nothing listens there.
  proxy.retarget(1);
  proxy.cut();
  await expect.poll(() => watching.stderr).toMatch(AGE);
  proxy.retarget(Number(new URL(url).port));
  await direct.volley('cancel', id, '--yes');
  await expect.poll(() => watching.exit).toBe(0);
  expect(watching.stderr).toMatch(/cancelled: 1 of 1 done/);
});

test('While Redis does not answer, Ctrl-C ends status --watch', async () => {
  const { proxy, id, cli } = await watched();
  const watching = await cli.start('0 of 1 done', 'status', id, '--watch');
  proxy.hold('both');
  await expect.poll(() => watching.stderr).toMatch(AGE);
  const { exit, stderr } = await watching.stop();
  expect(stderr).toContain('The campaign continues. To watch it again');
  expect(exit).toBe(130);
});
