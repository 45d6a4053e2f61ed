import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import { loadScript } from '../../base/redis/script.js';

const replaceScript = loadScript(import.meta.url, './replace.lua', (reply) => z.number().parse(reply) === 1);

/** A place in Redis that may contain a number. */
export interface Place {
  readonly target: string;
  readonly kind: 'string' | 'hash' | 'list';
  readonly place?: string | number;
  /** The field of the hash that is raised by 1 with the change. */
  readonly raised?: string;
}

/** Replaces what was read in a place. False if something else is there by now: then it is to be read again. */
export const replaceIn = (
  redis: Redis,
  { target, kind, place = '', raised = '' }: Place,
  before: string | Buffer,
  after: string | Buffer,
): Promise<boolean> => replaceScript.run(redis, { target }, { kind, place, before, after, raised });

/** Digits that a number has in every spelling: also without its calling code, and with a leading zero. */
const TAIL_DIGITS = 8;

/** The last digits of a number, which it has in every spelling. */
export const tailOf = (number: string): string => number.replace(/\D/g, '').slice(-TAIL_DIGITS);

/** A text in which people or other programs may have written a number in any spelling, without it. */
export function withoutNumber(text: string, number: string): string {
  const tail = [...tailOf(number)].join('[ ()./-]{0,2}');
  return text.replace(new RegExp(`[+\\d][\\d ()./-]*?${tail}(?!\\d)`, 'g'), '…');
}
