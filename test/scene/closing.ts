import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, onTestFinished, TestRunner } from 'vitest';
import {
  type Simulator,
  type SimulatorOptions,
  startSimulator as start,
} from '../../src/tools/simulator/index.js';

type Close = () => unknown;

/**
 * Returns functions that have something closed when it is no longer used: `atEnd` after the last test of the file, `later` at the end of
 * the test that opens it, if one does. Call it at the file's top level, because Vitest ignores an `afterAll` that it sees later, without
 * an error.
 */
export function closing() {
  const closers: Close[] = [];
  afterAll(async () => {
    for (const close of closers.reverse()) await close();
  });
  const atEnd = (close: Close): void => void closers.push(close);
  const later = (close: Close): void => {
    if (TestRunner.getCurrentTest() === undefined) atEnd(close);
    else onTestFinished(async () => void (await close()));
  };
  return { atEnd, later };
}

/** The same for what is opened at the file's top level or in a test, but not in a `beforeAll`. */
export function closeLater(close: Close): void {
  if (TestRunner.getCurrentTest() === undefined) afterAll(async () => void (await close()));
  else onTestFinished(async () => void (await close()));
}

/** A new folder. */
export interface Folder {
  readonly path: string;
  /** Writes a file, below folders that it makes, and returns its path. An object is written as JSON. */
  write(name: string, content: string | Uint8Array | object): string;
}

/** Makes a folder, for a test or, from the top level, for a file. */
export function temporaryFolder(later = closeLater): Folder {
  const path = mkdtempSync(join(tmpdir(), 'volley-test-'));
  later(() => rmSync(path, { recursive: true, force: true }));
  return {
    path,
    write(name, content) {
      const at = join(path, name);
      mkdirSync(dirname(at), { recursive: true });
      const isWhole = typeof content === 'string' || content instanceof Uint8Array;
      writeFileSync(at, isWhole ? content : JSON.stringify(content));
      return at;
    },
  };
}

/** A simulator, for a test or, from the top level, for a file. Default: with the API key `key`, and without a limit. */
export async function startSimulator(
  options: SimulatorOptions = {},
  surroundings: Parameters<typeof start>[1] = {},
  later = closeLater,
): Promise<Simulator> {
  const started = await start({ keys: [{ key: 'key' }], ...options }, surroundings);
  later(() => started.close());
  return started;
}
