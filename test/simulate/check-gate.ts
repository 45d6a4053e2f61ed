import type { ClaimState, LaneState } from './lane-state.js';
import { Violation } from './violation.js';

/** A pause applies to all processes, and only one request probes at a time (invariant 7). */
export class GateChecker {
  observed(lane: string, before: LaneState, now: LaneState, by: string): void {
    if (by !== 'claim-send' && by !== 'claim-poll') return;
    const fresh = [...now.claims, ...now.polls].filter(
      ([number, { placeholder, epoch }]) =>
        !before.claims.has(number) && !before.polls.has(number) && placeholder === undefined && epoch !== -1,
    );
    if (fresh.length === 0) return;
    if (now.stopped !== '' || now.held !== '') {
      throw new Violation(8, `${by} claimed ${fresh.length} requests although ${lane} is held or stopped`);
    }
    if (now.unproven) this.#unproven(lane, now, by);
    if (!now.backingOff) return;
    if (now.time < now.backoffUntil) {
      throw new Violation(
        7,
        `${by} claimed ${fresh.length} requests although ${lane} backs off for ${now.backoffUntil - now.time} ms more`,
      );
    }
    const probes = [...now.claims, ...now.polls].filter(
      ([, claim]: readonly [string, ClaimState]) =>
        claim.epoch === now.epoch && now.time - claim.at < claim.timeout + claim.margin,
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
