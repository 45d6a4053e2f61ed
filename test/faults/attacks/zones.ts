import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from '../../../src/base/redis/connection.js';
import { IN_FLIGHT } from '../../../src/engine/scripts/rules.js';
import type { Member } from '../../end-to-end/fleet.js';
import { recipients } from '../../end-to-end/recipients.js';
import { pick } from '../scenario.js';
import type { Attack, Stage } from './attack.js';
import {
  type Hours,
  minutesOf,
  NIGHT,
  openingsIn,
  singleMinutes,
  wallTime,
  ZONES,
  type Zone,
} from './zone-hours.js';

const MINUTE_MS = 60_000;
/** The processes become ready, and the campaigns are launched, in this time. */
const BEFORE_MS = 60_000;
/**
 * One lane sends single recipients evenly, the other batches as fast as it can. `perZone`: recipients of a campaign, more than it can send while
 * the single minutes of a zone are open.
 */
const LANES = [
  { name: 'smooth', pacing: 'smooth', hourlyQuota: 900, maxRecipientsPerRequest: 1, perZone: 40 },
  { name: 'burst', pacing: 'burst', hourlyQuota: 2_400, maxRecipientsPerRequest: 3, perZone: 250 },
] as const;
const QUOTA_WINDOW_MS = 30_000;
/** Of each lane. Each begins with another zone, because a campaign sends to one open zone after the other. */
const CAMPAIGNS = 6;
const REQUEST_TIMEOUT_MS = 3_000;
/** Longer than a permit: a timeout and its margin. Of a process that continues sooner, the permits hold, and only the window is closed. */
const [PAST_THE_PERMIT_MS, SOON_MS] = [5_000, 300];
/** A request that arrives so long before a closing is one that a stop or a kill can make late. */
const SHORTLY_MS = 5_000;
const SETTLED_WITHIN_MS = 10 * MINUTE_MS;

/** The zone of a number. */
const zoneOf = (to: string): Zone => ZONES[Number(to.slice(-7)) % ZONES.length] ?? 'Europe/London';

/** Sends in the hours of recipients in 20 zones while the clocks of some change, and processes are killed and stopped, most often at a closing. */
function night(name: string, clocks: string, changesAt: number): Attack {
  let folder = '';
  const writesOf = (place: number): string => join(folder, `writes-${place}.ndjson`);
  return {
    name: `zones-${name}`,
    promise: `No request leaves outside the hours of its recipients in 20 zones while ${clocks}, and processes are killed and stopped`,
    times: { of: 'minutes', brief: 2, long: 4 },
    seed: 4,
    async fleet(times) {
      const keys = LANES.map(({ name: key, hourlyQuota: quota }) => ({
        key,
        quota,
        windowMs: QUOTA_WINDOW_MS,
      }));
      folder = await mkdtemp(join(tmpdir(), 'volley-zones-'));
      return {
        beginsAt: changesAt - (times / 2) * MINUTE_MS - BEFORE_MS,
        workers: ['send', 'send', 'all'],
        settings: {
          QUOTA_WINDOW_MS: String(QUOTA_WINDOW_MS),
          REQUEST_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS),
        },
        own: async (place) => ({
          NODE_OPTIONS: `--import=${resolve('test/faults/record-writes.mjs')}`,
          WRITES_FILE: writesOf(place),
        }),
        lanes: LANES.map(({ perZone: _, ...lane }) => ({ ...lane, apiKey: lane.name })),
        quotas: keys,
        mayBeUnknown: LANES.reduce((sum, lane) => sum + IN_FLIGHT * lane.maxRecipientsPerRequest, 0),
        simulator: {
          keys,
          latency: { kind: 'uniform', minMs: 500, maxMs: 1_500 },
          deliveryTime: 300,
        },
      };
    },
    async run(stage) {
      const { fleet, recorder, times, kills, settled, note } = stage;
      const halfMs = (times / 2) * MINUTE_MS;
      const [from, until] = [changesAt - halfMs, changesAt + halfMs];
      const hoursOf = await launch(
        stage,
        [singleMinutes(from, until), singleMinutes(from, until), NIGHT],
        until,
      );
      const stops = await stopAndKill(stage, minutesOf(from, until));
      const unfinished = await cancelRest(stage);
      await settled();
      for (const { kind, place } of fleet.members) await recorder.writes(writesOf(place), `${kind} ${place}`);

      const isOpen = (zone: Zone, text: string, at: number): boolean =>
        hoursOf.get(text)?.isOpen(wallTime(zone, at)) ?? false;
      const sends = (await fleet.simulator.arrivals()).flatMap(
        ({ at, kind, text = '', recipients: to = [] }) =>
          kind === 'send' ? [{ at, text, zones: to.map(zoneOf) }] : [],
      );
      const isIn = ({ zones, text, at }: (typeof sends)[number]): boolean =>
        zones.every((zone) => isOpen(zone, text, at));
      const late = sends.filter((send) => !isIn(send));
      note(`${late.length} of ${sends.length} requests arrived outside the hours of their recipients`);
      const last = sends.filter((send) => isIn(send) && !isIn({ ...send, at: send.at + SHORTLY_MS }));
      const zones = new Set(sends.flatMap((send) => send.zones)).size;
      await rm(folder, { recursive: true, force: true });
      return {
        sends: sends.length,
        zones,
        shortlyBeforeClosing: last.length,
        kills: kills(),
        stops,
        unfinished,
      };
    },
  };
}

/** Launches the campaigns, each with one of these hours, and records when they may send to whom. Returns the hours of each text. */
async function launch(
  { recorder }: Stage,
  hours: readonly Hours[],
  until: number,
): Promise<ReadonlyMap<string, Hours>> {
  const hoursOf = new Map<string, Hours>();
  const begun = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS;
  for (let at = 0; at < CAMPAIGNS * LANES.length; at += 1) {
    const lane = LANES[at % LANES.length] ?? LANES[0];
    const own = hours[Math.floor(at / LANES.length) % hours.length] ?? NIGHT;
    const list = [...recipients(lane.perZone * ZONES.length, 7 * at)].map(({ to }) => ({
      to,
      zone: zoneOf(to),
    }));
    const campaign = await recorder.launch(
      {
        recipients: list,
        message: `Night ${at}`,
        lane: lane.name,
        window: { hours: own.text, zone: 'recipient' },
      },
      lane.name,
    );
    hoursOf.set(`Night ${at}`, own);
    for (const zone of ZONES)
      recorder.history.add({
        ...{ type: 'window', at: Date.now(), campaign },
        openings: openingsIn(zone, own, begun, until + SETTLED_WITHIN_MS),
        recipients: list.flatMap((row) => (row.zone === zone ? [row.to] : [])),
      });
  }
  return hoursOf;
}

/** Cancels what waits for its hours: it would wait for a day. Returns how many campaigns did. */
async function cancelRest({ fleet: { volley }, recorder }: Stage): Promise<number> {
  let cancelled = 0;
  for (const campaign of recorder.watched) {
    const { endedAt, counts } = await volley.status(campaign);
    if (endedAt !== null || counts.planned === 0) continue;
    await recorder.command(campaign, 'cancel', () => volley.cancel(campaign));
    cancelled += 1;
  }
  return cancelled;
}

/**
 * Kills processes in each minute, stops one for longer than its permits, and stops all of them at its end, when windows close. Returns how many
 * were stopped.
 */
async function stopAndKill(stage: Stage, minutes: readonly number[]): Promise<number> {
  const { fleet, recorder, redis, random, mayBeUnknown, note, kill } = stage;
  const pid = await pidOf(redis.url);
  let stops = 0;
  const until = (at: number): Promise<void> => delay(Math.max(0, at - Date.now()));
  const stopped = async (member: Member, to: number): Promise<void> => {
    const target = `${member.kind} ${member.place}`;
    stops += 1;
    await recorder.fault({ fault: 'SIGSTOP', target, losesData: false, mayBeUnknown }, async () => {
      process.kill(member.program.pid, 'SIGSTOP');
      await until(to);
      process.kill(member.program.pid, 'SIGCONT');
    });
  };
  /** Either Redis works for this time, or the processes do. */
  const onlyRedis = (to: number): Promise<unknown> =>
    Promise.all(fleet.members.map((member) => stopped(member, to)));
  const withoutRedis = (to: number): Promise<void> =>
    recorder.fault({ fault: 'SIGSTOP', target: 'redis', losesData: false, mayBeUnknown: 0 }, async () => {
      process.kill(pid, 'SIGSTOP');
      await until(to);
      process.kill(pid, 'SIGCONT');
    });
  for (const [at, minute] of minutes.entries()) {
    for (const afterMs of [8_000, 18_000, 45_000]) {
      if (afterMs > 30_000) await stopped(pick(fleet.members, random), Date.now() + PAST_THE_PERMIT_MS);
      await until(minute + afterMs + 8_000 * random());
      await kill(pick(fleet.members, random));
    }
    const closes = minute + MINUTE_MS;
    // Responses arrive, but nothing can be claimed.
    await until(closes - 2_600);
    await withoutRedis(closes - 1_200);
    await onlyRedis(closes - 1_000);
    // So they settle all, and claim as much as they may have in flight.
    await withoutRedis(closes - 500);
    await onlyRedis(closes + (at % 2 === 0 ? SOON_MS : PAST_THE_PERMIT_MS));
    note(`${stops} stops until ${new Date(closes).toISOString()}`);
  }
  return stops;
}

/** The process id of a Redis server. */
async function pidOf(url: string): Promise<number> {
  const redis = connect(url);
  try {
    return Number(/process_id:(\d+)/.exec(await redis.info('server'))?.[1]);
  } finally {
    redis.disconnect();
  }
}

export const ZONE_NIGHTS: readonly Attack[] = [
  night('europe-spring', 'the clocks of Europe go forward', Date.parse('2030-03-31T01:00Z')),
  night('europe-autumn', 'the clocks of Europe go back', Date.parse('2030-10-27T01:00Z')),
  night('america-spring', 'the clocks of New York go forward', Date.parse('2030-03-10T07:00Z')),
  night('america-autumn', 'the clocks of New York go back', Date.parse('2030-11-03T06:00Z')),
];
