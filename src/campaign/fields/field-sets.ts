import { InputError } from '../errors/errors.js';
import { emptyOf, storedForm, tooLong } from './field-kinds.js';
import { type CampaignFields, FIELDS, type Field, type FieldName, type Taker } from './fields.js';

/*
 * What follows from the rows of the fields: which of them a schedule takes, which are stored, and so on, as types and as lists.
 */

/** The rows, by the names of the fields. */
export type Fields = typeof FIELDS;

/** The fields that something takes. */
export type FieldOf<By extends Taker> = {
  [Name in FieldName]: By extends Fields[Name]['takenBy'][number] ? Name : never;
}[FieldName];

type NameStored<How extends 'always' | 'ifGiven'> = {
  [Name in FieldName]: Fields[Name]['stored'] extends How ? Name : never;
}[FieldName];

/** The fields with which campaigns are stored. */
export type StoredName = NameStored<'always' | 'ifGiven'>;

/** The member of a stored campaign for a field. */
export type StoredAs<Name extends StoredName> = Fields[Name] extends {
  readonly storedAs: infer Member extends string;
}
  ? Member
  : Name;

/** The value with which a field is stored. */
export type StoredValue<Name extends FieldName> = Fields[Name]['kind'] extends 'amount'
  ? Extract<CampaignFields[Name], string | undefined>
  : Fields[Name]['kind'] extends 'time'
    ? Extract<CampaignFields[Name], number | undefined>
    : Fields[Name]['kind'] extends 'duration'
      ? number | undefined
      : Fields[Name]['kind'] extends 'window'
        ? string | undefined
        : CampaignFields[Name];

/** The fields of a stored campaign, with their defaults. */
export type StoredFields = {
  readonly [Name in NameStored<'always'> as StoredAs<Name>]: NonNullable<CampaignFields[Name]>;
} & {
  readonly [Name in NameStored<'ifGiven'> as StoredAs<Name>]?: StoredValue<Name>;
};

/** The fields that are the producer's own data. */
export type ReturnedName = {
  [Name in FieldName]: Fields[Name] extends { readonly returned: string } ? Name : never;
}[FieldName];

/** The row of a field. */
export const fieldNamed: (name: FieldName) => Field = (name) => FIELDS[name];

/** All fields, in their order. */
export const FIELD_NAMES = Object.keys(FIELDS) as FieldName[];

/** The fields that something takes, in their order. */
export function fieldsOf<By extends Taker>(by: By): readonly FieldOf<By>[] {
  return FIELD_NAMES.filter((name): name is FieldOf<By> => fieldNamed(name).takenBy.includes(by));
}

/** The fields with which campaigns are stored. */
export const STORED_NAMES = FIELD_NAMES.filter(
  (name): name is StoredName => fieldNamed(name).stored !== 'never',
);

/** The member of a stored campaign for a field. */
export const storedAs = (name: StoredName): keyof StoredFields =>
  (fieldNamed(name).storedAs ?? name) as keyof StoredFields;

/**
 * The fields that something takes, from values by their names. `read` turns what a client has sent into the value of a field. Without
 * it, the values are used as they are.
 */
export function fieldsFrom<By extends Taker>(
  by: By,
  values: object,
  read: (field: Field, value: unknown) => unknown = (_, value) => value,
): Pick<CampaignFields, FieldOf<By>> {
  const given = new Map<string, unknown>(Object.entries(values));
  return Object.fromEntries(
    fieldsOf(by).flatMap((name) => {
      const value = given.get(name);
      return value === undefined ? [] : [[name, read(fieldNamed(name), value)]];
    }),
  ) as unknown as Pick<CampaignFields, FieldOf<By>>;
}

/** The form of a value that is stored. A window is not a rule yet, and a duration is as it was given. */
type FormOf<Name extends FieldName> = Name extends 'window'
  ?
      | {
          readonly hours: string;
          readonly except: readonly string[];
          readonly zone?: 'recipient' | undefined;
        }
      | undefined
  : Fields[Name]['kind'] extends 'duration'
    ? CampaignFields[Name]
    : StoredValue<Name>;

/** Some fields in the form in which they are stored, and no field that is not given. */
export function storedValues<Name extends FieldName>(
  names: readonly Name[],
  fields: { readonly [Each in Name]?: CampaignFields[Each] | undefined },
): { readonly [Each in Name]: FormOf<Each> } {
  return Object.fromEntries(
    names.flatMap((name) => {
      const given = fields[name];
      const value = given === undefined ? undefined : storedForm(fieldNamed(name), given);
      return value === undefined ? [] : [[name, value]];
    }),
  ) as { readonly [Each in Name]: FormOf<Each> };
}

/** The fields of a campaign as members of what is stored of it. */
export function storedFieldsOf(fields: { readonly [Name in StoredName]?: StoredValue<Name> }): StoredFields {
  return Object.fromEntries(
    STORED_NAMES.map((name) => [storedAs(name), fields[name]]),
  ) as unknown as StoredFields;
}

/** What is wrong with the values of these fields, which have their defaults. */
export function problemsOf(names: readonly FieldName[], fields: Partial<CampaignFields>): InputError[] {
  return names.flatMap((name) => {
    const field = fieldNamed(name);
    const value = fields[name];
    const problem =
      value === undefined ? field.missing : (tooLong(field, name, value) ?? field.problem?.(value as never));
    return typeof problem === 'string' ? [new InputError(problem, { field: name })] : [];
  });
}

/** The fields that are the producer's own data. */
export const RETURNED_NAMES = FIELD_NAMES.filter(
  (name): name is ReturnedName => fieldNamed(name).returned !== undefined,
);

/**
 * Fields of a schedule that its campaigns do not store: the name and the lane are those of the schedule, the text of a template is copied, and
 * the list that it reads is stored apart.
 */
const OF_SCHEDULE = ['name', 'lane', 'template', 'toResultsOf'] as const;

/** The fields that a schedule stores for its campaigns. The zone of a window is its zone. */
export type ScheduledName = Exclude<FieldOf<'schedule'>, (typeof OF_SCHEDULE)[number]> | 'zone';

/** See {@link ScheduledName}. */
export const SCHEDULED_NAMES: readonly ScheduledName[] = FIELD_NAMES.filter(
  (name): name is ScheduledName =>
    name === 'zone' ||
    (fieldNamed(name).takenBy.includes('schedule') && !OF_SCHEDULE.some((own) => own === name)),
);

/** The fields that an outbox stores as they are. Its lane is part of its key, and its window becomes a rule. */
export type OutboxName = Exclude<FieldOf<'outbox'>, 'lane' | 'window'>;

/** See {@link OutboxName}. */
export const OUTBOX_NAMES: readonly OutboxName[] = fieldsOf('outbox').filter(
  (name): name is OutboxName => name !== 'lane' && name !== 'window',
);

/** The fields of an outbox that are the producer's own data. */
export const RETURNED_OUTBOX_NAMES = RETURNED_NAMES.filter((name): name is ReturnedName & OutboxName =>
  fieldNamed(name).takenBy.includes('outbox'),
);

type Some<Name extends FieldName> = { readonly [Each in Name]?: CampaignFields[Each] };

const withEmpty = <Name extends ReturnedName>(names: readonly Name[], stored: Some<Name>) =>
  Object.fromEntries(names.map((name) => [name, stored[name] ?? emptyOf(fieldNamed(name))])) as {
    readonly [Each in Name]: NonNullable<CampaignFields[Each]>;
  };

/** The producer's own data of a campaign, with empty values for what it has none of. */
export const returnedOf = (campaign: Some<ReturnedName>) => withEmpty(RETURNED_NAMES, campaign);

/** The same of an outbox. */
export const returnedOfOutbox = (outbox: Some<ReturnedName & OutboxName>) =>
  withEmpty(RETURNED_OUTBOX_NAMES, outbox);

/** The members of a stored campaign in which requests with one idempotency key must agree, besides the list, and what they are called. */
export const COMPARED_MEMBERS = STORED_NAMES.flatMap((name) => {
  const { compared } = fieldNamed(name);
  return compared === null ? [] : [{ member: storedAs(name), compared }];
});
