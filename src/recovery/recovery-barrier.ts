import { z } from 'zod';
import type { ClaimingProcess } from '../lane/claims.js';
import { type LaneStore, laneScript } from '../lane/lane-script.js';
import { type ScriptEvent, scriptEvents } from '../lane/script-events.js';

const script = laneScript(import.meta.url, './recovery-barrier.lua', (reply) =>
  scriptEvents(z.string().parse(reply)),
);

/** The crew of one lane: who may have claimed what a server has forgotten. Each word is safe to repeat. */
export function laneCrew(store: LaneStore) {
  const run = (
    action: 'join' | 'attend' | 'leave' | 'replayed',
    { process, seen, loss }: ClaimingProcess,
    restored: number,
    polls: number,
    now?: number,
  ): Promise<readonly ScriptEvent[]> =>
    script(store, { action, process, seen, restored, polls, loss, time: now });
  return {
    /** Before its first claim. */
    join: (hand: ClaimingProcess, now?: number) => run('join', hand, 0, 0, now),
    /** Before its first poll, where it never sends. */
    attend: (hand: ClaimingProcess, now?: number) => run('attend', hand, 0, 0, now),
    /** When all that it claimed is settled, and it claims no more. */
    leave: (hand: ClaimingProcess, now?: number) => run('leave', hand, 0, 0, now),
    /** It has told all that it remembers: so many claims were lost, and it has made so many polls lately. */
    replayed: (hand: ClaimingProcess, restored: number, polls: number, now?: number) =>
      run('replayed', hand, restored, polls, now),
  };
}
