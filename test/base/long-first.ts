import { readFileSync } from 'node:fs';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { seededRandom } from '../../src/tools/simulator/rules/random.js';

/** Files that run for long although they are short: with processes, kills, services that wait, and many cases. */
const LONG =
  /\/test\/(end-to-end|faults|simulate)\/|(kill|learning|limits|outbox|records|fuzz|matrix|forget|lane-admin|lane-removal|declarations|session)\.test\.ts$/;

/** Browsers take the CPU time of files that measure how soon something happens. */
const BROWSER = /\/test\/end-to-end\/console\//;

/**
 * Starts the long files first, so that the workers end at about the same time, those with a browser after the other long ones; the others as
 * vitest does, large ones first. SHUFFLE=SEED shuffles each of these groups, and ORDER=PATH repeats an order that `.ci/steady` printed.
 */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { SHUFFLE, ORDER } = process.env;
    if (ORDER !== undefined) {
      const places = new Map(
        readFileSync(ORDER, 'utf8')
          .split('\n')
          .map((file, place) => [file, place]),
      );
      const placeOf = ({ moduleId }: TestSpecification): number => places.get(moduleId) ?? -1;
      return files.filter((file) => placeOf(file) >= 0).sort((a, b) => placeOf(a) - placeOf(b));
    }
    const sorted = SHUFFLE === undefined ? await super.sort(files) : shuffled(files, Number(SHUFFLE));
    const placeOf = ({ moduleId }: TestSpecification): number =>
      LONG.test(moduleId) ? Number(BROWSER.test(moduleId)) : 2;
    return sorted.sort((a, b) => placeOf(a) - placeOf(b));
  }
}

function shuffled(files: readonly TestSpecification[], seed: number): TestSpecification[] {
  const random = seededRandom(seed);
  return [...files]
    .sort((a, b) => (a.moduleId < b.moduleId ? -1 : 1))
    .map((file) => ({ file, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ file }) => file);
}
