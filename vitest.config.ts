import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/redis/provide.ts'],
    // Only what hangs comes to them, also on a machine that has much else to do.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Most of them wait for real time to pass; more files at once would make the tests of timing wait for each other.
    maxWorkers: 3,
    // Loading everything anew for each file took half of the processor time.
    isolate: false,
  },
});
