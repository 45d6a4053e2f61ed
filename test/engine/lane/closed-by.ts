import type { Cause, Closed } from '../../../src/engine/lane/closed.js';

/** A cause that closes a lane, as its status has it. */
export const closedBy = (cause: Cause, entry: Partial<Omit<Closed, 'cause'>> = {}): Closed => ({
  cause,
  why: '',
  until: 0,
  since: 0,
  ...entry,
});
