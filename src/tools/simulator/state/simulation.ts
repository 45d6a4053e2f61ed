import type { Random } from '../../../base/clock.js';
import type { Settings } from '../rules/options.js';
import type { Recorder } from './changes.js';
import type { Timers } from './timers.js';

/** What every part of a simulator needs. */
export interface Simulation {
  /** Changed in place when the simulator is configured, so a part reads them for each request. */
  readonly settings: Settings;
  readonly random: Random;
  readonly record: Recorder;
  /** What has not happened yet. */
  readonly timers: Timers;
}
