import { setTimeout as delay } from 'node:timers/promises';
import type { Member } from '../../end-to-end/fleet.js';
import { between, oneOf, type Scenario, shuffled } from '../scenario.js';
import { ON_THE_WIRE, type World } from '../world.js';

/** BullMQ's lock on a lane is held for 6 s; this is well past it, and past the time after which a claim is overdue. */
const PAST_THE_LOCK_MS = 8_000;

/** Four locks. The preload module blocks for as long. */
const BLOCKED_MS = 24_000;

/** A claim that gave a batch, in the reply of the script: nothing else has a call's number in it. */
const CLAIMED = /"q":\d/;

const kill: Scenario = {
  name: 'kill',
  does: 'each worker process is ended by kill -9 and by SIGTERM, and another takes its place',
  workers: ['send', 'follow-up', 'all'],
  seconds: 8,
  async run({ fleet, recorder, random, traffic, campaigns }) {
    await traffic(3);
    const ends = fleet.members.flatMap((member) => [
      { member, signal: 'SIGKILL' as const },
      { member, signal: 'SIGTERM' as const },
    ]);
    for (const { member, signal } of shuffled(ends, random)) {
      await delay(between(200, 2_500, random));
      // A process that is asked to end settles what is in flight.
      const mayLeave = signal === 'SIGKILL' ? ON_THE_WIRE : 0;
      await recorder.fault({ fault: signal, target: targetOf(member), forgets: false, mayLeave }, () =>
        fleet.end(member, signal),
      );
      fleet.begin(member);
      await recorder.report(campaigns.burst).catch(() => {});
    }
    await fleet.ready();
  },
};

const tight: Scenario = {
  name: 'kill-tight',
  does: 'processes are killed while both lanes are at the end of their quota',
  workers: ['all', 'all'],
  seconds: 8,
  quota: 0.1,
  async run({ fleet, recorder, random }) {
    for (let times = 0; times < 5; times += 1) {
      await delay(between(2_000, 8_000, random));
      const member = oneOf(fleet.members, random);
      await recorder.fault(
        { fault: 'SIGKILL', target: targetOf(member), forgets: false, mayLeave: ON_THE_WIRE },
        () => fleet.kill(member),
      );
    }
  },
};

const stop: Scenario = {
  name: 'stop',
  does: 'each worker process is stopped past its lock by SIGSTOP, and goes on by SIGCONT',
  workers: ['send', 'follow-up', 'send'],
  seconds: 12,
  async run(world) {
    await world.traffic(3);
    await delay(between(0, 1_500, world.random));
    const [one, other] = world.senders;
    // Those that send one after the other, so that the second has taken over what the first had.
    await Promise.all([
      ...world.fleet.members
        .filter((member) => member !== other)
        .map((member) => stopped(world, member, () => stopFor(member, PAST_THE_LOCK_MS))),
      delay(PAST_THE_LOCK_MS - 1_000).then(() =>
        other === undefined || other === one
          ? undefined
          : stopped(world, other, () => stopFor(other, PAST_THE_LOCK_MS)),
      ),
    ]);
  },
};

const stopBetweenClaimAndWrite: Scenario = {
  name: 'stop-claim',
  does: 'the process that sends is stopped when its claim is answered and before it reads the answer',
  workers: ['send', 'send', 'follow-up'],
  seconds: 10,
  async run(world) {
    await world.traffic(3);
    const member = await caught(world, (one, deed) =>
      world.linksOf(one).redis.trap({ on: 'reply', holding: CLAIMED, deed }),
    );
    await stopped(world, member, () => delay(PAST_THE_LOCK_MS));
  },
};

const stopBeforeWrite: Scenario = {
  name: 'stop-write',
  does: 'the process that sends is stopped when it has connected to the service and before it writes; meanwhile its campaigns are paused',
  workers: ['send', 'send', 'follow-up'],
  seconds: 10,
  async run(world) {
    await world.traffic(3);
    const { recorder, fleet, campaigns, random, senders } = world;
    // Processes that begin have no connections to fall back on: each of their first requests waits for one.
    await recorder.fault({ fault: 'SIGTERM', target: 'all that send', forgets: false, mayLeave: 0 }, () =>
      Promise.all(senders.map((one) => fleet.end(one, 'SIGTERM'))),
    );
    const catching = caught(world, (one, deed) =>
      world.linksOf(one).service.trap({ on: 'connection', deed }),
    );
    for (const one of senders) fleet.begin(one);
    const member = await catching;
    const pauseAfterMs = between(0, PAST_THE_LOCK_MS - 500, random);
    const ids = Object.values(campaigns);
    await stopped(world, member, async () => {
      await delay(pauseAfterMs);
      await Promise.all(ids.map((id) => recorder.command(id, 'pause', () => fleet.volley.pause(id))));
      await delay(PAST_THE_LOCK_MS - pauseAfterMs);
    });
    await delay(3_000);
    // What the process knew may have completed one that was nearly through.
    const left = await Promise.all(ids.map((id) => recorder.status(id)));
    const paused = ids.filter((_, at) => left[at]?.state === 'paused');
    await Promise.all(paused.map((id) => recorder.command(id, 'resume', () => fleet.volley.resume(id))));
  },
};

const block: Scenario = {
  name: 'block',
  does: 'the event loop of the process that sends is blocked for four locks',
  workers: ['send', 'send', 'follow-up'],
  seconds: 14,
  async run(world) {
    await world.traffic(3);
    const member = await caught(
      world,
      (one, deed) => world.linksOf(one).redis.trap({ on: 'reply', holding: CLAIMED, deed }),
      'SIGUSR2',
    );
    await stopped(world, member, () => delay(BLOCKED_MS), 'block');
  },
};

export const PROCESS_SCENARIOS: readonly Scenario[] = [
  kill,
  tight,
  stop,
  stopBetweenClaimAndWrite,
  stopBeforeWrite,
  block,
];

/** Sends the signal to the first process that walks into the trap; resolves with it. */
async function caught(
  { senders, linksOf }: World,
  trap: (member: Member, deed: () => Promise<void>) => Promise<void>,
  by: NodeJS.Signals = 'SIGSTOP',
): Promise<Member> {
  return new Promise((resolve) => {
    let isCaught = false;
    for (const member of senders) {
      void trap(member, async () => {
        if (isCaught) return;
        isCaught = true;
        signal(member, by);
        for (const one of senders) {
          linksOf(one).redis.disarm();
          linksOf(one).service.disarm();
        }
        resolve(member);
      });
    }
  });
}

/** Writes down that the process is stopped while `meanwhile` goes on, and lets it go on then. */
async function stopped(
  { recorder }: World,
  member: Member,
  meanwhile: () => Promise<void>,
  fault = 'SIGSTOP',
): Promise<void> {
  await recorder.fault(
    { fault, target: targetOf(member), forgets: false, mayLeave: ON_THE_WIRE },
    async () => {
      try {
        await meanwhile();
      } finally {
        if (fault === 'SIGSTOP') signal(member, 'SIGCONT');
      }
    },
  );
}

async function stopFor(member: Member, ms: number): Promise<void> {
  signal(member, 'SIGSTOP');
  await delay(ms);
}

function signal({ program }: Member, name: NodeJS.Signals): void {
  process.kill(program.pid, name);
}

export function targetOf({ kind, place }: Member): string {
  return `${kind} ${place}`;
}
