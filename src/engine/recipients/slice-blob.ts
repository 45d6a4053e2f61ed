import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** Recipients per slice. A batch never spans two slices. */
export const SLICE = 256;

/** A recipient as it is stored: its number, and a value per placeholder, in the order of the message. */
export interface StoredRecipient {
  /** E.164 with its plus. */
  readonly number: string;
  readonly values: readonly string[];
  /** The producer's own name for it. */
  readonly reference?: string | undefined;
}

/**
 * A slice is a deflated JSON array of columns, because similar values compress best next to each other: numbers without their plus,
 * references, and values.
 */
type Columns = [numbers: number[], references: string[], ...values: string[][]];

/** Packs 1 to {@link SLICE} recipients, all with the same number of values. Throws a RangeError otherwise. */
export function packSlice(recipients: readonly StoredRecipient[]): Buffer {
  const columns = recipients[0]?.values ?? [];
  const isSlice = recipients.length > 0 && recipients.length <= SLICE;
  if (!isSlice || recipients.some(({ values }) => values.length !== columns.length))
    throw new RangeError(
      `a slice has 1 to ${SLICE} recipients with the same number of values, not ${recipients.length}`,
    );
  const slice: Columns = [
    recipients.map(({ number }) => Number(number)),
    recipients.map(({ reference = '' }) => reference),
    ...columns.map((_, column) => recipients.map(({ values }) => values[column] ?? '')),
  ];
  return deflateRawSync(JSON.stringify(slice));
}

/** Unpacks what {@link packSlice} packed. Throws if the slice is cut short. */
export function unpackSlice(blob: Buffer): StoredRecipient[] {
  const [numbers, references, ...columns] = columnsOf(blob);
  return numbers.map((number, at) => ({
    number: `+${number}`,
    values: columns.map((values) => values[at] ?? ''),
    ...(references[at] ? { reference: references[at] } : {}),
  }));
}

/** Unpacks only the numbers, without their plus. */
export const unpackNumbers = (blob: Buffer): number[] => columnsOf(blob)[0];

/** Unpacks only the references; empty texts where there are none. */
export const unpackReferences = (blob: Buffer): string[] => columnsOf(blob)[1];

const columnsOf = (blob: Buffer): Columns => JSON.parse(inflateRawSync(blob).toString());
