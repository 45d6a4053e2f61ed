import { within } from '../clock.js';
import {
  type Config,
  type Environment,
  type LocalConfig,
  loadConfig,
  loadDotEnv,
  loadLocalConfig,
  secretsOf,
} from '../config/index.js';
import { createEvents, type Events } from '../events/events.js';
import { connect } from '../redis/connection.js';
import { findEmbedded } from '../redis/embedded.js';
import type { Volley } from '../volley.js';
import type { Surroundings } from './cli-io.js';
import { EXIT, Refusal } from './exit.js';
import { type RunningSimulator, readSimulatorFile, simulatedConfig } from './simulator-file.js';

/** A server that is there answers at once; without a limit a command would wait for ever for one that is not. */
const REDIS_ANSWERS_WITHIN_MS = 5_000;

/** What a command works with. */
export interface Setting<Configuration extends Config | LocalConfig> {
  /** With the URL of the Redis that is used, wherever it was found. */
  readonly config: Configuration & { redisUrl: string };
  /** Set while `volley up --simulator` stands in for the service: no text is sent. */
  readonly simulator: RunningSimulator | undefined;
}

/** Finds the Redis and reads the settings of a command that speaks with the service, or has workers that do. */
export function findService(given: Surroundings): Promise<Setting<Config>> {
  return find(given, (env) => loadConfig(env));
}

/** The same for a command that needs no credentials. */
export function findLocal(given: Surroundings): Promise<Setting<LocalConfig>> {
  return find<Config | LocalConfig>(given, (env) => loadLocalConfig(env));
}

async function find<Configuration extends Config | LocalConfig>(
  { env: real, cwd }: Surroundings,
  load: (env: Environment) => Configuration,
): Promise<Setting<Configuration | Config>> {
  const env = loadDotEnv(cwd, real);
  const embedded = await findEmbedded(cwd);
  const simulator = embedded === undefined ? undefined : await readSimulatorFile(embedded);
  const isUrlSet = Boolean(env['REDIS_URL']?.trim());
  if (embedded !== undefined && simulator !== undefined) {
    if (isUrlSet) throw simulatorOrRedis('end `volley up --simulator`, or unset REDIS_URL');
    return {
      config: { ...simulatedConfig(env, simulator, embedded.url), redisUrl: embedded.url },
      simulator,
    };
  }
  const config = load(env);
  const redisUrl = config.redisUrl ?? embedded?.url;
  if (redisUrl === undefined) {
    throw new Refusal(
      EXIT.badInput,
      'noRedis',
      'No Redis: start one with `volley up` in this folder or above it, or set REDIS_URL.',
    );
  }
  return { config: { ...config, redisUrl }, simulator: undefined };
}

/** Which of the two is meant must not be a guess: one of them sends real texts. */
export function simulatorOrRedis(what: string): Refusal {
  return new Refusal(
    EXIT.badInput,
    'simulatorOrRedis',
    `A simulator and REDIS_URL together: real campaigns must not be sent to a simulator, nor trials to real people; ${what}.`,
  );
}

/** The events of a command: as quiet as can be, unless `LOG_LEVEL` asks for more. Workers log as they are told. */
export function eventsOf(given: Surroundings, config: Config | LocalConfig, role?: string): Events {
  const asked = loadDotEnv(given.cwd, given.env)['LOG_LEVEL']?.trim();
  return createEvents({
    level: role !== undefined || asked ? config.logLevel : 'silent',
    secrets: secretsOf(config),
    ...(role === undefined ? {} : { role }),
  });
}

/** Puts everything together; loaded only now, because it takes longer than all else a command does before its work. */
export async function openVolley(config: Config | LocalConfig, events: Events): Promise<Volley> {
  const { createVolley } = await import('../runtime.js');
  return createVolley({ config, events });
}

/** Runs `use` with what was found, and lets go of it. Rejects first if Redis does not answer. */
export async function withVolley<Configuration extends Config | LocalConfig, Result>(
  given: Surroundings,
  setting: Setting<Configuration>,
  use: (volley: Volley) => Promise<Result>,
): Promise<Result> {
  await mustAnswer(setting.config.redisUrl);
  const volley = await openVolley(setting.config, eventsOf(given, setting.config));
  try {
    return await use(volley);
  } finally {
    await volley.close();
  }
}

/** The usual way: a command that needs no credentials, with whatever Redis there is. */
export async function withLocalVolley<Result>(
  given: Surroundings,
  use: (volley: Volley, setting: Setting<LocalConfig>) => Promise<Result>,
): Promise<Result> {
  const setting = await findLocal(given);
  return withVolley(given, setting, (volley) => use(volley, setting));
}

/** Rejects, with words for an operator, if nothing answers there as a Redis does. */
export async function mustAnswer(url: string): Promise<void> {
  const reason = await whyNoAnswer(url);
  if (reason === null) return;
  throw new Refusal(
    EXIT.failed,
    'redisDown',
    `Redis does not answer (${reason}): check that it runs, and REDIS_URL; \`volley doctor\` tells more.`,
  );
}

/** Why nothing answers there as a Redis does; null if something does. */
export async function whyNoAnswer(url: string): Promise<string | null> {
  const redis = connect(url);
  const reasons: string[] = [];
  redis.on('error', (error: Error) => reasons.push(error.message));
  try {
    await within(REDIS_ANSWERS_WITHIN_MS, redis.ping(), { late: 'no answer' });
    return null;
  } catch (error) {
    return reasons.at(-1) || (error instanceof Error ? error.message : String(error));
  } finally {
    redis.disconnect();
  }
}
