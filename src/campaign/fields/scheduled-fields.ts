import { z } from 'zod';
import { type SchemaOf, schemaOf, shownWindowHours, windowHours } from './field-schemas.js';
import { SCHEDULED_NAMES, type ScheduledName } from './field-sets.js';
import type { CampaignFields } from './fields.js';

/*
 * The fields of the campaigns of a schedule.
 */

/** What a schedule stores of the fields of its campaigns. The rule of their window follows from its zone each time. */
export const scheduledFields = {
  ...(Object.fromEntries(
    SCHEDULED_NAMES.map((name) => [name, name === 'message' ? schemaOf(name) : schemaOf(name).optional()]),
  ) as {
    readonly [Name in ScheduledName]: Name extends 'message' ? SchemaOf<Name> : z.ZodOptional<SchemaOf<Name>>;
  }),
  window: windowHours.optional(),
  validFor: z.string().optional(),
};

/** The fields of the campaigns of a schedule, as people and programs see them; null: not given. */
export type ShownScheduledFields = {
  readonly [Name in ScheduledName]: Name extends 'message'
    ? string
    : Name extends 'maxCost'
      ? string | null
      : Name extends 'window'
        ? {
            readonly hours: string;
            readonly except: readonly string[];
            readonly zone: 'recipient' | null;
          } | null
        : NonNullable<CampaignFields[Name]> | null;
};
/** See {@link ShownScheduledFields}. */
export const shownScheduledFields = {
  ...(Object.fromEntries(
    SCHEDULED_NAMES.map((name) => [name, name === 'message' ? schemaOf(name) : schemaOf(name).nullable()]),
  ) as {
    readonly [Name in ScheduledName]: Name extends 'message' ? SchemaOf<Name> : z.ZodNullable<SchemaOf<Name>>;
  }),
  window: shownWindowHours.nullable(),
  validFor: z.string().nullable(),
};
