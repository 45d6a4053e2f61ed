import type { CampaignState } from './campaign.js';
import { RECIPIENT_STATE, RECIPIENT_STATES, type RecipientState } from './recipient.js';

/*
 * The names in the stored state of a campaign. A platform has very many campaigns of one recipient, and long names would take most of
 * the memory of their states. The scripts use the same tables (lane/states.lua, generated from these). What an earlier version
 * stored under the long names is read as well.
 */

/** The stored names of the members that most campaigns have. Other members are stored under their own names. */
export const STORED_MEMBER = {
  state: 's',
  total: 't',
  ordinals: 'o',
  cursor: 'i',
  counts: 'c',
  sends: 'q',
  polls: 'p',
  accepted: 'a',
  remembered: 'm',
  launchAt: 'l',
  endedAt: 'e',
  number: 'n',
  changes: 'v',
  letters: 'x',
  record: 'r',
} as const;

/** The stored names of the states of a campaign. */
export const STORED_STATE = {
  importing: 'i',
  scheduled: 's',
  running: 'r',
  paused: 'p',
  cancelled: 'x',
  completed: 'c',
} as const satisfies Record<CampaignState, string>;

/** The stored names of the states of recipients, in the counts: their letters, where they have one. */
export const STORED_COUNT: Readonly<Record<RecipientState, string>> = Object.fromEntries(
  RECIPIENT_STATES.map((state) => [state, RECIPIENT_STATE[state].letter ?? state[0]]),
) as Record<RecipientState, string>;

/** What is not stored: a campaign that waits usually has one recipient, who is planned. */
export const USUAL_STATE = { state: 'running', total: 1, ordinals: 1 } as const;

const inverse = (names: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(names).map(([name, stored]) => [stored, name]));
const MEMBER = inverse(STORED_MEMBER);
const STATE = inverse(STORED_STATE);
const COUNT = inverse(STORED_COUNT);

const renamed = (values: object, names: ReadonlyMap<string, string>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [names.get(name) ?? name, value]));

/** Parses a stored state into its members, under their own names, without checking them. */
export function parseStoredState(json: string): Record<string, unknown> {
  const { state, counts, ...members }: Record<string, unknown> = renamed(JSON.parse(json), MEMBER);
  const whole = { ...USUAL_STATE, ...members };
  return {
    ...whole,
    state: typeof state === 'string' ? (STATE.get(state) ?? state) : USUAL_STATE.state,
    counts:
      typeof counts === 'object' && counts !== null ? renamed(counts, COUNT) : { planned: whole.ordinals },
  };
}
