import { createHash } from 'node:crypto';
import type { Redis } from '../../../src/base/redis/connection.js';
import { readLua } from '../../../src/base/redis/script.js';

/** The commands of an occurrence at which a process may stand still or die, in their order. */
export const POINTS = ['begin', 'lookUp', 'reserve', 'compare', 'commit', 'advance'] as const;
export type Point = (typeof POINTS)[number];

const hashOf = (path: string): string =>
  createHash('sha1')
    .update(readLua(new URL(`../../../src/${path}`, import.meta.url)))
    .digest('hex');
const SCRIPTS: ReadonlyMap<unknown, Point> = new Map([
  [hashOf('intake/schedules/begin-look.lua'), 'begin'],
  [hashOf('intake/import/commit-import.lua'), 'commit'],
  [hashOf('intake/schedules/advance-schedule.lua'), 'advance'],
]);

function pointOf(command: string, args: readonly unknown[]): Point | undefined {
  if (command === 'evalsha') return SCRIPTS.get(args[0]);
  const isOccurrence = String(args[0]).includes('schedule:');
  if (command === 'get' && isOccurrence) return 'lookUp';
  if (command === 'set' && isOccurrence) return 'reserve';
  return command === 'hget' && args[1] === 'revision' ? 'compare' : undefined;
}

/** How a process fails. */
export interface Failure {
  /** Before this command it stands still until it is woken, as after SIGSTOP; its timers do, too. */
  readonly stopsAt?: Point | undefined;
  /** It is killed right before or after this command: nothing that it sends later arrives. */
  readonly diesAt?: { readonly point: Point; readonly isAfter: boolean } | undefined;
}

/** A process of which only the connection matters. */
export interface MortalProcess {
  readonly redis: Redis;
  /** Resolves when it stands still. */
  readonly stopped: Promise<void>;
  isDead(): boolean;
  wake(): void;
}

/** A connection over which a process sends its commands until it fails. `onPoint`: right before a command is sent. */
export function mortalProcess(
  redis: Redis,
  { stopsAt, diesAt }: Failure,
  onPoint: (point: Point) => Promise<void>,
): MortalProcess {
  let isDead = false;
  let hasStopped = false;
  let gate: Promise<void> | undefined;
  let wake = (): void => {};
  let stops = (): void => {};
  const stopped = new Promise<void>((resolve) => {
    stops = resolve;
  });
  const send = async (point: Point | undefined, run: () => unknown): Promise<unknown> => {
    await gate;
    if (point !== undefined && point === stopsAt && !hasStopped) {
      hasStopped = true;
      gate = new Promise((resolve) => {
        wake = resolve;
      });
      stops();
      await gate;
      gate = undefined;
    }
    const isFatal = point !== undefined && point === diesAt?.point;
    isDead ||= isFatal && !diesAt.isAfter;
    if (isDead) throw new Error('the process is dead');
    if (point !== undefined) await onPoint(point);
    const reply = await run();
    isDead ||= isFatal;
    if (isDead) throw new Error('the process is dead');
    return reply;
  };
  return {
    redis: new Proxy(redis, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function' || typeof property !== 'string') return value;
        return (...args: unknown[]) =>
          send(pointOf(property, args), () => Reflect.apply(value, target, args));
      },
    }),
    stopped,
    isDead: () => isDead,
    wake: () => wake(),
  };
}
