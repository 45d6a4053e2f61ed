import type { Command } from 'commander';
import { action, examples } from './action.js';
import type { Answer, Context } from './context.js';
import { withLocalVolley } from './open.js';

/** Adds `volley lane`. */
export function addLane(program: Command, context: Context): void {
  const lane = program
    .command('lane')
    .summary('pause a lane, or let it go on')
    .description('Pauses a lane, or lets it go on.');
  lane
    .command('pause')
    .description('Holds a whole lane: none of its requests starts before `lane resume`.')
    .argument('<name>', 'the lane')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('lane pause default'))
    .action(action(context, (name: string) => pause(context, name)));
  lane
    .command('resume')
    .description('Opens a lane that was held, paused or stopped; what stopped it should be mended first.')
    .argument('<name>', 'the lane')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('lane resume default'))
    .action(action(context, (name: string) => resume(context, name)));
}

function pause(context: Context, name: string): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    await volley.pauseLane(name);
    return {
      json: { lane: name, state: 'held' },
      lines: [`Lane ${name} is held. Go on with: volley lane resume ${name}`],
    };
  });
}

function resume(context: Context, name: string): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    await volley.resumeLane(name);
    const state = (await volley.lanes()).find((lane) => lane.name === name)?.state ?? 'open';
    const how =
      state === 'open' ? '' : ' with one request, and with the rest as soon as the service takes that';
    return { json: { lane: name, state }, lines: [`Lane ${name} goes on${how}.`] };
  });
}
