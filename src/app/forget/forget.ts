import { z } from 'zod';
import { type Redis, serverTime } from '../../base/redis/connection.js';
import type { Keys, LaneId } from '../../base/redis/keys.js';
import { InputError } from '../../campaign/errors/errors.js';
import { formsOf, subscriberOf } from '../../campaign/numbers/number-forms.js';
import type { Operator } from '../../campaign/states/audit.js';
import type { ForgottenNumber } from '../../campaign/states/forgotten.js';
import type { LaneFinder } from '../../engine/lane/lane-finder.js';
import { noteRemoval } from '../../engine/recipients/removals.js';
import { listCampaigns } from '../../engine/store/campaigns.js';
import { type NumberDigest, openNumberDigests } from '../../engine/suppression/number-digests.js';
import type { Positions } from '../access/positions.js';
import {
  type Done,
  ELSEWHERE,
  type ElsewhereDeps,
  type Forgotten,
  type Intent,
  isOn,
  type Progress,
} from './elsewhere.js';
import { forgetInCampaign, type InCampaign } from './in-campaign.js';

/*
 * Forgets a number, and any other that certainly belongs to its subscriber (number-forms.ts). A request is a hash under the keyed digest of
 * the number:
 *
 *   state, step, cursor          where it is; see STEPS
 *   number                       sealed with the secret of the installation (positions.ts), until the request is done
 *   intent:PLACE                 what is about to be done in a campaign or an outbox, JSON, so that it is counted once (elsewhere.ts)
 *   lane                         the id of the only lane on which it is forgotten; missing: all
 *   keep                         1: it is suppressed in any case; lift: in none; empty: where it is when it is taken off the lists
 *   suppressed                   1 if it stayed suppressed for that reason
 *   cancelled, erased, createdAt, endedAt
 *   again                        set if it was asked for again while it waited: everything is searched once more, for what has come since
 *   left:LANE CAMPAIGN           the ordinals that are open, JSON; null: search the campaign again; left:inRecords: look again
 *
 * The process that gets the request works on it at once, and its answer has what was done until then. If that process dies, or something is
 * open, a worker continues. Every step may be repeated. A number that comes back with a new list is not forgotten.
 *
 *   running ── all steps are done ──► waiting ── nothing is left ──► done, and without the number
 */

/** What {@link openForgetting} needs. */
export interface ForgetDeps extends Omit<ElsewhereDeps, 'finder'> {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly finder: Pick<LaneFinder, 'withId' | 'ids' | 'known' | 'nameOf'>;
  readonly positions: Pick<Positions, 'conceal' | 'reveal'>;
}

/** How a number is forgotten. */
export interface ForgetOptions {
  /** Country of a number in national format; default `DEFAULT_COUNTRY`. */
  readonly country?: string | undefined;
  /** The only lane on which it is forgotten; default: all lanes. */
  readonly lane?: string | undefined;
  /** Suppresses it on the lane, or on all, by a keyed digest. Default: only where it is suppressed already, for example by a stop word. */
  readonly keepSuppressed?: boolean | undefined;
  /** Takes it off the suppression lists, of the lane or all, so that messages may be sent to it again. */
  readonly liftSuppression?: boolean | undefined;
}

const STEPS = [
  'inOutboxes',
  'inSchedules',
  'inCampaigns',
  'inReports',
  'inReasons',
  'inInbound',
  'inSuppressions',
  'inRecords',
] as const;
/** How long a process answers for its step before another takes over. */
const LEASE_MS = 30_000;
/** How long the process that gets a request works on it before it answers. */
const ANSWER_WITHIN_MS = 15_000;
/** When what is open is looked at again. */
const AGAIN_MS = 60_000;
/** How long the record of a request that is done is kept. */
const KEPT_MS = 30 * 86_400_000;
/** Campaigns that are searched in a step, and at the same time. */
const CAMPAIGNS_AT_ONCE = 20;
/** Requests that a worker looks at in a round. */
const REQUESTS_AT_ONCE = 100;
const LEFT = 'left:';
const INTENT = 'intent:';

const whole = z.coerce.number();
const stored = z.object({
  state: z.enum(['running', 'waiting', 'done']),
  step: whole,
  cursor: z.string(),
  number: z.string().default(''),
  cancelled: whole,
  erased: whole,
  keep: z.string(),
  lane: z.string().optional(),
  suppressed: z.string().optional(),
  again: z.string().default(''),
  createdAt: whole,
  endedAt: whole.default(0),
});
/** A step that goes through something else than campaigns. */
type Elsewhere = keyof typeof ELSEWHERE;
/** How a campaign is named among what is left or intended. */
const placeOf = (lane: LaneId, campaign: string): string => `${lane} ${campaign}`;
const NOTHING: Intent = { cancelling: [], erasing: [], rows: 0 };
const isElsewhere = (name: string): name is Elsewhere => Object.hasOwn(ELSEWHERE, name);

type Request = z.output<typeof stored> & {
  readonly left: ReadonlyMap<string, readonly number[] | null>;
  /** By their places: what a process that died was about to do. */
  readonly intents: ReadonlyMap<string, Intent>;
};

/** Opens what forgets numbers. */
export function openForgetting(deps: ForgetDeps) {
  const { redis, keys, positions, finder } = deps;
  const names = keys.forget;

  const read = async (id: string): Promise<Request | null> => {
    const fields = await redis.hgetall(names.request(id));
    if (fields['state'] === undefined) return null;
    const named = <Value>(start: string): Map<string, Value> =>
      new Map(
        Object.entries(fields).flatMap(([name, value]): [string, Value][] =>
          name.startsWith(start) ? [[name.slice(start.length), JSON.parse(value)]] : [],
        ),
      );
    return { ...stored.parse(fields), left: named(LEFT), intents: named(INTENT) };
  };

  const view = async (id: string, request: Request): Promise<ForgottenNumber> => ({
    id,
    lane: request.lane === undefined ? null : await finder.nameOf(request.lane),
    state: request.state,
    cancelled: request.cancelled,
    erased: request.erased,
    open: [...request.left.values()].reduce((sum, ordinals) => sum + (ordinals?.length ?? 0), 0),
    suppressed: request.keep === '1' || request.suppressed === '1',
    createdAt: new Date(request.createdAt).toISOString(),
    endedAt: request.endedAt === 0 ? null : new Date(request.endedAt).toISOString(),
  });

  /** Records what a step has done together with how the request goes on, so that nothing is counted twice. */
  const record = async (
    id: string,
    { cancelled, erased }: Pick<Done, 'cancelled' | 'erased'>,
    fields: Readonly<Record<string, string | number>>,
    left: ReadonlyMap<string, readonly number[] | null | undefined> = new Map(),
    place = '',
  ): Promise<void> => {
    const key = names.request(id);
    const change = redis.multi().hincrby(key, 'cancelled', cancelled).hincrby(key, 'erased', erased);
    change.hdel(key, INTENT + place);
    for (const [field, value] of Object.entries(fields)) change.hset(key, field, value);
    for (const [what, ordinals] of left) {
      if (ordinals === undefined) change.hdel(key, LEFT + what);
      else change.hset(key, LEFT + what, JSON.stringify(ordinals));
    }
    change.zadd(names.due, (await serverTime(redis)) + LEASE_MS, id);
    await change.exec();
  };

  /** See {@link Progress}. */
  const progressOf = (id: string, request: Request, place: string): Progress => ({
    async intend(found) {
      const before = request.intents.get(place) ?? NOTHING;
      const cancelling = [...new Set([...before.cancelling, ...found.cancelling])];
      const erasing = new Set(
        [...before.erasing, ...found.erasing].filter((one) => !cancelling.includes(one)),
      );
      const intent = { cancelling, erasing: [...erasing], rows: Math.max(before.rows, found.rows) };
      if (found.cancelling.length + found.erasing.length + found.rows > 0)
        await redis.hset(names.request(id), INTENT + place, JSON.stringify(intent));
      return intent;
    },
    record: (done) => record(id, done, {}, new Map(), place),
  });

  const inCampaign = async (
    id: string,
    request: Request,
    { numbers }: Forgotten,
    { lane: laneId, campaign }: { lane: LaneId; campaign: string },
    only: readonly number[] | null,
  ): Promise<InCampaign> => {
    const lane = await finder.withId(laneId);
    const { intend } = progressOf(id, request, placeOf(laneId, campaign));
    const done = await forgetInCampaign(lane, campaign, numbers, only, intend);
    lane.emit(done.events);
    return done;
  };

  /** Goes through some campaigns, newest first. Those that have the number are recorded one by one. */
  const inCampaigns = async (id: string, request: Request, forgotten: Forgotten): Promise<void> => {
    const some: { id: string; lane: LaneId }[] = [];
    for await (const campaign of listCampaigns(
      redis,
      keys,
      request.cursor === '' ? undefined : request.cursor,
    )) {
      some.push(campaign);
      if (some.length === CAMPAIGNS_AT_ONCE) break;
    }
    for (const { id: campaign, lane } of some.filter((one) => isOn(forgotten, one.lane))) {
      const done = await inCampaign(id, request, forgotten, { lane, campaign }, null);
      if (done.erased + done.cancelled === 0 && !('left' in done)) continue;
      const place = placeOf(lane, campaign);
      await record(id, done, { cursor: campaign }, new Map([[place, done.left]]), place);
    }
    const last = some.at(-1);
    const isLast = some.length < CAMPAIGNS_AT_ONCE;
    const next = isLast ? { step: request.step + 1, cursor: '' } : { cursor: last?.id ?? '' };
    await record(id, { cancelled: 0, erased: 0 }, next);
  };

  const elsewhere = (id: string, request: Request, name: Elsewhere, forgotten: Forgotten): Promise<Done> =>
    ELSEWHERE[name](deps, forgotten, (place) => progressOf(id, request, place));

  /** Looks again at what was open. */
  const lookAgain = async (id: string, request: Request, forgotten: Forgotten): Promise<void> => {
    for (const [what, ordinals] of request.left) {
      if (isElsewhere(what)) {
        const done = await elsewhere(id, request, what, forgotten);
        await record(id, done, {}, new Map([[what, done.isLeft === true ? null : undefined]]));
        continue;
      }
      const space = what.lastIndexOf(' ');
      const of = { lane: what.slice(0, space), campaign: what.slice(space + 1) };
      const done = await inCampaign(id, request, forgotten, of, ordinals);
      await record(id, done, {}, new Map([[what, done.left]]), what);
    }
  };

  const end = async (id: string): Promise<void> => {
    await noteRemoval(redis, keys);
    const key = names.request(id);
    const endedAt = await serverTime(redis);
    await redis
      .multi()
      .hset(key, { state: 'done', endedAt })
      .hdel(key, 'number')
      .pexpire(key, KEPT_MS)
      .zrem(names.due, id)
      .exec();
  };

  /** Takes one step. Returns whether another one may follow at once. */
  const step = async (id: string, digestOf: NumberDigest): Promise<boolean> => {
    const request = await read(id);
    if (request === null || request.state === 'done') {
      await redis.zrem(names.due, id);
      return false;
    }
    if (request.again !== '') {
      const anew = { state: 'running', step: 0, cursor: '' };
      await redis.multi().hset(names.request(id), anew).hdel(names.request(id), 'again').exec();
      return true;
    }
    const number = await positions.reveal('forgotten', request.number);
    if (number === null) throw new Error(`the number of the request ${id} cannot be opened`);
    const numbers = formsOf(number);
    const digest = digestOf(number);
    const forgotten = { number, numbers, digest, lane: request.lane, isLifted: request.keep === 'lift' };
    const name = STEPS[request.step] ?? '';
    if (name === 'inCampaigns') {
      await inCampaigns(id, request, forgotten);
      return true;
    }
    if (isElsewhere(name)) {
      const done = await elsewhere(id, request, name, forgotten);
      const left = new Map(done.isLeft === true ? [[name, null]] : []);
      const suppressed = done.isKept === true ? { suppressed: '1' } : {};
      await record(id, done, { step: request.step + 1, ...suppressed }, left);
      return true;
    }
    if (request.state === 'waiting') await lookAgain(id, request, forgotten);
    const after = await read(id);
    if (after?.again) return true;
    if ((after?.left.size ?? 0) === 0) {
      await end(id);
      return false;
    }
    await redis.hset(names.request(id), 'state', 'waiting');
    await redis.zadd(names.due, (await serverTime(redis)) + AGAIN_MS, id);
    return false;
  };

  /** Works on a request, unless another process does. `withinMs`: for how long at most. */
  const work = async (id: string, withinMs: number): Promise<void> => {
    const lease = names.lease(id);
    if ((await redis.set(lease, '', 'PX', LEASE_MS, 'NX')) === null) return;
    const digestOf = await openNumberDigests(redis, keys);
    const until = performance.now() + withinMs;
    while ((await step(id, digestOf)) && performance.now() < until) await redis.pexpire(lease, LEASE_MS);
    await redis.unlink(lease);
  };

  return {
    /**
     * Forgets a number, on all lanes or on one. While an earlier request for it is not done, that one continues, also with what has come since, and is
     * returned. Rejects with an InputError if the number is invalid.
     */
    async forget(
      text: string,
      { country, lane: name, keepSuppressed = false, liftSuppression = false }: ForgetOptions,
      by: Operator,
    ): Promise<ForgottenNumber> {
      if (keepSuppressed && liftSuppression)
        throw new InputError('suppress the number, or take it off the lists, not both', {
          field: 'liftSuppression',
        });
      const lane = name === undefined ? undefined : await finder.known(name);
      const spelled = deps.readNumber(text, country);
      if (spelled === null)
        throw new InputError(
          'this is not a phone number: write it with its calling code, such as +447700900123',
          {
            field: 'number',
          },
        );
      const number = subscriberOf(spelled);
      const digestOf = await openNumberDigests(redis, keys);
      const digest = digestOf(number);
      const id = (lane === undefined ? digest : digestOf(`${number} ${lane}`)).toString('hex');
      const sealed = await positions.conceal('forgotten', number);
      const keep = keepSuppressed ? '1' : liftSuppression ? 'lift' : '';
      const suppression = { '1': 'kept', lift: 'lifted', '': 'as it was' }[keep];
      const details = { request: id, suppression };
      await by.audited({ action: 'number.forget', lane, details }, async () => {
        const before = await read(id);
        const now = await serverTime(redis);
        const key = names.request(id);
        const change = redis.multi();
        if (before === null || before.state === 'done') {
          const counts = { cancelled: 0, erased: 0 };
          const where = lane === undefined ? {} : { lane };
          const fields = { state: 'running', step: 0, cursor: '', number: sealed, ...where, ...counts };
          change.unlink(key).hset(key, { ...fields, keep, createdAt: now });
        } else {
          const isOther = keep !== '' && keep !== before.keep;
          const again = before.state === 'waiting' || isOther ? '1' : before.again;
          change.hset(key, { again, keep: keep || before.keep }).hdel(key, 'suppressed');
        }
        await change.zadd(names.due, now + LEASE_MS, id).exec();
        // At once: what is removed from the lists later stays suppressed all the time.
        if (keepSuppressed) await deps.suppression.keep(digest, lane ?? null, now);
      });
      await work(id, ANSWER_WITHIN_MS);
      const request = await read(id);
      if (request === null) throw new Error('Redis has lost the request to forget a number');
      return view(id, request);
    },

    /** Continues the requests that are due. */
    async resume(): Promise<void> {
      const due = await redis.zrangebyscore(
        names.due,
        '-inf',
        await serverTime(redis),
        'LIMIT',
        0,
        REQUESTS_AT_ONCE,
      );
      for (const id of due) await work(id, LEASE_MS);
    },
  };
}

/** See {@link openForgetting}. */
export type Forgetting = ReturnType<typeof openForgetting>;
