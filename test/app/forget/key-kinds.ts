import { readFileSync } from 'node:fs';
import { keyNames } from '../../../src/base/redis/keys.js';
import { sourceFiles } from '../../house/sources.js';

/*
 * Every kind of key, and whether it may contain a number. A kind that is added later has no entry here, which fails the test.
 */

/** May contain a number: the test stores one in it, and finds it before it forgets it. */
export const HOLDS = [
  'lane:campaign:ID:slices',
  'lane:campaign:ID:suppressed',
  'lane:campaign:ID:leftOut',
  'lane:campaign:ID:records:N',
  'lane:states',
  'lane:lane',
  'lane:unknown',
  'lane:callback',
  'lane:early',
  'lane:outbox:NAME:messages',
  'lane:inboundPending',
  'stopConfirmed:ID',
  'lane:inboundMessages',
  'records:ID:request:ID',
  'suppression:lists:LIST',
  'suppression:lists:operations',
  'suppression:lists:removed:ID',
  'schedules:all:schedule:ID',
  'schedules:all:occurrences:ID',
] as const;

const POINTER = 'ids, counts, times, and states';
const MASKED = 'numbers are masked before they are stored';
const DIGEST = 'a digest, or a text sealed with the secret of the installation';
const PRODUCER = 'names that the producer chose';

/** Contains no number, and why. */
export const NEVER: Readonly<Record<string, string>> = {
  'lane:window': POINTER,
  'lane:claims': POINTER,
  'lane:polls': POINTER,
  'lane:running': POINTER,
  'lane:scheduled': POINTER,
  'lane:lapsing': POINTER,
  'lane:ended': POINTER,
  'lane:importing': POINTER,
  'lane:comparing:N': DIGEST,
  'lane:failures': MASKED,
  'lane:windows': POINTER,
  'lane:unpolled': POINTER,
  'lane:polled': POINTER,
  'lane:requests:N': POINTER,
  'lane:unnamed': POINTER,
  'lane:results': POINTER,
  'lane:latestResults': POINTER,
  'lane:waiting': POINTER,
  'lane:reconciler': POINTER,
  'lane:keyBytes': POINTER,
  'lane:usage:N': PRODUCER,
  'lane:campaign:ID': PRODUCER,
  'lane:campaign:ID:statuses': POINTER,
  'lane:campaign:ID:progress': POINTER,
  'lane:campaign:ID:costs': POINTER,
  'lane:campaign:ID:zones': POINTER,
  'lane:campaign:ID:accepted': POINTER,
  'lane:templates': PRODUCER,
  'lane:outboxes': PRODUCER,
  'lane:outbox:NAME': PRODUCER,
  'lane:outbox:NAME:due': PRODUCER,
  'lane:outbox:NAME:results:D': PRODUCER,
  'lane:outbox:NAME:accepted:D': DIGEST,
  'lane:tending': PRODUCER,
  'lanes:registry:names': PRODUCER,
  'lanes:registry:ids': PRODUCER,
  'lanes:registry:credentials': DIGEST,
  'lanes:registry:addresses': DIGEST,
  'lanes:registry:secret': DIGEST,
  'lanes:registry:stored': PRODUCER,
  'lanes:registry:changes': PRODUCER,
  'token:ID': 'tokens',
  'records:ID:key:ID': DIGEST,
  'records:ID:all': POINTER,
  'records:ID:slots': POINTER,
  records: DIGEST,
  campaigns: POINTER,
  lanes: POINTER,
  outboxes: PRODUCER,
  events: MASKED,
  audit: MASKED,
  'audit:keyBytes': POINTER,
  apiKeys: PRODUCER,
  'apiKeys:revoked': DIGEST,
  'apiKeys:shares:ID': POINTER,
  'apiKeys:used': POINTER,
  'session:ID': DIGEST,
  'signInLink:ID': PRODUCER,
  positions: DIGEST,
  'suppression:lists:last': POINTER,
  'suppression:lists:addedBy': POINTER,
  'suppression:lists:removals': POINTER,
  'suppression:lists:removedAt': POINTER,
  'suppression:lists:digests': DIGEST,
  'forget:all:due': DIGEST,
  'forget:all:request:ID': DIGEST,
  'forget:all:lease:ID': DIGEST,
  'forget:all:secret': DIGEST,
  'lane:inbound': DIGEST,
  'lane:inboundIds': DIGEST,
  'lane:confirmed': DIGEST,
  'webhooks:all:endpoints': PRODUCER,
  'webhooks:all:due': POINTER,
  'webhooks:all:cursors:ID': POINTER,
  'webhooks:all:deliveries:ID': POINTER,
  'webhooks:all:failed:ID': POINTER,
  'webhooks:all:totals:ID': POINTER,
  'schedules:all:ids': PRODUCER,
  'schedules:all:keyBytes': POINTER,
  'schedules:all:due': PRODUCER,
  'schedules:all:failing': PRODUCER,
  'schedules:all:ended': PRODUCER,
  'idempotency:ID': POINTER,
  removals: POINTER,
  fileRewrite: POINTER,
  format: POINTER,
  oldCampaignsChecked: POINTER,
  workers: POINTER,
  'workers:settings': DIGEST,
  losses: POINTER,
  highestClaims: POINTER,
  due: POINTER,
  'swept:ID': POINTER,
  'unfinishedMove:ID': POINTER,
  queue: 'jobs have the id of their lane, and no data',
  woken: POINTER,
};

/** The kind of each key that code can make: those of keyNames, and of a lane those that its description lists. */
export function kindsInCode(): string[] {
  const names: string[] = [];
  const visit = (part: unknown): void => {
    if (typeof part === 'string') names.push(part);
    else if (typeof part === 'function' && part.name !== 'lane') names.push(String(part('ID', 'LAST')));
    else if (typeof part === 'object' && part !== null) for (const each of Object.values(part)) visit(each);
  };
  visit(keyNames('P'));
  const global = names
    .map((name) => name.replace(/[{}]/g, '').replace(/^P:/, ''))
    .map((name) => (name.startsWith('P-') ? (name.endsWith(':woken') ? 'woken' : 'queue') : name))
    .map((name) => name.replace(/^suppression:lists:lane:ID$/, 'suppression:lists:LIST'))
    .map((name) => name.replace(/^records:ID:LAST$/, 'records:ID:all'));
  const text = readFileSync(new URL('../../../src/base/redis/keys.ts', import.meta.url), 'utf8');
  const ofLane = [...text.matchAll(/^ \* - ([^:…]*(?::(?! )[^:…]*)*)/gm)].flatMap(([, line = '']) =>
    [...line.matchAll(/`([^`…]+)`/g)].map(([, name = '']) => `lane:${name.replace(/:K$/, ':N')}`),
  );
  return [...new Set([...global, ...ofLane, ...inSource()])];
}

/** The keys of a lane that code names, as it is or as a template. */
function inSource(): string[] {
  const pattern = /\.lane\(\s*[\w.]+,\s*['`]([^'`]+)['`]/g;
  return sourceFiles(['src'], ['.ts']).flatMap(({ text }) =>
    [...text.matchAll(pattern)].map(([, name = '']) => `lane:${name.replace(/\$\{(\w+)[^}]*\}/g, placeOf)}`),
  );
}

const PLACES: Readonly<Record<string, string>> = {
  campaign: 'ID',
  name: 'NAME',
  outboxId: 'outbox:NAME',
  part: '',
  series: 'slices',
  Math: 'N',
};
const placeOf = (_: string, name: string): string => PLACES[name] ?? 'N';

/** The kind of a key of the test, given without its prefix. */
export function kindOf(key: string): string {
  const plain = key.replace(/[{}]/g, '');
  const named = plain
    .replace(/^suppression:lists:(all|lane:.*)$/, 'suppression:lists:LIST')
    .replace(
      /^(suppression:lists:removed|schedules:all:\w+|forget:all:(?:request|lease)|idempotency|swept|token|session|signInLink|apiKeys:shares|stopConfirmed):.+$/,
      '$1:ID',
    )
    .replace(/^(schedules:all:(?:ids|due|failing|ended|keyBytes)):ID$/, '$1')
    .replace(/^records:[^:]+:(request|key):.+$/, 'records:ID:$1:ID')
    .replace(/^records:[^:]+:(all|slots)$/, 'records:ID:$1')
    .replace(/:campaign:[^:]+/, ':campaign:ID')
    .replace(/:(records|requests|usage):\d+$/, ':$1:N')
    .replace(/:(results|accepted):\d+$/, ':$1:D')
    .replace(/:outbox:[^:]+/, ':outbox:NAME');
  if (/^-?\w*-(send|poll|schedules|callbacks)/.test(named)) return 'queue';
  if (named in NEVER || (HOLDS as readonly string[]).includes(named)) return named;
  return named.replace(/^[^:]+:/, 'lane:');
}
