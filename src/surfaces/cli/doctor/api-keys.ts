import type { ApiKey } from '../../../campaign/api-key.js';
import { moment, oneLine } from '../text.js';
import { type Check, ok, warn } from './check.js';

/** Whether SECRETS_KEY_PREVIOUS is still needed. `named`: the API keys that need it, for people; `count`: how many. */
export function checkPreviousKey(named: string, count: number): Check {
  const title = 'SECRETS_KEY_PREVIOUS';
  if (count === 0) return warn(title, 'no API key needs it', 'Remove it once every account has a new token.');
  return warn(
    title,
    `API keys that were not used since SECRETS_KEY was changed need it: ${named}`,
    'Keep it until they are used, or revoke them.',
  );
}

/** Each API key that works: after a backup was restored, so does one that was revoked, or had another secret, since the backup. */
export function checkRestoredKeys(
  keys: readonly Pick<ApiKey, 'id' | 'name' | 'state' | 'scopes' | 'lanes' | 'createdAt' | 'lastUsedAt'>[],
  now: number,
): Check[] {
  const title = 'API keys, restored';
  const active = keys.filter(({ state }) => state === 'active');
  if (active.length === 0) return [ok(title, 'none works')];
  return active.map(({ id, name, scopes, lanes, createdAt, lastUsedAt }) => {
    const where = lanes === null ? 'all lanes' : lanes.join(', ');
    const used = lastUsedAt === null ? 'never' : moment(Date.parse(lastUsedAt), now);
    return warn(
      title,
      `${id} (${oneLine(name)}) works: ${scopes.join(', ')} on ${where}, created ${moment(Date.parse(createdAt), now)}, last used ${used}`,
      `Confirm that it should. If it was revoked after the backup: volley keys revoke ${id}. If it got a new secret after the backup: volley keys rotate ${id} --overlap 0s`,
    );
  });
}
