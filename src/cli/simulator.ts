import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { type SimulatorOptions, startSimulator } from '../simulator/index.js';
import { action, examples } from './action.js';
import type { Context } from './context.js';
import { badInput } from './exit.js';
import { listenForInterrupt } from './interrupt.js';
import { filled, wholeNumber } from './parsed.js';

interface SimulatorCommandOptions {
  host?: string;
  port?: number;
  options: SimulatorOptions;
}

/** How long replies under way may take once it was asked to end. */
const DRAIN_MS = 2_000;

/** Adds `volley simulator`. */
export function addSimulator(program: Command, context: Context): void {
  program
    .command('simulator')
    .summary('run a stand-in for the service')
    .description(
      'Runs a stand-in for the messaging and account services, for trying things out: quotas, faults, and numbers that bring about each ending. No text is sent. Ends with Ctrl-C and a summary.',
    )
    .option('--port <port>', 'where it listens (default: a free one)', wholeNumber(0, 65_535))
    .option('--host <address>', 'on which address (default: 127.0.0.1)', filled)
    .option(
      '--options <json|@file>',
      'quotas, accounts, faults and the rest; the README says where each is described',
      readOptions,
      {},
    )
    .option('--json', 'print the addresses, and nothing else, as one JSON object')
    .addHelpText(
      'after',
      examples(`simulator --port 8090 --options '{"keys":[{"key":"demo","quota":100,"windowMs":60000}]}'`),
    )
    .action(action(context, (options: SimulatorCommandOptions) => simulate(context, options)));
}

function readOptions(given: string): SimulatorOptions {
  try {
    const text = given.startsWith('@') ? readFileSync(given.slice(1), 'utf8') : given;
    return JSON.parse(text) as SimulatorOptions;
  } catch (error) {
    throw new InvalidArgumentError(
      `Give JSON, or @ and a file of it: ${error instanceof Error ? error.message : error}.`,
    );
  }
}

async function simulate(
  context: Context,
  { host, port, options }: SimulatorCommandOptions,
): Promise<undefined> {
  const interrupt = listenForInterrupt();
  const simulator = await startSimulator({
    ...options,
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
  }).catch((error: unknown) => {
    interrupt.dispose();
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'EADDRINUSE') throw error;
    throw badInput(
      `port ${port ?? options.port} is taken: give another with --port, or leave it out for any that is free`,
    );
  });
  const { messagingBaseUrl, accountBaseUrl } = simulator;
  context.deliver({
    json: { messagingBaseUrl, accountBaseUrl },
    lines: [`MESSAGING_BASE_URL=${messagingBaseUrl}`, `ACCOUNT_BASE_URL=${accountBaseUrl}`],
  });
  const keys = (options.keys ?? [{ key: 'simulator-key' }]).flatMap((entry) =>
    'key' in entry ? [entry.key] : [],
  );
  context.say(`Runs; no text is sent. Keys: ${keys.join(', ') || 'none'}. Ctrl-C ends it.`);
  try {
    if (!interrupt.signal.aborted) {
      await new Promise((resolve) => interrupt.signal.addEventListener('abort', resolve, { once: true }));
    }
  } finally {
    interrupt.dispose();
    await simulator.close(DRAIN_MS);
  }
  const { requests, recipients, duplicates, throttled } = simulator.summary();
  context.say(
    `Accepted ${requests} requests for ${recipients} recipients, ${duplicates} twice; answered ${throttled} with 429.`,
  );
}
