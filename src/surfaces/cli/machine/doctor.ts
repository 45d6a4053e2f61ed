import { coded, fail, ok } from '../../../app/doctor/check.js';
import { isSecretSet, type LocalConfig, loadDotEnv } from '../../../base/config/index.js';
import { EXIT } from '../../../base/exit-codes.js';
import type { Check } from '../../../campaign/views/check-views.js';
import type { Answer, Context } from '../context/context.js';
import { settingsOf } from '../open/differences.js';
import { howToStartWorkers } from '../open/how-to-start.js';
import { findLocal, findService, openVolley, type Setting, whatToCheck, whyNoAnswer } from '../open/open.js';
import { withRegisteredLanes } from '../open/registered-lanes.js';
import { pasteable } from '../output/command-name.js';
import { columnsOf, type Paint } from '../output/terminal.js';
import { counted, padded, wrapped } from '../output/text.js';
import { checkProtection } from './doctor/protection.js';
import { checkServices } from './doctor/service.js';
import { examineSettings } from './doctor/settings.js';

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
  const failed = checks.some(({ state }) => state === 'fail');
  return { json: { ok: !failed, checks }, lines: [], exit: failed ? EXIT.failed : EXIT.done };
}

function pasteableCheck({ message, advice, ...check }: Check): Check {
  return { ...check, message: pasteable(message), advice: advice === null ? null : pasteable(advice) };
}

/** Yields each check as it completes, because an address that does not answer takes seconds. */
async function* examine(context: Context, isRestored: boolean): AsyncGenerator<Check> {
  const full = await examineSettings(context, findService);
  if ('problems' in full) yield* coded('settings', full.problems);
  else {
    const { problems } = full.config.lanesWithoutCredentials;
    yield* coded('settings', [
      ...problems.map((found) =>
        fail(
          'settings',
          found,
          'Set the variable where workers run, and restart them. Other lanes are served.',
        ),
      ),
      ok('settings', `complete; ${counted(full.config.lanes.length, 'lane')}`),
    ]);
    const simulated = 'the simulator of `volley up --simulator`: messages do not reach phones';
    if (full.simulator !== undefined) yield* coded('service', [ok('service', simulated)]);
  }
  const config = 'problems' in full ? undefined : full.config;
  // Redis is checked even if settings that only the service needs are missing.
  const local = 'problems' in full ? await examineSettings(context, findLocal) : full;
  if ('problems' in local) {
    const shown = 'problems' in full ? full.problems.map(({ message }) => message) : [];
    yield* coded(
      'settings',
      local.problems.filter(({ message }) => !shown.includes(message)),
    );
    return;
  }
  yield* coded('protection', checkProtection(local.config, context.env));
  yield* examineRedis(context, local.config, isRestored);
  if (config !== undefined) yield* coded('service', await checkServices(config, context.clock));
}

async function* examineRedis(
  context: Context,
  config: Setting<LocalConfig>['config'],
  restored: boolean,
): AsyncGenerator<Check> {
  const reason = await whyNoAnswer(config.redisUrl);
  if (reason !== null) {
    const isUrlSet = isSecretSet(loadDotEnv(context.cwd, context.env), 'REDIS_URL');
    yield* coded('redis', [fail('Redis', `does not answer: ${reason}`, whatToCheck(isUrlSet))]);
    return;
  }
  const volley = await openVolley(context, await withRegisteredLanes(context, config));
  try {
    yield* volley.examine({
      than: settingsOf(context, config),
      restored,
      howToStart: (roles) => howToStartWorkers(context, roles),
    });
  } finally {
    await volley.close();
  }
}

/** Columns before the name of a check. */
const INDENT = 6;

const INK = { ok: 'green', warn: 'yellow', fail: 'red' } as const;

function renderCheck({ name, state, message, advice }: Check, paint: Paint, width?: number): string[] {
  const line = `${paint(INK[state], padded(state, 4))}  ${name}: ${pasteable(message)}`;
  const lines = wrapped(line, width, INDENT);
  if (advice === null) return lines;
  const room = width === undefined ? undefined : width - INDENT - 2;
  const [first = '', ...others] = wrapped(pasteable(advice), room);
  const margin = ' '.repeat(INDENT);
  return [...lines, `${margin}${paint('dim', '→')} ${first}`, ...others.map((each) => `${margin}  ${each}`)];
}
