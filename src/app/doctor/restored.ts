import { counted } from '../../base/counted.js';
import { moment } from '../../base/moments.js';
import { oneLine } from '../../campaign/text/visible-text.js';
import type { Volley } from '../volley.js';
import { type Examined, type Finding, ok, warn } from './check.js';

/** Campaigns that are read, and named. */
const MOST = 1_000;
/** States in which a campaign may still send. */
const OPEN = ['scheduled', 'running', 'paused'] as const;

/**
 * After a backup was restored: holds all lanes, also those that are not configured here, then lists what may send again what was sent after
 * the backup. Nothing is sent until an operator resumes the lanes.
 */
export async function checkRestored(examined: Examined): Promise<Finding[]> {
  const { volley, now } = examined;
  const names = await allLanes(examined);
  await Promise.all(names.map((name) => volley.holdLane(name)));
  return [
    ok('lanes, restored', `${names.join(', ')}: held, so nothing is sent`),
    ...(await campaigns(volley, now)),
    ...(await outboxes(volley)),
    ...(await schedules(volley, now)),
    warn(
      'lanes, restored',
      'whatever you leave sends again when you resume its lane',
      `When all of this is settled: ${names.map((name) => `volley lane resume ${name}`).join('; ')}`,
    ),
  ];
}

/** The names of the lanes that are configured, registered, or have data. */
async function allLanes({ keyNames: keys, redis, volley }: Examined): Promise<string[]> {
  const [registered, withData] = await Promise.all([
    redis.hgetall(keys.registry.names),
    redis.smembers(keys.lanes),
  ]);
  const configured = (await volley.lanes()).map(({ name }) => name);
  return [
    ...new Set([...configured, ...Object.values(registered), ...withData.map((id) => registered[id] ?? id)]),
  ];
}

async function campaigns(volley: Volley, now: number): Promise<Finding[]> {
  const pages = await Promise.all(OPEN.map((state) => volley.list({ state, limit: MOST })));
  return pages.flat().flatMap(({ id, name, lane, createdAt, counts: { planned, total } }) => {
    if (planned === 0) return [];
    const left = `${planned} of ${counted(total, 'message')}`;
    return warn(
      'campaign, restored',
      `${id} (${oneLine(name)}) on lane ${lane}, created ${moment(Date.parse(createdAt), now)}: at the backup, ${left} were not sent`,
      `If any was sent after the backup: volley cancel ${id}. The records of your service show which were; send the others as a new campaign`,
    );
  });
}

async function outboxes(volley: Volley): Promise<Finding[]> {
  return (await volley.outboxes.list())
    .filter(({ counts }) => counts.waiting > 0)
    .map(({ name, lane, counts }) =>
      warn(
        'outbox, restored',
        `${oneLine(name)} on lane ${lane}: at the backup, ${counted(counts.waiting, 'message')} waited`,
        `Cancel those that were due after the backup, or all of them with: volley outbox cancel-all ${name}. Then put again what is still to be sent`,
      ),
    );
}

async function schedules(volley: Volley, now: number): Promise<Finding[]> {
  return (await volley.schedules.list())
    .filter(({ next }) => next !== null && Date.parse(next) < now)
    .map(({ id, next, zone }) =>
      warn(
        'schedule, restored',
        `${id} was due ${moment(Date.parse(next ?? ''), now, zone)}, which was after the backup`,
        `If it ran then, cancel the campaign that it creates now before you resume its lane`,
      ),
    );
}
