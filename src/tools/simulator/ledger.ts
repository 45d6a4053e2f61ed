import { Column } from './columns.js';
import { type Fate, FINALS, finalStatus } from './deliveries.js';
import { partsOf } from './parts.js';
import { RowIndex } from './row-index.js';
import { StringTable } from './string-table.js';
import type { Version } from './versions.js';

/** The replies to accepted requests. */
export const ANSWERS = [
  'answered',
  'withoutRequestId',
  'unreadable',
  'error500',
  'reset',
  'never',
  'badRequest',
] as const;
/** See {@link ANSWERS}. */
export type Answered = (typeof ANSWERS)[number];

/** Where the numbers of request ids begin. */
export interface IdSeries {
  /** A request id is this prefix, a hyphen, and a number in base 36. */
  readonly idPrefix: string;
  /** The number of the first request. */
  readonly firstNumber: number;
}

/** A send request to accept. Recipients are E.164 digits without the plus, each with a fate. */
export interface Acceptance {
  readonly at: number;
  /** The index and the name of the quota key. */
  readonly key: { readonly index: number; readonly name: string };
  readonly sender: string;
  /** The sender as the body spells it. */
  readonly senderAddress: string;
  readonly senderName: string | undefined;
  readonly text: string;
  readonly correlator: string | undefined;
  readonly answered: Answered;
  readonly pollable: boolean;
  readonly recipients: readonly number[];
  readonly fates: readonly Fate[];
  readonly version: Version;
  readonly callbackData: string | undefined;
  readonly notifyUrl: string | undefined;
  readonly asynchronous: boolean;
  readonly finalDelivery: boolean | undefined;
}

/** An accepted request. */
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

/** The data of an accepted request that a poll needs. */
export interface KeptRequest {
  readonly at: number;
  readonly keyIndex: number;
  readonly sender: string;
  readonly pollable: boolean;
  readonly recipients: readonly number[];
  readonly fates: readonly Fate[];
  readonly version: Version;
  readonly callbackData: string | undefined;
  readonly asynchronous: boolean;
  /** The parts of the text. Version 1 does not report them, so they are 1. */
  readonly parts: number;
}

/** All of an accepted request: what its first reply and its notifications contain. */
export interface WholeRequest
  extends KeptRequest,
    Pick<
      Acceptance,
      'senderAddress' | 'senderName' | 'text' | 'correlator' | 'answered' | 'notifyUrl' | 'finalDelivery'
    > {
  readonly requestId: string;
}

/** What few requests have, stored as JSON. `senderAddress`: if it is not spelled as in the path. */
type Extras = Partial<
  Pick<Acceptance, 'senderAddress' | 'callbackData' | 'notifyUrl' | 'asynchronous' | 'finalDelivery'>
>;

/**
 * The accepted requests, for tests to check. Stored in columns outside the heap (about 60 bytes per request with one
 * recipient; equal texts are stored once), so that millions fit.
 */
export class Ledger {
  readonly #idPrefix: string;
  readonly #keyNames: string[] = [];
  #firstNumber: number;
  #rows = emptyRows();

  constructor({ idPrefix, firstNumber }: IdSeries) {
    this.#idPrefix = idPrefix;
    this.#firstNumber = firstNumber;
  }

  get requests(): number {
    return this.#rows.at.length;
  }

  get recipients(): number {
    return this.#rows.number.length;
  }

  /** Different (number, text) pairs that were accepted more than once. */
  get duplicates(): number {
    return this.#rows.duplicates;
  }

  /** Records the request and returns its id. */
  accept(request: Acceptance): string {
    const rows = this.#rows;
    const row = rows.at.length;
    const text = rows.strings.intern(request.text);
    this.#keyNames[request.key.index] = request.key.name;
    rows.at.push(request.at);
    rows.key.push(request.key.index);
    rows.sender.push(rows.strings.intern(request.sender));
    rows.senderName.push(optional(rows.strings, request.senderName));
    rows.text.push(text);
    rows.correlator.push(this.#rememberCorrelator(request, row));
    rows.firstRecipient.push(rows.number.length);
    rows.answered.push(ANSWERS.indexOf(request.answered));
    rows.pollable.push(request.pollable ? 1 : 0);
    rows.isV3.push(request.version === 'v3' ? 1 : 0);
    rows.extras.push(optional(rows.strings, extrasOf(request)));
    for (const [index, number] of request.recipients.entries()) {
      const fate = request.fates[index];
      rows.number.push(number);
      rows.requestOf.push(row);
      rows.delay.push(fate?.delayMs ?? 0);
      rows.final.push(FINALS.indexOf(fate?.final ?? 'delivered'));
      this.#countDuplicate(number, text, rows.number.length - 1);
    }
    return this.#idOf(row);
  }

  /** The id of the request with this key and correlator, if any. */
  findCorrelator(keyIndex: number, correlator: string): string | undefined {
    const { correlators, rowOfCorrelator } = this.#rows;
    const known = correlators.find(correlatorName(keyIndex, correlator));
    return known === undefined ? undefined : this.#idOf(rowOfCorrelator.at(known));
  }

  /** The request with this id, or undefined. */
  find(requestId: string): KeptRequest | undefined {
    const row = this.#rowOf(requestId);
    return row === undefined ? undefined : this.#kept(row);
  }

  /** All of the request with this id, or undefined. */
  whole(requestId: string): WholeRequest | undefined {
    const row = this.#rowOf(requestId);
    return row === undefined ? undefined : this.#whole(row);
  }

  /** The requests of which a status changes after `since` (ms), oldest first. */
  *changingAfter(since: number): Generator<WholeRequest> {
    const rows = this.#rows;
    for (let row = 0; row < rows.at.length; row += 1) {
      const [from, to] = this.#recipientRows(row);
      for (let index = from; index < to; index += 1) {
        if (rows.at.at(row) + rows.delay.at(index) <= since) continue;
        yield this.#whole(row);
        break;
      }
    }
  }

  #whole(row: number): WholeRequest {
    const rows = this.#rows;
    const kept = this.#kept(row);
    const { senderAddress = kept.sender, notifyUrl, finalDelivery } = this.#extrasOf(row);
    return {
      ...kept,
      requestId: this.#idOf(row),
      senderAddress,
      senderName: fromOptional(rows.strings, rows.senderName.at(row)) ?? undefined,
      text: rows.strings.at(rows.text.at(row)),
      correlator: this.#correlatorOf(row) ?? undefined,
      answered: ANSWERS[rows.answered.at(row)] ?? 'answered',
      notifyUrl,
      finalDelivery,
    };
  }

  #extrasOf(row: number): Extras {
    const { strings, extras } = this.#rows;
    return JSON.parse(fromOptional(strings, extras.at(row)) ?? '{}') as Extras;
  }

  #kept(row: number): KeptRequest {
    const rows = this.#rows;
    const isV3 = rows.isV3.at(row) === 1;
    const { callbackData, asynchronous = false } = isV3 ? this.#extrasOf(row) : {};
    const [from, to] = this.#recipientRows(row);
    const recipients: number[] = [];
    const fates: Fate[] = [];
    for (let index = from; index < to; index += 1) {
      recipients.push(rows.number.at(index));
      fates.push({ delayMs: rows.delay.at(index), final: FINALS[rows.final.at(index)] ?? 'delivered' });
    }
    return {
      at: rows.at.at(row),
      keyIndex: rows.key.at(row),
      sender: rows.strings.at(rows.sender.at(row)),
      pollable: rows.pollable.at(row) === 1,
      recipients,
      fates,
      version: isV3 ? 'v3' : 'v1',
      callbackData,
      asynchronous,
      parts: isV3 ? partsOf(rows.strings.at(rows.text.at(row))) : 1,
    };
  }

  #correlatorOf(row: number): string | null {
    const { correlators, correlator } = this.#rows;
    const named = fromOptional(correlators, correlator.at(row));
    return named === null ? null : named.slice(named.indexOf(':') + 1);
  }

  /** Every accepted request in the order of acceptance. */
  *entries(): Generator<LedgerEntry> {
    for (let row = 0; row < this.#rows.at.length; row += 1) yield this.#entry(row);
  }

  /** Clears the ledger. Ids of cleared requests stay unknown. */
  clear(): void {
    this.#firstNumber += this.#rows.at.length;
    this.#rows = emptyRows();
  }

  #entry(row: number): LedgerEntry {
    const rows = this.#rows;
    const [from, to] = this.#recipientRows(row);
    const version = rows.isV3.at(row) === 1 ? 'v3' : 'v1';
    return {
      at: rows.at.at(row),
      key: this.#keyNames[rows.key.at(row)] ?? '',
      requestId: this.#idOf(row),
      sender: rows.strings.at(rows.sender.at(row)),
      senderName: fromOptional(rows.strings, rows.senderName.at(row)),
      recipients: Array.from({ length: to - from }, (_, index) => `+${rows.number.at(from + index)}`),
      text: rows.strings.at(rows.text.at(row)),
      correlator: this.#correlatorOf(row),
      callbackData: this.#extrasOf(row).callbackData ?? null,
      answered: ANSWERS[rows.answered.at(row)] ?? 'answered',
      finals: Array.from({ length: to - from }, (_, index) =>
        rows.pollable.at(row) === 1
          ? finalStatus(FINALS[rows.final.at(from + index)] ?? 'delivered', version)
          : null,
      ),
    };
  }

  #recipientRows(row: number): [from: number, to: number] {
    const { firstRecipient, number } = this.#rows;
    return [
      firstRecipient.at(row),
      row + 1 < firstRecipient.length ? firstRecipient.at(row + 1) : number.length,
    ];
  }

  #rememberCorrelator({ key, correlator, version }: Acceptance, row: number): number {
    if (correlator === undefined) return 0;
    const { correlators, rowOfCorrelator } = this.#rows;
    const known = correlators.intern(correlatorName(key.index, correlator));
    if (known === rowOfCorrelator.length) rowOfCorrelator.push(row);
    // Version 3 forgets correlators, and accepts them again.
    else if (version === 'v3') rowOfCorrelator.set(known, row);
    return known + 1;
  }

  #countDuplicate(number: number, text: number, recipient: number): void {
    const rows = this.#rows;
    const hash = hashOfPair(number, text);
    const first = rows.pairs.find(
      hash,
      (row) => rows.number.at(row) === number && rows.text.at(rows.requestOf.at(row)) === text,
    );
    rows.repeated.push(0);
    if (first === undefined) {
      rows.pairs.add(hash, recipient);
      return;
    }
    if (rows.repeated.at(first) === 0) rows.duplicates += 1;
    rows.repeated.set(first, 1);
  }

  #idOf(row: number): string {
    return `${this.#idPrefix}-${(this.#firstNumber + row).toString(36).padStart(6, '0')}`;
  }

  #rowOf(requestId: string): number | undefined {
    const row = Number.parseInt(requestId.slice(requestId.lastIndexOf('-') + 1), 36) - this.#firstNumber;
    return row >= 0 && row < this.requests && this.#idOf(row) === requestId ? row : undefined;
  }
}

function emptyRows() {
  return {
    at: new Column(Float64Array),
    key: new Column(Uint16Array),
    sender: new Column(Uint32Array),
    senderName: new Column(Uint32Array),
    text: new Column(Uint32Array),
    correlator: new Column(Uint32Array),
    firstRecipient: new Column(Uint32Array),
    answered: new Column(Uint8Array),
    pollable: new Column(Uint8Array),
    isV3: new Column(Uint8Array),
    extras: new Column(Uint32Array),
    // One row per recipient. A double holds 15 digits exactly.
    number: new Column(Float64Array),
    requestOf: new Column(Uint32Array),
    delay: new Column(Uint32Array),
    final: new Column(Uint8Array),
    repeated: new Column(Uint8Array),
    pairs: new RowIndex(),
    duplicates: 0,
    strings: new StringTable(),
    correlators: new StringTable(),
    rowOfCorrelator: new Column(Uint32Array),
  };
}

/** Correlators belong to a client: two keys may use the same one. */
function correlatorName(keyIndex: number, correlator: string): string {
  return `${keyIndex}:${correlator}`;
}

function extrasOf(request: Acceptance): string | undefined {
  const { sender, senderAddress, callbackData, notifyUrl, asynchronous, finalDelivery } = request;
  const extras: Extras = {
    ...(senderAddress !== sender && { senderAddress }),
    ...(callbackData !== undefined && { callbackData }),
    ...(notifyUrl !== undefined && { notifyUrl }),
    ...(asynchronous && { asynchronous }),
    ...(finalDelivery !== undefined && { finalDelivery }),
  };
  const json = JSON.stringify(extras);
  return json === '{}' ? undefined : json;
}

/** Encodes an optional string as a number; 0 means undefined. */
function optional(strings: StringTable, text: string | undefined): number {
  return text === undefined ? 0 : strings.intern(text) + 1;
}

function fromOptional(strings: StringTable, stored: number): string | null {
  return stored === 0 ? null : strings.at(stored - 1);
}

function hashOfPair(number: number, text: number): number {
  let hash =
    Math.imul((number % 0x1_0000_0000) ^ Math.floor(number / 0x1_0000_0000), 0x9e3779b1) ^
    Math.imul(text + 1, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 16), 0xc2b2ae35);
  return (hash ^ (hash >>> 13)) >>> 0;
}
