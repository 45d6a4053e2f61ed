import { PROFILES, type ServiceProfile } from '../../base/profiles/index.js';
import type { DeliveryStatus, StatusWord } from '../../campaign/states/recipient.js';
import { decoded, numberOf, requestIdOf } from './address.js';
import { statusOf } from './outcome.js';
import { statusWord } from './status-word.js';

/** A notification's report on one recipient. */
export interface DeliveryReport {
  /** The service's id of the request; null if the notification names none. */
  readonly requestId: string | null;
  /** The request's sender as the notification spells it, without `tel:`; null if it names none. */
  readonly sender: string | null;
  /** The request's `clientCorrelator`, if the notification repeats it. */
  readonly correlator: string | null;
  /** E.164, with its plus. */
  readonly number: string;
  /** `DeliveredToNetwork` for a status that the profile does not list: it is not final. */
  readonly status: DeliveryStatus;
  /** The service's own word, where it says more (status-word.ts). */
  readonly word?: StatusWord;
}

/** Fields that were read on the way down to a delivery information; the nearest value counts. */
type Context = Pick<DeliveryReport, 'requestId' | 'sender' | 'correlator'>;

/** Deeper than any known wrapper. */
const MAX_DEPTH = 12;
/** Longer than a resource's URL with the longest id. A part cut from a text would keep all of it in memory. */
const MAX_TEXT = 2_048;
/** More recipients than any request has. */
const MAX_REPORTS = 5_000;
/** Objects and addresses that are read: more than so many reports take, and few enough to be read within some milliseconds. */
const MAX_READ = 20_000;

const NO_CONTEXT: Context = { requestId: null, sender: null, correlator: null };
/** The segment after `/outbound/` and before `/requests/`. */
const SENDER_IN_URL = /\/outbound\/([^/?#]+)\/requests\//;

/**
 * The reports in the JSON of a notification; null if it contains no delivery information at all. The interface page does not show
 * the shape (Events, rule 4), only that it is "the same delivery information" that a poll returns. A delivery information is
 * therefore read wherever it appears: an object with an address and a delivery status, alone or in a list, inside any wrappers,
 * with the request named by an id or a URL beside or above it. Names are case-insensitive. Never throws.
 */
export function reportsIn(
  document: unknown,
  profile: ServiceProfile = PROFILES.v1,
): readonly DeliveryReport[] | null {
  const reports: DeliveryReport[] = [];
  let isDeliveryInformation = false;
  let left = MAX_READ;

  const visit = (value: unknown, outer: Context, depth: number): void => {
    if (typeof value !== 'object' || value === null || depth > MAX_DEPTH || left <= 0) return;
    left -= 1;
    if (Array.isArray(value)) {
      for (const item of value) visit(item, outer, depth + 1);
      return;
    }
    const fields = new Map(
      Object.entries(value).map(([name, field]) => [name.toLowerCase(), field] as const),
    );
    const context = contextOf(fields, outer);
    const status = textOf(fields.get('deliverystatus')) ?? textOf(fields.get('status'));
    const addresses = status === null ? [] : addressesOf(fields.get('address'));
    const meaning = (status === null ? undefined : statusOf(profile, status)) ?? 'DeliveredToNetwork';
    const word = status === null ? undefined : statusWord(status, fields.get('deliverystatuscode'));
    if (status !== null && addresses.length > 0) isDeliveryInformation = true;
    left -= addresses.length;
    for (const address of addresses.slice(0, MAX_READ)) {
      if (reports.length >= MAX_REPORTS) break;
      const number = numberOf(address);
      if (number === null) continue;
      reports.push({ ...context, number, status: meaning, ...(word === undefined ? {} : { word }) });
    }
    for (const [name, field] of fields) {
      if (name === 'deliveryinfo' && Array.isArray(field) && field.length === 0) isDeliveryInformation = true;
      visit(field, context, depth + 1);
    }
  };
  visit(document, NO_CONTEXT, 0);
  if (!isDeliveryInformation) return null;
  // Of two final statuses of a number, the first counts: here, the delivery, in whichever order the notification has them (outcome.ts).
  const isImpossible = ({ status }: DeliveryReport): boolean => status === 'DeliveryImpossible';
  return [...reports.filter((report) => !isImpossible(report)), ...reports.filter(isImpossible)];
}

function contextOf(fields: ReadonlyMap<string, unknown>, outer: Context): Context {
  const urls = urlsOf(fields);
  const named = textOf(fields.get('requestid'));
  const sender = textOf(fields.get('senderaddress'));
  return {
    requestId: usableId(named) ?? first(urls, requestIdOf) ?? outer.requestId,
    sender: (sender === null ? null : storedSender(sender)) ?? first(urls, senderIn) ?? outer.sender,
    correlator:
      usableId(textOf(fields.get('clientcorrelator'))) ??
      usableId(textOf(fields.get('callbackdata'))) ??
      outer.correlator,
  };
}

/** URLs of resources beside a delivery information, also as links as in the related OMA interfaces. */
function urlsOf(fields: ReadonlyMap<string, unknown>): string[] {
  const urls = [
    textOf(fields.get('resourceurl')),
    textOf(fields.get('href')),
    textOf(fields.get('location')),
  ];
  for (const name of ['link', 'links', 'resourcereference']) {
    const linked = fields.get(name);
    for (const link of Array.isArray(linked) ? linked : [linked]) {
      if (typeof link !== 'object' || link === null) continue;
      for (const [inner, value] of Object.entries(link)) {
        if (/^(href|resourceurl)$/i.test(inner)) urls.push(textOf(value));
      }
    }
  }
  return urls.filter((url) => url !== null);
}

function first<Found>(urls: readonly string[], find: (url: string) => Found | null): Found | null {
  for (const url of urls) {
    const match = find(url);
    if (match !== null) return match;
  }
  return null;
}

function senderIn(url: string): string | null {
  const segment = SENDER_IN_URL.exec(url)?.[1];
  return segment === undefined ? null : storedSender(decoded(segment));
}

/** Longer than any sender. A sender that is cut or cannot be stored matches no lane, but still counts as named. */
const MAX_SENDER = 100;

function storedSender(sender: string): string {
  return wellFormed(plainSender(sender).slice(0, MAX_SENDER));
}

/** A sender in the form used for comparisons: without the optional prefix (interface page, senderAddress, rule 4). */
export function plainSender(sender: string): string {
  return sender.trim().replace(/^tel:/i, '');
}

function addressesOf(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).map(textOf).filter((text) => text !== null);
}

function textOf(value: unknown): string | null {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  return typeof value === 'string' && value !== '' && value.length <= MAX_TEXT ? value : null;
}

/** An id that can be a path segment; otherwise null. */
function usableId(id: string | null): string | null {
  return id === null ? null : requestIdOf(`/requests/${encodeURIComponent(wellFormed(id))}`);
}

/** Replaces lone surrogates: encoding them would throw. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD');
}
