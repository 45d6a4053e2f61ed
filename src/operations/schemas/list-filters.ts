import { z } from 'zod';
import { LIST_FILTERS, type ListFilter, type ListFilters } from '../../campaign/fields/list-filters.js';
import { parseWantedStatus, STATUS_GROUPS, WANTED_STATUSES } from '../../campaign/states/reported-status.js';
import type { Flag } from '../operation.js';
import { separated, several } from './schemas.js';

/*
 * The filters of lists of campaigns and recipients as members of a query, and as flags.
 */

type PerFilter<Value> = Readonly<Record<keyof ListFilters, Value>>;

const perFilter = <Value>(make: (filter: ListFilter) => Value): PerFilter<Value> =>
  Object.fromEntries(
    Object.entries(LIST_FILTERS).map(([name, filter]) => [name, make(filter)]),
  ) as PerFilter<Value>;

/** The members of a query. */
export const filterMembers = perFilter(({ longest, most, description }) => {
  const value = z.string().min(1).max(longest);
  return (most === undefined ? value : several(value, most)).optional().describe(description);
}) as {
  readonly [Name in keyof ListFilters]-?: z.ZodOptional<
    z.ZodType<NonNullable<ListFilters[Name]>, NonNullable<ListFilters[Name]>>
  >;
};

/** The flags of the command. */
export const filterFlags: PerFilter<Flag> = perFilter(({ value, help }) => ({ value, about: help }));

/** The statuses of recipients, in every spelling that {@link parseWantedStatus} accepts; the documentation lists the states. */
export const reportedStatuses = separated(
  z.preprocess((text: string) => parseWantedStatus(text) ?? text, z.enum(WANTED_STATUSES)),
)
  .optional()
  .describe(
    `Only recipients with these states, separated by commas. \`delivered\` is short for \`deliveredToTerminal\`, and \`failed\` means ${STATUS_GROUPS.failed.map((status) => `\`${status}\``).join(', ')}. The spelling of the messaging interface (\`DeliveredToTerminal\`) also works.`,
  );
