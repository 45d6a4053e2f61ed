import { expect, onTestFinished, test } from 'vitest';
import { createMetrics } from '../../src/surfaces/metrics/index.js';
import { scene } from '../scene/scene.js';

const { open } = scene('golden-metrics', { settings: { API_KEY: 'key', HOURLY_QUOTA: '10' } });

test('The names, types, and descriptions of the metrics are those in metrics.txt', async () => {
  const volley = open();
  const metrics = createMetrics({ volley, lanes: ['default'], role: 'send' });
  onTestFinished(() => metrics.close());
  metrics.http();
  const text = `${await metrics.process()}\n${await metrics.fleet()}`;
  const lines = text.split('\n').filter((line) => /^# (HELP|TYPE) volley_/.test(line));
  expect(lines.length).toBeGreaterThan(60);
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('files/metrics.txt');
});
