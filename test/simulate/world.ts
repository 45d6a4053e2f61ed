import type { Command } from 'ioredis';
import { type Keys, keyNames } from '../../src/base/redis/keys.js';
import { ruleIn } from '../../src/campaign/estimate/window.js';
import { type Part, partNamed } from '../../src/campaign/estimate/zones.js';
import { wakeLane } from '../../src/engine/jobs/wake.js';
import { recordsKey } from '../../src/engine/recipients/campaign-keys.js';
import { parseRecords, type RequestRecord } from '../../src/engine/recipients/request-records.js';
import { computeWindows, type OpeningsOf } from '../../src/engine/recovery/windows.js';
import { suppression } from '../../src/engine/suppression/suppression.js';
import { beginImport } from '../../src/intake/import/import-session.js';
import { SUPPRESSING } from '../app/access/operator.js';
import { draft } from '../scene/draft.js';
import { Checker } from './checker.js';
import { OutboxChecker } from './checks/outbox.js';
import { ResultsChecker } from './checks/results.js';
import { Director } from './director.js';
import { Ending } from './ending.js';
import { Faults } from './faults.js';
import { CredentialIncident } from './incidents/credential-incident.js';
import { RollbackIncident } from './incidents/rollback-incident.js';
import { SuspensionIncident } from './incidents/suspension-incident.js';
import { TimeoutIncident } from './incidents/timeout-incident.js';
import { Jobs } from './jobs.js';
import { SimulatedConnection } from './process/connection.js';
import { PARTS, type Parts } from './process/parts.js';
import { Process } from './process/process.js';
import type { RandomStream, Streams } from './random.js';
import { type CampaignPlan, type LanePlan, numberOf, ordinalOf, type Scenario } from './scenario/scenario.js';
import { OUTBOX_ID } from './server/lane-state.js';
import type { Scripts } from './server/scripts.js';
import { Server, START, scriptOf } from './server/server.js';
import type { Wire } from './server/wire.js';
import { Accounts } from './service/accounts.js';
import { Service } from './service/service.js';
import { type Script, Stage } from './stage.js';
import { Trace } from './trace.js';
import { Endpoint } from './users/endpoint.js';
import { Producer } from './users/producer.js';
import { Replies } from './users/replies.js';
import { Violation } from './violation.js';
import { VirtualClock } from './virtual-clock.js';

/** What a world is made of. A seed decides it ({@link seededWorld}), or someone has written it down (`scripted/`). */
export interface WorldPlan {
  /** `seed 17`, or the name of the scripted world. */
  readonly name: string;
  readonly scenario: Scenario;
  /** New streams for each run. */
  streams(): Streams;
  /** What happens in a scripted world. */
  readonly script?: Script;
}

export interface WorldOptions {
  readonly plan: WorldPlan;
  readonly wire: Wire;
  readonly scripts: Scripts;
  /** The parts that a mutant replaces. */
  readonly parts?: Partial<Parts>;
  readonly isTraced?: boolean;
  /** The prefix of every key. Two concurrent runs of one world need different prefixes. */
  readonly prefix: string;
}

/** The outcome of one world. */
export interface Outcome {
  /** The name of its plan. */
  readonly name: string;
  readonly steps: number;
  readonly virtualMs: number;
  readonly faults: ReadonlyMap<string, number>;
  readonly violation: Violation | undefined;
  readonly trace: Trace;
}

/** A run with more steps than this is in an endless loop. */
const MAX_STEPS = 20_000;

/** Everything that is simulated: processes, Redis, the service, and the faults that befall them. */
export class World {
  readonly clock = new VirtualClock();
  readonly streams: Streams;
  readonly scenario: Scenario;
  readonly trace: Trace;
  readonly keys: Keys;
  readonly scripts: Scripts;
  readonly parts: Parts;
  readonly server: Server;
  readonly checker: Checker;
  readonly jobs: Jobs;
  readonly results: ResultsChecker;
  /** Undefined when the service refuses no credentials in this world. */
  readonly incident: CredentialIncident | undefined;
  /** Undefined when no machine is suspended while its process has a claim. */
  readonly suspension: SuspensionIncident | undefined;
  /** Undefined when Redis assigns no claim number twice. */
  readonly rollback: RollbackIncident | undefined;
  /** Undefined when no machine is suspended while the request timeout is being changed. */
  readonly lateRequest: TimeoutIncident | undefined;
  /** Undefined when chance decides what happens. */
  readonly stage: Stage | undefined;
  /** Undefined when the world has no outbox. */
  readonly outbox: OutboxChecker | undefined;
  readonly producer: Producer | undefined;
  readonly replies: Replies;
  /** Undefined when no platform gets the results by webhook. */
  readonly endpoint: Endpoint | undefined;
  readonly processes: Process[] = [];
  /** Including the killed ones. */
  readonly allProcesses: Process[] = [];
  /** Whether the faults have ended for good. */
  isCalm = false;
  /** Until when Redis refuses to write because it is full, ms of virtual time. */
  fullUntil = 0;
  /** Whether every campaign has ended, so that nothing sweeps any more. */
  hasEnded = false;
  isDone = false;
  readonly #plan: WorldPlan;
  readonly #services = new Map<string, Service>();
  readonly #accounts = new Map<string, Accounts>();
  readonly #counts = new Map<string, number>();
  readonly #campaigns: readonly CampaignPlan[];
  readonly #direct: SimulatedConnection;
  readonly #director: Director;
  readonly #ending: Ending;
  #failure: unknown;
  #steps = 0;

  constructor({ plan, wire, scripts, parts, isTraced, prefix }: WorldOptions) {
    this.#plan = plan;
    this.streams = plan.streams();
    this.scenario = plan.scenario;
    this.#campaigns = this.scenario.campaigns;
    this.trace = new Trace(isTraced === true, () => this.clock.now);
    this.scripts = scripts;
    this.parts = { ...PARTS, ...parts };
    this.keys = keyNames(prefix);
    this.checker = new Checker(this);
    const { outbox } = this.scenario;
    this.outbox = outbox === undefined ? undefined : new OutboxChecker(this, outbox);
    this.producer = this.outbox === undefined ? undefined : new Producer(this, this.outbox);
    this.server = new Server({
      wire,
      scripts,
      keys: this.keys,
      lanes: this.scenario.lanes.map(({ settings }) => settings.name),
      now: () => this.clock.now,
      observed: (lane, state, by) => {
        if (this.outbox?.plan.lane === lane) this.outbox.noted(state);
        this.checker.observed(lane, state, by);
        this.endpoint?.observed(lane, state);
        this.incident?.observed(lane, state);
      },
      ran: (script) => {
        if (script === 'claim-send') this.producer?.claimed();
        if (script === 'log-inbound') this.replies.logged();
      },
      // Each process looks for announcements every second. Here they look only when there is one, because each look takes steps.
      announced: () => {
        for (const process of this.processes)
          this.clock.schedule(this.streams(process.name).integer(0, 1_000), () => process.lookForLosses());
      },
    });
    // Operators and imports are not under test here, so their commands run at once.
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
    this.results = new ResultsChecker(this, this.#direct);
    this.replies = new Replies(this, this.#direct);
    this.endpoint = this.scenario.hasEndpoint ? new Endpoint(this, this.#direct) : undefined;
    for (const plan of this.scenario.lanes) {
      this.#services.set(plan.settings.name, new Service(this, plan));
      this.#accounts.set(plan.settings.name, new Accounts(this, plan));
    }
    this.jobs = new Jobs(this);
    const { refusal, suspension, rollback, lateRequest } = this.scenario;
    this.incident = refusal === undefined ? undefined : new CredentialIncident(this, refusal);
    this.suspension = suspension === undefined ? undefined : new SuspensionIncident(this, suspension);
    const faults = new Faults(this);
    this.#director = new Director(this, faults);
    this.#ending = new Ending(this, this.#director);
    this.rollback = rollback === undefined ? undefined : new RollbackIncident(this, rollback, faults);
    this.lateRequest = lateRequest === undefined ? undefined : new TimeoutIncident(this, lateRequest);
    this.stage = plan.script === undefined ? undefined : new Stage(this, faults);
  }

  /** Runs the world to its end. A violation is part of the outcome, not an exception. */
  async run(): Promise<Outcome> {
    const { clock, trace } = this;
    if (trace.isWanted) trace.add('scenario', JSON.stringify(this.scenario, listed));
    for (let at = 0; at < this.scenario.processes; at += 1) this.startProcess();
    this.#director.begin();
    this.replies.begin();
    clock.schedule(this.scenario.chaosMs, () => this.#ending.begin());
    await this.producer?.begin(this.#direct);
    await this.endpoint?.begin();
    if (this.stage !== undefined) this.#plan.script?.(this.stage);
    let violation: Violation | undefined;
    try {
      while (!this.isDone) {
        const step = clock.next();
        if (step === undefined) throw new Violation(0, 'no step is left, but not every campaign has ended');
        this.#steps += 1;
        if (this.#steps > MAX_STEPS) throw new Violation(0, `not ended after ${MAX_STEPS} steps`);
        const running = step.run();
        if (running !== undefined) await running;
        // Let everything that the step has started run until it waits for another step.
        await new Promise<void>((resolve) => setImmediate(resolve));
        if (this.#failure !== undefined) throw this.#failure;
      }
    } catch (error) {
      violation =
        error instanceof Violation ? error : new Violation(0, `unexpected error: ${stackOf(error)}`);
      trace.add('checker', `${violation.title}: ${violation.message}`);
    }
    for (const process of this.processes) process.kill();
    await this.server.clear();
    return {
      name: this.#plan.name,
      steps: this.#steps,
      virtualMs: clock.now,
      faults: this.#counts,
      violation,
      trace,
    };
  }

  /** Whether this world has no faults at all. Invalid requests may still fail. */
  get isQuiet(): boolean {
    const { faults, movesAt } = this.scenario;
    const incidents = [this.incident, this.suspension, this.rollback, this.lateRequest, this.stage];
    const isUndisturbed = incidents.every((incident) => incident === undefined);
    return faults.size === 0 && movesAt.length === 0 && isUndisturbed;
  }

  startProcess(): Process {
    const { config, changed = config } = this.scenario;
    const own = this.allProcesses.length % 2 === 0 ? config : changed;
    const process = new Process(this, `p${this.allProcesses.length + 1}`, own);
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

  /** The number of a recipient of a campaign, or of a message of the outbox by its own number. */
  numberOf(campaign: string, ordinal: number): string {
    if (campaign === OUTBOX_ID) return this.outbox?.numberOf(ordinal) ?? '';
    return numberOf(this.campaign(campaign).range, ordinal);
  }

  /** What a text belongs to: a campaign, whose text begins with its id, or the outbox, which may get other texts. */
  campaignOf(text: string): string {
    return this.outbox?.isText(text) === true ? OUTBOX_ID : text.replace(/ .*/, '');
  }

  /** The ordinals of a campaign, or the messages of the outbox by their own numbers, for which a number may be sent. */
  ordinalsOf(campaign: string, number: string): readonly number[] {
    return campaign === OUTBOX_ID ? (this.outbox?.ordinalsOf(number) ?? []) : [ordinalOf(number)];
  }

  /** What must be accepted at most once: a recipient of a campaign, or a message under its id. */
  recipientOf(campaign: string, number: string): string {
    return campaign === OUTBOX_ID ? `${this.outbox?.idOf(number)}` : `${campaign} ${number}`;
  }

  /** The state of a message of the outbox; undefined if there is none with this id. */
  readonly stateOfMessage = async (id: string): Promise<string | undefined> => this.producer?.stateOf(id);

  campaign(id: string): CampaignPlan {
    if (id === OUTBOX_ID && this.outbox !== undefined) return this.outbox.campaign;
    return found(
      this.#campaigns.find((plan) => plan.id === id),
      id,
    );
  }

  count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  /** The latency of a command or a reply, ms. Usually 0, which takes no step. */
  latency(random: RandomStream): number {
    if (random.chance(0.7)) return 0;
    if (this.isCalm || !this.scenario.faults.has('slow')) return random.integer(1, 5);
    return random.weighted([
      [80, 2],
      [15, random.integer(5, 300)],
      [5, random.integer(300, 7_000)],
    ]);
  }

  /** The error that Redis returns while it is full, for a command that it does not run then. */
  outOfMemory(command: Command): Error | undefined {
    if (this.clock.now >= this.fullUntil) return undefined;
    if (scriptOf(command, this.scripts)?.runsWhenFull === true) return undefined;
    const error = new Error("OOM command not allowed when used memory > 'maxmemory'.");
    error.name = 'ReplyError';
    return error;
  }

  fail(error: unknown): void {
    this.#failure ??= error;
  }

  /** Called when a lane considers workers lost: none of them may be alive and well. */
  workersLost(names: readonly string[]): void {
    const { faults } = this.scenario;
    if (faults.has('slow') || faults.has('full')) return;
    const well = this.processes.find(({ name, isWell }) => isWell && names.includes(name));
    if (well !== undefined)
      this.fail(new Violation(4, `${well.name} counts as lost, although nothing has happened to it`));
  }

  /** Called when a turn or a sweep throws. Only an injected fault may cause that. */
  broken(what: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.trace.add('failed', `${what}: ${message}`);
    if (!/^(Connection is closed|Redis did not answer|OOM )/.test(message))
      this.fail(new Violation(0, `${what} failed: ${stackOf(error)}`));
  }

  /** The openings of a window of this world. */
  readonly openingsOf: OpeningsOf = (rule, at, most) =>
    (this.scenario.windows.get(rule) ?? []).filter(({ until }) => until > at).slice(0, most);

  /** Whether a campaign may send now. `ordinals`: to which recipients; without them, one with zones is not open. */
  isOpen(id: string, ordinals: readonly number[] = []): boolean {
    const plan = this.campaign(id);
    const { window, zones, lane } = plan;
    const now = START + this.clock.now;
    if (zones !== undefined && ordinals.length === 0) return false;
    const parts = zones === undefined ? [] : ordinals.map((ordinal) => partOf(plan, ordinal));
    if (parts.some(({ at = now }) => now < at)) return false;
    const own = zones === undefined ? [window] : parts.map((part) => ruleIn(window, part.zone));
    return [...own, this.planOf(lane).settings.sendWindow].every(
      (rule) => rule === undefined || this.openingsOf(rule, now, 1).some(({ from }) => from <= now),
    );
  }

  /** Imports a campaign. */
  async commit(plan: CampaignPlan): Promise<void> {
    const meta = draft(plan.id, {
      lane: plan.lane,
      // The text identifies the campaign of a request, because several campaigns may have the same numbers.
      text: plan.id,
      priority: plan.priority,
      created: START + this.clock.now,
      ...(plan.window === undefined ? {} : { window: plan.window }),
      ...(plan.startsInMs > 0 ? { at: START + this.clock.now + plan.startsInMs } : {}),
      ...(plan.validForMs > 0 ? { validForMs: plan.validForMs } : {}),
    });
    this.trace.add('operator', `commits ${plan.id}, ${plan.recipients} recipients`);
    const zones = plan.zones?.map((name) => ruleIn(plan.window, partNamed(name).zone));
    const windows = [...(zones ?? [plan.window]), this.planOf(plan.lane).settings.sendWindow].filter(
      (rule) => rule !== undefined,
    );
    const due = { windows: windows.map((rule) => ({ rule, usedAt: START })), unusedWindows: [] };
    const store = { redis: this.#direct, keys: this.keys, id: plan.lane };
    await computeWindows(store, due, START + this.clock.now, this.openingsOf);
    const session = await beginImport(this.#direct, this.keys, meta);
    for (let ordinal = 0; ordinal < plan.recipients; ordinal += 1) {
      session.recipients.add({ number: this.numberOf(plan.id, ordinal), values: [] }, zoneOf(plan, ordinal));
    }
    await session.commit(meta);
    const numbers = [...plan.suppressed].map((ordinal) => this.numberOf(plan.id, ordinal));
    if (numbers.length > 0) await this.suppress(numbers);
    await this.server.readLane(plan.lane, 'commit');
  }

  /** Suppresses numbers on a lane, or on all. */
  async suppress(numbers: readonly string[], lane: string | null = null): Promise<void> {
    await suppression(this.#direct, this.keys).add(numbers, { ...SUPPRESSING, list: lane });
  }

  /** The stored records of a campaign's requests, by their first ordinal. */
  async records(lane: string, campaign: string): Promise<Map<number, RequestRecord>> {
    const fields = await this.#direct.hgetall(recordsKey(this.keys, lane, campaign, 0));
    return new Map(parseRecords(fields).requests);
  }

  /** Runs an operator's command at once, without latency or faults, and wakes the lane. */
  async direct<Answer>(
    lane: string,
    what: (of: ReturnType<Process['laneNamed']>) => Promise<Answer>,
  ): Promise<Answer> {
    const own = this.operator.laneNamed(lane);
    const answer = await what(own);
    await wakeLane(own, this.jobs);
    return answer;
  }

  /** A process that suffers no faults. */
  get operator(): Process {
    this.#operator ??= new Process(this, 'operator', this.scenario.config, this.#direct);
    return this.#operator;
  }
  #operator: Process | undefined;
}

/** The name of a recipient's part. Its ordinals follow each other, so that they are those of the list, which has one slice. */
const zoneOf = ({ zones, recipients }: CampaignPlan, ordinal: number): string | undefined =>
  zones?.[Math.floor((ordinal * zones.length) / recipients)];

const partOf = (plan: CampaignPlan, ordinal: number): Part => partNamed(zoneOf(plan, ordinal) ?? '');

function found<Item>(item: Item | undefined, name: string): Item {
  if (item === undefined) throw new Error(`unknown: ${name}`);
  return item;
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function listed(_key: string, value: unknown): unknown {
  return value instanceof Set ? [...value] : value;
}
