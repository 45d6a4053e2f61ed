import { setTimeout as delay } from 'node:timers/promises';
import type { Member } from '../../end-to-end/fleet.js';
import { integerBetween, pick, type Scenario, shuffled } from '../scenario.js';
import { MAX_IN_FLIGHT, type World } from '../world.js';

/** Longer than BullMQ's lock on a lane (6 s) and than the time after which a claim is overdue. */
const PAST_THE_LOCK_MS = 8_000;

/** Longer than a sweep, and than the time after which a batch whose worker is suspended may be sent again. */
const RESENT_FROM_MS = 9_000;

/** Longer than the requests in flight take. */
const LATE_SENDS_ARRIVE_MS = 3_000;

/** The length of four locks. The preloaded module blocks for the same time. */
const BLOCKED_MS = 24_000;

/** Matches the reply of a claim script that returned a batch: only a claim contains a call number. */
export const CLAIMED = /"call":\d/;

const kill: Scenario = {
  name: 'kill',
  description: 'each worker process is ended by SIGKILL and by SIGTERM and then replaced',
  workers: ['send', 'follow-up', 'all'],
  seconds: 8,
  async run({ fleet, recorder, random, traffic, campaigns }) {
    await traffic(3);
    const ends = fleet.members.flatMap((member) => [
      { member, signal: 'SIGKILL' as const },
      { member, signal: 'SIGTERM' as const },
    ]);
    for (const { member, signal } of shuffled(ends, random)) {
      await delay(integerBetween(200, 2_500, random));
      // After SIGTERM a process settles its requests in flight.
      const mayBeUnknown = signal === 'SIGKILL' ? MAX_IN_FLIGHT : 0;
      await recorder.fault({ fault: signal, target: targetOf(member), losesData: false, mayBeUnknown }, () =>
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
  description: 'processes are killed while both lanes have used up their quotas',
  workers: ['all', 'all'],
  seconds: 8,
  quota: 0.1,
  async run({ fleet, recorder, random }) {
    for (let times = 0; times < 5; times += 1) {
      await delay(integerBetween(2_000, 8_000, random));
      const member = pick(fleet.members, random);
      await recorder.fault(
        { fault: 'SIGKILL', target: targetOf(member), losesData: false, mayBeUnknown: MAX_IN_FLIGHT },
        () => fleet.kill(member),
      );
    }
  },
};

const stop: Scenario = {
  name: 'stop',
  description: 'each worker process is suspended by SIGSTOP for longer than its lock, then resumed',
  workers: ['send', 'follow-up', 'send'],
  seconds: 12,
  async run(world) {
    await world.traffic(3);
    await delay(integerBetween(0, 1_500, world.random));
    const [one, other] = world.senders;
    // Stop the senders one after the other, so that the second has taken over the lanes of the first.
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
  description: 'a sending process is suspended after its claim has run but before it reads the reply',
  workers: ['send', 'send', 'follow-up'],
  seconds: 10,
  async run(world) {
    await world.traffic(3);
    const member = await caught(world, (one, action) =>
      world.proxiesOf(one).redis.trap({ on: 'reply', matching: CLAIMED, action }),
    );
    await stopped(world, member, () => delay(PAST_THE_LOCK_MS));
  },
};

const stopBeforeWrite: Scenario = {
  name: 'stop-write',
  description:
    'a sending process is suspended after it has connected to the service but before it writes; meanwhile its campaigns are paused',
  workers: ['send', 'send', 'follow-up'],
  seconds: 10,
  async run(world) {
    await world.traffic(3);
    const { campaigns, random } = world;
    const member = await caughtConnecting(world);
    const pauseAfterMs = integerBetween(0, PAST_THE_LOCK_MS - 500, random);
    const ids = Object.values(campaigns);
    await stopped(world, member, async () => {
      await delay(pauseAfterMs);
      await ordered(world, 'pause', ids);
      await delay(PAST_THE_LOCK_MS - pauseAfterMs);
    });
    await delay(LATE_SENDS_ARRIVE_MS);
    await ordered(world, 'resume', ids);
  },
};

const suspend: Scenario = {
  name: 'suspend',
  description:
    'the machine of a sending process is suspended before it writes; meanwhile a resend is ordered and the campaigns are paused',
  workers: ['send', 'send', 'follow-up'],
  seconds: 26,
  // Of the clocks, one shows how long each sender was suspended: the wall clock, or the uptime.
  stoppedClocks: [
    ['monotonic', 'uptime'],
    ['monotonic', 'wall'],
  ],
  async run(world) {
    await world.traffic(3);
    const { recorder, fleet, campaigns } = world;
    const member = await caughtConnecting(world);
    const ids = Object.values(campaigns);
    await stopped(world, member, async () => {
      await delay(RESENT_FROM_MS);
      await Promise.all(
        ids.map((id) => recorder.command(id, 'resend', () => fleet.volley.resolve(id, { as: 'resend' }))),
      );
      await world.traffic(3);
      await ordered(world, 'pause', ids);
      await delay(LATE_SENDS_ARRIVE_MS);
    });
    await delay(LATE_SENDS_ARRIVE_MS);
    await ordered(world, 'resume', ids);
  },
};

const block: Scenario = {
  name: 'block',
  description: 'the event loop of a sending process is blocked for the length of four locks',
  workers: ['send', 'send', 'follow-up'],
  seconds: 14,
  async run(world) {
    await world.traffic(3);
    const member = await caught(
      world,
      (one, action) => world.proxiesOf(one).redis.trap({ on: 'reply', matching: CLAIMED, action }),
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
  suspend,
  block,
];

/** Replaces all senders, and stops the first one that has connected to the service, before it writes. */
async function caughtConnecting(world: World): Promise<Member> {
  const { recorder, fleet, senders } = world;
  // New processes have no open connections, so each of their first requests waits for one.
  await recorder.fault({ fault: 'SIGTERM', target: 'all senders', losesData: false, mayBeUnknown: 0 }, () =>
    Promise.all(senders.map((one) => fleet.end(one, 'SIGTERM'))),
  );
  const catching = caught(world, (one, action) =>
    world.proxiesOf(one).service.trap({ on: 'connection', action }),
  );
  for (const one of senders) fleet.begin(one);
  return catching;
}

/** Pauses or resumes these campaigns. One that completes at any moment before needs neither. */
async function ordered(
  { recorder, fleet }: World,
  command: 'pause' | 'resume',
  ids: readonly string[],
): Promise<void> {
  const isCompleted = async (id: string): Promise<boolean> =>
    (await recorder.status(id))?.state === 'completed';
  const order = async (id: string): Promise<void> => {
    if (await isCompleted(id)) return;
    try {
      await recorder.command<unknown>(id, command, () => fleet.volley[command](id));
    } catch (error) {
      if (!(await isCompleted(id))) throw error;
    }
  };
  await Promise.all(ids.map(order));
}

/** Sends the signal to the first process that triggers the trap, and resolves with that process. */
export async function caught(
  { senders, proxiesOf }: World,
  trap: (member: Member, action: () => Promise<void>) => Promise<void>,
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
          proxiesOf(one).redis.disarm();
          proxiesOf(one).service.disarm();
        }
        resolve(member);
      });
    }
  });
}

/** Records a suspended process while `meanwhile` runs, then resumes it. */
export async function stopped(
  { recorder }: World,
  member: Member,
  meanwhile: () => Promise<void>,
  fault = 'SIGSTOP',
): Promise<void> {
  await recorder.fault(
    { fault, target: targetOf(member), losesData: false, mayBeUnknown: MAX_IN_FLIGHT },
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
