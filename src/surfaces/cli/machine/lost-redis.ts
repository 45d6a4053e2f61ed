import { join } from 'node:path';
import type { WhyEnded } from '../../../base/redis/why-ended.js';
import { CliError } from '../context/errors.js';

/** What ends `volley up` when its own Redis has ended: the cause, what became of the messages, and what to do. `command`: how it was started. */
export function lostRedis(dir: string, why: WhyEnded, command: string): CliError {
  const { what, todo } = said(dir, why);
  return new CliError(
    'failed',
    `${what} Volley sends nothing more. What was sent is stored, so nothing is sent twice; requests that were in flight may get an unknown outcome, which \`volley status\` shows. ${todo} ${command}`,
    { cause: why.cause },
  );
}

function said(dir: string, why: WhyEnded): { readonly what: string; readonly todo: string } {
  switch (why.cause) {
    case 'diskFull':
      return {
        what: `The disk of ${dir} is full, so its Redis cannot store anything.`,
        todo: 'Free space there, then run:',
      };
    case 'outOfMemory':
      return {
        what: `The Redis in ${dir} has ended, because it ran out of memory.`,
        todo: 'Give this machine more memory, then run:',
      };
    case 'killed':
      return {
        what: `The Redis in ${dir} was ended by ${why.signal}${why.signal === 'SIGKILL' ? ', sent by a person or because this machine ran out of memory' : ''}.`,
        todo: 'To continue, run:',
      };
    case 'other':
      return {
        what: `The Redis in ${dir} has ended. ${why.lastLine === '' ? 'Its log' : `Its log ends with ${JSON.stringify(why.lastLine)}, and`} is ${join(dir, 'redis.log')}.`,
        todo: 'Fix the cause, then run:',
      };
    default:
      return why satisfies never;
  }
}
