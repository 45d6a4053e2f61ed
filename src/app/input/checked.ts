import { z } from 'zod';
import {
  callback,
  durationText,
  optional,
  parseInput,
  strict,
  timeInput,
} from '../../campaign/fields/input.js';
import type { Time } from '../../campaign/time/moment.js';

/*
 * The methods of the library check their arguments here, by a table of schemas: one for each argument of each method. The compiler names a
 * method, an argument, and a member of an object that has no schema.
 */

type Method = (...args: never[]) => unknown;

/** What an argument is called in messages, '' for an object, whose members have names; and its schema. */
export type Argument<Value = unknown> = readonly [name: string, schema: z.ZodType<Value | undefined>];

type Arguments<Args extends readonly unknown[]> = {
  readonly [At in keyof Required<Args>]: Argument<Args[At]>;
};

/** A method rejects, its rows throw when they are read, or it throws at once. */
type Entry<Call> = Call extends (...args: infer Args) => infer Returned
  ? Returned extends Promise<unknown>
    ? Arguments<Args>
    : Returned extends AsyncIterable<unknown>
      ? { readonly rows: Arguments<Args> }
      : { readonly now: Arguments<Args> }
  : never;

type MethodName<Service> = {
  [Name in keyof Service]: Service[Name] extends Method ? Name : never;
}[keyof Service];

/** The schemas of the arguments of all methods. */
export type Inputs<Service> = { readonly [Name in MethodName<Service>]: Entry<Service[Name]> };

/** A service whose methods check their arguments, and get what the schemas make of them. */
export function checked<Service extends object>(service: Service, inputs: Inputs<Service>): Service {
  return new Proxy(service, {
    get(target, name): unknown {
      const member: unknown = Reflect.get(target, name, target);
      const entry: unknown = Object.hasOwn(inputs, name) ? Reflect.get(inputs, name) : undefined;
      if (typeof member !== 'function' || entry === undefined) return member;
      return checkedMethod((args) => Reflect.apply(member, target, args), entry as AnyEntry);
    },
  });
}

type AnyEntry =
  | readonly Argument[]
  | { readonly rows: readonly Argument[] }
  | { readonly now: readonly Argument[] };

function checkedMethod(call: (args: readonly unknown[]) => unknown, entry: AnyEntry) {
  if ('now' in entry) return (...args: unknown[]) => call(parsed(entry.now, args));
  if (!('rows' in entry)) return async (...args: unknown[]) => call(parsed(entry, args));
  return (...args: unknown[]) => {
    let valid: readonly unknown[];
    try {
      valid = parsed(entry.rows, args);
    } catch (error) {
      return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) };
    }
    return call(valid);
  };
}

const parsed = (schemas: readonly Argument[], args: readonly unknown[]): readonly unknown[] =>
  schemas.map(([name, schema], at) => parseInput(schema, args[at], name));

/** A schema for each member of an object, which makes what its type allows. */
type Shape<Value> = {
  readonly [Name in keyof Required<NoInfer<Value>>]: z.ZodType<NoInfer<Value>[Name]>;
};

/** The other way round: the schemas have no member that the type lacks, and accept all that the type of a member allows. */
type Takes<Value, Schemas> = {
  readonly [Name in keyof Schemas]: Name extends keyof Value
    ? [Value[Name]] extends [z.output<Schemas[Name]>]
      ? unknown
      : 'the type allows more than the schema accepts'
    : 'the type has no such member';
};

/** The schema of an object with these members and no others. The compiler compares them with its type. */
export const members = <Value extends object, Schemas extends Shape<Value> = Shape<Value>>(
  shape: Schemas & Takes<Value, Schemas>,
): z.ZodType<Value> => strict(shape as unknown as z.ZodRawShape) as unknown as z.ZodType<Value>;

/** An argument with options, which may be missing. */
export const options = <Value extends object, Schemas extends Shape<Value> = Shape<Value>>(
  shape: Schemas & Takes<Value, Schemas>,
): Argument<Value> => ['', optional(members<Value, Schemas>(shape))];

export const text = z.string();
export const flag = z.boolean();
export const texts = z.array(text).readonly();
/** How many items a page may have. Each list has a maximum of its own. */
export const limit = optional(z.int().min(1));
export const maybeText = optional(text);
export const maybeDuration = optional(durationText);
export const maybeTexts = optional(texts);
export const maybeTime: z.ZodType<Time | undefined> = optional(timeInput);
export const maybeFlag = optional(flag);
/** A function, which may be missing. */
export const maybeCallback = <Called>(): z.ZodType<Called | undefined> => optional(callback<Called>());
export const maybeSignal = optional(z.instanceof(AbortSignal, { error: 'must be an AbortSignal' }));

export const ID: Argument<string> = ['id', text];
export const NAME: Argument<string> = ['name', text];
export const LANE: Argument<string> = ['lane', text];
