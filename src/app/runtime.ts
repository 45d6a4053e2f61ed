import { defineConfig, type VolleySettings } from '../base/config/index.js';
import { REAL_TIME } from './runtime/instance.js';
import { openVolley } from './runtime/open-volley.js';
import type { Volley, VolleyOptions } from './volley.js';

export { ClosedError, RedisUnavailableError } from '../base/redis/unavailable.js';
export type { Volley, VolleyOptions, Workers } from './volley.js';

/**
 * Creates a Volley instance. It connects to Redis on the first call, and to the messaging service only if it works or manages
 * subscriptions and tokens. `given` has a `config`, or the settings themselves: `{ redis, lanes, retention: '30d' }`. Call `close` when you no longer need it. Throws an
 * InputError if `REDIS_URL` is not set, and a ConfigError for settings that are invalid.
 */
export function createVolley(given: VolleyOptions | SettingsInCode): Volley {
  return openVolley(isInCode(given) ? withConfig(given) : given, REAL_TIME);
}

/** The settings of a Volley, and its other options. */
export type SettingsInCode = VolleySettings & Omit<VolleyOptions, 'config'>;

/** Programs without types may pass anything. */
const isInCode = (given: VolleyOptions | SettingsInCode): given is SettingsInCode =>
  typeof given === 'object' && given !== null && !('config' in given);

const withConfig = ({ events, actor, random, ...settings }: SettingsInCode): VolleyOptions => ({
  ...{ events, actor, random },
  config: defineConfig(settings as VolleySettings),
});
