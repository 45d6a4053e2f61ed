import { z } from 'zod';
import type { Redis } from '../../../src/base/redis/connection.js';
import { RECIPIENT_STATE } from '../../../src/campaign/states/recipient.js';
import type { Endpoint as StoredEndpoint } from '../../../src/reporting/webhooks/endpoint.js';
import type { Poster } from '../../../src/reporting/webhooks/post.js';
import { webhookStore } from '../../../src/reporting/webhooks/store.js';
import type { Exchange } from '../../../src/service/client/exchange.js';
import type { Process } from '../process/process.js';
import type { RandomStream } from '../random.js';
import { type LaneState, OUTBOX_ID } from '../server/lane-state.js';
import { START } from '../server/server.js';
import { Violation } from '../violation.js';
import type { World } from '../world.js';

/** The id of the endpoint, in worlds that have one. */
export const ENDPOINT = 'endpoint';
/** How long a process waits for a response, ms. */
const PATIENCE_MS = 20_000;
/** A failed turn, or one whose process has died, is followed by another one after this time, ms. */
const AGAIN_MS = 5_000;

const event = z.object({
  type: z.string(),
  data: z.looseObject({
    campaign: z.string().optional(),
    state: z.string().optional(),
    results: z
      .array(
        z.object({
          campaign: z.string().nullable(),
          message: z.string().nullable(),
          to: z.string().nullable(),
          status: z.string(),
        }),
      )
      .default([]),
  }),
});
const STATE_OF = new Map<string | null, string>(
  Object.entries(RECIPIENT_STATE).map(([state, { letter }]) => [letter, state]),
);

/** A platform's endpoint. It knows each event by its id, however often it gets it, and must learn every final state under one id. */
export class Endpoint {
  readonly #world: World;
  readonly #random: RandomStream;
  readonly #redis: Redis;
  readonly #ids = new Set<string>();
  /** The ids of the events that named a recipient with a state, or a campaign. */
  readonly #told = new Map<string, Set<string>>();
  /** The results of each lane that were there when a process was last woken. */
  readonly #seen = new Map<string, string>();
  /** The process that delivers. */
  #holder: Process | undefined;
  /** When the next look is due, ms of virtual time; undefined: when a lane has results. */
  #lookAt: number | undefined;

  constructor(world: World, redis: Redis) {
    this.#world = world;
    this.#random = world.streams('endpoint');
    this.#redis = redis;
  }

  /** Whether nothing is left to deliver. */
  get isIdle(): boolean {
    return this.#holder === undefined && this.#lookAt === undefined;
  }

  /** Adds the endpoint. */
  async begin(): Promise<void> {
    const endpoint: StoredEndpoint = {
      id: ENDPOINT,
      json: '',
      url: 'https://platform.example/events',
      lanes: this.#world.scenario.lanes.map(({ settings }) => settings.name),
      events: null,
      outboxes: null,
      tags: null,
      createdAt: START,
      createdBy: { kind: 'library', id: null, name: 'a platform' },
      disabledBecause: null,
      secrets: [{ sealed: 'whsec_AAAA', until: null }],
      sealedWith: 'in the clear',
    };
    await webhookStore(this.#redis, this.#world.keys).change(ENDPOINT, null, endpoint);
  }

  /** Called with the state of a lane after each command that may have changed it. */
  observed(lane: string, { campaigns, outbox }: LaneState): void {
    const results = [...campaigns].map(([id, { state, statuses }]) => `${id} ${state.state} ${statuses}`);
    const messages = [...(outbox?.numbered ?? [])].map(([number, { state }]) => `${number} ${state}`);
    const seen = JSON.stringify([results, messages]);
    if (this.#seen.get(lane) === seen) return;
    this.#seen.set(lane, seen);
    this.#look(this.#random.integer(0, 2_000));
  }

  #look(inMs: number): void {
    const { clock } = this.#world;
    const at = clock.now + Math.ceil(inMs);
    if (this.#lookAt !== undefined && this.#lookAt <= at) return;
    this.#lookAt = at;
    clock.schedule(inMs, () => {
      if (this.#lookAt === at) this.#begin();
      return undefined;
    });
  }

  /** A process delivers, unless another one does. Now and then that one has lost its job without noticing. */
  #begin(): void {
    const { processes } = this.#world;
    this.#lookAt = undefined;
    const able = processes.filter((process) => !process.isStopped);
    const isHeld = this.#holder !== undefined && !this.#holder.isDead && !this.#random.chance(0.1);
    if (isHeld || able.length === 0) {
      this.#look(1_000);
      return;
    }
    const process = this.#random.pick(able);
    this.#holder = process;
    // If the process dies, no answer comes.
    const isLost = (): boolean => this.#holder === process && process.isDead;
    const watch = (): undefined => {
      if (isLost()) {
        this.#holder = undefined;
        this.#look(0);
      } else if (this.#holder === process) this.#world.clock.schedule(AGAIN_MS, watch);
      return undefined;
    };
    this.#world.clock.schedule(AGAIN_MS, watch);
    const over = (inMs: number | undefined): void => {
      if (this.#holder === process) this.#holder = undefined;
      if (inMs !== undefined) this.#look(Math.max(inMs, 100));
    };
    process.deliverTo(ENDPOINT, this.#posterOf(process)).then(
      (next) => over(next === null ? undefined : next - process.machine.clock()),
      (error: unknown) => {
        this.#world.broken(`${process.name}: webhooks`, error);
        over(AGAIN_MS);
      },
    );
  }

  #posterOf(process: Process): Poster {
    return {
      post: (_url, headers, body) => this.#post(process, String(headers['webhook-id']), body),
      close: () => {},
    };
  }

  /** A request of a process: it may arrive without an answer, also after its process has died. */
  #post(process: Process, id: string, body: string): Promise<Exchange> {
    const { clock, scenario, isCalm } = this.#world;
    const random = this.#random;
    // An event of one entry cannot be halved: after a 413, it is given up.
    const isDivisible = event.parse(JSON.parse(body)).data.results.length > 1;
    const drawn = isCalm
      ? 'answered'
      : random.weighted([
          [70, 'answered' as const],
          [10, 'failed' as const],
          [8, 'lost' as const],
          [8, 'unanswered' as const],
          [4, 'tooLarge' as const],
        ]);
    const fate = drawn === 'tooLarge' && !isDivisible ? 'failed' : drawn;
    const transit = (): number => random.integer(1, scenario.latencyMs);
    return new Promise((resolve) => {
      process.machine.alarm(PATIENCE_MS, () =>
        resolve({ kind: 'failure', cause: 'timeout', code: 'ETIMEDOUT', left: true }),
      );
      if (fate === 'lost') return;
      clock.schedule(transit(), () => {
        if (fate === 'answered' || fate === 'unanswered') this.#got(process, id, body);
        if (fate === 'unanswered') return undefined;
        const status = { answered: 204, failed: 500, tooLarge: 413 }[fate];
        clock.schedule(
          transit(),
          () => void resolve({ kind: 'reply', status, statusText: '', headers: {}, body: '' }),
          process,
        );
        return undefined;
      });
    });
  }

  #got(process: Process, id: string, body: string): void {
    const { trace } = this.#world;
    if (trace.isWanted) trace.add('endpoint', `${id} from ${process.name}: ${body}`);
    this.#world.count(this.#ids.has(id) ? 'events repeated' : 'events');
    if (this.#ids.has(id)) return;
    this.#ids.add(id);
    const { type, data } = event.parse(JSON.parse(body));
    if (type === 'campaign.state') this.#note(`${data.campaign} ${data.state}`, id);
    for (const { campaign, message, to, status } of data.results)
      this.#note(campaign === null ? `${message} ${status}` : `${campaign} ${to} ${status}`, id);
  }

  #note(what: string, id: string): void {
    this.#told.set(what, (this.#told.get(what) ?? new Set()).add(id));
  }

  /** Compares what the endpoint got with the final states of all lanes. */
  ended(): void {
    for (const { settings } of this.#world.scenario.lanes) {
      const lane = this.#world.checker.lane(settings.name);
      for (const [id, { state, statuses }] of lane?.campaigns ?? []) {
        if (id === OUTBOX_ID) continue;
        this.#require(`${id} ${state.state}`);
        for (let ordinal = 0; ordinal < state.ordinals; ordinal += 1) {
          const final = STATE_OF.get(statuses[ordinal] ?? '') ?? state.remainder;
          this.#require(`${id} ${this.#world.numberOf(id, ordinal)} ${final}`, 1);
        }
      }
      // What was never sent may be put again, and end in the same way.
      for (const { id, state } of lane?.outbox?.numbered.values() ?? [])
        this.#require(`${id} ${state}`, state === 'cancelled' || state === 'lapsed' ? undefined : 1);
    }
  }

  #require(what: string, most = Number.POSITIVE_INFINITY): void {
    const ids = [...(this.#told.get(what) ?? [])];
    if (ids.length < 1 || ids.length > most)
      throw new Violation(16, `the endpoint got ${what} under ${ids.length} ids: ${ids.join(' ')}`);
  }
}
