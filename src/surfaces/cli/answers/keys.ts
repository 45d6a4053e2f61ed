import type { CancelledOfKey, RotatedApiKey } from '../../../app/access/api-keys.js';
import { moment } from '../../../base/moments.js';
import { LIMIT_NAMES } from '../../../campaign/limits/limits.js';
import type { ApiKey, ApiKeyDetails } from '../../../campaign/states/api-key.js';
import * as operations from '../../../operations/rows/keys.js';
import type { Answer } from '../context/context.js';
import { consoleLink, consoleOrigin } from '../open/console-link.js';
import { tableOf, timeText } from '../output/table.js';
import { counted, cut, oneLine } from '../output/text.js';
import type { Answers } from './answer.js';
import { lanesOf } from './webhooks.js';

const answers: Answers<'API keys', typeof operations> = {
  async createKey(run, { context }) {
    const made = await run();
    // Only the key goes to standard output, so that a script can store it in a file or a variable.
    context.note(
      `${made.test ? 'Test key' : 'Key'} ${made.id} for ${made.name}: ${permissionsOf(made)}; it ${expiryOf(made)}. The secret is shown only once:`,
    );
    return { json: made, lines: [made.key] };
  },

  async listKeys(run, { context: { clock, stdout } }) {
    const { keys } = await run();
    const none = 'There are no keys yet. To create one: volley keys create --name shop --scope read,send';
    const lines = tableOf(stdout, keys, none, {
      ID: ({ id }) => id,
      KIND: ({ session, test }) => (session ? 'session' : test ? 'test' : 'live'),
      NAME: ({ name }) => cut(oneLine(name), 30),
      SCOPES: ({ scopes }) => scopes.join(','),
      LANES: ({ lanes }) => lanes?.join(',') ?? 'all',
      CREATED: ({ createdAt }) => timeText(createdAt, clock()),
      EXPIRES: ({ state, expiresAt }) => (state === 'active' ? (expiresAt?.slice(0, 10) ?? 'never') : state),
      'LAST USED': ({ lastUsedAt }) => timeText(lastUsedAt, clock()) ?? 'never',
    });
    return { json: { keys }, lines };
  },

  showKey: async (run, { context: { clock } }) => keyAnswer(await run(), clock()),
  setKey: async (run, { context: { clock } }) => keyAnswer(await run(), clock()),

  async revokeKey(run) {
    const revoked = await run();
    const cancelled = 'cancelled' in revoked ? cancelledLines(revoked) : [];
    return { json: revoked, lines: [`Key ${revoked.id} is revoked.`, ...cancelled] };
  },

  async createSignInLink(run, { context, setting: { config } }) {
    const origin = consoleOrigin(config);
    const { secret, ...link } = await run();
    const url = consoleLink(origin, secret);
    context.note(`This link signs in once, within ten minutes, for ${link.scopes.join(', ')}:`);
    return { json: { url, ...link }, lines: [url] };
  },

  async rotateKey(run, { context }) {
    const made = await run();
    const old =
      made.oldSecretUntil === null
        ? 'The old one does not work any more'
        : `The old one works until ${moment(Date.parse(made.oldSecretUntil), context.clock())}`;
    for (const line of webhookLines(made)) context.note(line);
    context.note(
      `Key ${made.id} for ${made.name} has a new secret, which ${expiryOf(made)}. ${old}. The new one is shown only once:`,
    );
    return { json: made, lines: [made.key] };
  },
};

/** What a leaked secret may have added. */
function webhookLines({ webhooks }: RotatedApiKey): string[] {
  const enabled = webhooks.filter(({ state }) => state === 'enabled');
  if (enabled.length === 0)
    return webhooks.length === 0 ? [] : [`${counted(webhooks.length, 'webhook')} of this key: all disabled.`];
  return [
    `This key has ${counted(enabled.length, 'webhook')}, which still ${enabled.length === 1 ? 'gets' : 'get'} results. If the old secret has leaked, disable what is not yours:`,
    ...enabled.map(({ id, url }) => `  volley webhook disable ${id}   # ${oneLine(url)}`),
  ];
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
    ...shared.map(({ name, lane }) => `  volley outbox cancel-all ${name} --lane ${lane}`),
  ];
}

const keyAnswer = (key: ApiKey, now: number): Answer => ({ json: key, lines: keyLines(key, now) });

function keyLines(key: ApiKey & Partial<ApiKeyDetails>, now: number): string[] {
  const { id, name, test, state, createdAt, createdBy, lastUsedAt, maxSuppressions, today = null } = key;
  const { suppressionsLeft = maxSuppressions } = key;
  const at = (iso: string): string => moment(Date.parse(iso), now);
  const limits = LIMIT_NAMES.flatMap((limit) =>
    limit === 'test' || key[limit] === null ? [] : [`  ${limit}: ${JSON.stringify(key[limit])}`],
  );
  return [
    `${test ? 'Test key' : 'Key'} ${id} for ${oneLine(name)}: ${state}`,
    `  ${permissionsOf(key)}`,
    `  created ${at(createdAt)}${createdBy === null ? '' : ` by key ${createdBy.id} (${oneLine(createdBy.name)})`}, ${expiryOf(key)}, ${lastUsedAt === null ? 'never used' : `last used ${at(lastUsedAt)}`}`,
    `  maxSuppressions: ${maxSuppressions}${suppressionsLeft === maxSuppressions ? '' : `, ${suppressionsLeft} left`}`,
    ...limits,
    ...(today === null
      ? []
      : [
          `  today: ${counted(today.recipientCount, 'message')}${today.cost === null ? '' : `, ${today.cost}`}${leftText(today)}; resets ${at(today.resetsAt)}`,
        ]),
  ];
}

/** `, 900 messages and 45.00 EUR left` */
function leftText({ recipientsLeft, costLeft }: NonNullable<ApiKeyDetails['today']>): string {
  const messages = recipientsLeft === null ? [] : [counted(recipientsLeft, 'message')];
  const left = [...messages, ...(costLeft === null ? [] : [costLeft])];
  return left.length === 0 ? '' : `; ${left.join(' and ')} left`;
}

const permissionsOf = (key: ApiKey): string => `${key.scopes.join(', ')} on ${lanesOf(key)}`;

const expiryOf = ({ expiresAt }: ApiKey): string =>
  expiresAt === null ? 'never expires' : `expires on ${expiresAt.slice(0, 10)}`;

export { answers, operations };
