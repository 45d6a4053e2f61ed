import { loadScript } from '../../../src/base/redis/script.js';
import { InputError, NotFoundError } from '../../../src/campaign/errors/errors.js';
import { outboxKeys } from '../../../src/engine/recipients/outbox-messages.js';
import { computeWindows } from '../../../src/engine/recovery/windows.js';
import { MessageLateError, RecoveringError } from '../../../src/intake/outbox/definition/errors.js';
import { indexOutbox } from '../../../src/intake/outbox/definition/outbox-index.js';
import {
  editionOf,
  type OutboxSettings,
  stateOf,
  UNCHANGED,
} from '../../../src/intake/outbox/definition/settings.js';
import type { Outbox } from '../../../src/intake/outbox/outbox-methods.js';
import type { OutboxChecker, Put } from '../checks/outbox.js';
import type { SimulatedConnection } from '../process/connection.js';
import type { Process } from '../process/process.js';
import type { RandomStream } from '../random.js';
import { AT_SERVICE, OUTBOX_ID } from '../server/lane-state.js';
import { START } from '../server/server.js';
import type { World } from '../world.js';

const createScript = loadScript(
  new URL('../../../src/intake/outbox/outboxes.js', import.meta.url).href,
  './create-outbox.lua',
  () => undefined,
);

/** How long the producer waits for an answer, ms. */
const PATIENCE_MS = 15_000;
/** Operations per message. */
const MOST_OPERATIONS = 4;

/** What an operation came to. Undefined: no answer. */
type Answer<Result> = { readonly result: Result } | { readonly refusal: string } | undefined;

/** A platform that puts, moves, and cancels the messages of an outbox, through processes that may die, or at once. */
export class Producer {
  readonly #world: World;
  readonly #checker: OutboxChecker;
  readonly #random: RandomStream;
  readonly #versions = new Map<string, number>();
  /** Ids with an operation that is not answered yet. A platform does one after the other. */
  readonly #busy = new Set<string>();

  constructor(world: World, checker: OutboxChecker) {
    this.#world = world;
    this.#checker = checker;
    this.#random = world.streams('producer');
  }

  /** Gives the outbox another text. */
  async set(): Promise<void> {
    const text = this.#checker.newText();
    this.#log(`sets ${text}`);
    await this.#ask(
      (outbox) => outbox.set({ message: text }),
      (answer) => {
        this.#log(`set ${text}: ${shown(answer)}`);
        if (answer !== undefined && 'result' in answer) this.#checker.textAnswered(text);
      },
    );
  }

  /** Creates the outbox and plans what happens to it. */
  async begin(redis: SimulatedConnection): Promise<void> {
    const { keys, clock, server, openingsOf, scenario } = this.#world;
    const { name, lane, lateMs, window, priority, messages } = this.#checker.plan;
    const settings: OutboxSettings = {
      message: name,
      columns: [],
      ...UNCHANGED,
      sender: 'ACME',
      sendRule: 'now',
      lateMs,
      priority,
      id: AT_SERVICE,
      created: START,
      ...(window === undefined ? {} : { window }),
    };
    const windows = [window, this.#world.planOf(lane).settings.sendWindow].filter(
      (rule) => rule !== undefined,
    );
    const due = { windows: windows.map((rule) => ({ rule, usedAt: START })), unusedWindows: [] };
    await computeWindows({ redis, keys, id: lane }, due, START + clock.now, openingsOf);
    await redis.sadd(keys.lanes, lane);
    await indexOutbox(redis, keys, lane, name);
    const { outbox } = outboxKeys(keys, lane, name).fixed;
    await createScript.run(
      redis,
      { states: keys.lane(lane, 'states'), outbox, keyBytes: keys.lane(lane, 'keyBytes') },
      {
        id: OUTBOX_ID,
        state: JSON.stringify({
          ...{ state: 'running', total: 0, ordinals: 0, batch: 1, counts: {}, launchAt: START },
          ...stateOf(settings),
          outbox: name,
        }),
        ...{ settings: JSON.stringify(settings), edition: editionOf(settings), key: '', bytes: 0, limit: 0 },
      },
    );
    // No loss of data may undo this.
    await server.save();
    const random = this.#random;
    for (let at = 0; at < messages; at += 1)
      clock.schedule(random.integer(0, scenario.chaosMs / 2), () => this.#put(`m${at}`, MOST_OPERATIONS));
    const commands = random.chance(0.4) ? random.integer(1, 3) : 0;
    for (let at = 0; at < commands; at += 1)
      clock.schedule(random.integer(1, scenario.chaosMs), () => this.#command());
    // In a stream of its own. The openings of a window are drawn, so that its rule cannot be read.
    const setting = this.#world.streams('producer: settings');
    const sets = messages > 0 && window === undefined && setting.chance(0.5) ? setting.integer(1, 4) : 0;
    for (let at = 0; at < sets; at += 1)
      clock.schedule(setting.integer(1, scenario.chaosMs), () =>
        this.#world.isCalm ? undefined : this.set(),
      );
  }

  /** Opens the outbox again if it is paused, and closes it for good, so that it can end. */
  async finish(): Promise<void> {
    const { lane } = this.#checker.plan;
    const { outbox } = this.#world.checker.lane(lane) ?? {};
    if (outbox === undefined) return;
    const { fields, state } = outbox;
    const own = this.#world.operator.outbox();
    if (state.state === 'paused') {
      // An earlier command to pause may still be on its way.
      this.#commands += 1;
      this.#checker.pauseAnswered(false);
      await own.resume();
    }
    if (fields.get('closed') !== '1') await own.close();
  }

  /** Puts a message that is due in so many seconds. */
  put(id: string, version: number | null, inS: number): Promise<void> {
    return this.#askPut(this.#checker.newPut(id, version), inS, () => {});
  }

  cancel(id: string, version: number | null): Promise<void> {
    return this.#askCancel(id, version, () => {});
  }

  /** Called when a process has claimed: something may change before it sends a message. */
  claimed(): void {
    const random = this.#random;
    const { messages, lane } = this.#checker.plan;
    if (this.#world.isCalm || messages === 0) return;
    const { outbox } = this.#world.checker.lane(lane) ?? {};
    if ((outbox?.state.counts['sending'] ?? 0) === 0 || !random.chance(0.15)) return;
    const id = `m${random.integer(0, messages - 1)}`;
    const isCancel = random.chance(0.5);
    this.#world.clock.schedule(random.integer(0, 4), () =>
      isCancel ? this.#cancel(id, 0) : this.#put(id, 0),
    );
  }

  /** The state of a message; undefined if there is none with this id. */
  readonly stateOf = async (id: string): Promise<string | undefined> => {
    try {
      return (await this.#world.operator.outbox().message(id)).state;
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  };

  async #put(id: string, left: number, before?: Put): Promise<void> {
    const random = this.#random;
    if (this.#world.isCalm || this.#busy.has(id)) return;
    const put = before ?? this.#checker.newPut(id, this.#version(id));
    const inS = random.weighted([
      [3, undefined],
      [1, random.integer(-4, 0)],
      [4, random.integer(1, 5)],
      [2, random.integer(5, 40)],
    ]);
    await this.#askPut(put, inS, (answer, dueInMs) => {
      // A producer repeats what was not answered.
      if (answer === undefined && left > 0 && random.chance(0.6)) {
        this.#world.clock.schedule(random.integer(1, 2_000), () => this.#put(id, left - 1, put));
        return;
      }
      this.#next(id, left, dueInMs);
    });
  }

  /** Puts a message that is due in so many seconds, or at once. */
  async #askPut(
    put: Put,
    inS: number | undefined,
    then: (answer: Answer<unknown>, dueInMs: number) => void,
  ): Promise<void> {
    const { id } = put;
    const { time } = this.#world.server;
    const sendAt = inS === undefined ? undefined : new Date(1_000 * (Math.floor(time / 1_000) + inS));
    this.#log(`puts ${id} as ${put.number}, version ${put.version}, ${sendAt?.toISOString() ?? 'now'}`);
    const message = { id, to: put.number, version: put.version, sendAt: sendAt?.toISOString() };
    this.#busy.add(id);
    await this.#ask(
      (outbox) => outbox.put(message),
      (answer) => {
        this.#busy.delete(id);
        if (answer === undefined) this.#checker.unanswered(put);
        else this.#checker.putAnswered(put, 'result' in answer ? answer.result.outcome : answer.refusal);
        this.#log(`put ${put.number}: ${shown(answer)}`);
        then(answer, inS === undefined ? 0 : (sendAt?.getTime() ?? 0) - this.#world.server.time);
      },
    );
  }

  async #cancel(id: string, left: number): Promise<void> {
    if (this.#world.isCalm || this.#busy.has(id)) return;
    await this.#askCancel(id, this.#random.chance(0.7) ? this.#version(id) : null, () =>
      this.#next(id, left, 0),
    );
  }

  async #askCancel(id: string, version: number | null, then: () => void): Promise<void> {
    this.#log(`cancels ${id}, version ${version}`);
    this.#busy.add(id);
    await this.#ask(
      (outbox) => outbox.cancel(id, { version: version ?? undefined }),
      (answer) => {
        this.#busy.delete(id);
        this.#log(`cancel of ${id}: ${shown(answer)}`);
        if (answer === undefined) this.#checker.unanswered(undefined);
        else if ('result' in answer) this.#checker.cancelAnswered(id, version, answer.result.outcome);
        then();
      },
    );
  }

  /** Does something else with a message after a while, often as it becomes due. */
  #next(id: string, left: number, dueInMs: number): void {
    const random = this.#random;
    if (left === 0 || random.chance(0.25)) return;
    const inMs = random.chance(0.6)
      ? Math.max(0, dueInMs) + random.integer(-300, 900)
      : random.integer(0, 6_000);
    this.#world.clock.schedule(Math.max(0, inMs), () =>
      random.chance(0.5) ? this.#cancel(id, left - 1) : this.#put(id, left - 1),
    );
  }

  async #command(): Promise<void> {
    if (this.#world.isCalm) return;
    await this.command(
      this.#random.weighted([
        [4, 'pause'],
        [3, 'resume'],
        [1, 'close'],
      ]),
    );
    if (this.#random.chance(0.6))
      this.#world.clock.schedule(this.#random.integer(500, 8_000), () => this.#command());
  }

  /** Pauses, resumes, or closes the outbox through this process; default: chance decides. */
  async command(command: 'pause' | 'resume' | 'close', through = this.#nextProcess()): Promise<void> {
    this.#log(`${command} outbox`);
    this.#commands += 1;
    const place = this.#commands;
    // A resume that is not answered yet may take effect after a pause that finds the outbox paused already.
    const isResuming = this.#resuming > 0;
    if (command === 'resume') {
      // From now on it may be resumed, until the answer comes; without one, at any time.
      this.#checker.pauseAnswered(false);
      this.#resuming += 1;
    }
    await this.#ask(
      async (outbox) => void (await outbox[command]()),
      (answer) => {
        this.#log(`${command}: ${shown(answer)}`);
        if (answer === undefined) return;
        if (command === 'resume') this.#resuming -= 1;
        if (command === 'pause' && place === this.#commands && !isResuming) this.#checker.pauseAnswered(true);
      },
      through,
    );
  }
  #commands = 0;
  /** Commands to resume that were not answered. */
  #resuming = 0;

  /** Versions mostly grow; a few come late. */
  #version(id: string): number | null {
    if (!this.#checker.plan.isVersioned) return null;
    const last = this.#versions.get(id) ?? 0;
    if (last > 1 && this.#random.chance(0.15)) return last - 1;
    this.#versions.set(id, last + 1);
    return last + 1;
  }

  /** The process that the platform asks next; undefined if its request takes no time. */
  #nextProcess(): Process | undefined {
    const able = this.#world.processes.filter((process) => !process.isStopped);
    return able.length > 0 && this.#random.chance(0.5) ? this.#random.pick(able) : undefined;
  }

  /** Asks the outbox at once, or through a process. */
  async #ask<Result>(
    what: (outbox: Outbox) => Promise<Result>,
    answered: (answer: Answer<Result>) => void,
    process = this.#nextProcess(),
  ): Promise<void> {
    const { operator, clock } = this.#world;
    if (process === undefined) {
      answered(await answerOf(what(operator.outbox())));
      return;
    }
    let isOver = false;
    const end = (answer: Answer<Result>): void => {
      if (isOver) return;
      isOver = true;
      giveUp();
      try {
        answered(answer);
      } catch (violation) {
        this.#world.fail(violation);
      }
    };
    const giveUp = clock.schedule(PATIENCE_MS, () => void end(undefined));
    answerOf(what(process.outbox())).then(end, (error: unknown) => this.#world.fail(error));
  }

  #log(text: string): void {
    this.#world.trace.add('producer', text);
  }
}

/** The answer to an operation. Rejects with errors that no fault explains. */
async function answerOf<Result>(asked: Promise<Result>): Promise<Answer<Result>> {
  try {
    return { result: await asked };
  } catch (error) {
    const refusals = [NotFoundError, InputError, RecoveringError, MessageLateError];
    if (error instanceof Error && refusals.some((each) => error instanceof each))
      return { refusal: error.name };
    const message = error instanceof Error ? error.message : String(error);
    if (/^(Connection is closed|Redis did not answer|OOM )/.test(message)) return undefined;
    throw error;
  }
}

function shown(answer: Answer<unknown>): string {
  return answer === undefined ? 'no answer' : JSON.stringify(answer);
}
