import { z } from 'zod';
import { isThisMachine } from '../../base/config/cleartext.js';
import { luaJson } from '../../base/redis/script.js';
import { InputError } from '../../campaign/errors/errors.js';
import { actor } from '../../campaign/states/actor.js';
import { DELIVERED_EVENTS, type DeliveredEvent } from '../../campaign/views/webhook-events.js';
import { DISABLED_BECAUSE } from '../../campaign/views/webhook-views.js';
import type { Seal } from '../../service/auth/seal.js';

/** What Redis stores of an endpoint. Times in ms. */
const stored = z.object({
  url: z.string(),
  /** The ids of its lanes; null: all. */
  lanes: z.array(z.string()).nullable(),
  /** What else limits its events; null: nothing. */
  events: z.array(z.enum(DELIVERED_EVENTS)).nullable().default(null),
  outboxes: z.array(z.string()).nullable().default(null),
  tags: z.array(z.string()).nullable().default(null),
  createdAt: z.number(),
  createdBy: actor,
  /** The API key that it was given to, with which it ends; null: none. Undefined: the one that added it, if one did. */
  key: z.string().nullable().optional(),
  /** Null while it is enabled. */
  disabledBecause: z.enum(DISABLED_BECAUSE).nullable(),
  /** Its secrets, sealed, the current one first; `until`: when one stops signing. */
  secrets: z.array(z.object({ sealed: z.string(), until: z.number().nullable() })).min(1),
  /** The fingerprint of the SECRETS_KEY that sealed them. */
  sealedWith: z.string(),
});

/** An endpoint. `json`: what was read of it, with which a change is compared. */
export interface Endpoint extends z.output<typeof stored> {
  readonly id: string;
  readonly json: string;
}

/** Reads what Redis has of an endpoint; null if that is damaged. */
export function readEndpoint(id: string, json: string): Endpoint | null {
  try {
    return { ...stored.parse(JSON.parse(json)), id, json };
  } catch {
    return null;
  }
}

/** An endpoint as Redis stores it. */
export function packEndpoint({ id: _id, json: _json, ...endpoint }: Endpoint): string {
  return luaJson(JSON.stringify(stored.parse(endpoint)));
}

/** Where an endpoint is, for logs: its path may be a secret. */
export const hostOf = ({ url }: Pick<Endpoint, 'url'>): string => new URL(url).host;

/** The id of the API key that an endpoint belongs to; null if none. */
export function keyOf({ key, createdBy }: Pick<Endpoint, 'key' | 'createdBy'>): string | null {
  return key === undefined && createdBy.kind === 'key' ? createdBy.id : (key ?? null);
}

/** Which events an endpoint gets. */
export type EventFilter = Pick<Endpoint, 'events' | 'outboxes' | 'tags'>;

/** What belongs to a campaign or an outbox. An endpoint that wants only some of these gets nothing else, unless it names it. */
const OF_CAMPAIGNS: readonly DeliveredEvent[] = ['recipients.settled', 'campaign.state'];

/** Whether an endpoint gets events of a type, or some of them. */
export function wantsType({ events, outboxes, tags }: EventFilter, type: DeliveredEvent): boolean {
  if (events !== null) return events.includes(type);
  return (outboxes === null && tags === null) || OF_CAMPAIGNS.includes(type);
}

/** Whose endpoint it is, for a fair share: its key, or else everyone who gets events of the same lanes. */
export const ownerOf = (endpoint: Endpoint): string => keyOf(endpoint) ?? JSON.stringify(endpoint.lanes);

/** What authenticates a secret besides the key: with another address or other lanes, it does not open. */
const contextOf = ({ id, url, lanes }: Pick<Endpoint, 'id' | 'url' | 'lanes'>): string =>
  `webhook ${JSON.stringify([id, url, lanes])}`;

/** A secret of an endpoint; `until`: when it stops signing, ms; null: never. */
export interface OpenSecret {
  readonly secret: string;
  readonly until: number | null;
}

/** An endpoint with these secrets, the current one first, which are sealed for its address and its lanes. */
export function withSecrets(
  seal: Seal,
  endpoint: Omit<Endpoint, 'secrets' | 'sealedWith'>,
  secrets: readonly OpenSecret[],
): Endpoint {
  const context = contextOf(endpoint);
  const sealed = secrets.map(({ secret, until }) => ({ sealed: seal.close(secret, context), until }));
  return { ...endpoint, secrets: sealed, sealedWith: seal.fingerprint };
}

/**
 * The secrets that sign now, the current one first. Throws an InputError if this process has another SECRETS_KEY, or none, or if someone has
 * changed the record.
 */
export function openSecrets(seal: Seal, endpoint: Endpoint, now: number): OpenSecret[] {
  const context = contextOf(endpoint);
  const current = endpoint.secrets.filter(({ until }) => until === null || until > now);
  try {
    // Without a key, a seal opens any text.
    if (seal.fingerprint === '') throw new Error('SECRETS_KEY is not set');
    return current.map(({ sealed, until }) => ({ secret: seal.open(sealed, context), until }));
  } catch (error) {
    const reason = `the secret of webhook ${endpoint.id} does not open with the SECRETS_KEY of this process: give every process the same key`;
    throw new InputError(reason, { cause: error });
  }
}

const MAX_URL = 2_000;

/**
 * The address of an endpoint as it is stored. Throws an InputError if it is not an https address without credentials. Only this machine may
 * be reached over http. Whether the address is public is checked when connecting, because a name may lead elsewhere later.
 */
export function checkedUrl(text: string): string {
  const invalid = (problem: string): InputError => new InputError(problem, { field: 'url' });
  const url = URL.canParse(text) && text.length <= MAX_URL ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw invalid('`url` must be an https address, such as https://shop.example/volley');
  if (url.username !== '' || url.password !== '')
    throw invalid(
      '`url` must not contain a user or a password: verify the signature of each request instead',
    );
  if (url.hash !== '') throw invalid('`url` must not contain a fragment (#…), which no request carries');
  if (url.protocol === 'http:' && !isThisMachine(url.hostname))
    throw invalid('`url` must begin with https://, because the events contain phone numbers');
  return url.href;
}
