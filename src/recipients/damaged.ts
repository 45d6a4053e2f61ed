/** What is stored is not what was written: somebody deleted a part of it, or Redis is set to evict keys. */
export class DamagedError extends Error {
  override readonly name = 'DamagedError';
}
