import type { Redis } from '../../base/redis/connection.js';
import type { Keys } from '../../base/redis/keys.js';
import { loadScript } from '../../base/redis/script.js';

const noteScript = loadScript(import.meta.url, './note-removal.lua', () => undefined);

/** Member of the sorted set of removals; its score is the number of removals since the last rewrite. */
export const REMOVALS = 'campaigns';

/** Notes a removal, before the last trace of its campaign is deleted. The next rewrite of the append-only file is then due. */
export async function noteRemoval(redis: Redis, keys: Keys): Promise<void> {
  await noteScript.run(redis, { removals: keys.removals }, { member: REMOVALS });
}
