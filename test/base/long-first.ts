import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that run for minutes although they are short: with processes, kills, and services that wait. */
const LONG = /\/test\/(end-to-end|faults|simulate)\/|(kill|restarts|learning|lane-admin)\.test\.ts$/;

/** Browsers take the CPU time of files that measure how soon something happens. */
const BROWSER = /\/test\/end-to-end\/console\//;

/**
 * Starts the long files first, so that the workers end at about the same time, those with a browser after the other long ones; the others as
 * vitest does, large ones first.
 */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const placeOf = ({ moduleId }: TestSpecification): number =>
      LONG.test(moduleId) ? Number(BROWSER.test(moduleId)) : 2;
    return sorted.sort((a, b) => placeOf(a) - placeOf(b));
  }
}
