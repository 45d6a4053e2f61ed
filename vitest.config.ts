import { configDefaults, defineConfig } from 'vitest/config';
import { built } from './test/base/built.js';
import { LongFirst } from './test/base/long-first.js';
import { filesOf } from './test/base/parts.js';

const { include, exclude } = filesOf();

export default defineConfig({
  plugins: process.env['TESTS'] === undefined ? [] : [built],
  test: {
    server: { deps: { external: [/\/dist\/src\//] } },
    // Golden files show times of this machine's zone.
    env: { TZ: 'UTC' },
    include,
    exclude: [...configDefaults.exclude, ...exclude],
    setupFiles: ['test/base/worker-order.ts', 'test/base/late-hooks.ts'],
    globalSetup: ['test/base/redis/provide.ts', 'test/end-to-end/console/provide.ts'],
    // Generous limits, so that only hanging tests time out, even beside eight busy loops.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // A test that expects nothing passes whatever happens.
    expect: { requireAssertions: true, poll: { timeout: 60_000 } },
    // Most files wait for real time to pass. More workers would slow down the tests that measure time.
    maxWorkers: 4,
    // Tests of a file that run at the same time wait, too.
    maxConcurrency: 10,
    sequence: { sequencer: LongFirst },
    // Reloading the modules for each file would double the CPU time.
    isolate: false,
  },
});
