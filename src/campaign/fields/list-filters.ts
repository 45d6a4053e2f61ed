import { MAX_LABEL_LENGTH, MAX_LABELS } from './field-kinds.js';
import type { StoredFields } from './field-sets.js';

/*
 * The filters of lists of campaigns that look at the fields of each: the query of the HTTP API, the flags of `volley list`, and the options of
 * the library. To add one, add it to ListFilters, and then its row; then to `filters` in app/input/campaigns.ts, and, if the console has it,
 * in surfaces/console/screens/lists.tsx. Nothing here may load zod: the rows also make the flags.
 */

/** Which campaigns a list contains, by their fields. */
export interface ListFilters {
  /** A part of the name, in upper or lower case. */
  readonly name?: string | undefined;
  /** A tag, or several, all of which a campaign must have. */
  readonly tag?: string | readonly string[] | undefined;
}

/** A row: all that is known about a filter. */
export interface ListFilter {
  /** Its longest value. */
  readonly longest: number;
  /** How many values it takes; undefined: one. A campaign must match all of them. */
  readonly most?: number;
  /** What the documentation of the HTTP API says. */
  readonly description: string;
  /** What stands for its value in help, and what help says about it. */
  readonly value: string;
  readonly help: string;
  matches(campaign: StoredFields, value: string): boolean;
}

/** The filters. Documentation and help list them in this order. */
export const LIST_FILTERS: Readonly<Record<keyof ListFilters, ListFilter>> = {
  name: {
    longest: 200,
    description: 'A part of the name, in upper or lower case',
    value: 'text',
    help: 'only campaigns with this text in their name, in upper or lower case',
    matches: ({ name }, part) => name.toLowerCase().includes(part.toLowerCase()),
  },
  tag: {
    longest: MAX_LABEL_LENGTH,
    most: MAX_LABELS,
    description: 'Only campaigns with this tag. Repeat it for campaigns that have all of several',
    value: 'label',
    help: 'only campaigns with this tag; repeat it for campaigns that have all of several',
    matches: ({ tags = [] }, tag) => tags.includes(tag),
  },
};

/** Whether a campaign matches all of the filters. */
export function matchesFilters(campaign: StoredFields, filters: ListFilters): boolean {
  return Object.entries(LIST_FILTERS).every(([name, { matches }]) =>
    [filters[name as keyof ListFilters] ?? []].flat().every((value) => matches(campaign, value)),
  );
}
