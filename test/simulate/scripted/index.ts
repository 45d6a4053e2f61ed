import { uneventfulStreams } from '../random.js';
import type { WorldPlan } from '../world.js';
import { BATCH_WORLDS } from './batches.js';
import { CHANGE_WORLDS } from './changes.js';
import { CLOCK_WORLDS } from './clocks.js';
import { CREDENTIAL_WORLDS } from './credentials.js';
import { DATA_LOSS_WORLDS } from './data-losses.js';
import { GATE_WORLDS } from './gate.js';
import { NOTIFICATION_WORLDS } from './notifications.js';
import { ORDER_WORLDS } from './order.js';
import { OPEN_OUTBOX_WORLDS, OUTBOX_WORLDS } from './outboxes.js';
import { QUOTA_WORLDS } from './quota.js';
import { RECOVERY_WORLDS } from './recovery.js';
import { REMOVAL_WORLDS } from './removal.js';
import type { OpenWorld, ScriptedWorld } from './scripted-world.js';
import { STOP_WORLDS } from './stops.js';
import { WEBHOOK_WORLDS } from './webhooks.js';
import { WINDOW_WORLDS } from './windows.js';

/**
 * Every scripted world. `npm test` runs them, with and without their bugs, and so does each run of seeds without these.
 *
 * Three seeds that failed have none: 55171, 149675, and 210738 gave two traces each, in worlds with both an outbox and losses of data, which
 * no seed draws any more. No source records why; the test compares the traces of each scripted world instead.
 */
export const SCRIPTED_WORLDS: readonly ScriptedWorld[] = [
  ...BATCH_WORLDS,
  ...CHANGE_WORLDS,
  ...CLOCK_WORLDS,
  ...CREDENTIAL_WORLDS,
  ...DATA_LOSS_WORLDS,
  ...GATE_WORLDS,
  ...NOTIFICATION_WORLDS,
  ...ORDER_WORLDS,
  ...OUTBOX_WORLDS,
  ...QUOTA_WORLDS,
  ...RECOVERY_WORLDS,
  ...REMOVAL_WORLDS,
  ...STOP_WORLDS,
  ...WEBHOOK_WORLDS,
  ...WINDOW_WORLDS,
];

/** Worlds that show a limit that the documentation names. Only their test runs them. */
export const OPEN_WORLDS: readonly OpenWorld[] = [...OPEN_OUTBOX_WORLDS];

export function scriptedWorld({ name, scenario, script }: ScriptedWorld | OpenWorld): WorldPlan {
  return { name, scenario, streams: uneventfulStreams, ...(script === undefined ? {} : { script }) };
}

/** The scripted world of this name. Throws an Error if there is none. */
export function scriptedNamed(name: string): WorldPlan {
  const world = [...SCRIPTED_WORLDS, ...OPEN_WORLDS].find((one) => one.name === name);
  if (world === undefined) throw new Error(`no scripted world is called ${name}`);
  return scriptedWorld(world);
}
