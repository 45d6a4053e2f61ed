import { createQuotaModel, type QuotaModelName } from '../../../src/tools/simulator/rules/quota-models.js';
import type { laneFixture } from './lane-fixture.js';
import { START } from './lane-fixture.js';

/** The result of a run under a virtual clock. */
export interface Run {
  /** Accepted and refused requests in each whole window from the start. */
  readonly accepted: number[];
  readonly throttled: number[];
}

interface Event {
  readonly at: number;
  run(): Promise<void>;
}

/**
 * Runs a lane's scripts, the real ones on a real Redis, against a service that counts in one of the five ways, with the
 * time given by this loop. A request arrives after `delay()` ms and is answered a little later. `raised`: the service raises its
 * quota to this number at the start of that window. `stray`: the service refuses the request with this number for another cause.
 */
export async function runVirtually(
  lane: ReturnType<typeof laneFixture>,
  model: QuotaModelName,
  hidden: number,
  windows: number,
  delay: () => number,
  begin = START + 1_234_567,
  raised = { to: hidden, atWindow: windows },
  stray = 0,
): Promise<Run> {
  const { window } = lane.rules;
  const [before, after] = [hidden, raised.to].map((limit) => createQuotaModel(model, limit, window));
  if (before === undefined || after === undefined) throw new Error('no quota model');
  const raisedAt = begin + raised.atWindow * window;
  const run: Run = { accepted: Array(windows).fill(0), throttled: Array(windows).fill(0) };
  const events: Event[] = [];
  const at = (time: number, what: () => Promise<void>): void => {
    const place = events.findIndex((event) => event.at > time);
    events.splice(place === -1 ? events.length : place, 0, { at: time, run: what });
  };
  const count = (list: number[], now: number): void => {
    const window = Math.floor((now - begin) / lane.rules.window);
    if (window < windows) list[window] = (list[window] ?? 0) + 1;
  };
  let now = begin;
  let [call, arrived, askedFor] = [0, 0, Number.POSITIVE_INFINITY];

  const claim = async (): Promise<void> => {
    askedFor = Number.POSITIVE_INFINITY;
    call += 1;
    const reply = await lane.claims.send({ turn: 't', call, want: 32, seen: 0, now });
    for (const it of reply.claims) {
      const arrival = now + delay();
      at(arrival, async () => {
        arrived += 1;
        const isAccepted = arrived !== stray && (arrival < raisedAt ? before : after).arrive(arrival) === 0;
        count(isAccepted ? run.accepted : run.throttled, arrival);
        at(arrival + 20, async () => {
          const settlement = isAccepted
            ? ({ claim: it, result: 'accepted', letters: 'T', requestId: `r${it.number}` } as const)
            : ({ claim: it, result: 'throttled' } as const);
          await lane.settlements.send([settlement], 0.5, now);
          ask(now);
        });
      });
    }
    // Enough requests are in flight: a response will make room.
    if (reply.againInMs !== null && reply.why !== 'inFlight') ask(now + Math.max(1, reply.againInMs));
  };
  const ask = (time: number): void => {
    if (time >= askedFor) return;
    askedFor = time;
    at(time, async () => {
      if (askedFor === time) await claim();
    });
  };

  ask(now);
  const end = begin + windows * lane.rules.window;
  for (let event = events.shift(); event !== undefined && event.at < end; event = events.shift()) {
    now = event.at;
    await event.run();
  }
  return run;
}
