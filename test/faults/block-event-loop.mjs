/**
 * Loaded before a worker process by `node --import`: SIGUSR2 blocks its event loop for BLOCK_MS, as a computation that
 * does not end does. Nothing of it lies in the program itself.
 */
const forMs = Number(process.env.BLOCK_MS ?? 24_000);
const nobody = new Int32Array(new SharedArrayBuffer(4));
process.on('SIGUSR2', () => {
  Atomics.wait(nobody, 0, 0, forMs);
});
