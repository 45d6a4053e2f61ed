import { hostname, userInfo } from 'node:os';
import type { Actor } from '../../campaign/states/actor.js';

/** The user and host of this process as an actor, `anna@mail-1`. */
export function localActor(kind: 'cli' | 'library'): Actor {
  return { kind, id: null, name: `${userName()}@${hostname()}` };
}

/** A container may run as a user that has no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
