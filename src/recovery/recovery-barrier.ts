import { z } from 'zod';
import type { ClaimingProcess } from '../lane/claims.js';
import { type LaneStore, laneScript } from '../lane/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../lane/script-events.js';

const script = laneScript(import.meta.url, './recovery-barrier.lua', (reply) =>
  scriptEvents(z.string().parse(reply)),
);

/**
 * What a process reports to a lane's recovery barrier (lane/workers.lua), so that Redis knows who may have made claims that it
 * has lost. Each call is safe to repeat.
 */
export function recoveryBarrier(store: LaneStore) {
  const run = (
    action: 'join' | 'attend' | 'leave' | 'replayed',
    { process, seen, loss }: ClaimingProcess,
    restored: number,
    polls: number,
    now?: number,
  ): Promise<readonly ScriptEvent[]> =>
    script(store, { action, process, seen, restored, polls, loss, time: now });
  return {
    /** Before the first claim of a process that sends. */
    join: (process: ClaimingProcess, now?: number) => run('join', process, 0, 0, now),
    /** Before the first poll of a process that never sends. */
    attend: (process: ClaimingProcess, now?: number) => run('attend', process, 0, 0, now),
    /** When the process has settled all its claims and makes no more. */
    leave: (process: ClaimingProcess, now?: number) => run('leave', process, 0, 0, now),
    /** When the process has replayed all its recent claims. `restored`: claims that were lost; `polls`: its recent polls. */
    replayed: (process: ClaimingProcess, restored: number, polls: number, now?: number) =>
      run('replayed', process, restored, polls, now),
  };
}
