import { z } from 'zod';
import { DURATION_FORM, durationOf } from '../../base/duration.js';
import { readMoment } from '../../campaign/time/moment.js';

/*
 * Schemas that operations share. Members of an address or a query arrive as texts.
 */

/** A number of things. */
export const count = z.int().min(0);

/** A duration above zero. */
export const duration = z
  .string()
  .refine((text) => durationOf(text) !== null, `Use a duration greater than zero: ${DURATION_FORM}`);

export const laneName = z.string().min(1).max(100);

/** The lane that a list is limited to. `things`: what it lists, in the plural. */
export const onlyOfLane = (things: string) => laneName.optional().describe(`Only ${things} of this lane`);
/** Its flag. */
export const LANE_FLAG = { short: '-l', value: 'name' } as const;

/** What the library returns, for operations that HTTP lacks: their output has no schema, because no client reads it. */
export const ofLibrary = <Value>() => z.custom<Value>();

/** A member of an address that may be given several times. Given once, it arrives as one value. */
export const several = <Item extends z.ZodType>(item: Item, most: number) =>
  z.preprocess(
    (given: z.input<Item> | readonly z.input<Item>[] | undefined) =>
      given === undefined ? undefined : [given].flat(),
    z.array(item).min(1).max(most),
  );

/** Words in an address: separated by commas, or given several times. */
export const separated = <Item extends z.ZodType>(item: Item) =>
  z.preprocess(
    (given) => (given === undefined ? undefined : [given].flat().flatMap((one) => String(one).split(','))),
    z.array(item).min(1),
  );

/** A switch in the address of a request, which has only texts. */
export const yesOrNo = z.preprocess(
  (text: boolean | 'true' | 'false' | undefined) =>
    text === 'true' ? true : text === 'false' ? false : text,
  z.boolean(),
);

/** A whole number in an address. */
export const wholeNumber = (from: number, to: number) => z.coerce.number().int().min(from).max(to);

/** A time in ms, for the library: there, a small number would be one in seconds. */
export const dateOf = (ms: number | undefined): Date | undefined =>
  ms === undefined ? undefined : new Date(ms);

/** A time in an address, in ms since the epoch. There, an unescaped plus sign is a space. */
export const moment = z
  .string()
  .transform((text) => text.replace(' ', '+'))
  .refine((text) => readMoment(text).kind === 'moment', {
    error: 'Use ISO 8601 with a time zone, such as YYYY-MM-DDThh:mmZ',
  })
  .transform((text) => {
    const read = readMoment(text);
    return read.kind === 'moment' ? read.at : Number.NaN;
  });

/**
 * The values of a row in the OpenAPI document: of any type. Only texts, numbers, and null are valid, but a generated client would refuse a
 * list in which only some rows have an optional member such as `reference`.
 */
export const ANY_VALUES = {
  additionalProperties: {
    description:
      'The value for the placeholder with this name: a text, a number, or null for no value. Other types are refused.',
  },
} as const;
