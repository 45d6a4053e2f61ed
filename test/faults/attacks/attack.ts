import type { Fleet, FleetOptions, Member } from '../../end-to-end/fleet.js';
import type { EventOf } from '../history.js';
import type { Recorder } from '../recorder.js';

/**
 * A scenario with workers, lanes, and producers of its own, which repeats what it does. While it runs, processes are killed at moments that
 * the scenario chooses; at the end, the checks of every scenario judge what was recorded.
 */
export interface Attack {
  readonly name: string;
  /** What must hold, as the title of its test. */
  readonly promise: string;
  /** How often it repeats what it does: in the tests, and by default in the fault runner. */
  readonly times: { readonly of: string; readonly brief: number; readonly long: number };
  /** The random choices of the brief run. */
  readonly seed: number;
  fleet(times: number): Own | Promise<Own>;
  /**
   * Resolves when everything has been compared that the checks do not know. Returns what has happened how often: none of it may be 0, or
   * the run has shown nothing.
   */
  run(stage: Stage): Promise<Readonly<Record<string, number>>>;
}

/** The fleet of an attack. */
interface Own extends Omit<FleetOptions, 'redisUrl' | 'prefix'> {
  /** What each key may send, if the attack is about that. */
  readonly quotas?: EventOf<'run'>['quotas'];
  /** How many recipients the kill of a process may leave unknown; default: those of its requests in flight on all lanes. */
  readonly mayBeUnknown?: number;
  /** When the run begins, by the clocks of all its processes, ms since the epoch; default: now. */
  readonly beginsAt?: number;
}

/** A Redis that can be killed as by a power cut. */
export interface KillableRedis {
  readonly url: string;
  kill(): Promise<void>;
  restart(): Promise<void>;
}

/** What an attack works with. */
export interface Stage {
  readonly fleet: Fleet;
  readonly recorder: Recorder;
  readonly redis: KillableRedis;
  readonly times: number;
  random(): number;
  /** Shows how far it is. */
  note(line: string): void;
  /** Records a problem that no check knows. */
  expect(isSo: boolean, problem: string): void;
  /** How many recipients a kill may leave unknown. */
  readonly mayBeUnknown: number;
  /** How many processes were killed. */
  kills(): number;
  kill(member: Member): Promise<void>;
  /**
   * Kills the processes in turn: each time when `ready` resolves, until there were so many kills or the signal comes.
   */
  killOften(kills: number, ready: () => Promise<unknown>, signal?: AbortSignal): Promise<void>;
  /** Recipients that the service has accepted so far. */
  accepted(): Promise<number>;
  /** Resolves when the service has accepted a message more: what follows hits what is being sent, and not a start. */
  traffic(): Promise<void>;
  /** Resolves when nothing is open any more in what is watched, or nothing has changed for minutes: with what is open then, or nothing. */
  settled(): Promise<string>;
}
