import { expect, test } from 'vitest';
import { readCursor } from '../../../../src/reporting/results-cursor.js';
import { scene } from '../../../scene/scene.js';

const { shell, write } = scene('cli-results');
const { volley, json } = shell({ API_KEY: 'key', SENDER_ADDRESS: 'ACME' });

test('Results have the references of the list, and continue after a cursor', async () => {
  write('orders.csv', 'phone,Reference\n+447700900101,order-1\n+447700900102,order-2\n+447700900103,\n');
  const send = ['send', 'orders.csv', '--message', 'Hi', '--at', '2999-01-01T00:00:00Z', '--yes'];
  const settings = ['--metadata', 'shop=17', '--metadata', 'note=a=b', '--tag', 'vip', '--tag', 'spring'];
  const far = { MAX_SCHEDULE_AHEAD: '365000d' };
  const sent = await shell({ API_KEY: 'key', SENDER_ADDRESS: 'ACME', ...far }).json(...send, ...settings);
  const { id } = sent.output as { id: string };
  expect((await json('status', id)).output).toMatchObject({ metadata: { shop: '17', note: 'a=b' } });
  expect((await volley('results')).stdout).toMatch(/^There are no results yet\.\n/);
  expect((await json('cancel', id, '--yes')).exit).toBe(0);

  const { output } = await json('results', '--limit', '2');
  const page = output as { nextCursor: string; hasMore: boolean; results: unknown[] };
  expect(page).toMatchObject({
    results: [
      { campaign: id, to: '+447700900101', reference: 'order-1', status: 'cancelled' },
      { reference: 'order-2' },
    ],
    campaigns: { [id]: { tags: ['spring', 'vip'], metadata: { shop: '17', note: 'a=b' } } },
    hasMore: true,
  });
  const rest = await volley('results', '--cursor', page.nextCursor);
  expect(rest.stdout).toMatch(/\+447700900103 +cancelled/);
  expect(rest.stdout).not.toContain('order-2');
  expect(rest.stdout).toMatch(/\nLater results: .* results --cursor [\w-]+\n$/);
  expect((await volley('find', '+447700900102')).stdout).toContain('order-2');

  const position = { run: 'cafe0001', chunk: 0, entry: 1, within: 0 };
  const cursor = readCursor('', ['default']).next(new Map([['default', position]]), undefined);
  const lost = await volley('results', '--cursor', cursor);
  expect([lost.exit, lost.stderr]).toEqual([2, expect.stringContaining('start again without a cursor')]);
});
