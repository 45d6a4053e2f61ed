import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** Runs a program that imports the package, and returns its output. */
async function run(program: string): Promise<string> {
  const args = ['--input-type=module', '-e', program];
  return (await promisify(execFile)(process.execPath, args)).stdout;
}

test('Only volley/metrics loads prom-client, and only volley/http loads Fastify', async () => {
  const loaded = await run(`import { createRequire } from 'node:module';
    const { cache } = createRequire(import.meta.url);
    const loaded = {};
    for (const name of ['volley', 'volley/metrics', 'volley/http']) {
      await import(name);
      const paths = Object.keys(cache).join();
      loaded[name] = ['prom-client', 'fastify'].filter((library) => paths.includes('node_modules/' + library + '/'));
    }
    process.stdout.write(JSON.stringify(loaded));`);
  expect(JSON.parse(loaded)).toEqual({
    volley: [],
    'volley/metrics': ['prom-client'],
    'volley/http': ['prom-client', 'fastify'],
  });
});

test('A program that embeds Volley can expose its metrics', async () => {
  const page = await run(`import { createEvents } from 'volley';
    import { createMetrics } from 'volley/metrics';
    const events = createEvents({ level: 'silent' });
    const volley = { events, fleetSnapshot: () => Promise.reject(new Error('no Redis in this test')) };
    const metrics = createMetrics({ volley, lanes: ['acme'], role: 'shop' });
    events.emit({ type: 'request.ended', lane: 'acme', kind: 'send', outcome: 'accepted', took: '12ms' });
    process.stdout.write(await metrics.process() + await metrics.fleet());
    process.exit();`);
  expect(page).toContain('volley_sends_total{lane="acme",outcome="accepted"} 1\n');
  expect(page).toContain('volley_fleet_up 0');
});
