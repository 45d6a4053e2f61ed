import type { Version } from '../rules/versions.js';
import { type Fate, finalStatus } from './deliveries.js';

/** How an accepted request is answered. */
export type Answered =
  | 'answered'
  | 'withoutRequestId'
  | 'unreadable'
  | 'error500'
  | 'reset'
  | 'never'
  | 'badRequest';

/** An accepted send request. Recipients are E.164 digits without the plus, each with a fate. */
export interface Accepted {
  readonly requestId: string;
  readonly at: number;
  /** The name of the quota key. */
  readonly key: string;
  readonly sender: string;
  /** The sender as the body spells it. */
  readonly senderAddress: string;
  readonly senderName: string | undefined;
  readonly text: string;
  readonly parts: number;
  readonly correlator: string | undefined;
  readonly answered: Answered;
  /** Whether polls find it. */
  readonly pollable: boolean;
  readonly recipients: readonly number[];
  readonly fates: readonly Fate[];
  readonly version: Version;
  readonly callbackData: string | undefined;
  readonly notifyUrl: string | undefined;
  readonly asynchronous: boolean;
  readonly finalDelivery: boolean | undefined;
}

/** What a test sees of an accepted request. */
export interface LedgerEntry {
  at: number;
  key: string;
  requestId: string;
  sender: string;
  senderName: string | null;
  recipients: string[];
  text: string;
  correlator: string | null;
  callbackData: string | null;
  answered: Answered;
  /** The final status of each recipient, or null if it never gets one. */
  finals: (string | null)[];
}

/** The accepted requests, for polls, notifications, and tests. One with one recipient takes about 1 kB. */
export class Ledger {
  readonly #idPrefix: string;
  readonly #requests = new Map<string, Accepted>();
  readonly #ofCorrelator = new Map<string, Accepted>();
  /** Accepted requests so far, the cleared ones too: ids are never reused. */
  #count = 0;

  /** Request ids begin with `idPrefix`. */
  constructor(idPrefix: string) {
    this.#idPrefix = idPrefix;
  }

  get requests(): number {
    return this.#requests.size;
  }

  get recipients(): number {
    let count = 0;
    for (const { recipients } of this.#requests.values()) count += recipients.length;
    return count;
  }

  /** Different (number, text) pairs that were accepted more than once. */
  get duplicates(): number {
    const texts = new Map<number, string[]>();
    for (const { recipients, text } of this.#requests.values()) {
      for (const number of recipients) {
        const known = texts.get(number);
        if (known === undefined) texts.set(number, [text]);
        else known.push(text);
      }
    }
    let count = 0;
    for (const own of texts.values())
      if (own.length > 1) count += new Set(own.filter((text, at) => own.indexOf(text) < at)).size;
    return count;
  }

  /** Adds a request, which gets an id. */
  accept(request: Omit<Accepted, 'requestId'>): Accepted {
    const number = this.#count.toString(36).padStart(6, '0');
    const accepted = { requestId: `${this.#idPrefix}-${number}`, ...request };
    this.restore(accepted);
    return accepted;
  }

  /** Adds a request that an earlier simulator accepted. */
  restore(request: Accepted): void {
    this.#count += 1;
    this.#requests.set(request.requestId, request);
    if (request.correlator === undefined) return;
    const name = correlatorName(request.key, request.correlator);
    // Version 3 forgets correlators, and accepts them again.
    if (request.version === 'v3' || !this.#ofCorrelator.has(name)) this.#ofCorrelator.set(name, request);
  }

  /** The request that is known by this key and correlator, if any. */
  findCorrelator(key: string, correlator: string): Accepted | undefined {
    return this.#ofCorrelator.get(correlatorName(key, correlator));
  }

  /** The request with this id, or undefined. */
  find(requestId: string): Accepted | undefined {
    return this.#requests.get(requestId);
  }

  /** The requests of which a status changes after `since` (ms), oldest first. */
  *changingAfter(since: number): Generator<Accepted> {
    for (const request of this.#requests.values())
      if (request.fates.some(({ delayMs }) => request.at + delayMs > since)) yield request;
  }

  /** Every accepted request in the order of acceptance. */
  *entries(): Generator<LedgerEntry> {
    for (const request of this.#requests.values()) {
      const { at, key, requestId, sender, text, answered, version, pollable } = request;
      yield {
        at,
        key,
        requestId,
        sender,
        senderName: request.senderName ?? null,
        recipients: request.recipients.map((number) => `+${number}`),
        text,
        correlator: request.correlator ?? null,
        callbackData: request.callbackData ?? null,
        answered,
        finals: request.fates.map(({ final }) => (pollable ? finalStatus(final, version) : null)),
      };
    }
  }

  /** Clears the ledger. Ids of cleared requests stay unknown. */
  clear(): void {
    this.#requests.clear();
    this.#ofCorrelator.clear();
  }
}

/** Correlators belong to a client: two keys may use the same one. */
function correlatorName(key: string, correlator: string): string {
  return `${key} ${correlator}`;
}
