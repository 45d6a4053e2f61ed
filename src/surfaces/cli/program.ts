import { Command } from 'commander';
import type { ExitCode } from '../../base/exit-codes.js';
import { version } from '../../base/version.js';
import { addCampaignCommands } from './commands/campaign.js';
import { addLaneCommands } from './commands/lane.js';
import { addOutboxCommands } from './commands/outbox.js';
import { addProcessCommands } from './commands/process.js';
import { addRecordsCommands } from './commands/records.js';
import { addScheduleCommands } from './commands/schedule.js';
import { addNumberCommands } from './commands/suppress.js';
import { addWebhookCommands } from './commands/webhook.js';
import { examples, FIRST_SEND } from './context/action.js';
import { type CliIo, type Context, createContext } from './context/context.js';
import { badInput, inOurWords } from './context/errors.js';
import { packageFile, pasteable } from './output/command-name.js';
import { columnsOf } from './output/terminal.js';
import { wrappedLines } from './output/text.js';

/**
 * Every command with its options and help. The files in `commands/` only define them: they import commander and
 * constants, so that help is quick. What a command does loads when the command is called.
 */
export function createProgram(context: Context): Command {
  const program = new Command('volley')
    .description('Sends bulk SMS campaigns through a rate-limited messaging API.')
    .version(version)
    // A message of an outbox has a version, too.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      getOutHelpWidth: () => columnsOf(context.stdout) ?? 80,
      getErrHelpWidth: () => columnsOf(context.stderr) ?? 80,
      writeOut: (text) => context.stdout.write(wrappedLines(pasteable(text), columnsOf(context.stdout))),
      writeErr: (text) => context.stderr.write(wrappedLines(pasteable(text), columnsOf(context.stderr))),
      outputError: (text, write) => write(`${context.paintErr('red', 'volley:')} ${inOurWords(text)}\n`),
    })
    .showHelpAfterError('Add --help for the options and an example.')
    .addHelpText(
      'after',
      `${examples('up --simulator', FIRST_SEND)}

The help of each command has an example: volley send --help
Settings come from the environment and from .env. For a list, see ${packageFile('.env.example')}.
Exit codes: 0 done, 1 failed, 2 bad input, 3 an operator must act, 130 interrupted.`,
    );
  addCampaignCommands(program.commandsGroup('Campaigns:'), context);
  addScheduleCommands(program, context);
  addOutboxCommands(program.commandsGroup('Outboxes:'), context);
  addLaneCommands(program.commandsGroup('Lanes and numbers:'), context);
  addNumberCommands(program, context);
  addWebhookCommands(program.commandsGroup('Webhooks:'), context);
  addRecordsCommands(program.commandsGroup('Call records:'), context);
  addProcessCommands(program.commandsGroup('Running Volley:'), context);
  return program;
}

/** Runs one command line (without the program's name) and returns its exit code. Never rejects. */
export async function run(argv: readonly string[], io: CliIo): Promise<ExitCode> {
  const context = createContext(io, argv.includes('--json'));
  if (argv[0] === '__complete') {
    const { complete } = await import('./machine/completion.js');
    // The words follow a `--`.
    await complete(createProgram(context), context, argv.slice(2));
    return context.exit();
  }
  try {
    const glued = argv.find((word) => word === '--' || /^-[a-z]=/.test(word));
    // The framework would make the = part of the value, and a text would go out with it.
    if (glued !== undefined && glued !== '--')
      throw badInput(`the = in ${glued} would be part of the value: write a space instead`);
    const program = createProgram(context);
    const [first, topic] = argv;
    // The framework would print the general help, as if the command existed.
    const isUnknownTopic =
      first === 'help' &&
      topic !== undefined &&
      !['help', ...program.commands.map((each) => each.name())].includes(topic);
    await program.parseAsync(isUnknownTopic ? [topic] : argv, { from: 'user' });
  } catch (error) {
    context.fail(error);
  }
  return context.exit();
}
