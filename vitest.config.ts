import { configDefaults, defineConfig } from 'vitest/config';
import { LongFirst } from './test/base/long-first.js';
import { NIGHTLY } from './test/base/nightly.js';

export default defineConfig({
  test: {
    // Golden files show times of this machine's zone.
    env: { TZ: 'UTC' },
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(NIGHTLY ? [] : ['test/**/*.nightly.test.ts'])],
    globalSetup: ['test/base/redis/provide.ts', 'test/end-to-end/console/provide.ts'],
    // Generous limits, so that only hanging tests time out, even on a busy machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
    // Most files wait for real time to pass. More workers would slow down the tests that measure time.
    maxWorkers: 4,
    sequence: { sequencer: LongFirst },
    // Reloading the modules for each file would double the CPU time.
    isolate: false,
  },
});
