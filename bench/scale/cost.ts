/** Work and memory of the Redis nodes and of other processes. */
import { readFile } from 'node:fs/promises';
import { Redis } from 'ioredis';

/** Totals since the start of each server and process; memory and files are current values. Sums of all nodes except `nodeMs`. */
export interface Reading {
  /** Commands run, including those within scripts. */
  readonly commands: ReadonlyMap<string, number>;
  readonly networkBytes: number;
  readonly memoryBytes: number;
  readonly fileBytes: number;
  /** CPU time of each node, ms. */
  readonly nodeMs: readonly number[];
  /** CPU time of the named processes, ms. */
  readonly processMs: Readonly<Record<string, number>>;
}

/** The difference between two readings. */
export interface Cost extends Omit<Reading, 'commands'> {
  readonly commands: number;
  /** The most frequent commands and their counts. */
  readonly often: readonly (readonly [string, number])[];
}

/** Commands that read the figures; they are not counted. */
const OWN = new Set(['info', 'hello', 'auth', 'client|setname', 'client|setinfo', 'cluster|slots', 'ping']);
const KERNEL_TICKS_PER_MS = 0.1;

/** Reads the figures of a cluster and of named groups of processes. */
export function meter(cluster: { readonly nodes: readonly { readonly url: string }[] }) {
  const nodes = cluster.nodes.map(({ url }) => new Redis(url));
  return {
    async read(processes: Readonly<Record<string, readonly number[]>> = {}): Promise<Reading> {
      const infos = await Promise.all(nodes.map((node) => node.info('everything')));
      const commands = new Map<string, number>();
      for (const [, name = '', calls] of infos.join('\n').matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)) {
        if (!OWN.has(name)) commands.set(name, (commands.get(name) ?? 0) + Number(calls));
      }
      const all = (...names: string[]): number =>
        sum(infos.map((info) => sum(names.map((name) => fieldOf(info, name)))));
      const processMs = Object.entries(processes).map(async ([name, pids]) => {
        const each = await Promise.all(pids.map(processorMs));
        return [name, sum(each)] as const;
      });
      return {
        commands,
        networkBytes: all('total_net_input_bytes', 'total_net_output_bytes'),
        memoryBytes: all('used_memory'),
        fileBytes: all('aof_current_size'),
        nodeMs: infos.map((info) => 1000 * (fieldOf(info, 'used_cpu_user') + fieldOf(info, 'used_cpu_sys'))),
        processMs: Object.fromEntries(await Promise.all(processMs)),
      };
    },
    close(): void {
      for (const node of nodes) node.disconnect();
    },
  };
}

export type Meter = ReturnType<typeof meter>;

/** `asked`: the bench's own commands in between, by name. They are subtracted. */
export function costBetween(
  before: Reading,
  after: Reading,
  asked: Readonly<Record<string, number>> = {},
): Cost {
  const often = [...after.commands]
    .map(([name, calls]) => [name, calls - (before.commands.get(name) ?? 0) - (asked[name] ?? 0)] as const)
    .filter(([, calls]) => calls > 0)
    .sort(([, a], [, b]) => b - a);
  return {
    commands: sum(often.map(([, calls]) => calls)),
    often: often.slice(0, 12),
    networkBytes: after.networkBytes - before.networkBytes,
    memoryBytes: after.memoryBytes - before.memoryBytes,
    fileBytes: after.fileBytes - before.fileBytes,
    nodeMs: after.nodeMs.map((ms, node) => ms - (before.nodeMs[node] ?? 0)),
    processMs: Object.fromEntries(
      Object.entries(after.processMs).map(([name, ms]) => [name, ms - (before.processMs[name] ?? 0)]),
    ),
  };
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Resident memory of a process, bytes. */
export async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN);
}

function fieldOf(info: string, name: string): number {
  return Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1] ?? Number.NaN);
}

/** CPU time from /proc, in ticks of 10 ms. The process name before the fields may contain spaces. */
async function processorMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / KERNEL_TICKS_PER_MS;
}
