import type { Command } from 'commander';
import {
  type Config,
  type Environment,
  loadConfig,
  loadDotEnv,
  type SimulatorAddress,
} from '../config/index.js';
import { ROLES } from '../recovery/heartbeats.js';
import { findEmbedded, type StartedEmbedded, startEmbedded } from '../redis/embedded.js';
import { startSimulator } from '../simulator/index.js';
import { action, examples } from './action.js';
import type { Context } from './context.js';
import { EXIT, Refusal } from './exit.js';
import { listenForInterrupt } from './interrupt.js';
import { mustAnswer, simulatorOrRedis } from './open.js';
import { wholeNumber } from './parsed.js';
import { type LifeOptions, lanesWords, liveUntilTold, serving, working } from './process-lifecycle.js';
import {
  readSimulatorFile,
  removeSimulatorFile,
  simulatedConfig,
  simulatorLanes,
  writeSimulatorFile,
} from './simulator-file.js';

interface UpOptions {
  simulator?: boolean;
  http: boolean;
  concurrency?: number;
}

/** Only for checking the settings before anything is started. */
const ANY_ADDRESS: SimulatorAddress = {
  messagingBaseUrl: 'http://127.0.0.1:9',
  accountBaseUrl: 'http://127.0.0.1:9',
};

/** Adds `volley up`. */
export function addUp(program: Command, context: Context): void {
  program
    .command('up')
    .summary('run everything on this machine')
    .description(
      'Runs everything on this machine: workers, the HTTP API and, unless REDIS_URL is set, a Redis of its own with its data in .volley/. The other commands find it by themselves, from that folder or below it.',
    )
    .option('--simulator', 'with a stand-in for the service: no account is needed, and no text is sent')
    .option('--concurrency <lanes>', 'lanes served at a time (default: 50)', wholeNumber(1, 10_000))
    .option('--no-http', 'without the HTTP API')
    .addHelpText('after', examples('up --simulator', 'up'))
    .action(action(context, (options: UpOptions) => up(context, options)));
}

async function up(context: Context, { simulator, concurrency, http }: UpOptions): Promise<undefined> {
  const env = loadDotEnv(context.cwd, context.env);
  const redisUrl = env['REDIS_URL']?.trim() || undefined;
  if (simulator && redisUrl !== undefined)
    throw simulatorOrRedis('unset REDIS_URL, or leave --simulator out');
  const running = redisUrl === undefined ? await findEmbedded(context.cwd) : undefined;
  if (running !== undefined) throw await alreadyUp(running);
  const config = simulator ? simulatedConfig(env, ANY_ADDRESS, '') : loadConfig(env);
  const interrupt = listenForInterrupt();
  // The API first: a port that is taken is told before anything is sent.
  const parts = [...(http ? [serving] : []), working(ROLES, concurrency)];
  const common = { role: ROLES.join('+'), parts, interrupt };
  try {
    if (redisUrl !== undefined) await withRedisOfOthers(context, { ...config, redisUrl }, common);
    else await withEmbeddedRedis(context, env, simulator ? undefined : config, common);
  } finally {
    interrupt.dispose();
  }
}

type Common = Pick<LifeOptions<Config>, 'role' | 'parts' | 'interrupt'>;

async function withRedisOfOthers(
  context: Context,
  config: Config & { redisUrl: string },
  common: Common,
): Promise<void> {
  await mustAnswer(config.redisUrl);
  await liveUntilTold(context, {
    config,
    ...common,
    onReady: (said) => {
      context.say(`Up, with the Redis of REDIS_URL and ${lanesWords(config)}. Ctrl-C ends it.`);
      for (const line of said) context.say(line);
    },
  });
}

/** `config`: undefined with a simulator, whose address is only known once it runs. */
async function withEmbeddedRedis(
  context: Context,
  env: Environment,
  config: Config | undefined,
  common: Common,
): Promise<void> {
  const started = await startEmbedded(context.cwd, context.say);
  if (started.kind === 'running') throw await alreadyUp(started);
  const { server, url, dir } = started;
  const lost = server.ended.then(() => `The Redis in ${dir} has ended; its log is ${dir}/redis.log.`);
  try {
    if (config === undefined) {
      await withSimulator(context, env, started, { ...common, lost });
      return;
    }
    await removeSimulatorFile(dir);
    const own = { ...config, redisUrl: url };
    await liveUntilTold(context, {
      config: own,
      ...common,
      lost,
      onReady: (said) => {
        context.say(`Up, with a Redis of its own in ${dir} and ${lanesWords(own)}. Ctrl-C ends it.`);
        for (const line of said) context.say(line);
      },
    });
  } finally {
    await server.stop();
  }
}

async function withSimulator(
  context: Context,
  env: Environment,
  { dir, url, server }: Extract<StartedEmbedded, { kind: 'started' }>,
  common: Common & { lost: Promise<string> },
): Promise<void> {
  const simulator = await startSimulator();
  try {
    const { messagingBaseUrl, accountBaseUrl } = simulator;
    const config = simulatedConfig(env, { messagingBaseUrl, accountBaseUrl }, url);
    simulator.configure(simulatorLanes(config));
    await writeSimulatorFile(dir, {
      messagingBaseUrl,
      accountBaseUrl,
      pid: process.pid,
      redisPid: server.pid,
    });
    await liveUntilTold(context, {
      config,
      ...common,
      onReady: (said) => {
        context.say(`Up, with a Redis of its own in ${dir}, ${lanesWords(config)}, and a simulator.`);
        for (const line of said) context.say(line);
        context.say(
          `${context.paintErr('green', 'No text is sent.')} In another terminal: volley send list.csv --sender ACME --message "Hi {{name}}" --wait`,
        );
      },
    });
    const { requests, recipients, duplicates, throttled } = simulator.summary();
    context.say(
      `The simulator accepted ${requests} requests for ${recipients} recipients, ${duplicates} of them twice, and answered ${throttled} with 429.`,
    );
  } finally {
    await removeSimulatorFile(dir);
    await simulator.close();
  }
}

async function alreadyUp(running: { dir: string; pid: number }): Promise<Refusal> {
  const simulator = await readSimulatorFile(running);
  const which =
    simulator === undefined ? '`volley up`' : `\`volley up --simulator\` (process ${simulator.pid})`;
  return new Refusal(
    EXIT.failed,
    'alreadyUp',
    `It is up already: the Redis in ${running.dir} (process ${running.pid}) belongs to another ${which}. For more workers: volley work.`,
  );
}
