import type { LocalConfig } from '../../base/config/index.js';
import { moment } from '../../base/moments.js';
import type { ApiKey } from '../../campaign/states/api-key.js';
import { oneLine } from '../../campaign/text/visible-text.js';
import { type Finding, ok, warn } from './check.js';

/** A key that expires within this time is named. */
const EXPIRES_SOON_MS = 14 * 86_400_000;

/** Keys that do not work or soon will not, and whether SECRETS_KEY_PREVIOUS is still needed. */
export function checkKeys(
  keys: readonly Pick<ApiKey, 'id' | 'name' | 'state' | 'expiresAt' | 'needsPreviousKey'>[],
  { previousSecretsKey }: Pick<LocalConfig, 'previousSecretsKey'>,
  now: number,
): Finding[] {
  const named = (some: typeof keys): string =>
    some.map(({ id, name }) => `${id} (${oneLine(name)})`).join(', ');
  const invalid = keys.filter(({ state }) => state === 'invalid');
  const needing = keys.filter((key) => key.needsPreviousKey);
  const ending = keys.filter(
    ({ state, expiresAt }) =>
      state === 'active' && expiresAt !== null && Date.parse(expiresAt) - now < EXPIRES_SOON_MS,
  );
  const checks: Finding[] = [];
  if (invalid.length > 0)
    checks.push(
      warn(
        'API keys',
        `these do not work, because they were made without SECRETS_KEY or with another one, or were restored after they had been revoked: ${named(invalid)}`,
        `Create new ones, as \`volley keys create --help\` says, and revoke these: ${invalid.map(({ id }) => `volley keys revoke ${id}`).join('; ')}`,
      ),
    );
  if (previousSecretsKey !== undefined)
    checks.push(
      needing.length === 0
        ? warn('SECRETS_KEY_PREVIOUS', 'no API key needs it', 'Remove it once every account has a new token.')
        : warn(
            'SECRETS_KEY_PREVIOUS',
            `API keys that have not been used since SECRETS_KEY changed need it: ${named(needing)}`,
            'Keep it until they are used, or revoke them.',
          ),
    );
  if (ending.length > 0)
    checks.push(
      warn(
        'API keys, expiry',
        `these expire within 14 days: ${named(ending)}`,
        `Give each a new secret: ${ending.map(({ id }) => `volley keys rotate ${id}`).join('; ')}`,
      ),
    );
  return checks;
}

/** Which keys may text any country, on a lane that does not limit them either. That is the default, and no fault. */
export function checkCountries(
  keys: readonly Pick<ApiKey, 'id' | 'name' | 'state' | 'scopes' | 'lanes' | 'countries'>[],
  { lanes }: Pick<LocalConfig, 'lanes'>,
): Finding[] {
  const open = lanes.filter(({ limits }) => limits?.countries === undefined).map(({ name }) => name);
  const any = keys.filter(
    ({ state, scopes, lanes: own, countries }) =>
      state === 'active' &&
      scopes.includes('send') &&
      countries === null &&
      open.some((lane) => own === null || own.includes(lane)),
  );
  if (any.length === 0) return [];
  const named = any.map(({ id, name }) => `${id} (${oneLine(name)})`).join(', ');
  return [ok('API keys, countries', `these may text any country: ${named}`)];
}

/** Each API key that works: after a backup was restored, so does one that was revoked, or had another secret, since the backup. */
export function checkRestoredKeys(
  keys: readonly Pick<ApiKey, 'id' | 'name' | 'state' | 'scopes' | 'lanes' | 'createdAt' | 'lastUsedAt'>[],
  now: number,
): Finding[] {
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
