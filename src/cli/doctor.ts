import type { Command } from 'commander';
import { type Config, ConfigError, configHints, type LocalConfig, loadDotEnv } from '../config/index.js';
import { connect } from '../redis/connection.js';
import { action, examples } from './action.js';
import type { Answer, Context } from './context.js';
import { type Check, fail, ok, warn } from './doctor-check.js';
import { judgeLane } from './doctor-lanes.js';
import { judgeRedis, redisFacts } from './doctor-redis.js';
import { checkCredentials, checkServices, checkSubscriptions } from './doctor-service.js';
import { judgeWorkers } from './doctor-workers.js';
import { EXIT } from './exit.js';
import { eventsOf, findLocal, findService, openVolley, type Setting, whyNoAnswer } from './open.js';
import type { Paint } from './paint.js';
import { counted, padded } from './text.js';

/** Adds `volley doctor`. */
export function addDoctor(program: Command, context: Context): void {
  program
    .command('doctor')
    .summary('look at everything Volley depends on')
    .description(
      'Looks at everything Volley depends on, and says what to do about what it finds. It sends nothing and logs in nowhere. Exit code 1 if something does not work.',
    )
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('doctor'))
    .action(action(context, () => doctor(context)));
}

async function doctor(context: Context): Promise<Answer> {
  const checks: Check[] = [];
  for await (const check of examine(context)) {
    checks.push(check);
    if (!context.json) context.stdout.write(`${renderCheck(check, context.paint).join('\n')}\n`);
  }
  const failed = checks.some(({ level }) => level === 'fail');
  return { json: { ok: !failed, checks }, lines: [], exit: failed ? EXIT.failed : EXIT.done };
}

/** A line each: told as they come, because an address that does not answer takes its time. */
async function* examine(context: Context): AsyncGenerator<Check> {
  for (const hint of configHints(loadDotEnv(context.cwd, context.env))) {
    yield warn('settings', hint, 'Correct its name, or leave it to the program it belongs to.');
  }
  const full = await settings(() => findService(context));
  if ('problems' in full) yield* full.problems;
  else {
    yield ok('settings', `complete; ${counted(full.config.lanes.length, 'lane')}`);
    if (full.simulator !== undefined)
      yield ok('service', 'a simulator of `volley up --simulator`: no text is sent');
  }
  // Settings that only the service needs do not keep Redis from being looked at.
  const local = 'problems' in full ? await settings(() => findLocal(context)) : full;
  if ('problems' in local) {
    const told = 'problems' in full ? full.problems.map(({ found }) => found) : [];
    yield* local.problems.filter(({ found }) => !told.includes(found));
    return;
  }
  yield* examineRedis(context, local);
  if (!('problems' in full)) yield* await checkServices(full.config, context.clock);
}

async function settings<Configuration extends Config | LocalConfig>(
  find: () => Promise<Setting<Configuration>>,
): Promise<Setting<Configuration> | { problems: readonly Check[] }> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof ConfigError) {
      return { problems: error.problems.map((problem) => fail('settings', problem, 'See .env.example.')) };
    }
    const found = error instanceof Error ? error.message : String(error);
    return { problems: [fail('Redis', found, 'On a single machine `volley up` brings one along.')] };
  }
}

async function* examineRedis(
  context: Context,
  { config }: Setting<Config | LocalConfig>,
): AsyncGenerator<Check> {
  const reason = await whyNoAnswer(config.redisUrl);
  if (reason !== null) {
    yield fail('Redis', `does not answer: ${reason}`, 'Check that it runs, and REDIS_URL.');
    return;
  }
  const redis = connect(config.redisUrl);
  const volley = await openVolley(config, eventsOf(context, config));
  try {
    yield* judgeRedis(await redisFacts(redis, context.clock));
    yield* judgeWorkers(await volley.workers());
    const lanes = await volley.lanes();
    yield* lanes.flatMap((lane) => judgeLane(lane, context.clock()));
    if ('messagingBaseUrl' in config) {
      yield* await checkCredentials(config, volley);
      yield* await checkSubscriptions(config, volley, lanes);
    }
  } finally {
    redis.disconnect();
    await volley.close();
  }
}

const INK = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

function renderCheck({ name, level, found, todo }: Check, paint: Paint): string[] {
  const line = `${paint(INK[level], padded(level, 4))}  ${name}: ${found}`;
  return todo === undefined ? [line] : [line, `      ${paint('dim', '→')} ${todo}`];
}
