/** One thing that was looked at. `warn`: it works, but something may be lost or go wrong; `fail`: it does not work. */
export interface Check {
  readonly name: string;
  readonly level: 'ok' | 'warn' | 'fail';
  /** What was found. */
  readonly found: string;
  /** What to do about it; undefined where all is well. */
  readonly todo?: string;
}

/** All is well. */
export const ok = (name: string, found: string): Check => ({ name, level: 'ok', found });
/** It works, but something may be lost or go wrong. */
export const warn = (name: string, found: string, todo: string): Check => ({
  name,
  level: 'warn',
  found,
  todo,
});
/** It does not work. */
export const fail = (name: string, found: string, todo: string): Check => ({
  name,
  level: 'fail',
  found,
  todo,
});
