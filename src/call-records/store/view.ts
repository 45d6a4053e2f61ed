import { z } from 'zod';
import { RECORDS_STATES, type RecordsState } from './states.js';

const time = z.string().describe('ISO 8601, UTC');

/** A request for call records. */
export interface RecordsRequest {
  readonly id: string;
  readonly lane: string;
  /** `unknown`: the service may or may not have accepted the request; an operator resolves it. */
  readonly state: RecordsState;
  /** The first day. */
  readonly from: string;
  /** The last day. */
  readonly to: string;
  /** False if the last day was not over everywhere when the request was sent: its file may lack calls. The same request is sent anew later. */
  readonly lastDayOver: boolean;
  /** As the contract names them. */
  readonly parameters: Readonly<Record<string, string>>;
  /** The id that the service gave the request. */
  readonly serviceId: string | null;
  /** The latest status, in the service's own word. */
  readonly word: string | null;
  /** Why the request is in this state, if there is a problem. */
  readonly reason: string | null;
  /** The size of the file that was downloaded. */
  readonly bytes: number | null;
  /** The digest of that file, in hex. */
  readonly sha256: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** See {@link RecordsRequest}. */
export const recordsRequest = z
  .object({
    id: z.string(),
    lane: z.string(),
    state: z
      .enum(RECORDS_STATES)
      .describe('`unknown`: the service may or may not have accepted the request; an operator resolves it'),
    from: z.string().describe('The first day'),
    to: z.string().describe('The last day'),
    lastDayOver: z
      .boolean()
      .describe(
        'False if the last day was not over everywhere when the request was sent: its file may lack calls, and the same request is sent anew later',
      ),
    parameters: z.record(z.string(), z.string()).describe('As the contract names them'),
    serviceId: z.string().nullable().describe('The id that the service gave the request'),
    word: z.string().nullable().describe("The latest status, in the service's own word"),
    reason: z.string().nullable().describe('Why the request is in this state, if there is a problem'),
    bytes: z.int().min(0).nullable().describe('The size of the file that was downloaded'),
    sha256: z.string().nullable().describe('The digest of that file, in hex'),
    createdAt: time,
    updatedAt: time,
  })
  .readonly()
  .meta({ id: 'RecordsRequest' });
