import { z } from 'zod';
import {
  type FieldOf,
  type Fields,
  fieldNamed,
  fieldsOf,
  OUTBOX_NAMES,
  type OutboxName,
  RETURNED_NAMES,
  RETURNED_OUTBOX_NAMES,
  type ReturnedName,
  STORED_NAMES,
  type StoredAs,
  type StoredName,
  storedAs,
} from './field-sets.js';
import type { CampaignFields, Field, FieldName, Taker } from './fields.js';
import { durationText, optional, strict, timeInput } from './input.js';

/*
 * The schemas of fields as programs pass them, as Redis stores them, and as statuses and reports return them.
 */

/** A window as requests and schedules have it: its zone is that of the campaign, or that of each recipient. */
export const windowHours = z.object({
  hours: z.string().describe('Days and hours: `Mon-Sat 09:00-20:00`'),
  except: z.array(z.string()).readonly().describe('Dates on which it is closed'),
  zone: z.literal('recipient').optional(),
});

/** The same, as schedules and statuses show it. */
export const shownWindowHours = windowHours.extend({
  zone: z
    .literal('recipient')
    .nullable()
    .describe("`recipient`: the hours are those of each recipient's own time zone. Otherwise null"),
});

const texts = z.array(z.string()).readonly();
const entries = z.record(z.string(), z.string()).readonly();
const resultsOf = z.object({ campaign: z.string(), status: texts }).readonly();

/** The schemas of stored values. An amount is stored as a text. */
interface Schemas {
  readonly message: z.ZodString;
  readonly text: z.ZodString;
  readonly country: z.ZodString;
  readonly amount: z.ZodString;
  readonly time: z.ZodNumber;
  readonly duration: z.ZodNumber;
  readonly lineNumber: z.ZodNumber;
  readonly switch: z.ZodBoolean;
  /** A rule. */
  readonly window: z.ZodString;
  readonly labels: typeof texts;
  readonly entries: typeof entries;
  readonly resultsOf: typeof resultsOf;
}

/** The type of that schema. */
export type SchemaOf<Name extends FieldName> = Fields[Name]['kind'] extends keyof Schemas
  ? Schemas[Fields[Name]['kind']]
  : z.ZodType<NonNullable<CampaignFields[Name]>>;

/** The schema of the stored values of a field. */
export function schemaOf<Name extends FieldName>(name: Name): SchemaOf<Name> {
  return ofKind(fieldNamed(name)) as SchemaOf<Name>;
}

function ofKind(field: Field): z.ZodType {
  switch (field.kind) {
    case 'message':
    case 'text':
    case 'country':
    case 'amount':
    case 'window':
      return z.string();
    case 'time':
    case 'duration':
    case 'lineNumber':
      return z.number();
    case 'switch':
      return z.boolean();
    case 'choice':
      return z.enum(field.choices);
    case 'labels':
      return texts;
    case 'entries':
      return entries;
    case 'resultsOf':
      return resultsOf;
    default:
      return field satisfies never;
  }
}

/** What a program passes for a field. Only its form: {@link problemsOf} checks the value. */
function inputOfKind(field: Field): z.ZodType {
  switch (field.kind) {
    case 'message':
    case 'text':
    case 'country':
      return z.string();
    case 'duration':
      return durationText;
    case 'amount':
      return z.union([z.string(), z.number()], 'must be an amount such as 50 or "49.90 EUR"');
    case 'time':
      return timeInput;
    case 'switch':
      return z.boolean();
    case 'lineNumber':
      return z.number();
    case 'choice':
      return z.enum(field.choices);
    case 'window':
      return strict({
        hours: optional(z.string()),
        except: optional(texts),
        zone: optional(z.literal('recipient')),
      });
    case 'labels':
      return texts;
    case 'entries':
      return entries;
    case 'resultsOf':
      return strict({ campaign: z.string(), status: texts, after: optional(z.string()) });
    default:
      return field satisfies never;
  }
}

/** The fields that something takes, as programs pass them. `absent`: what may stand for one that is not set; default: undefined and null. */
export const inputFields = <By extends Taker>(by: By, absent: (schema: z.ZodType) => z.ZodType = optional) =>
  Object.fromEntries(
    fieldsOf(by).map((name) => [name, absent(inputOfKind(fieldNamed(name)))]),
  ) as unknown as {
    readonly [Name in FieldOf<By>]: z.ZodType<CampaignFields[Name]>;
  };

type IfGiven<Name extends FieldName> = Fields[Name]['stored'] extends 'always'
  ? SchemaOf<Name>
  : z.ZodOptional<SchemaOf<Name>>;

function storedSchemaOf(name: FieldName): z.ZodType {
  const schema = ofKind(fieldNamed(name));
  return fieldNamed(name).stored === 'always' ? schema : schema.optional();
}

/** What a campaign stores of its fields. */
export const storedFields = Object.fromEntries(
  STORED_NAMES.map((name) => [storedAs(name), storedSchemaOf(name)]),
) as { readonly [Name in StoredName as StoredAs<Name>]: IfGiven<Name> };

/** What an outbox stores of the fields of its messages. */
export const outboxFields = Object.fromEntries(OUTBOX_NAMES.map((name) => [name, storedSchemaOf(name)])) as {
  readonly [Name in OutboxName]: IfGiven<Name>;
};

const returned = <Name extends ReturnedName>(names: readonly Name[]) =>
  Object.fromEntries(
    names.map((name) => [name, schemaOf(name).describe(fieldNamed(name).returned ?? '')]),
  ) as { readonly [Each in Name]: SchemaOf<Each> };

/** Your own data about a campaign, in its status, reports, and results. */
export interface ReturnedFields {
  /** Sorted. */
  readonly tags: readonly string[];
  /** As you passed it when you created the campaign. */
  readonly metadata: Readonly<Record<string, string>>;
}
/** See {@link ReturnedFields}. */
export const returnedFields = returned(RETURNED_NAMES);

/** The producer's own data, in the status of an outbox. */
export const returnedOutboxFields = returned(RETURNED_OUTBOX_NAMES);
