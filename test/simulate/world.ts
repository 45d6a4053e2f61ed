import { beginImport } from '../../src/import/import-session.js';
import type { CampaignMeta } from '../../src/lane/campaigns.js';
import { recordsKey } from '../../src/recipients/campaign-keys.js';
import { parseRecord, type RequestRecord } from '../../src/recipients/records.js';
import { suppression } from '../../src/recipients/suppression.js';
import { wakeLane } from '../../src/recovery/sweep.js';
import { type Keys, keyNames } from '../../src/redis/keys.js';
import { Accounts } from './accounts.js';
import { Checker } from './checker.js';
import { SimulatedConnection } from './connection.js';
import { CredentialIncident } from './credential-incident.js';
import { Director } from './director.js';
import { Jobs } from './jobs.js';
import { PARTS, type Parts, Process } from './process.js';
import { randomFrom, type SeededRandom } from './random.js';
import { type CampaignPlan, draw, type LanePlan, numberOf, type Scenario } from './scenario.js';
import type { Scripts } from './scripts.js';
import { Server, START } from './server.js';
import { Service } from './service.js';
import { Trace } from './trace.js';
import { Violation } from './violation.js';
import { VirtualClock } from './virtual-clock.js';
import type { Wire } from './wire.js';

export interface WorldOptions {
  readonly seed: number;
  readonly wire: Wire;
  readonly scripts: Scripts;
  /** What a mutant replaces of the code. */
  readonly parts?: Partial<Parts>;
  readonly isTraced?: boolean;
  /** Begins every key; two runs at a time of one seed need two. */
  readonly prefix: string;
}

/** What came of a seed. */
export interface Outcome {
  readonly seed: number;
  readonly steps: number;
  readonly virtualMs: number;
  readonly faults: ReadonlyMap<string, number>;
  readonly violation: Violation | undefined;
  readonly trace: Trace;
}

/** Seeds are far below them. */
const NOTIFYING = 1_000_000_007;
const REFUSING = 2_000_000_011;

/** A run that needs more steps than this goes round in circles. */
const MOST_STEPS = 20_000;

/** Everything there is for one seed: processes, a server, a service, and what happens to them. */
export class World {
  readonly clock = new VirtualClock();
  readonly random: SeededRandom;
  readonly scenario: Scenario;
  readonly trace: Trace;
  readonly keys: Keys;
  readonly scripts: Scripts;
  readonly parts: Parts;
  readonly server: Server;
  readonly checker: Checker;
  readonly jobs: Jobs;
  /** Undefined: no key is refused. */
  readonly incident: CredentialIncident | undefined;
  readonly processes: Process[] = [];
  /** The dead as well. */
  readonly allProcesses: Process[] = [];
  /** Whether nothing goes wrong any more, nor will. */
  isCalm = false;
  /** Until when the server refuses to write, ms of virtual time. */
  fullUntil = 0;
  isDone = false;
  readonly #seed: number;
  readonly #services = new Map<string, Service>();
  readonly #accounts = new Map<string, Accounts>();
  readonly #counts = new Map<string, number>();
  readonly #campaigns: readonly CampaignPlan[];
  readonly #direct: SimulatedConnection;
  #failure: unknown;
  #steps = 0;

  constructor({ seed, wire, scripts, parts, isTraced, prefix }: WorldOptions) {
    this.#seed = seed;
    this.random = randomFrom(seed);
    this.scenario = draw(this.random, randomFrom(seed + NOTIFYING), randomFrom(seed + REFUSING));
    this.#campaigns = this.scenario.campaigns;
    this.trace = new Trace(isTraced === true, () => this.clock.now);
    this.scripts = scripts;
    this.parts = { ...PARTS, ...parts };
    this.keys = keyNames(prefix);
    this.checker = new Checker(this);
    this.server = new Server({
      wire,
      scripts,
      keys: this.keys,
      lanes: this.scenario.lanes.map(({ settings }) => settings.name),
      now: () => this.clock.now,
      observed: (lane, state, by) => {
        this.checker.observed(lane, state, by);
        this.incident?.observed(lane, state);
      },
    });
    // Operators and imports are not what is looked at here: what they ask is answered at once.
    this.#direct = new SimulatedConnection({
      carry: (command) => {
        this.server.execute(command).then(
          (reply) => ('error' in reply ? command.reject(reply.error) : command.resolve(reply.value)),
          (error) => {
            this.fail(error);
            command.reject(error);
          },
        );
      },
    });
    for (const plan of this.scenario.lanes) {
      this.#services.set(plan.settings.name, new Service(this, plan));
      this.#accounts.set(plan.settings.name, new Accounts(this, plan));
    }
    this.jobs = new Jobs(this);
    const { refusal } = this.scenario;
    this.incident = refusal === undefined ? undefined : new CredentialIncident(this, refusal);
  }

  /** Runs the world to its end. Never throws for what happens in it. */
  async run(): Promise<Outcome> {
    const { clock, trace } = this;
    if (trace.isWanted) trace.add('scenario', JSON.stringify(this.scenario, listed));
    for (let at = 0; at < this.scenario.processes; at += 1) this.startProcess();
    const director = new Director(this);
    director.begin();
    let violation: Violation | undefined;
    try {
      while (!this.isDone) {
        const step = clock.next();
        if (step === undefined)
          throw new Violation(0, 'nothing is left to happen, and not everything has ended');
        this.#steps += 1;
        if (this.#steps > MOST_STEPS) throw new Violation(0, `not ended after ${MOST_STEPS} steps`);
        const running = step.run();
        if (running !== undefined) await running;
        // Whatever the step has set going runs on until each of it waits for another step.
        await new Promise<void>((resolve) => setImmediate(resolve));
        if (this.#failure !== undefined) throw this.#failure;
      }
    } catch (error) {
      violation = error instanceof Violation ? error : new Violation(0, `broke: ${stackOf(error)}`);
      trace.add('checker', `${violation.title}: ${violation.message}`);
    }
    for (const process of this.processes) process.kill();
    await this.server.clear();
    return {
      seed: this.#seed,
      steps: this.#steps,
      virtualMs: clock.now,
      faults: this.#counts,
      violation,
      trace,
    };
  }

  /** Nothing ever goes wrong in this world, but for what the service is asked for. */
  get isQuiet(): boolean {
    return this.scenario.faults.size === 0 && this.incident === undefined;
  }

  startProcess(): Process {
    const process = new Process(this, `p${this.allProcesses.length + 1}`);
    this.processes.push(process);
    this.allProcesses.push(process);
    process.start();
    return process;
  }

  serviceOf(lane: string): Service {
    return found(this.#services.get(lane), lane);
  }

  accountsOf(lane: string): Accounts {
    return found(this.#accounts.get(lane), lane);
  }

  planOf(lane: string): LanePlan {
    return found(
      this.scenario.lanes.find(({ settings }) => settings.name === lane),
      lane,
    );
  }

  numberOf(campaign: string, ordinal: number): string {
    return numberOf(this.campaign(campaign).range, ordinal);
  }

  campaign(id: string): CampaignPlan {
    return found(
      this.#campaigns.find((plan) => plan.id === id),
      id,
    );
  }

  count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  /** How long a command takes on its way to the server, or its answer back: mostly nothing worth a step. */
  latency(): number {
    const { random } = this;
    if (random.chance(0.7)) return 0;
    if (this.isCalm || !this.scenario.faults.has('slow')) return random.integer(1, 5);
    return random.weighted([
      [80, 2],
      [15, random.integer(5, 300)],
      [5, random.integer(300, 7_000)],
    ]);
  }

  /** What a server that is full says instead of running a script. */
  refusal(): Error | undefined {
    if (this.clock.now >= this.fullUntil) return undefined;
    const error = new Error("OOM command not allowed when used memory > 'maxmemory'.");
    error.name = 'ReplyError';
    return error;
  }

  fail(error: unknown): void {
    this.#failure ??= error;
  }

  /** A turn or a sweep broke off; only the weather may do that. */
  broken(what: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.trace.add('broken', `${what}: ${message}`);
    if (!/^(Connection is closed|Redis did not answer|OOM )/.test(message))
      this.fail(new Violation(0, `${what} broke: ${stackOf(error)}`));
  }

  /** Imports a campaign and wakes its lane. */
  async commit(plan: CampaignPlan): Promise<void> {
    const meta: CampaignMeta = {
      id: plan.id,
      name: plan.id,
      lane: plan.lane,
      sender: 'ACME',
      // Says which campaign a request is of: its numbers may be another's too.
      text: plan.id,
      columns: ['number'],
      numberColumn: 'number',
      placeholders: [],
      priority: plan.priority,
      created: START + this.clock.now,
      duplicates: 0,
      invalid: 0,
      suppressed: 0,
      preview: null,
      ...(plan.startsInMs > 0 ? { at: START + this.clock.now + plan.startsInMs } : {}),
      ...(plan.validForMs > 0 ? { validForMs: plan.validForMs } : {}),
    };
    this.trace.add('operator', `commits ${plan.id}, ${plan.recipients} recipients`);
    const session = await beginImport(this.#direct, this.keys, meta);
    for (let ordinal = 0; ordinal < plan.recipients; ordinal += 1) {
      session.recipients.add({ number: this.numberOf(plan.id, ordinal), values: [] });
    }
    await session.commit(meta);
    const numbers = [...plan.suppressed].map((ordinal) => this.numberOf(plan.id, ordinal));
    if (numbers.length > 0) await suppression(this.#direct, this.keys).add(numbers);
    await this.server.readLane(plan.lane, 'commit');
  }

  /** What is kept of a campaign's requests, by their first ordinals. */
  async records(lane: string, campaign: string): Promise<Map<number, RequestRecord>> {
    const texts = await this.#direct.hgetall(recordsKey(this.keys, lane, campaign, 0));
    return new Map(Object.entries(texts).map(([first, text]) => [Number(first), parseRecord(text)]));
  }

  /** Runs an operator's command at once, with nothing in between. */
  async direct<Answer>(
    lane: string,
    what: (of: Pick<ReturnType<Process['laneNamed']>, 'commands' | 'views'>) => Promise<Answer>,
  ): Promise<Answer> {
    const own = this.#desk.laneNamed(lane);
    const answer = await what(own);
    await wakeLane(own, this.jobs);
    return answer;
  }

  get #desk(): Process {
    this.#operator ??= new Process(this, 'operator', this.#direct);
    return this.#operator;
  }
  #operator: Process | undefined;
}

function found<Item>(item: Item | undefined, name: string): Item {
  if (item === undefined) throw new Error(`there is no ${name}`);
  return item;
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function listed(_key: string, value: unknown): unknown {
  return value instanceof Set ? [...value] : value;
}
