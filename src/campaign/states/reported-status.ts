import { RECIPIENT_STATES } from './recipient.js';

/*
 * The statuses of the rows of a report, and how people ask for them.
 */

/**
 * The statuses of a row of the list that was left out: its number is that of an earlier row, or it was invalid and `skipInvalid` was set.
 * No count of the campaign includes such a row.
 */
export const LEFT_OUT_STATUSES = ['duplicate', 'invalid'] as const;

/** The status of a row of a report: the state of a recipient, or why a row of the list was left out. */
export const REPORTED_STATUSES = [...RECIPIENT_STATES, ...LEFT_OUT_STATUSES] as const;

/** See {@link REPORTED_STATUSES}. */
export type ReportedStatus = (typeof REPORTED_STATUSES)[number];

/** Statuses that people look for together. `failed`: no message arrived, and the reason is neither a choice nor unknown. */
export const STATUS_GROUPS = {
  failed: ['deliveryImpossible', 'rejected', 'lapsed'],
} as const satisfies Record<string, readonly ReportedStatus[]>;

/** What a report can be limited to: a status, or a group of them. */
export const WANTED_STATUSES = [
  ...REPORTED_STATUSES,
  ...(Object.keys(STATUS_GROUPS) as (keyof typeof STATUS_GROUPS)[]),
] as const;
/** See {@link WANTED_STATUSES}. */
export type WantedStatus = (typeof WANTED_STATUSES)[number];

/** What people may write, for help and errors. */
export const STATUS_FORM = `delivered (short for deliveredToTerminal), failed (${STATUS_GROUPS.failed.join(', ')}), or one of ${REPORTED_STATUSES.join(', ')}`;

/**
 * Reads a status as people and programs write it, in any case: one of {@link WANTED_STATUSES} such as `deliveredToTerminal`,
 * which is also how the service spells it (`DeliveredToTerminal`), or `delivered` for short. Null if it is none of them.
 */
export function parseWantedStatus(text: string): WantedStatus | null {
  const name = text.trim().toLowerCase();
  if (name === 'delivered') return 'deliveredToTerminal';
  if (name === 'deliveryuncertain') return 'unconfirmed';
  return WANTED_STATUSES.find((status) => status.toLowerCase() === name) ?? null;
}

/** The statuses that are wanted: those of a group, or one. */
export function statusesOf(wanted: WantedStatus): readonly ReportedStatus[] {
  return Object.hasOwn(STATUS_GROUPS, wanted)
    ? STATUS_GROUPS[wanted as keyof typeof STATUS_GROUPS]
    : [wanted as ReportedStatus];
}
