import { z } from 'zod';
import { asSentence } from '../../campaign/errors/errors.js';
import { LABEL, LABEL_FORM, WINDOW_ADVICE } from '../../campaign/fields/field-kinds.js';
import {
  type FieldOf,
  type Fields,
  fieldNamed,
  fieldsFrom,
  fieldsOf,
} from '../../campaign/fields/field-sets.js';
import {
  type CampaignFields,
  FIELDS,
  type Field,
  type FieldName,
  type Taker,
} from '../../campaign/fields/fields.js';
import { FOLLOWED_STATUSES, parseFollowedStatus } from '../../campaign/fields/results-of.js';
import { readMoment } from '../../campaign/time/moment.js';
import { duration } from './schemas.js';

/*
 * The fields of a campaign as members of JSON: their schemas, and how their values are read.
 */

const AMOUNT_FORM = 'Use an amount with at most six decimals, such as 50 or "49.90 EUR"';

const HOURS = 'Days and hours such as `Mon-Sat 09:00-20:00`, several separated by commas';

function schemaOf(field: Field): z.ZodType {
  switch (field.kind) {
    case 'message':
      return z.string().min(1).max(field.longest);
    case 'text':
      return z.string().trim().min(1).max(field.longest);
    case 'country':
      return z
        .string()
        .regex(/^[A-Za-z]{2}$/, 'Use two letters of ISO 3166, such as GB')
        .toUpperCase();
    case 'time':
      return z.string().refine((time) => ['moment', 'noZone'].includes(readMoment(time).kind), {
        error: 'Use ISO 8601, such as YYYY-MM-DDThh:mm+01:00',
      });
    case 'duration':
      return duration;
    case 'amount':
      return z.union(
        [
          z.number().min(0, AMOUNT_FORM),
          z.string().regex(/^\d{1,12}(?:\.\d{1,6})?(?: [A-Za-z]{3})?$/, AMOUNT_FORM),
        ],
        AMOUNT_FORM,
      );
    case 'switch':
      return z.boolean();
    case 'lineNumber':
      return z.int().min(1).max(1_000);
    case 'choice':
      return z.enum(field.choices);
    case 'window':
      return z.strictObject(
        {
          hours: z.string().trim().min(1).max(200).describe(HOURS),
          except: z.array(z.iso.date()).max(200).optional().describe('Dates on which it is closed'),
          zone: z
            .literal('recipient')
            .optional()
            .describe(
              "Whose hours they are. `recipient`: those of each recipient's own time zone. Default: those of `zone`",
            ),
        },
        { error: ({ code }) => (code === 'invalid_type' ? asSentence(WINDOW_ADVICE) : undefined) },
      );
    case 'labels':
      return z.array(z.string().regex(LABEL, LABEL_FORM));
    case 'entries':
      return z.record(z.string(), z.string()).readonly();
    case 'resultsOf':
      return z.strictObject({
        campaign: z.string().min(1).max(40).describe('The id of the campaign'),
        status: z
          .array(
            z.preprocess(
              (text) => (typeof text === 'string' ? (parseFollowedStatus(text) ?? text) : text),
              z.enum(FOLLOWED_STATUSES),
            ),
          )
          .min(1)
          .max(FOLLOWED_STATUSES.length)
          .describe(
            'Final states, `deliveredToNetwork`, or `unknown`, in any spelling that the report accepts; `failed` is a group',
          ),
        after: duration
          .optional()
          .describe('Only of a schedule: how long after the start of that campaign, such as `6h`'),
      });
    default:
      return field satisfies never;
  }
}

/** Times are texts in JSON. */
type JsonOf<Name extends FieldName> = Fields[Name]['kind'] extends 'time'
  ? string
  : NonNullable<CampaignFields[Name]>;

/** The schemas of members by their names. The text is required where no template may have it. */
export type Members<Name extends FieldName> = {
  readonly [Each in Name]: Each extends ('template' extends Name ? never : 'message')
    ? z.ZodType<JsonOf<Each>, JsonOf<Each>>
    : z.ZodOptional<z.ZodType<JsonOf<Each>, JsonOf<Each>>>;
};

/** What a client sends as some fields. */
export type MemberValues<Name extends FieldName> = z.output<z.ZodObject<Members<Name>>>;

/** The fields that are members only where the list is a file. */
export const OF_FILES = ['toColumn', 'sheet', 'headerLine'] as const;

/** The header `Idempotency-Key` is the only field that is never a member. */
type MemberOf<By extends Taker> = Exclude<FieldOf<By>, 'idempotencyKey' | (typeof OF_FILES)[number]>;

/** The members that something takes. */
export function membersOf<By extends Taker>(by: By): Members<MemberOf<By>> {
  return shapeOf(
    fieldsOf(by).filter(
      (name): name is MemberOf<By> & FieldOf<By> =>
        name !== 'idempotencyKey' && !OF_FILES.some((ofFile) => ofFile === name),
    ),
  );
}

/** The members for some fields. */
export function shapeOf<Name extends FieldName>(names: readonly Name[]): Members<Name> {
  return Object.fromEntries(
    names.map((name) => {
      const { description } = fieldNamed(name);
      const schema = schemaOf(fieldNamed(name));
      const isRequired = name === 'message' && !names.some((other) => other === 'template');
      return [name, (isRequired ? schema : schema.optional()).describe(description)];
    }),
  ) as Members<Name>;
}

/** The members of a change: each may be left out, or be null for its default. */
export const changeMembers = Object.fromEntries(
  fieldsOf('change').map((name) => [
    name,
    schemaOf(fieldNamed(name)).nullable().optional().describe(fieldNamed(name).description),
  ]),
) as unknown as {
  readonly [Name in FieldOf<'change'>]: z.ZodOptional<z.ZodNullable<z.ZodType<JsonOf<Name>, JsonOf<Name>>>>;
};

/** The country of nationally written numbers, in upper or lower case; parsed as upper case. */
export const { country } = shapeOf(['country']);
/** Its flag. */
export const COUNTRY_FLAG = { about: FIELDS.country.help, as: 'country' } as const;

/** The fields that something takes, from members that match their schemas. */
export const fieldsIn = <By extends Taker>(by: By, members: object): Pick<CampaignFields, FieldOf<By>> =>
  fieldsFrom(by, members);
