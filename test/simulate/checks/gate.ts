import type { ClaimState, LaneState } from '../server/lane-state.js';
import { Violation } from '../violation.js';
import type { VirtualClock } from '../virtual-clock.js';

/** Sends that fail in a row close the lane (policy.lua). */
const FAILURES = 3;

/** A pause applies to all processes, and only one request probes at a time (invariant 7). */
export class GateChecker {
  readonly #clock: VirtualClock;
  /** When each claim was made, ms of virtual time: the time that Redis stores is corrected with its clock, to a later one than it was. */
  readonly #claimedAt = new Map<string, number>();

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  observed(lane: string, before: LaneState, now: LaneState, by: string): void {
    if (by !== 'claim-send' && by !== 'claim-poll') return;
    const fresh = [...now.claims, ...now.polls].filter(
      ([number, { placeholder, epoch }]) =>
        !before.claims.has(number) && !before.polls.has(number) && placeholder === undefined && epoch !== -1,
    );
    if (fresh.length === 0) return;
    const nameOf = (number: string, { turn }: ClaimState): string => `${lane} ${number} ${turn}`;
    for (const [number, claim] of fresh) this.#claimedAt.set(nameOf(number, claim), this.#clock.now);
    if (now.stopped !== '' || now.held !== '') {
      throw new Violation(8, `${by} claimed ${fresh.length} requests although ${lane} is held or stopped`);
    }
    if (now.unproven) this.#unproven(lane, now, by);
    if (now.sendFailures >= FAILURES && by === 'claim-send' && fresh.length > 1) {
      throw new Violation(
        7,
        `${by} claimed ${fresh.length} requests although the last ${now.sendFailures} of ${lane} failed`,
      );
    }
    if (!now.backingOff) return;
    if (now.time < now.backoffUntil) {
      throw new Violation(
        7,
        `${by} claimed ${fresh.length} requests although ${lane} backs off for ${now.backoffUntil - now.time} ms more`,
      );
    }
    const probes = [...now.claims, ...now.polls].filter(
      ([number, claim]: readonly [string, ClaimState]) =>
        claim.epoch === now.epoch &&
        this.#clock.now <
          (this.#claimedAt.get(nameOf(number, claim)) ?? Infinity) + claim.timeout + claim.margin,
    );
    if (probes.length > 1) {
      throw new Violation(7, `${probes.length} requests probe ${lane} in epoch ${now.epoch} after ${by}`);
    }
  }

  /** A lane that was stopped starts with one request per kind and turn until a response proves that it works. */
  #unproven(lane: string, now: LaneState, by: string): void {
    const turns = [...(by === 'claim-send' ? now.claims : now.polls).values()]
      .filter(({ epoch = -1 }) => epoch >= now.opened)
      .map(({ turn }) => turn);
    if (new Set(turns).size === turns.length) return;
    throw new Violation(
      7,
      `${by} claimed ${turns.length} requests of ${lane}, which was stopped and is unproven`,
    );
  }
}
