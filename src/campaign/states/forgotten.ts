import { z } from 'zod';

const count = z.int().min(0);

/** A request to forget a number, for people and programs. It does not name the number. */
export interface ForgottenNumber {
  /** The same number has the same id. */
  readonly id: string;
  /** The lane on which it is forgotten; null: on all. */
  readonly lane: string | null;
  /** `running`: a worker still searches; `waiting`: only `open` messages are left; `done`: nothing is left. */
  readonly state: 'running' | 'waiting' | 'done';
  /** Planned and waiting messages that were cancelled. */
  readonly cancelled: number;
  /** Messages, rows, and entries that have lost the number, cancelled ones included. */
  readonly erased: number;
  /** Messages that were sent and have no final status yet. They are erased when they do. */
  readonly open: number;
  /** It stays suppressed, by a keyed digest: on all lanes, or where it was suppressed. */
  readonly suppressed: boolean;
  readonly createdAt: string;
  readonly endedAt: string | null;
}

/** See {@link ForgottenNumber}. */
export const forgotten = z
  .object({
    id: z
      .string()
      .describe('Identifies the request; the same number has the same id, and another one on each lane'),
    lane: z.string().nullable().describe('The lane on which it is forgotten; null: on all'),
    state: z
      .enum(['running', 'waiting', 'done'])
      .describe(
        '`running`: a worker still searches; `waiting`: nothing more is sent to the number, and `open` messages are erased when they are final; `done`: nothing is left',
      ),
    cancelled: count.describe('Planned and waiting messages that were cancelled'),
    erased: count.describe('Messages, rows, and entries that have lost the number, cancelled ones included'),
    open: count.describe(
      'Messages that were sent and have no final status yet. They are erased when they do',
    ),
    suppressed: z
      .boolean()
      .describe('It stays suppressed, by a keyed digest: on all lanes, or where it was suppressed'),
    createdAt: z.string(),
    endedAt: z.string().nullable(),
  })
  .readonly()
  .meta({ id: 'ForgottenNumber' });
