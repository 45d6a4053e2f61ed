import type { Faults } from './faults.js';
import type { Process } from './process/process.js';
import type { Accounts } from './service/accounts.js';
import { changeCampaign, commandCampaign, type Resolution, resolveUnknown } from './users/operator.js';
import type { Producer } from './users/producer.js';
import type { World } from './world.js';

/** What happens in a scripted world: it gives the cues before the first step. */
export type Script = (stage: Stage) => void;

/** What becomes of one request. What it leaves out is as usual: the request arrives, and the service answers at once. */
export interface Fate {
  /**
   * Where the request or its response gets lost, as in {@link Service}; `overtaken`: its process sees the connection break at once, and
   * the request arrives all the same.
   */
  readonly kind?: 'refused' | 'reset' | 'resetAfter' | 'silence' | 'overtaken';
  /** The service refuses it with this status. */
  readonly refusal?: number;
  /** The service does what was asked, but responds with this status. */
  readonly response?: number;
  /** The delivery status that the response shows for each recipient. */
  readonly status?: string;
  /** How long it takes to arrive, and its response to return, ms. */
  readonly arrivesInMs?: number;
  readonly returnsInMs?: number;
}

type RequestKind = 'send' | 'poll';

interface Cue {
  readonly process: string;
  readonly command: string;
  /** How many more times the command must have run before. */
  left: number;
  readonly delayMs: number;
  readonly react: () => unknown;
}

/**
 * Brings about what the script of a world says. Everything else goes its uneventful way: each command of Redis takes 1 ms in each
 * direction, each turn goes to the first process that is able, and the first process sweeps every 3 s.
 */
export class Stage {
  readonly faults: Faults;
  /** Whether the world goes on until everything that has ended is removed. */
  checksRemoval = false;
  readonly #world: World;
  readonly #fates: Record<RequestKind, Fate[]> = { send: [], poll: [] };
  readonly #cues: Cue[] = [];

  constructor(world: World, faults: Faults) {
    this.#world = world;
    this.faults = faults;
  }

  /** Does something at a point in virtual time, ms. */
  at(ms: number, what: () => unknown): void {
    const { clock } = this.#world;
    clock.schedule(ms - clock.now, async () => void (await what()));
  }

  /** Does something so many ms from now. */
  in(ms: number, what: () => unknown): void {
    this.at(this.#world.clock.now + ms, what);
  }

  /** What becomes of the next requests of this kind, in the order in which they leave. */
  fates(kind: RequestKind, ...fates: readonly Fate[]): void {
    this.#fates[kind].push(...fates);
  }

  /** Does something when Redis has run this command of a process, before the process gets its reply; `place` 0: the next one. */
  after(process: string, command: string, react: () => unknown, place = 0): void {
    this.#cues.push({ process, command, left: place, delayMs: 0, react });
  }

  /** Lets a command of a process reach Redis later by so many ms; `place` 0: the next one. */
  delay(process: string, command: string, delayMs: number, place = 0): void {
    this.#cues.push({ process, command, left: place, delayMs, react: () => {} });
  }

  /** The platform reads the results. */
  readResults(): Promise<void> {
    return this.#world.results.read();
  }

  /** A process sweeps all lanes, and so wakes them. */
  sweep(name: string): void {
    const process = this.process(name);
    process.sweep().catch((error: unknown) => this.#world.broken(`${name}: sweep`, error));
  }

  /** The platform that fills the outbox of this world. */
  get producer(): Producer {
    const { producer } = this.#world;
    if (producer === undefined) throw new Error('this world has no outbox');
    return producer;
  }

  /** A process by its name: `p1` is the first that was started. */
  process(name: string): Process {
    const process = this.#world.allProcesses.find((one) => one.name === name);
    if (process === undefined) throw new Error(`no process is called ${name} yet`);
    return process;
  }

  /** The account of a lane, as its service knows it. */
  accountOf(lane: string): Accounts {
    return this.#world.accountsOf(lane);
  }

  /** A recipient of a campaign sends a stop word. */
  async stop(id: string, ordinal: number): Promise<void> {
    const number = this.#world.numberOf(id, ordinal);
    this.#world.trace.add('operator', `stops ${number}`);
    await this.#world.suppress([number]);
    this.#world.checker.stopped(number);
  }

  /** An operator suppresses a recipient of a campaign on its lane. */
  async suppress(id: string, ordinal: number): Promise<void> {
    const number = this.#world.numberOf(id, ordinal);
    this.#world.trace.add('operator', `suppresses ${number}`);
    await this.#world.suppress([number], this.#world.campaign(id).lane);
    this.#world.checker.stopped(number);
  }

  /** An operator pauses, resumes, or cancels a campaign. */
  async command(command: 'pause' | 'resume' | 'cancel', id: string): Promise<void> {
    this.#world.trace.add('operator', `${command} ${id}`);
    await commandCampaign(this.#world, command, id);
  }

  /** An operator gives a campaign another text. */
  change(id: string): Promise<void> {
    return changeCampaign(this.#world, id);
  }

  /** An operator decides what became of everything in a lane whose outcome is unknown. */
  async resolve(lane: string, as: Resolution): Promise<void> {
    this.#world.trace.add('operator', `resolves ${lane}: ${as}`);
    await resolveUnknown(this.#world, lane, as);
  }

  /** What becomes of a request that is about to leave. */
  fateOf(kind: RequestKind): Fate | undefined {
    return this.#fates[kind].shift();
  }

  /** How much later than usual a command of a process reaches Redis, ms. */
  delayOf(process: Process, command: string): number {
    return this.#take(process, command, (cue) => cue.delayMs > 0)?.delayMs ?? 0;
  }

  /** Called when Redis has run a command of a process, before its reply arrives. */
  ran(process: Process, command: string): void {
    this.#take(process, command, (cue) => cue.delayMs === 0)?.react();
  }

  #take(process: Process, command: string, which: (cue: Cue) => boolean): Cue | undefined {
    const at = this.#cues.findIndex(
      (cue) => cue.process === process.name && cue.command === command && which(cue),
    );
    const cue = this.#cues[at];
    if (cue === undefined) return undefined;
    cue.left -= 1;
    return cue.left < 0 ? this.#cues.splice(at, 1)[0] : undefined;
  }
}
