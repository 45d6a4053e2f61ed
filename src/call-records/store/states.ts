/**
 * The states of a request for call records:
 *
 * ```
 * planned ─► requesting ─► pending ─► ready ─► downloaded
 *    ▲           │            └─────────┴───► failed, expired, empty
 *    └───────────┤ certainly not accepted: throttled, or not sent
 *                ├───► refused
 *                └───► unknown ─► (resolve) pending, planned, or abandoned
 * ```
 */
export const RECORDS_STATES = [
  'planned',
  'requesting',
  'unknown',
  'pending',
  'ready',
  'downloaded',
  'empty',
  'failed',
  'expired',
  'refused',
  'abandoned',
] as const;
/** See {@link RECORDS_STATES}. */
export type RecordsState = (typeof RECORDS_STATES)[number];

/** Whether the service has the file of a request. */
export const hasFile = (state: RecordsState): boolean => state === 'ready' || state === 'downloaded';

/** States in which nothing more happens. A downloaded file can be downloaded again. */
export const RECORDS_OVER: readonly RecordsState[] = [
  'downloaded',
  'empty',
  'failed',
  'expired',
  'refused',
  'abandoned',
];
