import { execFile } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { promisify } from 'node:util';

/**
 * A network namespace, whose processes reach this machine like those of another machine: over two wires, of which one can be
 * cut. Linux only, as root.
 */
export interface SeparateNetwork {
  /** The addresses of this machine: on the wire that can be cut, and on the one that cannot. */
  readonly here: string;
  readonly safeHere: string;
  /** The namespace's address on the wire that can be cut. */
  readonly there: string;
  /** The program and arguments that start another program in the namespace. Its process ID is the other program's. */
  readonly launcher: readonly string[];
  /** From now on, packets in both directions are lost without a trace. */
  cut(): Promise<void>;
  /** Ends the cut. */
  join(): Promise<void>;
  close(): Promise<void>;
}

/** No device has this address, so the other end drops the packets sent to it. */
const NO_DEVICE = '02:00:00:00:00:01';

const run = promisify(execFile);
const ip = async (...args: readonly string[]): Promise<void> => void (await run('ip', args));

/** Whether this process may create namespaces. */
export async function canSeparate(): Promise<boolean> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  try {
    await (await separateNetwork()).close();
    return true;
  } catch {
    return false;
  }
}

/** Creates the namespace with random addresses from those reserved for tests (RFC 2544). Rejects if the system refuses. */
export async function separateNetwork(): Promise<SeparateNetwork> {
  const name = `volley-${randomBytes(3).toString('hex')}`;
  const net = `198.18.${randomInt(256)}`;
  const at = 4 * randomInt(32);
  const address = (last: number): string => `${net}.${at + last}`;
  const [here, there] = [address(1), address(2)];
  const [safeHere, safeThere] = [address(129), address(130)];
  // Names of interfaces have at most 15 characters.
  const wires = [
    { own: `${name}a`, other: `${name}b`, here, there },
    { own: `${name}c`, other: `${name}d`, here: safeHere, there: safeThere },
  ] as const;
  const close = async (): Promise<void> => {
    // The wires disappear with the namespace; a process that still runs in it would keep both.
    for (const { own } of wires) await ip('link', 'delete', own).catch(() => {});
    await ip('netns', 'delete', name).catch(() => {});
  };
  try {
    await ip('netns', 'add', name);
    await ip('-n', name, 'link', 'set', 'lo', 'up');
    for (const wire of wires) {
      await ip('link', 'add', wire.own, 'type', 'veth', 'peer', 'name', wire.other, 'netns', name);
      await ip('address', 'add', `${wire.here}/30`, 'dev', wire.own);
      await ip('-n', name, 'address', 'add', `${wire.there}/30`, 'dev', wire.other);
      await ip('link', 'set', wire.own, 'up');
      await ip('-n', name, 'link', 'set', wire.other, 'up');
    }
  } catch (error) {
    await close();
    throw error;
  }
  const [{ own, other }] = wires;
  return {
    here,
    there,
    safeHere,
    launcher: ['ip', 'netns', 'exec', name],
    async cut() {
      await Promise.all([
        ip('neighbour', 'replace', there, 'lladdr', NO_DEVICE, 'nud', 'permanent', 'dev', own),
        ip('-n', name, 'neighbour', 'replace', here, 'lladdr', NO_DEVICE, 'nud', 'permanent', 'dev', other),
      ]);
    },
    async join() {
      await Promise.all([
        ip('neighbour', 'delete', there, 'dev', own),
        ip('-n', name, 'neighbour', 'delete', here, 'dev', other),
      ]);
    },
    close,
  };
}
