import type { ApiKey, ApiScope } from '../campaign/api-key.js';
import { LAST, onlyOne } from './campaign-id.js';
import type { Answer, Context } from './context.js';
import { withLocalVolley } from './open.js';
import { cut, moment, oneLine, table } from './text.js';

interface CreateOptions {
  name: string;
  scope: readonly ApiScope[];
  lane?: readonly string[];
}

/** `volley keys create` */
export function create(context: Context, { name, scope, lane }: CreateOptions): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const made = await volley.keys.create({ name, scopes: scope, lanes: lane });
    // Only the key goes to standard output, so that a script can store it in a file or a variable.
    context.note(`Key ${made.id} for ${made.name}: ${permissionsOf(made)}. It is shown only once:`);
    return { json: made, lines: [made.key] };
  });
}

/** `volley keys list` */
export function list(context: Context): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const keys = await volley.keys.list();
    const now = context.clock();
    const rows = keys.map((key) => [
      key.id,
      cut(oneLine(key.name), 30),
      key.scopes.join(','),
      key.lanes === null ? 'all' : key.lanes.join(','),
      moment(Date.parse(key.createdAt), now),
      key.lastUsedAt === null ? 'never' : moment(Date.parse(key.lastUsedAt), now),
    ]);
    const heading = ['ID', 'NAME', 'SCOPES', 'LANES', 'CREATED', 'LAST USED'];
    const none = 'No keys yet. Create one with `volley keys create`.';
    return { json: { keys }, lines: rows.length === 0 ? [none] : table(heading, rows) };
  });
}

/** `volley keys revoke` */
export function revoke(context: Context, typed: string): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const id = keyId(await volley.keys.list(), typed);
    await volley.keys.revoke(id);
    return { json: { id, revoked: true }, lines: [`Key ${id} is revoked.`] };
  });
}

/** A key's id, which people may write as {@link LAST}, as a prefix, and in any letter case. */
function keyId(keys: readonly ApiKey[], typed: string): string {
  const wanted = typed.trim().toLowerCase();
  const newest = keys.reduce<ApiKey | undefined>(
    (last, key) => (last === undefined || key.createdAt >= last.createdAt ? key : last),
    undefined,
  );
  if (wanted === LAST && newest !== undefined) return newest.id;
  const found = keys.map(({ id }) => id).filter((id) => id.toLowerCase().startsWith(wanted));
  return onlyOne(found, typed, 'key', '`volley keys list` shows all keys');
}

function permissionsOf({ scopes, lanes }: ApiKey): string {
  const where = lanes === null ? 'all lanes' : `lane${lanes.length === 1 ? '' : 's'} ${lanes.join(', ')}`;
  return `${scopes.join(', ')} on ${where}`;
}
