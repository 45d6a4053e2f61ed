import type { CancelledOfKey } from '../../app/access/api-keys.js';
import type { ApiKey, ApiScope } from '../../campaign/api-key.js';
import { idAmong } from './campaign-id.js';
import type { Answer, Context } from './context.js';
import { withLocalVolley } from './open.js';
import { columnsOf } from './terminal.js';
import { counted, cut, moment, oneLine, table } from './text.js';

const WHOLE_ID = /^[0-9a-f]{12}$/;

interface CreateOptions {
  name: string;
  scope: readonly ApiScope[];
  lane?: readonly string[];
  expires?: number | null;
  maxSuppressions?: number;
}

/** `volley keys create` */
export function create(context: Context, options: CreateOptions): Promise<Answer> {
  const { name, scope: scopes, lane: lanes, expires: lifetimeMs, maxSuppressions } = options;
  return withLocalVolley(context, async (volley) => {
    const made = await volley.keys.create({ name, scopes, lanes, lifetimeMs, maxSuppressions });
    // Only the key goes to standard output, so that a script can store it in a file or a variable.
    context.note(
      `Key ${made.id} for ${made.name}: ${permissionsOf(made)}; it ${expiryOf(made)}. The secret is shown only once:`,
    );
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
      key.state === 'active' ? (key.expiresAt === null ? 'never' : key.expiresAt.slice(0, 10)) : key.state,
      key.lastUsedAt === null ? 'never' : moment(Date.parse(key.lastUsedAt), now),
    ]);
    const heading = ['ID', 'NAME', 'SCOPES', 'LANES', 'CREATED', 'EXPIRES', 'LAST USED'];
    const none = 'There are no keys yet. To create one: volley keys create --name shop --scope read,send';
    return {
      json: { keys },
      lines: rows.length === 0 ? [none] : table(heading, rows, columnsOf(context.stdout)),
    };
  });
}

/** `volley keys rotate` */
export function rotate(
  context: Context,
  typed: string,
  { overlap: overlapMs }: { overlap?: number },
): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const id = keyId(await volley.keys.list(), typed);
    const made = await volley.keys.rotate(id, { overlapMs });
    const old =
      made.oldSecretUntil === null
        ? 'The old one does not work any more'
        : `The old one works until ${moment(Date.parse(made.oldSecretUntil), context.clock())}`;
    context.note(
      `Key ${id} for ${made.name} has a new secret, which ${expiryOf(made)}. ${old}. The new one is shown only once:`,
    );
    return { json: made, lines: [made.key] };
  });
}

/** `volley keys revoke` */
export function revoke(
  context: Context,
  typed: string,
  { cancelCampaigns }: { cancelCampaigns?: boolean },
): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    // A whole id may be that of a revoked key, of which not everything is cancelled yet.
    const isWhole = cancelCampaigns === true && WHOLE_ID.test(typed);
    const id = isWhole ? typed : keyId(await volley.keys.list(), typed);
    const done = await volley.keys.revoke(id, { cancelCampaigns });
    return {
      json: { id, revoked: true, ...(cancelCampaigns === true ? done : {}) },
      lines: [`Key ${id} is revoked.`, ...(cancelCampaigns === true ? cancelledLines(done) : [])],
    };
  });
}

function cancelledLines({ cancelled, emptied, shared }: CancelledOfKey): string[] {
  return [
    `${counted(cancelled.length, 'campaign')} cancelled${cancelled.map((one) => `\n  ${one}`).join('')}`,
    ...emptied.map(
      ({ name, lane, cancelled: count }) =>
        `Outbox ${name} on lane ${lane}: ${counted(count, 'message')} cancelled.`,
    ),
    ...(shared.length === 0
      ? []
      : [
          'Others may have written to these outboxes, too, so what waits in them is still sent. To cancel it:',
        ]),
    ...shared.map(({ name, lane }) => `  volley outbox cancel ${name} --all --lane ${lane}`),
  ];
}

/** A key's id, which people may write as {@link idAmong} says. */
function keyId(keys: readonly ApiKey[], typed: string): string {
  const newestFirst = keys.toReversed().toSorted((a, b) => b.createdAt.localeCompare(a.createdAt));
  return idAmong(
    newestFirst.map(({ id }) => id),
    typed,
    'key',
    '`volley keys list` shows all keys',
  );
}

function permissionsOf({ scopes, lanes }: ApiKey): string {
  const where = lanes === null ? 'all lanes' : `lane${lanes.length === 1 ? '' : 's'} ${lanes.join(', ')}`;
  return `${scopes.join(', ')} on ${where}`;
}

function expiryOf({ expiresAt }: ApiKey): string {
  return expiresAt === null ? 'never expires' : `expires on ${expiresAt.slice(0, 10)}`;
}
