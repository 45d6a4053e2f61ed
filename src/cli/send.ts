import type { Command } from 'commander';
import type { CampaignInput, EnqueueOutcome } from '../import/campaign-input.js';
import { readCsv } from '../import/csv/read-csv.js';
import { action, examples } from './action.js';
import type { Answer, Context } from './context.js';
import { badInput } from './exit.js';
import { type InvalidFile, invalidFile } from './invalid-file.js';
import { campaignInput, type ListOptions, mustBeToCome, withListOptions } from './list-options.js';
import { withLocalVolley } from './open.js';
import { filled } from './parsed.js';
import { created } from './send-created.js';
import { refusalOf } from './send-refused.js';
import { renderPreview } from './show-preview.js';
import { testInput } from './test-sample.js';
import { counted } from './text.js';

/** The options of `volley send`. */
export interface SendOptions extends ListOptions {
  idempotencyKey?: string;
  skipInvalid?: boolean;
  testTo?: string;
  yes?: boolean;
  again?: boolean;
  wait?: boolean;
}

/** Adds `volley send`. */
export function addSend(program: Command, context: Context): void {
  withListOptions(program.command('send').summary('send a text to everybody in a list'), context.clock)
    .description(
      'Sends a text to everybody in a list. On a terminal it shows what that comes to and asks first. Exit code 3 with --wait: an operator must act.',
    )
    .option(
      '--idempotency-key <key>',
      'the same key makes no second campaign while the first is kept',
      filled,
    )
    .option(
      '--skip-invalid',
      'leave bad rows out, and write them to a file beside the list: spring.invalid.csv',
    )
    .option('--test-to <number>', 'send one sample, of the first good row, to this number instead', filled)
    .option('-y, --yes', 'do not ask')
    .option('--again', 'allow what equals a campaign of the last 24 hours')
    .option('-w, --wait', 'show progress until it is completed')
    .option('--json', 'print one JSON object; does not ask')
    .addHelpText(
      'after',
      examples(
        'send spring.csv --sender ACME --message "Hi {{name}}, 20 % off with {{voucher}}"',
        'send spring.csv --sender 447700900123 --message @spring.txt --country GB --at 2030-05-01T09:00+01:00 --yes',
        'send spring.csv --sender ACME --message @spring.txt --test-to +447700900123',
      ),
    )
    .action(action(context, (file: string, options: SendOptions) => send(context, file, options)));
}

async function send(context: Context, file: string, options: SendOptions): Promise<Answer> {
  mustFitTogether(options);
  // Asked for again with its key it is answered all the same, as what was made then.
  if (options.idempotencyKey === undefined) mustBeToCome(options.at, context.clock());
  const mayAsk = !(options.yes || context.json);
  if (mayAsk && !context.interactive) {
    throw badInput(
      'This is no terminal to ask on: give --yes to send without being asked, or look first with `volley preview`.',
    );
  }
  if (options.message.endsWith('\n')) {
    context.say('The text ends with a line break, which is sent too.');
  }
  return withLocalVolley(context, async (volley, { config, simulator }) => {
    if (simulator !== undefined) context.say('A simulator stands in for the service: no text is sent.');
    const written = options.skipInvalid ? await invalidFileOf(file) : undefined;
    let outcome: EnqueueOutcome;
    try {
      outcome = await volley.enqueue({
        ...(options.testTo === undefined
          ? campaignInput(file, options)
          : await testInput(campaignInput(file, options), file, options.testTo, config.defaultCountry)),
        ...orders(context, options, mayAsk, written),
      });
    } catch (error) {
      written?.discard();
      throw error;
    }
    // The bad rows of a campaign that was there before have their file already.
    if (outcome.kind !== 'created') written?.discard();
    if (!('recipients' in outcome)) throw refusalOf(outcome);
    return created(context, volley, options, outcome, written);
  });
}

/** Options that contradict each other say so by name, before anything is read. */
function mustFitTogether(options: SendOptions): void {
  if (options.testTo === undefined) return;
  const given = [
    ['--idempotency-key', options.idempotencyKey],
    ['--skip-invalid', options.skipInvalid],
    ['--at', options.at],
  ] as const;
  for (const [name, value] of given) {
    if (value !== undefined) {
      throw badInput(
        `--test-to and ${name} do not go together: a sample is sent now, to one number; leave ${name} out.`,
      );
    }
  }
}

async function invalidFileOf(file: string): Promise<InvalidFile> {
  const list = await readCsv(file);
  list.close();
  return invalidFile(file, list.columns);
}

function orders(
  context: Context,
  options: SendOptions,
  mayAsk: boolean,
  written: InvalidFile | undefined,
): Partial<CampaignInput> {
  return {
    idempotencyKey: options.idempotencyKey,
    again: options.again === true || options.testTo !== undefined,
    ...(written === undefined ? {} : { skipInvalid: true, onInvalid: (row) => written.add(row) }),
    async confirm(preview) {
      mustBeToCome(options.at, context.clock());
      if (!mayAsk) return true;
      for (const line of renderPreview(preview, context.paintErr)) context.say(line);
      return context.ask(`Send to ${counted(preview.recipients, 'recipient')}?`);
    },
  };
}
