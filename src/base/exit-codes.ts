/** Exit codes, for scripts. `waits`: nothing more happens until an operator acts. */
export const EXIT = { done: 0, failed: 1, badInput: 2, waits: 3, interrupted: 130 } as const;
/** See {@link EXIT}. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
