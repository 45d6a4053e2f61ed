/** The result of one check. `warn`: it works, but data may be lost or something may go wrong; `fail`: it does not work. */
export interface Check {
  readonly name: string;
  readonly level: 'ok' | 'warn' | 'fail';
  /** What the check found. */
  readonly found: string;
  /** What to do about it; undefined if the check passed. */
  readonly todo?: string;
}

/** A check that passed. */
export const ok = (name: string, found: string): Check => ({ name, level: 'ok', found });
/** A warning. */
export const warn = (name: string, found: string, todo: string): Check => ({
  name,
  level: 'warn',
  found,
  todo,
});
/** A failure. */
export const fail = (name: string, found: string, todo?: string): Check => ({
  name,
  level: 'fail',
  found,
  ...(todo === undefined ? {} : { todo }),
});
