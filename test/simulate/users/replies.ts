import type { Redis } from '../../../src/base/redis/connection.js';
import { inboundStore } from '../../../src/engine/inbound/inbound-store.js';
import type { Process } from '../process/process.js';
import type { RandomStream } from '../random.js';
import type { ReplyPlan } from '../scenario/scenario.js';
import { Violation } from '../violation.js';
import type { World } from '../world.js';

/** How long the service waits for an answer, and when it repeats a part that got no success, ms. */
const PATIENCE_MS = 5_000;
const REPEAT_MS = [500, 4_000] as const;
/** More than a world has. */
const MESSAGES = 100;

interface Message extends ReplyPlan {
  readonly id: string;
  readonly lane: string;
  readonly number: string;
  readonly parts: readonly string[];
  /** The parts that got a success. With the last, what it asks for is done. */
  readonly answered: Set<number>;
  /** When its first part left, ms of virtual time. */
  sentAt: number;
}

/** People who answer campaigns, and the service that delivers each part until a process answers with success, some more than once. */
export class Replies {
  readonly #world: World;
  readonly #redis: Redis;
  readonly #random: RandomStream;
  readonly #messages: readonly Message[];
  /** Where the log has each message. */
  readonly #positions = new Map<string, Set<string>>();
  /** Of each number: the start words that may still take effect, and when the last one did. */
  readonly #starting = new Map<string, { open: number; endedAt: number }>();
  /** Deliveries that got no success yet. */
  #open = 0;

  constructor(world: World, redis: Redis) {
    this.#world = world;
    this.#redis = redis;
    this.#random = world.streams('replies');
    this.#messages = world.scenario.replies.map((plan, at) => ({
      ...plan,
      id: `reply${at}`,
      lane: world.campaign(plan.campaign).lane,
      number: world.numberOf(plan.campaign, plan.ordinal),
      parts: plan.isLong ? [plan.text.slice(0, 2), plan.text.slice(2)] : [plan.text],
      answered: new Set(),
      sentAt: 0,
    }));
  }

  /** Whether every part was delivered. */
  get areAnswered(): boolean {
    return this.#open === 0;
  }

  begin(): void {
    for (const message of this.#messages) {
      this.#open += message.times * message.parts.length;
      this.#world.clock.schedule(message.at, () => this.#write(message));
    }
  }

  #write(message: Message): undefined {
    const { clock, trace, checker } = this.#world;
    const { number, text, parts, times, withinMs } = message;
    trace.add('person', `${number} writes ${message.id}: ${parts.join(' + ')}`);
    message.sentAt = clock.now;
    if (text === 'start') {
      const starting = this.#starting.get(number) ?? { open: 0, endedAt: -1 };
      starting.open += 1;
      this.#starting.set(number, starting);
      checker.resumed(number);
    }
    for (const place of parts.keys())
      for (let time = 0; time < times; time += 1)
        clock.schedule(this.#random.integer(0, withinMs), () => this.#deliver(message, place));
    return undefined;
  }

  /** Delivers a part to a process, and again until one answers with success. */
  #deliver(message: Message, place: number): undefined {
    const { clock, processes } = this.#world;
    const able = processes.filter((process) => !process.isStopped);
    let isOver = false;
    const again = (): void => {
      if (isOver) return;
      isOver = true;
      clock.schedule(this.#random.integer(...REPEAT_MS), () => this.#deliver(message, place));
    };
    if (able.length === 0) return again() as undefined;
    const giveUp = clock.schedule(PATIENCE_MS, () => again() as undefined);
    this.#handOver(this.#random.pick(able), message, place).then(
      () => {
        giveUp();
        if (isOver) return;
        isOver = true;
        this.#open -= 1;
        this.#answered(message, place);
      },
      (error: unknown) => {
        giveUp();
        this.#world.trace.add('person', `${message.id} is not stored: ${error}`);
        again();
      },
    );
    return undefined;
  }

  #handOver(process: Process, { id, lane, number, parts }: Message, place: number): Promise<void> {
    const [text = ''] = parts.slice(place);
    const part = { reference: Number(id.slice(5)), number: place + 1, total: parts.length };
    const isWhole = parts.length === 1;
    return process.receives(lane, {
      messageId: isWhole ? id : `${id}-${place}`,
      from: number,
      to: 'ACME',
      text,
      ...(isWhole ? {} : { part }),
    });
  }

  #answered(message: Message, place: number): void {
    const { clock, checker, trace } = this.#world;
    const { id, number, text, parts, answered } = message;
    if (answered.has(place)) return;
    answered.add(place);
    if (answered.size < parts.length) return;
    trace.add('person', `${id} is done`);
    const starting = this.#starting.get(number) ?? { open: 0, endedAt: -1 };
    if (text === 'start') {
      starting.open -= 1;
      starting.endedAt = clock.now;
    }
    // One that crosses a start word may have come before it.
    if (text === 'stop' && starting.open === 0 && starting.endedAt < message.sentAt) checker.stopped(number);
  }

  /** Called when a message was logged. */
  logged(): void {
    this.#world.clock.schedule(0, () => this.#read());
  }

  async #read(): Promise<void> {
    for (const { settings } of this.#world.scenario.lanes) {
      const store = inboundStore(this.#redis, this.#world.keys, settings.name);
      for (const { id, position } of await store.before(undefined, MESSAGES)) {
        const name = id.replace(/-\d$/, '');
        const positions = this.#positions.get(name) ?? new Set();
        this.#positions.set(name, positions.add(position));
      }
    }
  }

  /** Each message must have been stored once. */
  ended(): void {
    const { server, scenario } = this.#world;
    // A repeat that comes after the retention is a new message.
    if (server.clockRangeMs >= scenario.config.retentionMs) return;
    for (const { id, number } of this.#messages) {
      const times = this.#positions.get(id)?.size ?? 0;
      if (times !== 1) throw new Violation(15, `${id} of ${number} is stored ${times} times`);
    }
  }
}
