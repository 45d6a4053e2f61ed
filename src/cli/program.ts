import { Command } from 'commander';
import { version } from '../version.js';
import { examples } from './action.js';
import { addCancel } from './cancel.js';
import type { Surroundings } from './cli-io.js';
import { type Context, createContext } from './context.js';
import { addDoctor } from './doctor.js';
import type { ExitCode } from './exit.js';
import { addFind } from './find.js';
import { addKeys } from './keys.js';
import { addLane } from './lane.js';
import { addLanes } from './lanes.js';
import { addList } from './list.js';
import { addPause } from './pause.js';
import { addPreview } from './preview.js';
import { addReport } from './report.js';
import { addResolve } from './resolve.js';
import { addResume } from './resume.js';
import { addSend } from './send.js';
import { addServe } from './serve.js';
import { addSimulator } from './simulator.js';
import { addStatus } from './status.js';
import { addSubscription } from './subscription.js';
import { addSuppress } from './suppress.js';
import { addToken } from './token.js';
import { addUp } from './up.js';
import { addWork } from './work.js';

/** In the order in which help lists them. */
const COMMANDS = {
  'Campaigns:': [
    addSend,
    addPreview,
    addList,
    addStatus,
    addPause,
    addResume,
    addCancel,
    addReport,
    addResolve,
    addFind,
  ],
  'Lanes and numbers:': [addLanes, addLane, addToken, addSubscription, addSuppress],
  'Running it:': [addUp, addWork, addServe, addKeys, addSimulator, addDoctor],
};

/** Every command, its options and its help. */
export function createProgram(context: Context): Command {
  const program = new Command('volley')
    .description('Bulk SMS campaigns through a rate-limited messaging interface.')
    .version(version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, `${context.paintErr('red', 'volley:')} `)),
    })
    .showHelpAfterError('Add --help to see what there is, with an example.')
    .addHelpText(
      'after',
      `${examples('up --simulator', 'send examples/spring-sale.csv --country GB --sender ACME --message "Hi {{name}}" --wait')}

Each command has an example of its own: volley send --help
Settings come from the environment and .env; .env.example explains them.
Exit codes: 0 done, 1 failed, 2 bad input, 3 waits for an operator, 130 interrupted.`,
    );
  for (const [group, commands] of Object.entries(COMMANDS)) {
    program.commandsGroup(group);
    for (const add of commands) add(program, context);
  }
  return program;
}

/** Runs one command line, without the program's own name, and answers how it ended. Never throws. */
export async function run(argv: readonly string[], surroundings: Surroundings): Promise<ExitCode> {
  const context = createContext(surroundings, argv.includes('--json'));
  try {
    await createProgram(context).parseAsync(argv, { from: 'user' });
  } catch (error) {
    context.fail(error);
  }
  return context.exit();
}
