import { DISABLED_BECAUSE } from '../../../campaign/views/webhook-views.js';
import { entry, requests } from '../entry.js';
import { count, failure, foreignId, id, oneOf, optional, prose, span } from '../field.js';

/** The child organisation that a reseller's account acts for. */
const targetAccount = optional(id, '');
const acting = (target: string): string => (target === '' ? '' : ` for target account ${target}`);

const change = { lane: optional(id, 'all lanes'), operation: id, numberCount: count('number'), actor: id };
const listOf = (lane: string): string => (lane === 'all lanes' ? lane : `lane ${lane}`);

/** What operators and keys may do, and the tokens of accounts. */
export const ACCESS_EVENTS = {
  'suppression.added': entry(
    'info',
    { ...change, reason: prose },
    (e) =>
      `suppression operation ${e.operation} by ${e.actor} added ${e.numberCount} on ${listOf(e.lane)}: ${e.reason || 'no reason given'}`,
  ),
  'suppression.removed': entry(
    'warn',
    { ...change, reason: prose },
    (e) =>
      `suppression operation ${e.operation} by ${e.actor} removed ${e.numberCount} on ${listOf(e.lane)}: ${e.reason || 'no reason given'}`,
  ),
  'suppression.undone': entry(
    'warn',
    change,
    (e) =>
      `suppression operation ${e.operation} on ${listOf(e.lane)} was undone by ${e.actor}, which changed ${e.numberCount}`,
  ),
  'inbound.received': entry(
    'info',
    { lane: id, messageId: foreignId, wish: optional(oneOf('stop', 'start'), 'none') },
    (e) =>
      `lane ${e.lane}: message ${e.messageId} was received${{ stop: ', which is a stop word', start: ', which is a start word', none: '' }[e.wish] ?? ''}`,
  ),
  'inbound.unread': entry(
    'warn',
    { lane: id, messageId: id },
    (e) =>
      `lane ${e.lane}: the stop word in message ${e.messageId} suppresses no number, because its sender is none, or is a national number without a country: find it with \`volley inbound list\`, and let the gateway write the calling code or \`country\``,
  ),
  'inbound.unconfirmed': entry(
    'warn',
    { lane: id, messageId: foreignId, reason: prose },
    (e) =>
      `lane ${e.lane}: the stop word in message ${e.messageId} was not confirmed; its sender gets no more messages: ${e.reason}`,
  ),
  'key.created': entry(
    'info',
    { key: id, name: id, scopes: id, lanes: id, actor: id },
    (e) => `API key ${e.key} (${e.name}) with ${e.scopes} on ${e.lanes} was created by ${e.actor}`,
  ),
  'key.rotated': entry(
    'info',
    { key: id, name: id, overlap: span, actor: id },
    (e) =>
      `API key ${e.key} (${e.name}) was rotated by ${e.actor}; its old secret works for ${e.overlap} more`,
  ),
  'key.changed': entry(
    'info',
    { key: id, name: id, limits: id, actor: id },
    (e) => `API key ${e.key} (${e.name}): ${e.actor} changed its limits: ${e.limits}`,
  ),
  'key.revoked': entry(
    'warn',
    { key: id, name: id, cancelled: count('campaign'), actor: id },
    (e) => `API key ${e.key} (${e.name}) was revoked by ${e.actor}, which cancelled ${e.cancelled}`,
  ),
  'key.refused': entry(
    'warn',
    { from: id, requests },
    (e) =>
      `the HTTP API refused ${e.requests} from ${e.from} in the last minute, because the API key was invalid`,
  ),
  'operation.requested': entry(
    'info',
    {
      lane: id,
      action: oneOf('token.login', 'token.refresh', 'subscription.create', 'subscription.delete'),
      actor: id,
    },
    (e) => `lane ${e.lane}: ${e.actor} requested ${e.action}`,
  ),

  'webhook.added': entry(
    'info',
    { webhook: id, host: id, lanes: id, actor: id },
    (e) => `webhook ${e.webhook} to ${e.host} on ${e.lanes} was added by ${e.actor}`,
  ),
  'webhook.removed': entry(
    'info',
    { webhook: id, host: id, actor: id },
    (e) => `webhook ${e.webhook} to ${e.host} was removed by ${e.actor}`,
  ),
  'webhook.failing': entry(
    'warn',
    { webhook: id, host: id, reason: prose },
    (e) => `webhook ${e.webhook}: a request to ${e.host} failed, and is repeated: ${e.reason}`,
  ),
  'webhook.gaveUp': entry(
    'error',
    { webhook: id, delivery: id, host: id, reason: prose },
    (e) =>
      `webhook ${e.webhook}: ${e.host} refused event ${e.delivery} while it accepted others (${e.reason}); to send it again, run: volley webhook replay ${e.webhook}`,
  ),
  'webhook.disabled': entry(
    'error',
    { webhook: id, host: id, because: oneOf(...DISABLED_BECAUSE) },
    (e) =>
      `webhook ${e.webhook} to ${e.host} is disabled (${e.because}); ${
        e.because.startsWith('key')
          ? `to give it to another key, run: volley webhook assign ${e.webhook} --key KEY`
          : `to enable it again, run: volley webhook enable ${e.webhook}`
      }`,
  ),
  'webhook.resultsRemoved': entry(
    'warn',
    { webhook: id, resultCount: count('result') },
    (e) =>
      `webhook ${e.webhook}: at least ${e.resultCount} were removed at the end of RETENTION before they were delivered`,
  ),
  'webhook.unreadable': entry(
    'error',
    { webhook: id, host: id },
    (e) =>
      `webhook ${e.webhook}: its secret does not open with this SECRETS_KEY, so nothing is sent to ${e.host}; give every process the same key`,
  ),
  'webhook.turnFailed': entry(
    'error',
    { webhook: id, error: failure },
    (e) => `webhook ${e.webhook}: its deliveries failed, and are tried again: ${e.error}`,
  ),

  'token.refreshed': entry(
    'info',
    { account: id, targetAccount, lifetime: optional(span, 'an unknown time') },
    (e) =>
      `account ${e.account}${acting(e.targetAccount)}: the token was refreshed; it is valid for ${e.lifetime}`,
  ),
  'token.loggedIn': entry(
    'info',
    { account: id, targetAccount, lifetime: optional(span, 'an unknown time') },
    (e) =>
      `account ${e.account}${acting(e.targetAccount)}: the login succeeded; its token is valid for ${e.lifetime}`,
  ),
  'token.refused': entry(
    'warn',
    { account: id, targetAccount, reason: prose },
    (e) =>
      `account ${e.account}${acting(e.targetAccount)}: the service refused to issue a token: ${e.reason}`,
  ),
  'token.unanswered': entry(
    'warn',
    { account: id, targetAccount, reason: prose },
    (e) =>
      `account ${e.account}${acting(e.targetAccount)}: login or refresh received no response: ${e.reason}`,
  ),
} as const;
