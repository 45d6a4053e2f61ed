import type { Volley } from '../../app/volley.js';
import {
  type Config,
  ConfigError,
  configHints,
  isSecretSet,
  type LocalConfig,
  loadDotEnv,
  redisExposure,
} from '../../base/config/index.js';
import { EXIT } from '../../base/exit-codes.js';
import { connect } from '../../base/redis/connection.js';
import { keyNames } from '../../base/redis/keys.js';
import type { ApiKey } from '../../campaign/api-key.js';
import type { OutboxStatus } from '../../campaign/outbox-views.js';
import type { LaneStatus } from '../../campaign/views.js';
import { DATA_FORMAT, type WorkerProcess } from '../../engine/recovery/heartbeats.js';
import { fileRemains } from '../../engine/recovery/rewrite-file.js';
import { ROLES } from '../../engine/recovery/roles.js';
import type { Schedule } from '../../intake/schedules/schedules.js';
import type { UnconfiguredLane } from '../../reporting/fleet-snapshot.js';
import { packageFile, pasteable } from './command-name.js';
import type { Answer, Context } from './context.js';
import { checkPreviousKey, checkRestoredKeys } from './doctor/api-keys.js';
import { type Check, fail, ok, warn } from './doctor/check.js';
import { checkSubscriptions } from './doctor/notifications.js';
import { checkRedis, checkRemains, redisFacts } from './doctor/redis.js';
import { checkCredentials, checkServices } from './doctor/service.js';
import { CliError } from './errors.js';
import { howToStartAll, howToStartWorkers, howToTryOrConfigure, isUnconfigured } from './how-to-start.js';
import { findLocal, findService, openVolley, type Setting, whatToCheck, whyNoAnswer } from './open.js';
import { failureText } from './sentence.js';
import { columnsOf, type Paint } from './terminal.js';
import { counted, grouped, moment, oneLine, padded, until, wrapped } from './text.js';

/** Processes listed for each value; the rest are counted. */
const NAMED = 3;

/** `volley doctor` */
export async function doctor(
  context: Context,
  { restored = false }: { restored?: boolean } = {},
): Promise<Answer> {
  const checks: Check[] = [];
  for await (const check of examine(context, restored)) {
    checks.push(pasteableCheck(check));
    if (!context.json)
      context.stdout.write(`${renderCheck(check, context.paint, columnsOf(context.stdout)).join('\n')}\n`);
  }
  const failed = checks.some(({ level }) => level === 'fail');
  return { json: { ok: !failed, checks }, lines: [], exit: failed ? EXIT.failed : EXIT.done };
}

function pasteableCheck({ found, todo, ...check }: Check): Check {
  return { ...check, found: pasteable(found), ...(todo === undefined ? {} : { todo: pasteable(todo) }) };
}

/** Yields each check as it completes, because an address that does not answer takes seconds. */
async function* examine(context: Context, isRestored: boolean): AsyncGenerator<Check> {
  for (const hint of configHints(loadDotEnv(context.cwd, context.env))) {
    yield warn(
      'settings',
      hint,
      'Correct its name, or ignore this if the setting belongs to another program.',
    );
  }
  const full = await settings(context, () => findService(context));
  if ('problems' in full) yield* full.problems;
  else {
    yield ok('settings', `complete; ${counted(full.config.lanes.length, 'lane')}`);
    if (full.simulator !== undefined)
      yield ok('service', 'the simulator of `volley up --simulator`: no message is sent');
  }
  // Redis is checked even if settings that only the service needs are missing.
  const local = 'problems' in full ? await settings(context, () => findLocal(context)) : full;
  if ('problems' in local) {
    const shown = 'problems' in full ? full.problems.map(({ found }) => found) : [];
    yield* local.problems.filter(({ found }) => !shown.includes(found));
    return;
  }
  yield* examineRedis(context, local, isRestored);
  if (!('problems' in full)) yield* await checkServices(full.config, context.clock);
}

async function settings<Configuration extends Config | LocalConfig>(
  context: Context,
  find: () => Promise<Setting<Configuration>>,
): Promise<Setting<Configuration> | { problems: readonly Check[] }> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof ConfigError) {
      const env = loadDotEnv(context.cwd, context.env);
      const todo = isUnconfigured(env)
        ? howToTryOrConfigure(env, context.cwd)
        : `See ${packageFile('.env.example', context.cwd)}.`;
      return { problems: error.problems.map((problem) => fail('settings', problem, todo)) };
    }
    if (error instanceof CliError && error.code === 'noRedis') {
      return { problems: [fail('Redis', 'there is none, and REDIS_URL is not set', howToStartAll(context))] };
    }
    const found = error instanceof Error ? error.message : String(error);
    // What the others say contains what to do.
    const isDown = error instanceof CliError && error.code === 'redisDown';
    return { problems: [fail('Redis', found, isDown ? 'Fix this, or set REDIS_URL.' : undefined)] };
  }
}

async function* examineRedis(
  context: Context,
  { config }: Setting<Config | LocalConfig>,
  isRestored: boolean,
): AsyncGenerator<Check> {
  const reason = await whyNoAnswer(config.redisUrl);
  if (reason !== null) {
    const isUrlSet = isSecretSet(loadDotEnv(context.cwd, context.env), 'REDIS_URL');
    yield fail('Redis', `does not answer: ${reason}`, whatToCheck(isUrlSet));
    return;
  }
  const redis = connect(config.redisUrl);
  const volley = await openVolley(context, config);
  try {
    const facts = await redisFacts(redis, context.clock);
    yield* checkRedis(facts, config.redisMayLoseMs);
    yield checkRemains(facts, await fileRemains(redis, keyNames(config.redisPrefix)));
    const workers = await volley.workers();
    const missing = missingRoles(workers);
    const howToStart = await howToStartWorkers(context, workers.length === 0 ? [] : missing);
    yield* checkWorkers(workers, howToStart);
    const lanes = await volley.lanes();
    yield* lanes.flatMap((lane) => checkLane(lane, context.clock()));
    const keys = await volley.keys.list();
    yield* checkExposure(config, keys, context.clock(), context.env);
    if (isRestored) yield* checkRestoredKeys(keys, context.clock());
    yield* (await volley.laneProblems()).map((problem) =>
      fail('lane names', problem, 'Otherwise nothing is sent.'),
    );
    yield* (await volley.unconfiguredLanes()).map(checkUnconfigured);
    yield* checkOutboxes(
      await volley.outboxes.list(),
      lanes.map(({ name }) => name),
    );
    yield* await checkRecords(volley);
    yield* checkSchedules(await volley.schedules.list(), context.clock());
    if ('messagingBaseUrl' in config) {
      yield* await checkCredentials(config, volley);
      yield* await checkSubscriptions(config, volley, lanes);
    }
  } finally {
    redis.disconnect();
    await volley.close();
  }
}

/** Whether the contract of call records is valid, and whether an operator must resolve a request. */
async function checkRecords({ records }: Volley): Promise<Check[]> {
  const name = 'call records';
  try {
    if ((await records.contract()) === null) return [];
    const unknown = await records.list({ state: 'unknown' });
    if (unknown.length === 0) return [ok(name, 'the contract is valid')];
    const found = `${counted(unknown.length, 'request')} with an unknown outcome`;
    return [
      warn(
        name,
        found,
        'Look them up at the service, then settle each as `volley records resolve --help` says. To list them: volley records list --state unknown',
      ),
    ];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((problem) =>
      fail(name, problem, 'docs/call-records.md describes the contract.'),
    );
  }
}

/** Workers look for due schedules every two seconds. */
const LATE_MS = 5 * 60_000;

/** Whether schedules have failed, or are due and no worker runs them. */
export function checkSchedules(
  schedules: readonly Pick<Schedule, 'id' | 'state' | 'failuresInARow' | 'reason' | 'next' | 'waiting'>[],
  now: number,
): Check[] {
  const failing = schedules.filter(({ state, failuresInARow }) => state === 'paused' && failuresInARow > 0);
  const late = schedules.filter(
    ({ next, waiting }) => next !== null && !waiting && Date.parse(next) < now - LATE_MS,
  );
  const others = schedules.length - failing.length - late.length;
  return [
    ...failing
      .slice(0, NAMED)
      .map(({ id, reason }) =>
        fail(
          'schedules',
          `${id} is paused: ${oneLine(reason ?? '')}`,
          `Fix the cause, then: volley schedule resume ${id}`,
        ),
      ),
    ...late
      .slice(0, NAMED)
      .map(({ id, next }) =>
        warn(
          'schedules',
          `${id} is due since ${moment(Date.parse(next ?? ''), now)}, and no worker has run it`,
          'Start a worker that serves its lane and, if code provides its list, provides it.',
        ),
      ),
    ...(others > 0 ? [ok('schedules', `${counted(others, 'schedule')} without a problem`)] : []),
  ];
}

/** A key that expires within this time is named. */
const EXPIRES_SOON_MS = 14 * 86_400_000;

/** What is unprotected: the way to Redis, what ALLOW_INSECURE allows, and keys that do not work or soon will not. */
export function checkExposure(
  {
    redisUrl,
    allowInsecure,
    previousSecretsKey,
  }: Pick<LocalConfig, 'redisUrl' | 'allowInsecure' | 'previousSecretsKey'>,
  keys: readonly Pick<ApiKey, 'id' | 'name' | 'state' | 'expiresAt' | 'needsPreviousKey'>[],
  now: number,
  env: Readonly<Record<string, string | undefined>> = {},
): Check[] {
  const named = (some: typeof keys): string =>
    some.map(({ id, name }) => `${id} (${oneLine(name)})`).join(', ');
  const { isRemote, hasTls } = redisExposure(redisUrl ?? 'redis://127.0.0.1');
  const invalid = keys.filter(({ state }) => state === 'invalid');
  const needing = keys.filter((key) => key.needsPreviousKey);
  const ending = keys.filter(
    ({ state, expiresAt }) =>
      state === 'active' && expiresAt !== null && Date.parse(expiresAt) - now < EXPIRES_SOON_MS,
  );
  return [
    ...(env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0'
      ? [
          fail(
            'certificates',
            'NODE_TLS_REJECT_UNAUTHORIZED is 0, so no certificate is checked: anyone on the way can pose as the service or as Redis, and read keys, passwords, and numbers',
            'Remove it here and for the workers. For a certificate of your own authority, set SERVICE_CA_FILE (service) or NODE_EXTRA_CA_CERTS (Redis).',
          ),
        ]
      : []),
    ...(isRemote && !hasTls
      ? [
          warn(
            'Redis encryption',
            'REDIS_URL has no TLS: others on the network can read numbers, texts, and the password of Redis',
            'Use rediss://, or a network that only Volley and Redis share.',
          ),
        ]
      : []),
    ...(allowInsecure.length > 0
      ? [
          warn(
            'ALLOW_INSECURE',
            `allows ${allowInsecure.join(', ')}`,
            'Remove what is no longer needed. .env.example says what each word allows.',
          ),
        ]
      : []),
    ...(invalid.length > 0
      ? [
          warn(
            'API keys',
            `these do not work, because they were made without SECRETS_KEY, with another one, or by an earlier version, or were restored after they had been revoked: ${named(invalid)}`,
            `Create new ones, as \`volley keys create --help\` says, and revoke these: ${invalid.map(({ id }) => `volley keys revoke ${id}`).join('; ')}`,
          ),
        ]
      : []),
    ...(previousSecretsKey === undefined ? [] : [checkPreviousKey(named(needing), needing.length)]),
    ...(ending.length > 0
      ? [
          warn(
            'API keys, expiry',
            `these expire within 14 days: ${named(ending)}`,
            `Give each a new secret: ${ending.map(({ id }) => `volley keys rotate ${id}`).join('; ')}`,
          ),
        ]
      : []),
  ];
}

function missingRoles(workers: readonly Pick<WorkerProcess, 'roles'>[]): string[] {
  return ROLES.filter((role) => !workers.some(({ roles }) => roles.includes(role)));
}

/** Whether workers run for each role, and whether all use the same settings. */
export function checkWorkers(
  workers: readonly Pick<WorkerProcess, 'roles' | 'settings' | 'host' | 'pid' | 'format'>[],
  howToStart: string,
): Check[] {
  const name = 'workers';
  if (workers.length === 0) return [warn(name, 'none is running, so nothing is sent', howToStart)];
  const missing = missingRoles(workers);
  const found = counted(workers.length, 'process', 'processes');
  const there =
    missing.length === 0
      ? ok(name, found)
      : warn(name, `${found}, but none for ${missing.join(', ')}`, howToStart);
  return [there, ...checkFormats(workers), ...checkAgreement(workers)];
}

/** Workers that store data in another format than this version. */
function checkFormats(workers: readonly Pick<WorkerProcess, 'host' | 'pid' | 'format'>[]): Check[] {
  const others = workers.filter(({ format }) => format !== DATA_FORMAT);
  if (others.length === 0) return [];
  const list = processList(others.map(({ host, pid }) => `${host} ${pid}`));
  return [
    fail(
      'versions of workers',
      `${list}: the data of this version and theirs differ`,
      'Stop all processes, then start one version: docs/operations.md, Upgrading',
    ),
  ];
}

/** Differences are normal during an upgrade, so they are only a warning. */
function checkAgreement(workers: readonly Pick<WorkerProcess, 'settings' | 'host' | 'pid'>[]): Check[] {
  const names = [...new Set(workers.flatMap(({ settings }) => Object.keys(settings)))];
  const differing = names.flatMap((name) => {
    const places = new Map<string, string[]>();
    for (const { settings, host, pid } of workers) {
      const value = settings[name] ?? (name === 'version' ? 'older' : undefined);
      if (value !== undefined) places.set(value, [...(places.get(value) ?? []), `${host} ${pid}`]);
    }
    if (places.size < 2) return [];
    return [
      `${name}: ${[...places].map(([value, at]) => `${oneLine(value)} in ${processList(at)}`).join(', ')}`,
    ];
  });
  if (differing.length === 0) return [];
  return [
    warn(
      'settings of workers',
      `they differ: ${differing.join('; ')}`,
      'A lane uses the settings of the process that serves it, but the longest QUOTA_WINDOW_MS. Restart the processes with old settings.',
    ),
  ];
}

function processList(places: readonly string[]): string {
  const more = places.length - NAMED;
  return `${places.slice(0, NAMED).map(oneLine).join(' and ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Whether a lane sends, and if not, what to do. */
export function checkLane(
  { name, state, pause, window, unknownOutcomes, turnFailures }: LaneStatus,
  now: number,
): Check[] {
  const title = `lane ${name}`;
  const why = pause === null ? '' : `: ${oneLine(pause.reason)}`;
  const resume = `volley lane resume ${name}`;
  const others = [
    ...turnFailures.map((failure) =>
      fail(
        title,
        failureText(failure, now),
        'The log of the workers shows the whole error (`turn failed`). Fix the cause; Volley tries again every second.',
      ),
    ),
    ...(unknownOutcomes === 0
      ? []
      : [
          warn(
            `${title}, requests`,
            `${grouped(unknownOutcomes)} ${unknownOutcomes === 1 ? 'has' : 'have'} an unknown outcome`,
            '`volley list` shows their campaigns under ATTENTION. The status of each says how to settle them.',
          ),
        ]),
  ];
  switch (state) {
    case 'open':
      return [ok(title, 'open'), ...others];
    case 'waiting': {
      const opensAt = window?.opensAt ?? null;
      return [
        ok(title, `waits${opensAt === null ? '' : ` until ${until(opensAt, now)}`} (window)`),
        ...others,
      ];
    }
    case 'paused':
    case 'probing': {
      const end = pause === null || pause.until === null ? '' : `, until ${until(pause.until, now)}`;
      return [ok(title, `paused, resumes by itself${why}${end}`), ...others];
    }
    case 'recovering': {
      const end = pause === null || pause.until === null ? '' : `, until ${until(pause.until, now)}`;
      return [ok(title, `recovering${why}${end}`), ...others];
    }
    case 'noToken': {
      const next = pause === null || pause.until === null ? '' : `, next attempt ${until(pause.until, now)}`;
      const todo =
        'Check the account base URL, and that the account service is reachable from here: volley token show';
      return [warn(title, `waits for an access token${why}${next}`, todo), ...others];
    }
    case 'held':
      return [warn(title, 'held by an operator', `To resume it: ${resume}`), ...others];
    case 'stopped':
      return [fail(title, `stopped${why}`, `Fix the reason, then: ${resume}`), ...others];
    default:
      return state satisfies never;
  }
}

/** What became of the campaigns of a lane that is not configured. */
function checkUnconfigured({ name, campaigns }: UnconfiguredLane): Check {
  const { completed, cancelled, ...open } = campaigns;
  const count = Object.values(open).reduce((sum, some) => sum + some, 0);
  if (count === 0)
    return ok(`lane ${name}`, `not configured; ${counted(completed + cancelled, 'campaign')} ended`);
  return warn(
    `lane ${name}`,
    `not configured here, and ${counted(count, 'campaign')} ${count === 1 ? 'has' : 'have'} not ended`,
    `If it has a new name, run \`volley lane rename\` with both names. Otherwise configure it again, or cancel them: \`volley list\` shows their ids`,
  );
}

/** Warns about the outboxes whose messages nothing sends, because their lane is not configured. */
function checkOutboxes(outboxes: readonly OutboxStatus[], lanes: readonly string[]): Check[] {
  return outboxes
    .filter(({ lane, messages }) => !lanes.includes(lane) && messages.waiting > 0)
    .map(({ name, lane, messages: { waiting } }) =>
      warn(
        `outbox ${name}`,
        `its lane ${lane} is not configured here, and ${counted(waiting, 'message')} ${waiting === 1 ? 'waits' : 'wait'}`,
        `If the lane has a new name, run \`volley lane rename\` with both names. Otherwise configure it again, or run \`volley outbox cancel ${name} --all --lane ${lane}\``,
      ),
    );
}

/** Columns before the name of a check. */
const INDENT = 6;

const INK = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

function renderCheck({ name, level, found, todo }: Check, paint: Paint, width?: number): string[] {
  const line = `${paint(INK[level], padded(level, 4))}  ${name}: ${pasteable(found)}`;
  const lines = wrapped(line, width, INDENT);
  if (todo === undefined) return lines;
  const room = width === undefined ? undefined : width - INDENT - 2;
  const [first = '', ...others] = wrapped(pasteable(todo), room);
  const margin = ' '.repeat(INDENT);
  return [...lines, `${margin}${paint('dim', '→')} ${first}`, ...others.map((each) => `${margin}  ${each}`)];
}
