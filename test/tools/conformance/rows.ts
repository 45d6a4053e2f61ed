import { CHECKS } from '../../../src/tools/conformance/checks.js';

/** All rows of a conformance test that check something: their names, and the rows of test/interface/README.md that they follow. */
export const CONFORMANCE_ROWS: readonly { readonly name: string; readonly documented: string | null }[] = [
  ...new Map(
    CHECKS.flatMap(({ rows }) => rows).flatMap(({ name, documented = null }) =>
      name === undefined ? [] : [[name, { name, documented }] as const],
    ),
  ).values(),
];
