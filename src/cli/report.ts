import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { RECIPIENT_STATES, type RecipientState } from '../campaign/recipient.js';
import { formatReport } from '../reporting/report-file.js';
import { parseReportedStatus } from '../reporting/reported-status.js';
import { action, examples } from './action.js';
import type { Context } from './context.js';
import { withLocalVolley } from './open.js';
import { filled, oneOf } from './parsed.js';

type Format = 'csv' | 'ndjson';

interface ReportOptions {
  format: Format;
  status?: RecipientState;
  out?: string;
}

/** Adds `volley report`. */
export function addReport(program: Command, context: Context): void {
  program
    .command('report')
    .summary('write what became of each recipient')
    .description(
      'Writes a line for each recipient: number, status, reason, request id, sent at, updated at. In CSV a reason or id that a spreadsheet would take for a formula has an apostrophe before it.',
    )
    .argument('<id>', 'the campaign')
    .option('--format <csv|ndjson>', 'how it is written', oneOf(['csv', 'ndjson'] as const), 'csv')
    .option(
      '--status <status>',
      `only recipients with this status: delivered (short for deliveredToTerminal), ${RECIPIENT_STATES.join(', ')}`,
      (text) => parseReportedStatus(text) ?? oneOf(RECIPIENT_STATES)(text),
    )
    .option('--out <file>', 'write it to this file, whole or not at all (default: standard output)', filled)
    .addHelpText('after', examples('report 1a2b3c4d5e6f7 --status deliveryImpossible --out undelivered.csv'))
    .action(action(context, (id: string, options: ReportOptions) => report(context, id, options)));
}

async function report(
  context: Context,
  id: string,
  { format, status, out }: ReportOptions,
): Promise<undefined> {
  await withLocalVolley(context, async (volley) => {
    // A campaign that is not there must not leave an empty report behind.
    await volley.status(id);
    const rows = volley.report(id, status === undefined ? {} : { status });
    if (out === undefined) await pipeline(formatReport(rows, format), context.stdout, { end: false });
    else await writeWhole(out, formatReport(rows, format));
  });
}

/** Under another name until it is whole: nobody reads half a report, and the one before stays until then. */
async function writeWhole(path: string, text: AsyncIterable<string>): Promise<void> {
  const draft = `${path}.${randomBytes(4).toString('hex')}.part`;
  try {
    await pipeline(text, createWriteStream(draft, { flags: 'wx' }));
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
