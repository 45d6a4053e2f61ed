/**
 * Whether this is the nightly run (`.ci/nightly` sets NIGHTLY=1). It runs also the files `*.nightly.test.ts`, which have long runs
 * and runs with planted bugs.
 */
export const NIGHTLY = process.env['NIGHTLY'] === '1';
