import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listLines } from '../../../../src/surfaces/cli/output/list.js';
import { renderCampaign } from '../../../../src/surfaces/cli/output/progress.js';
import { widthOf } from '../../../../src/surfaces/cli/output/text.js';
import { scene } from '../../../scene/scene.js';
import { isoAt, NOON, statusWith } from '../campaign-status.js';

const {
  shell,
  write,
  folder: cwd,
  list,
} = scene('cli-cost', {
  list: 'name,phone\nAda,+447700900101\nBo,+447700900102\nCem,+4915112345678\nAda,+447700900101\n',
  settings: { MESSAGING_BASE_URL: 'https://sms.example/smsmessaging/v1' },
});
write('prices.csv', 'prefix,price\n+44,0.042 EUR\n');
const flat = shell({ PRICE_PER_SEGMENT: '1000.5 EUR' });
const british = shell({ PRICE_FILE: join(cwd, 'prices.csv') });
const campaign = [list, '-s', '447700900000', '-m', 'Hi {{name}}'];

test('A campaign that costs more than --max-cost is refused with both amounts, and the preview says so', async () => {
  const refused = await flat.volley('send', ...campaign, '--yes', '--max-cost', '3001');
  expect([refused.exit, refused.stderr]).toEqual([
    2,
    'volley: The campaign costs 3,001.50 EUR, which is more than the limit of 3,001.00 EUR. Nothing was sent. Raise --max-cost, or shorten the list or the text.\n',
  ]);
  const seen = await flat.volley('preview', ...campaign, '--max-cost', '3001');
  expect(seen.stdout).toMatch(/would refuse this list: the campaign costs 3,001\.50 EUR/);
  expect(seen.exit).toBe(2);
});

test('With --max-cost, a number without a price is refused, and named with its line', async () => {
  const refused = await british.volley('send', ...campaign, '--yes', '--max-cost', '50');
  expect([refused.exit, refused.stderr]).toEqual([
    2,
    'volley: The number in line 4 has no price. Nothing was sent. Leave out --max-cost, or the numbers without a price. PRICE_FILE and PRICE_PER_SEGMENT say what a segment costs.\n',
  ]);
  const seen = await british.volley('preview', ...campaign);
  expect(seen.stdout).toContain('without 1 number that has no price: line 4 (+4915112345678)\n');
});

test('The result, the status, and the report of a campaign show what it costs, at the prices of its creation', async () => {
  const sent = await flat.volley('send', ...campaign, '--yes', '--max-cost', '3001.50 EUR');
  expect(sent.stdout).toMatch(
    /^Campaign \w+: 3 recipients for 3,001\.50 EUR via sms\.example; left out: 1 duplicate\.$/m,
  );
  for (const later of [flat, british])
    expect((await later.volley('status')).stdout).toContain(
      'cost          0.00 EUR for accepted messages, 3,001.50 EUR for all',
    );
  const { stderr } = await flat.volley('report', 'last');
  expect(stderr).toContain('The campaign costs 0.00 EUR for accepted messages, 3,001.50 EUR for all.');
});

test.each([60, 80, 120])('At %i columns, the cost fits into the status and the list', (width) => {
  const cost = { total: '123456.784', accepted: '12345.60', currency: 'EUR', unpriced: 12 };
  const seen = statusWith({ counts: { planned: 9 }, sendAt: isoAt(0), cost });
  const picture = renderCampaign(seen, { now: NOON, width, paint: (_, text) => text });
  const table = listLines([seen, statusWith({ counts: { planned: 1 } })], NOON, width);
  for (const line of [...picture, ...table]) expect(widthOf(line)).toBeLessThanOrEqual(width);
  expect(picture.join(' ').replace(/\s+/g, ' ')).toContain(
    'cost 12,345.60 EUR for accepted messages, 123,456.784 EUR for all, without 12 numbers that have no price',
  );
  if (width > 60) expect(table[1]).toContain('123,456.784 EUR');
});
