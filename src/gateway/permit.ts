/**
 * The right to put one request on the wire. The gate grants it together with a claim (lane/gate.lua); the client checks
 * it again right before the first byte.
 */
export interface Permit {
  /** The request must not leave after this moment, ms of `performance.now()`: then its claim counts as overdue. */
  readonly notAfter: number;
}
