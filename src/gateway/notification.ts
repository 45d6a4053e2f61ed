import { type DeliveryStatus, isDeliveryStatus } from '../campaign/recipient.js';
import { decoded, numberOf } from './address.js';
import { requestIdOf } from './request-id.js';

/** What a notification says of one recipient. */
export interface DeliveryReport {
  /** The service's id of the request; null where the notification names none. */
  readonly requestId: string | null;
  /** The sender that the request went out from, as the notification spells it, without `tel:`. */
  readonly sender: string | null;
  /** What the request carried as `clientCorrelator`, if the notification repeats it. */
  readonly correlator: string | null;
  /** E.164, with its plus. */
  readonly number: string;
  readonly status: DeliveryStatus;
}

/** The reports of a notification; null if it holds no delivery information at all. */
export type Reports = readonly DeliveryReport[] | null;

/** What was read on the way down to a delivery information; the nearest word counts. */
interface Surroundings {
  readonly requestId: string | null;
  readonly sender: string | null;
  readonly correlator: string | null;
}

/** Deeper than any wrapper is. */
const DEPTH = 12;
/** Longer than an address of a resource with the longest id. What is cut out of a text keeps the whole of it in memory. */
const LONGEST_TEXT = 2_048;
/** More recipients than any request has. */
const MOST_REPORTS = 5_000;

const NOTHING: Surroundings = { requestId: null, sender: null, correlator: null };
/** The segment after `/outbound/` and before `/requests/`. */
const SENDER_IN_URL = /\/outbound\/([^/?#]+)\/requests\//;

/**
 * The reports in the JSON of a notification. Its shape is not shown (interface page, Events, rule 4), only that it is
 * "the same delivery information" as a poll tells. So a delivery information is taken wherever it stands: an object with
 * an address and a delivery status, alone or in a list, under whatever wrappers, its request named by an id or an
 * address beside or above it. Names are read whatever their case. Pure and total: whatever the value is, it never throws.
 */
export function reportsIn(document: unknown): Reports {
  const reports: DeliveryReport[] = [];
  let isDeliveryInformation = false;

  const visit = (value: unknown, around: Surroundings, depth: number): void => {
    if (typeof value !== 'object' || value === null || depth > DEPTH) return;
    if (Array.isArray(value)) {
      for (const item of value) visit(item, around, depth + 1);
      return;
    }
    const fields = new Map(
      Object.entries(value).map(([name, field]) => [name.toLowerCase(), field] as const),
    );
    const own = surroundingsOf(fields, around);
    const status = textOf(fields.get('deliverystatus')) ?? textOf(fields.get('status'));
    const addresses = status === null ? [] : addressesOf(fields.get('address'));
    if (status !== null && addresses.length > 0) isDeliveryInformation = true;
    for (const address of addresses) {
      const number = numberOf(address);
      // A word that is on no list says nothing final, and so nothing that is not known.
      if (number === null || !isDeliveryStatus(status) || reports.length >= MOST_REPORTS) continue;
      reports.push({ ...own, number, status });
    }
    for (const [name, field] of fields) {
      if (name === 'deliveryinfo' && Array.isArray(field) && field.length === 0) isDeliveryInformation = true;
      visit(field, own, depth + 1);
    }
  };
  visit(document, NOTHING, 0);
  return isDeliveryInformation ? reports : null;
}

/** The JSON a body holds; undefined if it holds none. Never throws. */
export function documentOf(body: string): unknown {
  try {
    return JSON.parse(body.startsWith('\uFEFF') ? body.slice(1) : body);
  } catch {
    return undefined;
  }
}

function surroundingsOf(fields: ReadonlyMap<string, unknown>, around: Surroundings): Surroundings {
  const urls = urlsOf(fields);
  const named = textOf(fields.get('requestid'));
  const sender = textOf(fields.get('senderaddress'));
  return {
    requestId: usableId(named) ?? first(urls, requestIdOf) ?? around.requestId,
    sender: (sender === null ? null : keptSender(sender)) ?? first(urls, senderIn) ?? around.sender,
    correlator:
      usableId(textOf(fields.get('clientcorrelator'))) ??
      usableId(textOf(fields.get('callbackdata'))) ??
      around.correlator,
  };
}

/** Addresses of resources beside a delivery information, also as the links of the related OMA interfaces. */
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
    const found = find(url);
    if (found !== null) return found;
  }
  return null;
}

function senderIn(url: string): string | null {
  const segment = SENDER_IN_URL.exec(url)?.[1];
  return segment === undefined ? null : keptSender(decoded(segment));
}

/** Longer than any sender is. What is cut off or cannot be stored makes it nobody's, and not one that was not told. */
const LONGEST_SENDER = 100;

function keptSender(sender: string): string {
  return wellFormed(plainSender(sender).slice(0, LONGEST_SENDER));
}

/** A sender as it is compared: without the prefix that it may or may not have (interface page, senderAddress, rule 4). */
export function plainSender(sender: string): string {
  return sender.trim().replace(/^tel:/i, '');
}

function addressesOf(value: unknown): string[] {
  return (Array.isArray(value) ? value : [value]).map(textOf).filter((text) => text !== null);
}

function textOf(value: unknown): string | null {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_TEXT ? value : null;
}

/** An id that could stand in a path of the service. */
function usableId(id: string | null): string | null {
  return id === null ? null : requestIdOf(`/requests/${encodeURIComponent(wellFormed(id))}`);
}

/** Half a character cannot be encoded, and would throw. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD');
}
