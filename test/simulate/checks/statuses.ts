import { type LaneState, OUTBOX_ID } from '../server/lane-state.js';
import { Violation } from '../violation.js';
import type { World } from '../world.js';

/** The recipient state of each status letter that the scripts write. */
const STATE_OF: Readonly<Record<string, string>> = {
  U: 'unknown',
  N: 'deliveredToNetwork',
  T: 'deliveredToTerminal',
  I: 'deliveryImpossible',
  R: 'rejected',
  S: 'suppressed',
  A: 'abandoned',
  C: 'unconfirmed',
  L: 'lapsed',
  X: 'cancelled',
};
/** What the service reports of a recipient with this state. */
const REPORTED_AS: Readonly<Record<string, string>> = {
  deliveredToTerminal: 'DeliveredToTerminal',
  deliveryImpossible: 'DeliveryImpossible',
};
const ONLY_IF_ACCEPTED: ReadonlySet<string> = new Set(['deliveredToNetwork', ...Object.keys(REPORTED_AS)]);
const MAY_BE_ACCEPTED: ReadonlySet<string> = new Set(['unconfirmed', 'abandoned']);
/** The letters that each letter may change to. The others are final. */
const MAY_BECOME: Readonly<Record<string, string>> = {
  U: 'NTIRSACLX\0',
  N: 'TIC',
  C: 'TI',
  '\0': 'UNTIRSACLX',
};

/** Counts match the recipients (invariant 4) and statuses are monotonic (invariant 5), checked at every step. */
export class StatusChecker {
  readonly #world: World;
  readonly #read = new Map<string, { json: object; statuses: string; sending: number }>();

  constructor(world: World) {
    this.#world = world;
  }

  dataLost(_lane: string, now: LaneState): void {
    for (const id of now.campaigns.keys()) this.#read.delete(id);
  }

  observed(lane: string, before: LaneState | undefined, now: LaneState, by: string): void {
    const sending = new Map<string, number>();
    const owners = new Map<string, number>();
    for (const [number, { campaign, first, count }] of now.claims) {
      sending.set(campaign, (sending.get(campaign) ?? 0) + count);
      for (let ordinal = first; ordinal < first + count; ordinal += 1) {
        const place = `${campaign}:${ordinal}`;
        if (owners.has(place))
          throw new Violation(
            4,
            `${place} of ${lane} is in claim ${number} and in another claim, after ${by}`,
          );
        owners.set(place, 1);
      }
    }
    for (const [id, { state, statuses }] of now.campaigns) {
      const known = this.#read.get(id);
      const own = sending.get(id) ?? 0;
      // OutboxChecker does the same for messages.
      if (id === OUTBOX_ID) continue;
      if (known?.json === state && known.statuses === statuses && known.sending === own) continue;
      const was = before?.campaigns.get(id);
      // A campaign past its retention is removed key by key.
      if (state.endedAt > 0 && statuses === '') continue;
      if (known !== undefined) this.#monotonic(id, known.statuses, statuses, by);
      this.#read.set(id, { json: state, statuses, sending: own });
      const counted: Record<string, number> = { sending: own };
      for (let at = 0; at < statuses.length; at += 1) {
        const name = STATE_OF[statuses[at] ?? ''];
        if (name !== undefined) counted[name] = (counted[name] ?? 0) + 1;
      }
      const rest = state.total - Object.values(counted).reduce((sum, count) => sum + count, 0);
      counted[state.remainder] = (counted[state.remainder] ?? 0) + rest;
      const names = new Set([...Object.keys(counted), ...Object.keys(state.counts)]);
      for (const name of names) {
        if ((state.counts[name] ?? 0) !== (counted[name] ?? 0)) {
          throw new Violation(
            4,
            `${id} counts ${state.counts[name] ?? 0} ${name}, but has ${counted[name] ?? 0}, after ${by}`,
          );
        }
      }
      const open =
        (counted['planned'] ?? 0) + own + (counted['unknown'] ?? 0) + (counted['deliveredToNetwork'] ?? 0);
      if (state.state === 'completed' && open > 0) {
        throw new Violation(4, `${id} is completed although ${open} recipients are not final, after ${by}`);
      }
      if (was !== undefined && was.state.endedAt > 0 && state.endedAt !== was.state.endedAt) {
        throw new Violation(5, `${id} ended a second time, after ${by}`);
      }
    }
  }

  /** Compares the final statuses with the requests that the service accepted and the statuses that it reported. */
  ended(lane: string, now: LaneState): void {
    for (const [id, { state, statuses }] of now.campaigns) {
      if (id === OUTBOX_ID) continue;
      for (let ordinal = 0; ordinal < state.ordinals; ordinal += 1) {
        const seen = STATE_OF[statuses[ordinal] ?? ''] ?? state.remainder;
        this.#accounted(lane, `${id}:${ordinal}`, `${id} ${this.#world.numberOf(id, ordinal)}`, seen);
      }
    }
    // One whose put Redis has lost has no recipient any more.
    for (const { id, to, state } of now.outbox?.numbered.values() ?? [])
      if (to !== '') this.#accounted(lane, id, `${OUTBOX_ID} ${to}`, state);
  }

  #accounted(lane: string, name: string, place: string, state: string): void {
    const { accepted, reported } = this.#world.serviceOf(lane);
    const wasAccepted = accepted.has(place);
    const status = REPORTED_AS[state];
    if (status !== undefined && !reported.has(`${place} ${status}`))
      throw new Violation(4, `${name} is ${state}, but the service never reported that`);
    if (ONLY_IF_ACCEPTED.has(state) && !wasAccepted)
      throw new Violation(4, `${name} is ${state}, but the service never accepted it`);
    if (wasAccepted && !ONLY_IF_ACCEPTED.has(state) && !MAY_BE_ACCEPTED.has(state))
      throw new Violation(4, `the service accepted ${name}, but it is ${state}`);
  }

  /** Checks that every recorded request id belongs to the campaign and recipients that it is recorded for. */
  async requests(lane: string, now: LaneState): Promise<void> {
    const service = this.#world.serviceOf(lane);
    const check = (name: string, id: string, requestId: string, sent: readonly string[]): void => {
      if (requestId === '') return;
      const { campaign = 'no campaign', recipients = [] } = service.request(requestId) ?? {};
      const accepted = recipients.map(({ number }) => number);
      if (campaign === id && accepted.join() === sent.join()) return;
      throw new Violation(
        4,
        `${name} is recorded as ${requestId}, which belongs to ${campaign} and went to ${accepted.join(' ')}`,
      );
    };
    for (const { id, requestId, to } of now.outbox?.numbered.values() ?? [])
      if (to !== '') check(id, OUTBOX_ID, requestId, [to]);
    for (const [id, { statuses }] of now.campaigns) {
      if (id === OUTBOX_ID) continue;
      for (const [first, { count, requestId }] of await this.#world.records(lane, id)) {
        const sent = Array.from({ length: count }, (_, at) => first + at)
          .filter((ordinal) => statuses[ordinal] !== 'S')
          .map((ordinal) => this.#world.numberOf(id, ordinal));
        check(`${id}:${first}`, id, requestId, sent);
      }
    }
  }

  #monotonic(id: string, before: string, now: string, by: string): void {
    for (let ordinal = 0; ordinal < before.length; ordinal += 1) {
      const [old, fresh] = [before[ordinal] ?? '\0', now[ordinal] ?? '\0'];
      if (old === fresh) continue;
      if (MAY_BECOME[old]?.includes(fresh) !== true) {
        throw new Violation(
          5,
          `${id}:${ordinal} changed from ${STATE_OF[old]} to ${STATE_OF[fresh] ?? 'no status'}, after ${by}`,
        );
      }
    }
  }
}
