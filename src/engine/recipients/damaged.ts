/** Stored data is damaged: a part of it was deleted, for example because Redis is configured to evict keys. */
export class DamagedError extends Error {
  override readonly name = 'DamagedError';
}
