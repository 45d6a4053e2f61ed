import { z } from 'zod';
import { luaList } from '../../base/redis/script.js';

/** Why a lane may start no request, as closed.lua explains it, in the order in which the causes count. */
const CAUSES = [
  'stopped',
  'held',
  'recovering',
  'unbounded',
  'noToken',
  'throttled',
  'unreachable',
  'joining',
  'window',
  'unattended',
] as const;
/** See {@link CAUSES}. */
export type Cause = (typeof CAUSES)[number];

const entry = z.object({
  /** What is wrong, for people. */
  why: z.string().default(''),
  /** When it ends by itself, ms; 0: an operator or a process ends it. */
  until: z.number().default(0),
  /** When it began, ms. */
  since: z.number(),
  /** Who holds the lane; a tenant is an operator who is limited to lanes. */
  by: z.enum(['operator', 'tenant']).optional(),
});
/** The causes that hold, the first one first, as scripts return them. */
export const closedList = luaList(entry.extend({ cause: z.enum(CAUSES) }).readonly());
/** A cause that holds. */
export type Closed<Of extends Cause = Cause> = z.output<typeof entry> & { readonly cause: Of };

/** The first of these causes that holds. */
export function firstClosed<Of extends Cause>(
  { closed }: { readonly closed: readonly Closed[] },
  causes: readonly Of[],
): Closed<Of> | undefined {
  const isOneOf = (one: Closed): one is Closed<Of> => causes.some((cause) => cause === one.cause);
  return closed.find(isOneOf);
}

const stored = z.partialRecord(z.enum(CAUSES), entry.loose());

/** Reads the field `closed` of a lane: an entry for each cause, with the members that only scripts read. */
export function parseClosed(text: string | null | undefined): z.output<typeof stored> {
  return text ? stored.parse(JSON.parse(text)) : {};
}
