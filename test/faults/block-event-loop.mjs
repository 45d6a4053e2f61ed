/**
 * Preloaded into a worker process with `node --import`: SIGUSR2 blocks its event loop for BLOCK_MS, like a long
 * computation. The program itself contains nothing of this.
 */
const forMs = Number(process.env.BLOCK_MS ?? 24_000);
const neverNotified = new Int32Array(new SharedArrayBuffer(4));
process.on('SIGUSR2', () => {
  Atomics.wait(neverNotified, 0, 0, forMs);
});
