import { z } from 'zod';
import { type ScriptEvent, scriptEvents } from '../lane/script-events.js';
import type { Redis } from '../redis/connection.js';
import type { Keys } from '../redis/keys.js';
import { loadScript } from '../redis/script.js';

/** A process that may claim of a lane, as the lane's crew knows it. */
export interface Hand {
  readonly process: string;
  /** The highest claim number that it knows of the lane, or 0. */
  readonly seen: number;
  /** Milliseconds of answered writes that the server may lose. */
  readonly loss: number;
}

const script = loadScript(import.meta.url, './recovery-barrier.lua', (reply) =>
  scriptEvents(z.string().parse(reply)),
);

/** The crew of one lane: who may have claimed what a server has forgotten. Each word is safe to repeat. */
export function laneCrew(redis: Redis, keys: Keys, lane: string, rules: string) {
  const names = ['lane', 'window', 'claims', 'running', 'states', 'ended', 'lapsing'].map((name) =>
    keys.lane(lane, name),
  );
  const say = (
    word: 'join' | 'attend' | 'leave' | 'told',
    { process, seen, loss }: Hand,
    restored: number,
    polls: number,
    now?: number,
  ): Promise<readonly ScriptEvent[]> =>
    script.run(redis, names, [rules, word, process, seen, restored, polls, loss, now ?? '']);
  return {
    /** Before its first claim. */
    join: (hand: Hand, now?: number) => say('join', hand, 0, 0, now),
    /** Before its first poll, where it never sends. */
    attend: (hand: Hand, now?: number) => say('attend', hand, 0, 0, now),
    /** When all that it claimed is settled, and it claims no more. */
    leave: (hand: Hand, now?: number) => say('leave', hand, 0, 0, now),
    /** It has told all that it remembers: so many claims were lost, and it has made so many polls lately. */
    told: (hand: Hand, restored: number, polls: number, now?: number) =>
      say('told', hand, restored, polls, now),
  };
}
