import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/redis/provide.ts'],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    // Two cores: more files at once would only make the tests of timing wait for each other.
    maxWorkers: 2,
  },
});
