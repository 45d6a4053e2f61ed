import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { readProblem } from '../../../base/config/file-problem.js';
import { ROLES } from '../../../engine/recovery/roles.js';
import type { SimulatorOptions } from '../../../tools/simulator/index.js';
import { action, examples } from '../context/action.js';
import type { Context } from '../context/context.js';
import { filled, oneOf, someOf, wholeNumber } from '../flags/option-values.js';
import { addOperations } from './operation.js';

const verbs = () => import('../machine/process.js');
const CONCURRENCY = ['--concurrency <lanes>', 'lanes served at a time (default: 50)'] as const;

/** Adds the commands that run Volley, in the order in which help lists them. */
export function addProcessCommands(program: Command, context: Context): void {
  program
    .command('init')
    .summary('write the settings')
    .description(
      'Asks for the settings that an account needs, checks them, and writes them to .env in this folder.',
    )
    .option('--force', 'overwrite .env')
    .option('--json', 'print one JSON object at the end')
    .addHelpText('after', examples('init'))
    .action(action(context, () => import('../machine/init.js'), 'init'));

  program
    .command('up')
    .summary('run everything on this machine')
    .description(
      'Runs everything on this machine: workers, the HTTP API, and, unless REDIS_URL is set, a Redis server with its data in .volley/. Other commands find that server from the same folder or below it.',
    )
    .option('--simulator', 'use a simulator instead of the service: needs no account and sends no messages')
    .option(
      '--quota <requests>',
      'with --simulator: the requests per hour of each lane (default: HOURLY_QUOTA)',
      wholeNumber(1, 1_000_000),
    )
    .option(...CONCURRENCY, wholeNumber(1, 10_000))
    .option('--no-http', 'without the HTTP API')
    .option('--install', 'as root, install a Redis server if there is none')
    .option('--json', 'print one JSON object when it is ready')
    .addHelpText('after', examples('up --simulator', 'up --simulator --quota 100', 'up'))
    .action(action(context, () => import('../machine/up.js'), 'up'));

  program
    .command('work')
    .summary('run a worker')
    .description('Runs a worker in this process until you stop it. Any number of workers share the lanes.')
    .option(
      '--roles <roles>',
      `what it does, separated by commas (default: ${ROLES.join(',')})`,
      someOf(ROLES),
    )
    .option(...CONCURRENCY, wholeNumber(1, 10_000))
    .option('--json', 'print one JSON object when it is ready')
    .addHelpText('after', examples('work', 'work --roles send --concurrency 200'))
    .action(action(context, verbs, 'work'));

  program
    .command('serve')
    .summary('serve the HTTP API')
    .description(
      'Serves the HTTP API at HTTP_HOST and HTTP_PORT until you stop it. It sends no messages; workers do. Clients need a key: see `volley keys`.',
    )
    .option('--json', 'print one JSON object when it is ready')
    .addHelpText('after', examples('serve'))
    .action(action(context, verbs, 'serve'));

  program
    .command('keys')
    .summary('create and revoke keys for the HTTP API')
    .description('Creates, lists, and revokes keys for the HTTP API. Only a digest of each key is stored.')
    .addHelpText(
      'after',
      examples('keys create --name shop --scope read,send', 'keys list', 'keys revoke last'),
    );
  addOperations(program, context, 'API keys');
  addOperations(program, context, 'Operation');

  program
    .command('simulator')
    .summary('run a simulator of the service')
    .description(
      'Runs a simulator of the messaging and account services, to try things out: quotas, faults, and numbers that lead to each outcome. It sends no messages. Ctrl-C ends it with a summary.',
    )
    .option('--port <port>', 'the port to listen on (default: a free one)', wholeNumber(0, 65_535))
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1)', filled)
    .option(
      '--options <json|@file>',
      'quotas, accounts, faults, and more; see docs/simulator.md',
      simulatorOptionsIn(context.cwd),
      {},
    )
    .option('--json', 'print only the addresses, as one JSON object')
    .addHelpText('after', examples(`simulator --port 8090 --options '{"keys":[{"key":"demo","quota":100}]}'`))
    .action(action(context, verbs, 'simulate'));

  program
    .command('doctor')
    .summary('check everything Volley depends on')
    .description(
      'Checks everything Volley depends on and says how to fix what it finds. It sends nothing and does not log in. Exit code 1 if something does not work. Run it with --restored after you have restored a backup of Redis, before you start workers.',
    )
    .option('--json', 'print one JSON object')
    .option(
      '--restored',
      'after Redis was restored from a backup: hold all lanes, and list what may send again and the API keys that work',
    )
    .addHelpText('after', examples('doctor', 'doctor --restored'))
    .action(action(context, () => import('../machine/doctor.js'), 'doctor'));

  program
    .command('conformance')
    .summary('test whether the service keeps to its documentation')
    .description(
      'Tests whether the messaging service keeps to its documentation, and shows which way it takes where the documentation shows none. It reads only, unless --to, --subscribe, or --login says otherwise. Its requests use the quota of the lane. Exit code 1 if a check fails.',
    )
    .option(
      '--profile <name>',
      'the version of the interface: v1 or v3 (default: that of the lane)',
      oneOf(['v1', 'v3'] as const),
    )
    .option('--base-url <url>', 'the service to test (default: MESSAGING_BASE_URL)', filled)
    .option(
      '--account-base-url <url>',
      'its account service (default: ACCOUNT_BASE_URL, or the origin of --base-url)',
      filled,
    )
    .option(
      '-l, --lane <name>',
      'the lane whose credentials and quota are used (default: the only one)',
      filled,
    )
    .option('--request <id>', 'also read the delivery status of this request, which you sent earlier', filled)
    .option(
      '--sender <sender>',
      'the sender of that request, or of the message (default: SENDER_ADDRESS)',
      filled,
    )
    .option('--to <number>', 'send one message to this number; repeat it for several recipients', collected)
    .option('--message <text>', 'the text of the message (default: one that says that it is a test)', filled)
    .option('--correlator', 'send a clientCorrelator with the message')
    .option('--twice', 'repeat the message with the same clientCorrelator, at the risk of a second message')
    .option(
      '--subscribe <url>',
      'create a subscription with this address and delete it, if there is none',
      filled,
    )
    .option(
      '--listen <url>',
      'record and check the notifications of the message at this http address of this machine; --subscribe names the public address in front of it',
      filled,
    )
    .option('--login', 'log in even if there is a token; a refused login counts towards the lockout')
    .option('-y, --yes', 'do not ask before something is written')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      examples('conformance', 'conformance --to +447700900123 --sender ACME', 'conformance --json'),
    )
    .action(action(context, () => import('../machine/conformance.js'), 'conformance'));

  program
    .command('completion')
    .summary('print the completion script of a shell')
    .description(
      'Prints a script with which the shell completes commands, options, lanes, and ids of campaigns, after `volley` and after `npx volley`.',
    )
    .argument('<shell>', 'bash, zsh, or fish', oneOf(['bash', 'zsh', 'fish'] as const))
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `${examples('completion bash > ~/.volley-completion', 'completion zsh > ~/.volley-completion', 'completion fish > ~/.config/fish/completions/volley.fish')}

For bash, add to ~/.bashrc: source ~/.volley-completion
For zsh, save the script for zsh, and add the same line to ~/.zshrc, after compinit.`,
    )
    .action(action(context, () => import('../machine/completion.js'), 'completion'));
}

function collected(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, filled(value)];
}

/** Reads the options of a simulator. `folder`: where their file is. */
const simulatorOptionsIn =
  (folder: string) =>
  (value: string): SimulatorOptions => {
    const path = value.startsWith('@') ? value.slice(1) : undefined;
    let text: string;
    try {
      text = path === undefined ? value : readFileSync(resolve(folder, path), 'utf8');
    } catch (error) {
      throw new InvalidArgumentError(`${readProblem(error, path ?? '') ?? 'The file cannot be read'}.`);
    }
    try {
      return JSON.parse(text) as SimulatorOptions;
    } catch (error) {
      throw new InvalidArgumentError(
        `Use JSON, or @ and the name of a JSON file: ${error instanceof Error ? error.message : error}.`,
      );
    }
  };
