import { configHints, isSecretSet, loadDotEnv } from '../../base/config/index.js';
import { EXIT } from '../../base/exit-codes.js';
import { connect } from '../../base/redis/connection.js';
import { pasteable } from './command-name.js';
import type { Answer, Context } from './context.js';
import { type Check, type Configured, type Examined, fail, ok, warn } from './doctor/check.js';
import { ROWS } from './doctor/rows.js';
import { examineSettings } from './doctor/settings.js';
import { findLocal, findService, openVolley, type Setting, whatToCheck, whyNoAnswer } from './open.js';
import { columnsOf, type Paint } from './terminal.js';
import { counted, padded, wrapped } from './text.js';

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
  return { ...check, found: pasteable(found), todo: todo === null ? null : pasteable(todo) };
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
  const full = await examineSettings(context, findService);
  if ('problems' in full) yield* full.problems;
  else {
    const { problems } = full.config.lanesWithoutCredentials;
    yield* problems.map((found) =>
      fail(
        'settings',
        found,
        'Set the variable where workers run, and restart them. Other lanes are served.',
      ),
    );
    yield ok('settings', `complete; ${counted(full.config.lanes.length, 'lane')}`);
    if (full.simulator !== undefined)
      yield ok('service', 'the simulator of `volley up --simulator`: messages do not reach phones');
  }
  const configured = 'problems' in full ? undefined : { context, config: full.config };
  // Redis is checked even if settings that only the service needs are missing.
  const local = 'problems' in full ? await examineSettings(context, findLocal) : full;
  if ('problems' in local) {
    const shown = 'problems' in full ? full.problems.map(({ found }) => found) : [];
    yield* local.problems.filter(({ found }) => !shown.includes(found));
    return;
  }
  yield* examineRedis(context, local.config, configured, isRestored);
  for (const row of ROWS)
    if (row.needs === 'settings' && configured !== undefined) yield* await row.check(configured);
}

async function* examineRedis(
  context: Context,
  config: Setting<Examined['config']>['config'],
  configured: Configured | undefined,
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
  const examined: Examined = {
    context,
    config,
    redis,
    volley,
    isRestored,
    now: context.clock(),
    lanes: once(() => volley.lanes()),
    keys: once(() => volley.keys.list()),
  };
  try {
    for (const row of ROWS) {
      if (row.needs === 'redis') yield* await row.check(examined);
      else if (row.needs === 'both' && configured !== undefined)
        yield* await row.check({ ...examined, ...configured });
    }
  } finally {
    redis.disconnect();
    await volley.close();
  }
}

/** Reads a value when it is needed for the first time. */
function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let value: Promise<Value> | undefined;
  return () => {
    value ??= read();
    return value;
  };
}

/** Columns before the name of a check. */
const INDENT = 6;

const INK = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

function renderCheck({ name, level, found, todo }: Check, paint: Paint, width?: number): string[] {
  const line = `${paint(INK[level], padded(level, 4))}  ${name}: ${pasteable(found)}`;
  const lines = wrapped(line, width, INDENT);
  if (todo === null) return lines;
  const room = width === undefined ? undefined : width - INDENT - 2;
  const [first = '', ...others] = wrapped(pasteable(todo), room);
  const margin = ' '.repeat(INDENT);
  return [...lines, `${margin}${paint('dim', '→')} ${first}`, ...others.map((each) => `${margin}  ${each}`)];
}
