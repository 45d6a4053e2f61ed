import { setTimeout as delay } from 'node:timers/promises';
import { requestReference } from '../campaign/campaign-id.js';
import { InputError, NotFoundError } from '../campaign/errors.js';
import type { CampaignState, CampaignStatus, LaneStatus } from '../campaign/views.js';
import type { Events } from '../events.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { findLane, listCampaigns, readMeta, readState } from '../store/campaigns.js';
import { ahead } from './ahead.js';
import { type Lane, noSuchLane } from './lane.js';
import type { Wakers } from './queues.js';
import type { Roster } from './roster.js';
import { campaignStatus, laneStatus } from './status.js';
import { wakeLane } from './sweep.js';
import type { Volley } from './volley.js';

/** What {@link createDesk} goes by. */
export interface DeskOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly lanes: ReadonlyMap<string, Lane>;
  readonly wakers: Wakers;
  readonly roster: Roster;
  readonly events: Events;
}

/** Where an operator asks and orders: everything about campaigns and lanes that are there already. */
export type Desk = Pick<
  Volley,
  | 'status'
  | 'list'
  | 'page'
  | 'laneOf'
  | 'pause'
  | 'resume'
  | 'cancel'
  | 'resolve'
  | 'finished'
  | 'lanes'
  | 'pauseLane'
  | 'resumeLane'
>;

const LISTED = 50;
/** A page of the few that are in a rare state must not look through all there are. */
const LOOKED_AT_FOR_A_PAGE = 5_000;
const LOOKED_UP_AT_ONCE = 50;
const PROGRESS_MS = 500;

/** Opens the desk; nothing is asked of Redis before somebody asks. */
export function createDesk({ redis, keys, lanes, wakers, roster, events }: DeskOptions): Desk {
  const laneNamed = (name: string): Lane => {
    const lane = lanes.get(name);
    if (lane !== undefined) return lane;
    throw noSuchLane(name, lanes.keys());
  };
  const laneOf = async (id: string): Promise<Lane> => {
    const name = await findLane(redis, keys, id);
    if (name === null)
      throw new NotFoundError(`there is no campaign ${id}; \`volley list\` shows those there are`);
    return laneNamed(name);
  };
  /** What the status of a campaign needs to know of its lane. */
  const stand = (lane: Lane) => {
    const stands = Promise.all([lane.look(), lane.commands.unknown()]).then(([view, unknown]) => ({
      view,
      unknown,
    }));
    // It is awaited last, or not at all where something before it failed: that must not end the process.
    stands.catch(() => {});
    return stands;
  };
  /** Null for one that is not there: its index is written before it and removed after it. */
  const look = async (
    id: string,
    lane: Lane,
    stands: ReturnType<typeof stand>,
    workers: boolean,
    wanted?: CampaignState,
  ): Promise<CampaignStatus | null> => {
    const [meta, state] = await Promise.all([
      readMeta(redis, keys, lane.name, id),
      readState(redis, keys, lane.name, id),
    ]);
    if (meta === null || state === null || (wanted !== undefined && state.s !== wanted)) return null;
    const { view, unknown } = await stands;
    const ofIt = (batches: typeof unknown) => batches.filter(({ campaign }) => campaign === id);
    const known = ofIt(unknown);
    // One that became unknown after the lane was asked is counted already: whoever decides on it needs its name.
    const own =
      known.length === 0 && (state.n.unknown ?? 0) > 0 ? ofIt(await lane.commands.unknown()) : known;
    return campaignStatus(meta, state, lane, view, own, workers);
  };
  const hasWorkers = async (): Promise<boolean> => (await roster.alive()).length > 0;
  const status = async (id: string): Promise<CampaignStatus> => {
    const lane = await laneOf(id);
    const found = await look(id, lane, stand(lane), await hasWorkers());
    if (found !== null) return found;
    throw new NotFoundError(
      `campaign ${id} is not there any more: removed after its retention, or never committed`,
    );
  };

  const page = async (
    { state, lanes: only, limit = LISTED, after }: NonNullable<Parameters<Volley['page']>[0]>,
    most: number,
  ) => {
    const workers = await hasWorkers();
    const campaigns: CampaignStatus[] = [];
    // A lane is asked once, however many of its campaigns are listed.
    const standing = new Map<Lane, ReturnType<typeof stand>>();
    const lookUp = async ({ id, lane: name }: { id: string; lane: string }) => {
      const lane = only === undefined || only.includes(name) ? lanes.get(name) : undefined;
      if (lane === undefined) return { id, campaign: null };
      const stands = standing.get(lane) ?? stand(lane);
      standing.set(lane, stands);
      return { id, campaign: await look(id, lane, stands, workers, state) };
    };
    let looked = 0;
    const all = listCampaigns(redis, keys, after);
    for await (const { id, campaign } of ahead(all, LOOKED_UP_AT_ONCE, lookUp)) {
      looked += 1;
      if (campaign !== null) campaigns.push(campaign);
      if (campaigns.length >= limit || looked >= most) return { campaigns, next: id };
    }
    return { campaigns, next: null };
  };

  const command = async (id: string, word: 'pause' | 'resume' | 'cancel') => {
    const lane = await laneOf(id);
    const done = await lane.commands.campaign(word, id);
    if (done.outcome === 'missing') throw new NotFoundError(`there is no campaign ${id}`);
    if (done.outcome !== 'done') throw new InputError(`campaign ${id} is ${done.outcome}; it cannot ${word}`);
    lane.tell(done.events);
    return { lane, inFlight: done.inFlight, cancelled: done.cancelled };
  };

  return {
    status,

    list: async ({ state, limit = LISTED } = {}) =>
      (await page({ state, limit }, Number.POSITIVE_INFINITY)).campaigns,

    page: (wanted = {}) => page(wanted, LOOKED_AT_FOR_A_PAGE),

    laneOf: async (id) => (await laneOf(id)).name,

    async pause(id) {
      const { lane, inFlight } = await command(id, 'pause');
      events.emit({ type: 'campaign.paused', lane: lane.name, campaign: id, by: 'operator', inFlight });
      return { inFlight };
    },

    async resume(id) {
      const { lane } = await command(id, 'resume');
      events.emit({ type: 'campaign.resumed', lane: lane.name, campaign: id });
      await wakeLane(lane, wakers);
    },

    async cancel(id) {
      const { lane, inFlight, cancelled } = await command(id, 'cancel');
      events.emit({ type: 'campaign.cancelled', lane: lane.name, campaign: id, inFlight });
      return { inFlight, cancelled };
    },

    async resolve(id, { as, request }) {
      const lane = await laneOf(id);
      const own = (await lane.commands.unknown()).filter(({ campaign }) => campaign === id);
      const named =
        request === undefined ? own : own.filter(({ number }) => requestReference(id, number) === request);
      if (request !== undefined && named.length === 0) {
        throw new NotFoundError(
          `campaign ${id} has no unknown request ${request}; its status names those there are`,
        );
      }
      const rest = as === 'resend' ? (await readState(redis, keys, lane.name, id))?.rest : undefined;
      if (rest !== undefined && rest !== 'planned') {
        const over = rest === 'lapsed' ? 'has lapsed' : 'is cancelled';
        throw new InputError(
          `campaign ${id} ${over}, so nothing of it is sent again; what is unknown can be given up or counted as accepted`,
        );
      }
      const words = {
        resend: 'sent again on the word of the operator',
        abandon: 'given up on the word of the operator',
        accepted: 'accepted on the word of the operator; it cannot be followed up',
      };
      const done = await lane.commands.resolve(as, words[as], named);
      lane.tell(done.events);
      await wakeLane(lane, wakers);
      const { batches, recipients, tooEarly, safeAt } = done;
      return {
        batches,
        recipients,
        tooEarly: tooEarly === 0 ? null : { batches: tooEarly, until: new Date(safeAt).toISOString() },
      };
    },

    async finished(id, { signal, onProgress, everyMs = PROGRESS_MS } = {}) {
      for (;;) {
        signal?.throwIfAborted();
        const now = await status(id);
        onProgress?.(now);
        if (now.endedAt !== null) return now;
        await delay(everyMs, undefined, signal === undefined ? {} : { signal });
      }
    },

    async lanes(): Promise<LaneStatus[]> {
      return Promise.all([...lanes.values()].map(async (lane) => laneStatus(lane, await lane.look())));
    },

    async pauseLane(name) {
      await laneNamed(name).commands.lane('hold', 'paused by the operator');
      const { epoch } = await laneNamed(name).views.look();
      events.emit({ type: 'lane.paused', lane: name, reason: 'paused by the operator', until: null, epoch });
    },

    async resumeLane(name) {
      const lane = laneNamed(name);
      await lane.commands.lane('resume');
      const { epoch } = await lane.views.look();
      events.emit({ type: 'lane.reopened', lane: name, epoch });
      await wakeLane(lane, wakers);
    },
  };
}
