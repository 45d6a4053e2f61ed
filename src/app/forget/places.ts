import { z } from 'zod';
import type { Redis } from '../../base/redis/connection.js';
import { loadScript } from '../../base/redis/script.js';
import { callingCodeOf } from '../../campaign/numbers/numbering-plan.js';

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

/** Changes the field of a hash; again, if another process has changed it meanwhile. False if it stays as it was. */
export async function changeIn(
  redis: Redis,
  field: Place & { readonly kind: 'hash'; readonly place: string },
  change: (text: string) => string,
): Promise<boolean> {
  for (;;) {
    const before = await redis.hget(field.target, field.place);
    if (!before) return false;
    const after = change(before);
    if (before === after) return false;
    if (await replaceIn(redis, field, before, after)) return true;
  }
}

/** Fewer digits would be found in other numbers, and more are not needed. */
const [MIN_DIGITS, MAX_DIGITS] = [7, 8];

/** The last digits of a number, E.164, which it has in every spelling: also without its calling code, and with a leading zero. */
export function tailOf(number: string): string {
  const digits = number.replace(/\D/g, '');
  const nationalCount = digits.length - (callingCodeOf(number)?.length ?? 0);
  return digits.slice(-Math.min(MAX_DIGITS, Math.max(MIN_DIGITS, nationalCount)));
}

/** A text in which people or other programs may have written a number in any spelling, without it. */
export function withoutNumber(text: string, number: string): string {
  const tail = [...tailOf(number)].join('[ ()./-]{0,2}');
  return text.replace(new RegExp(`(?<!\\d)(?:[+\\d][\\d ()./-]*?)?${tail}(?!\\d)`, 'g'), '…');
}
