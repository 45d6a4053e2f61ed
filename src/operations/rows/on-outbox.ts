import { z } from 'zod';
import type { Outbox, Volley } from '../../app/volley.js';
import { byOutbox } from '../access.js';
import type { Hooks } from '../operation.js';
import { LANE_FLAG, laneName } from '../schemas/schemas.js';

/*
 * What the operations on an outbox share.
 */

const lane = laneName
  .optional()
  .describe('The lane it belongs to. Required if several lanes of the key have one of this name');
/** The input that names an outbox. */
export const ofOutbox = z.strictObject({ name: z.string().min(1).max(64), lane });

/** The outbox that an input names. */
export const outboxOf = (volley: Volley, input: { name: string }, { lanes }: Hooks): Outbox =>
  volley.outbox(input.name, { lanes });

/** What help says about the arguments and flags of its command. */
export const ARGUMENTS = { name: 'the outbox' };
export const FLAGS = {
  lane: {
    ...LANE_FLAG,
    about: 'the lane of the outbox; required if several lanes have one of this name',
  },
} as const;

/** An operation on an outbox. */
export const OUTBOX = {
  tag: 'Outboxes',
  access: byOutbox,
  input: ofOutbox,
  outcomes: ['ambiguous', 'notFound'],
} as const;

/** The command of an operation that takes no more than the name of an outbox. */
export const commandOf = (verb: string) => ({
  usage: `outbox ${verb} <name>`,
  arguments: ARGUMENTS,
  flags: FLAGS,
  examples: [`outbox ${verb} dentist`],
});

/** An operation that changes what an outbox does. */
export const COMMAND = { ...OUTBOX, scope: 'operate', bucket: 'control' } as const;
