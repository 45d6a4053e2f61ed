import { type Command, InvalidArgumentError } from 'commander';
import { ROLES, type Role } from '../recovery/heartbeats.js';
import { action, examples } from './action.js';
import type { Context } from './context.js';
import { listenForInterrupt } from './interrupt.js';
import { findService, mustAnswer } from './open.js';
import { oneOf, wholeNumber } from './parsed.js';
import { lanesWords, liveUntilTold, working } from './process-lifecycle.js';

interface WorkOptions {
  roles?: readonly Role[];
  concurrency?: number;
}

/** Adds `volley work`. */
export function addWork(program: Command, context: Context): void {
  program
    .command('work')
    .summary('run workers in this process')
    .description('Runs workers in this process until it is told to end; any number of them share the lanes.')
    .option('--roles <roles>', `what they do, with commas between (default: ${ROLES.join(',')})`, readRoles)
    .option('--concurrency <lanes>', 'lanes served at a time (default: 50)', wholeNumber(1, 10_000))
    .addHelpText('after', examples('work', 'work --roles send --concurrency 200'))
    .action(action(context, (options: WorkOptions) => work(context, options)));
}

/** Roles with commas between, each once. */
export function readRoles(text: string): readonly Role[] {
  const read = oneOf(ROLES);
  const roles = text
    .split(',')
    .map((role) => role.trim())
    .filter(Boolean);
  if (roles.length === 0) throw new InvalidArgumentError(`It is empty: give some of ${ROLES.join(',')}.`);
  return [...new Set(roles.map(read))];
}

async function work(context: Context, { roles = ROLES, concurrency }: WorkOptions): Promise<undefined> {
  const { config, simulator } = await findService(context);
  await mustAnswer(config.redisUrl);
  const interrupt = listenForInterrupt();
  try {
    await liveUntilTold(context, {
      config,
      role: roles.join('+'),
      parts: [working(roles, concurrency)],
      interrupt,
      onReady: () =>
        context.say(
          `Working (${roles.join(', ')}) for ${lanesWords(config)}${simulator === undefined ? '' : '; a simulator stands in for the service, no text is sent'}.`,
        ),
    });
  } finally {
    interrupt.dispose();
  }
}
