import { closeSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { type Change, madeAt, type Recorder } from './changes.js';

/** How long a restarted simulator remembers. No client follows up a request for longer. */
const KEEP_MS = 7 * 24 * 3_600_000;
/** Bytes per write while the journal is rewritten. */
const CHUNK_LENGTH = 1 << 20;

/** The first line of a journal. A file that begins with another one is no journal of this version. */
const HEADING = JSON.stringify({ kind: 'simulator', version: 2 });

/** The changes of a simulator that ended, and where to add those of the next one. */
export interface Journal {
  readonly changes: readonly Change[];
  readonly record: Recorder;
  close(): void;
}

/**
 * Opens the file in which a simulator keeps its state, so that a restart changes nothing for its clients. One line of JSON per
 * change, written before the reply, so that a killed process loses nothing. Opening leaves out what is older than a week.
 * `onDiskFull`: called instead of throwing; from then on nothing is written.
 */
export function openJournal(path: string, now: number, onDiskFull?: () => void): Journal {
  const changes = readChanges(path).filter((change) => isKept(change, now - KEEP_MS));
  const draft = `${path}.part`;
  rmSync(draft, { force: true });
  const file = openSync(draft, 'wx', 0o600);
  let text = `${HEADING}\n`;
  for (const each of changes) {
    text += lineOf(each);
    if (text.length < CHUNK_LENGTH) continue;
    writeSync(file, text);
    text = '';
  }
  writeSync(file, text);
  renameSync(draft, path);
  let isOpen = true;
  const close = (): void => {
    if (isOpen) closeSync(file);
    isOpen = false;
  };
  return {
    changes,
    record(each) {
      // A request that is cut off while the simulator closes may still be on its way.
      if (!isOpen) return;
      try {
        writeSync(file, lineOf(each));
      } catch (error) {
        if (onDiskFull === undefined || !isDiskFull(error)) throw error;
        close();
        onDiskFull();
      }
    },
    close,
  };
}

const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['ENOSPC', 'EDQUOT'].includes(String(error.code));

function lineOf(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/** The content of a journal. A line that a full disk cut off is left out. */
function readChanges(path: string): Change[] {
  const [heading, ...lines] = textOf(path).split('\n');
  return heading === HEADING ? lines.flatMap((line) => parsed(line) ?? []) : [];
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

function parsed(line: string): Change | undefined {
  try {
    return JSON.parse(line) as Change;
  } catch {
    return undefined;
  }
}

function isKept(change: Change, since: number): boolean {
  if (change.kind === 'tokens') return Math.max(change.accessExpiresAt, change.refreshExpiresAt) >= since;
  const at = madeAt(change);
  return at === undefined || at >= since;
}
