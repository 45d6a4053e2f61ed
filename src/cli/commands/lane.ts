import type { Command } from 'commander';
import type { Context } from '../context.js';
import { action, examples } from './action.js';

const verbs = () => import('../lane.js');

/** `volley lanes` */
export function addLanes(program: Command, context: Context): void {
  program
    .command('lanes')
    .summary('show quotas, permits, and pauses')
    .description(
      'Shows each lane: its quota, how much of it is used, upcoming permits, and why the lane is paused.',
    )
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('lanes'))
    .action(action(context, verbs, 'list'));
}

/** `volley lane pause` and `volley lane resume` */
export function addLane(program: Command, context: Context): void {
  const lane = program
    .command('lane')
    .summary('pause or resume a lane')
    .description('Pauses or resumes a lane.');
  lane
    .command('pause')
    .description('Holds a whole lane: none of its requests starts before `lane resume`.')
    .argument('<name>', 'the lane')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('lane pause default'))
    .action(action(context, verbs, 'pause'));
  lane
    .command('resume')
    .description('Resumes a lane that is held, paused, or stopped. If it is stopped, fix the reason first.')
    .argument('<name>', 'the lane')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('lane resume default'))
    .action(action(context, verbs, 'resume'));
}
