import { TestRunner } from 'vitest';

/*
 * Vitest runs this before each file. It ignores a hook that it sees while the tests of a file run, without an error: nothing would be closed.
 */
const GUARDED = Symbol.for('volley.guarded');
const suite = TestRunner.getCurrentSuite();

// Files of a worker share the suite.
if (!(GUARDED in suite)) {
  const { on } = suite;
  const guarded: typeof on = (name, ...hooks) => {
    if (suite.file?.result !== undefined)
      throw new Error(`Vitest would ignore this ${name}: call it at the top level of the file`);
    on(name, ...hooks);
  };
  Object.assign(suite, { on: guarded, [GUARDED]: true });
}
