import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that run for minutes although they are short: with processes, kills, and services that wait. */
const LONG = /\/test\/(end-to-end|faults|simulate)\/|(kill|restarts|learning|lane-admin)\.test\.ts$/;

/** Starts the long files first, so that the workers end at about the same time; the others as vitest does, large ones first. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
