import { join } from 'node:path';
import {
  type Config,
  type Environment,
  isSecretSet,
  loadConfig,
  loadDotEnv,
  type SimulatorAddress,
} from '../../../base/config/index.js';
import { findEmbedded, type StartedEmbedded, startEmbedded } from '../../../base/redis/embedded.js';
import { type WhyEnded, whyEnded } from '../../../base/redis/why-ended.js';
import { ROLES } from '../../../engine/recovery/roles.js';
import { listenForStop, servingLanes } from '../../lifecycle.js';
import type { Context } from '../context/context.js';
import { badInput, CliError } from '../context/errors.js';
import { servingConsole } from '../open/console-link.js';
import { commandOf } from '../open/find-up.js';
import { howToTryOrConfigure, isUnconfigured } from '../open/how-to-start.js';
import { mustAnswer } from '../open/open.js';
import { simulatedConfig, simulatorLanes, simulatorRecords } from '../open/simulated-config.js';
import { publishUp, type RunningSimulator, readUp, removeUp, removeUpsOfDead } from '../open/up-file.js';
import { exampleFile } from '../output/command-name.js';
import { lostRedis } from './lost-redis.js';
import { laneNames, reportReady, summaryText, untilStopped } from './process.js';

interface UpOptions {
  simulator?: boolean;
  quota?: number;
  http: boolean;
  concurrency?: number;
  install?: boolean;
}

/** Beside the data of Redis, whose campaigns refer to it. */
const SIMULATOR_STATE = 'simulator-state.ndjson';

/** Lets the settings be checked before the simulator has an address. */
const ANY_ADDRESS: SimulatorAddress = {
  messagingBaseUrl: 'http://127.0.0.1:9',
  accountBaseUrl: 'http://127.0.0.1:9',
  v3: { messagingBaseUrl: 'http://127.0.0.1:9', tokenUrl: 'http://127.0.0.1:9' },
};

/** `volley up` */
export async function up(context: Context, options: UpOptions): Promise<undefined> {
  const { simulator, quota, concurrency, http, install = false } = options;
  if (quota !== undefined && !simulator)
    throw badInput('--quota needs --simulator. To set the quota of a real key, set HOURLY_QUOTA.');
  const env = loadDotEnv(context.cwd, context.env);
  const isUrlSet = isSecretSet(env, 'REDIS_URL');
  if (simulator && isUrlSet)
    throw new CliError(
      'config',
      '--simulator starts a Redis of its own beside the simulator, but REDIS_URL names another. Unset REDIS_URL, or leave out --simulator and set MESSAGING_BASE_URL to the address of a `volley simulator`.',
    );
  const running = !isUrlSet ? await findEmbedded(context.cwd) : undefined;
  if (running !== undefined) throw await alreadyUp(running);
  const config = simulator ? simulatedConfig(env, ANY_ADDRESS, '') : settingsOf(env, context.cwd);
  const redisUrl = isUrlSet ? config.redisUrl : undefined;
  const stop = listenForStop();
  const run: Run = (started, where, { note, lost } = {}) =>
    untilStopped(
      context,
      {
        config: started,
        role: ROLES.join('+'),
        // The API comes first: if its port is in use, the command fails before anything is sent.
        parts: [...(http ? [servingConsole(context)] : []), servingLanes(ROLES, concurrency)],
        lost,
        onReady: (messages) => {
          context.note(`Running with ${where} and ${laneNames(started)}. Ctrl-C ends it.`);
          for (const message of messages) context.note(message);
          if (note !== undefined) context.note(note);
          reportReady(context, started, { roles: ROLES, http, simulator: simulator === true });
        },
      },
      stop,
    );
  try {
    if (redisUrl === undefined)
      await withEmbeddedRedis(context, env, simulator ? { quota } : config, install, run);
    else {
      await mustAnswer(redisUrl, context);
      await run({ ...config, redisUrl }, 'the Redis at REDIS_URL');
    }
  } finally {
    stop.dispose();
  }
}

/** The settings. Without any for the service, people probably want to try Volley, so the error says how. */
function settingsOf(env: Environment, cwd: string): Config {
  if (!isUnconfigured(env)) return loadConfig(env);
  throw new CliError('config', `There are no settings for an account yet. ${howToTryOrConfigure(env, cwd)}`);
}

/** Runs everything until it is stopped. `where`: the Redis, for people. */
type Run = (
  config: Config,
  where: string,
  more?: { readonly note?: string; readonly lost?: Promise<Error> },
) => Promise<void>;

/** Instead of a configuration: a simulator, whose address is only known once it runs. */
type Simulated = { readonly quota: number | undefined };
const isSimulated = (given: Config | Simulated): given is Simulated => !('redisUrl' in given);

async function withEmbeddedRedis(
  context: Context,
  env: Environment,
  config: Config | Simulated,
  install: boolean,
  run: Run,
): Promise<void> {
  const mode = isSimulated(config) ? 'simulator' : 'service';
  let published: { dir: string; pid: number } | undefined;
  const unpublish = async (): Promise<void> => {
    if (published !== undefined) await removeUp(published);
  };
  const started = await startEmbedded(context.cwd, {
    install,
    installer: 'volley up --install',
    announce: context.note,
    async beforeListening(redis) {
      published = redis;
      await publishUp(redis, { pid: process.pid, state: 'starting', mode });
    },
  }).catch(async (error: unknown) => {
    await unpublish();
    throw error;
  });
  if (started.kind === 'running') {
    await unpublish();
    throw await alreadyUp(started);
  }
  const { server, url, dir } = started;
  const publishRunning = (simulator?: RunningSimulator): Promise<void> =>
    publishUp(
      { dir, pid: server.pid },
      simulator === undefined
        ? { pid: process.pid, state: 'running', mode: 'service' }
        : { pid: process.pid, state: 'running', mode: 'simulator', simulator },
    );
  const where = `its own Redis in ${dir}`;
  const lostBecause = (why: WhyEnded): CliError =>
    lostRedis(dir, why, mode === 'simulator' ? 'volley up --simulator' : 'volley up');
  const ended = server.ended.then(async (end) => lostBecause(await whyEnded(dir, end)));
  try {
    await removeUpsOfDead(dir);
    if (isSimulated(config)) {
      await withSimulator(context, env, started, config, publishRunning, (simulated, note, diskFull) =>
        run(simulated, `${where}, a simulator,`, {
          note,
          lost: Promise.race([ended, diskFull.then(() => lostBecause({ cause: 'diskFull' }))]),
        }),
      );
      return;
    }
    await publishRunning();
    await run({ ...config, redisUrl: url }, where, { lost: ended });
  } finally {
    await server.stop();
    // Until then, a command may still find this Redis.
    await unpublish();
  }
}

async function withSimulator(
  context: Context,
  env: Environment,
  { dir, url }: Extract<StartedEmbedded, { kind: 'started' }>,
  { quota }: Simulated,
  publishRunning: (simulator: RunningSimulator) => Promise<void>,
  run: (config: Config, note: string, diskFull: Promise<void>) => Promise<void>,
): Promise<void> {
  const { startSimulator } = await import('../../../tools/simulator/index.js');
  const planned = simulatedConfig(env, ANY_ADDRESS, url, quota);
  const options = { ...simulatorLanes(planned), ...(await simulatorRecords(planned)) };
  let onDiskFull = (): void => {};
  const diskFull = new Promise<void>((resolve) => {
    onDiskFull = resolve;
  });
  const simulator = await startSimulator(options, { stateFile: join(dir, SIMULATOR_STATE), onDiskFull });
  // Its state survives restarts; people want to know what this run did.
  const before = simulator.summary();
  try {
    const { messagingBaseUrl, accountBaseUrl, v3 } = simulator;
    const config = simulatedConfig(env, { messagingBaseUrl, accountBaseUrl, v3 }, url, quota);
    await publishRunning({ messagingBaseUrl, accountBaseUrl, v3, ...(quota !== undefined && { quota }) });
    await run(
      config,
      `${context.paintErr('green', 'Messages go to a simulator, not to phones.')} In another terminal: volley send ${exampleFile('spring-sale.csv', context.cwd)} --country GB --sender ACME --message "Hi {{name}}" --wait`,
      diskFull,
    );
    const after = simulator.summary();
    context.note(
      summaryText({
        requests: after.requests - before.requests,
        recipients: after.recipients - before.recipients,
        duplicates: after.duplicates - before.duplicates,
        throttled: after.throttled - before.throttled,
      }),
    );
  } finally {
    await simulator.close();
  }
}

async function alreadyUp(running: { dir: string; pid: number }): Promise<CliError> {
  const up = await readUp(running);
  const which = up === undefined ? '`volley up`' : commandOf(up);
  return new CliError(
    'alreadyUp',
    `Volley is already running: the Redis server in ${running.dir} (process ${running.pid}) belongs to another ${which}. To add workers: volley work`,
  );
}
