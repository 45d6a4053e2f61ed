import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/redis/provide.ts'],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    // Most of them wait for real time to pass; more files at once would make the tests of timing wait for each other.
    maxWorkers: 3,
    // Loading everything anew for each file took half of the processor time.
    isolate: false,
  },
});
