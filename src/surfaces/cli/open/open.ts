import type { Volley } from '../../../app/volley.js';
import { within } from '../../../base/clock.js';
import {
  type Config,
  type Environment,
  isSecretSet,
  type LocalConfig,
  loadConfig,
  loadDotEnv,
  loadLocalConfig,
  secretsOf,
} from '../../../base/config/index.js';
import { formatDuration } from '../../../base/duration.js';
import { createEvents } from '../../../base/events/events.js';
import { connect } from '../../../base/redis/connection.js';
import { whyNoEmbedded } from '../../../base/redis/embedded.js';
import type { CliIo } from '../context/context.js';
import { CliError } from '../context/errors.js';
import { findUp, isSimulatorUp } from './find-up.js';
import { howToStartAll } from './how-to-start.js';
import { withRegisteredLanes } from './registered-lanes.js';
import { simulatedConfig } from './simulated-config.js';
import type { RunningSimulator } from './up-file.js';

/** A server that runs answers at once; without a limit, a command would wait forever for one that does not. */
const REDIS_ANSWERS_WITHIN_MS = 5_000;

/** What a command found. */
export interface Setting<Configuration extends Config | LocalConfig> {
  /** With the URL of the Redis server to use, from REDIS_URL or from `volley up`. */
  readonly config: Configuration & { redisUrl: string };
  /** Set while `volley up --simulator` stands in for the service: no message is sent. */
  readonly simulator: RunningSimulator | undefined;
}

/** The same without a Redis, for a command that can do without. */
export type SettingWithoutRedis = Pick<Setting<LocalConfig>, 'simulator'> & {
  readonly config: LocalConfig;
};

/** Finds Redis and loads the settings for a command that sends requests to the service. */
export function findService(io: CliIo): Promise<Setting<Config>> {
  return find(io, loadConfig);
}

/** Finds Redis and loads the settings for a command that needs no credentials. */
export function findLocal(io: CliIo): Promise<Setting<LocalConfig>> {
  return find<Config | LocalConfig>(io, loadLocalConfig);
}

async function find<Configuration extends Config | LocalConfig>(
  { env: real, cwd, clock }: CliIo,
  load: (env: Environment) => Configuration,
): Promise<Setting<Configuration | Config>> {
  const env = loadDotEnv(cwd, real);
  const isUrlSet = isSecretSet(env, 'REDIS_URL');
  if (isUrlSet && (await isSimulatorUp(cwd)))
    // One of them sends real messages.
    throw new CliError(
      'config',
      'A simulator runs and REDIS_URL is set, so it is not clear which of them you mean. Stop `volley up --simulator`, or unset REDIS_URL.',
    );
  const running = isUrlSet ? undefined : await findUp({ cwd, clock });
  if (running?.up.mode === 'simulator') {
    const { redis, up } = running;
    const { simulator } = up;
    const config = { ...simulatedConfig(env, simulator, redis.url, simulator.quota), redisUrl: redis.url };
    return { config, simulator };
  }
  const config = load(env);
  const redisUrl = config.redisUrl ?? running?.redis.url;
  if (redisUrl === undefined) {
    const reason = await whyNoEmbedded(cwd);
    // Starting another server would not help then.
    if (reason !== undefined) throw new CliError('unavailable', reason);
    throw new CliError(
      'noRedis',
      `No Redis is running for this folder or a folder above it, and REDIS_URL is not set. ${howToStartAll({ env: real, cwd })}`,
    );
  }
  return { config: { ...config, redisUrl }, simulator: undefined };
}

/**
 * Opens Volley; its log is silent unless LOG_LEVEL is set. Its code loads only now, because that takes longer than finding
 * Redis and reading the settings.
 */
export async function openVolley(io: CliIo, config: Config | LocalConfig): Promise<Volley> {
  const [{ createVolley }, { localActor }] = await Promise.all([
    import('../../../app/runtime.js'),
    import('../../../app/access/local-actor.js'),
  ]);
  const isLevelSet = Boolean(loadDotEnv(io.cwd, io.env)['LOG_LEVEL']?.trim());
  const level = isLevelSet ? config.logLevel : 'silent';
  const events = createEvents({ level, secrets: secretsOf(config) });
  const volley = createVolley({ config, events, actor: localActor('cli') });
  // If Redis does not answer, the command says so.
  await volley.refreshLanes().catch(() => {});
  return volley;
}

/** Runs `use` with an open Volley and closes it. Rejects if Redis does not answer. */
export async function withVolley<Configuration extends Config | LocalConfig, Result>(
  io: CliIo,
  setting: Setting<Configuration>,
  use: (volley: Volley, setting: Setting<Configuration>) => Promise<Result>,
): Promise<Result> {
  await mustAnswer(setting.config.redisUrl, io);
  const config = await withRegisteredLanes(io, setting.config);
  const volley = await openVolley(io, config);
  try {
    return await use(volley, { ...setting, config });
  } finally {
    await volley.close();
  }
}

/** {@link withVolley} for a command that needs no credentials. */
export async function withLocalVolley<Result>(
  io: CliIo,
  use: (volley: Volley, setting: Setting<LocalConfig>) => Promise<Result>,
): Promise<Result> {
  return withVolley(io, await findLocal(io), use);
}

/** {@link withVolley} for a command that calls the service. */
export async function withServiceVolley<Result>(
  io: CliIo,
  use: (volley: Volley, setting: Setting<Config>) => Promise<Result>,
): Promise<Result> {
  return withVolley(io, await findService(io), use);
}

/** {@link withLocalVolley}, or, if there is no Redis or it does not answer, `without` with the reason. */
export async function withLocalVolleyOr<Result>(
  io: CliIo,
  use: (volley: Volley, setting: Setting<LocalConfig>) => Promise<Result>,
  without: (setting: SettingWithoutRedis, reason: string) => Promise<Result>,
): Promise<Result> {
  let setting: Setting<LocalConfig>;
  try {
    setting = await findLocal(io);
  } catch (error) {
    if (!(error instanceof CliError) || !['noRedis', 'unavailable'].includes(error.code)) throw error;
    const env = loadDotEnv(io.cwd, io.env);
    const config = loadLocalConfig(env);
    return without({ config, simulator: undefined }, error.message);
  }
  const reason = await whyNoAnswer(setting.config.redisUrl);
  if (reason !== null) return without(setting, `Redis does not answer: ${reason}.`);
  return withVolley(io, setting, use);
}

/** Rejects if no Redis server answers at this URL. */
export async function mustAnswer(url: string, { env, cwd }: Pick<CliIo, 'env' | 'cwd'>): Promise<void> {
  const reason = await whyNoAnswer(url);
  if (reason === null) return;
  const todo = whatToCheck(isSecretSet(loadDotEnv(cwd, env), 'REDIS_URL'));
  throw new CliError('unavailable', `Redis does not answer: ${reason}. ${todo} For details: volley doctor`);
}

/** What to check if Redis does not answer. Without REDIS_URL, its server belongs to a `volley up`. */
export function whatToCheck(isUrlSet: boolean): string {
  return isUrlSet
    ? 'Check that it is running, and that REDIS_URL is correct.'
    : 'It belongs to `volley up` in this folder or a folder above it: stop that one with Ctrl-C, and start it again.';
}

/** What the client says about a reply that no Redis sends, such as one of an HTTP server. */
const NOT_REDIS = /\bRESP\b/;
/** What the client says if the other side closes the connection without a reply. */
const CLOSED = /max retries per request/;

/** Why no Redis server answers at this URL; null if one does. */
export async function whyNoAnswer(url: string): Promise<string | null> {
  const redis = connect(url);
  const reasons: string[] = [];
  redis.on('error', (error: Error) => reasons.push(error.message));
  try {
    await within(REDIS_ANSWERS_WITHIN_MS, redis.ping(), {
      late: `no reply within ${formatDuration(REDIS_ANSWERS_WITHIN_MS)}`,
    });
    return null;
  } catch (error) {
    const thrown = error instanceof Error ? error.message : String(error);
    if ([...reasons, thrown].some((reason) => NOT_REDIS.test(reason)))
      return 'another program answers at its address';
    return reasons.at(-1) || (CLOSED.test(thrown) ? 'the connection was closed' : thrown);
  } finally {
    redis.disconnect();
  }
}
