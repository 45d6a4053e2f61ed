import type { Command } from 'commander';
import type { FoundRecipient } from '../campaign/views.js';
import { action, examples } from './action.js';
import type { Answer, Context } from './context.js';
import { withLocalVolley } from './open.js';
import { countryOption } from './parsed.js';
import { cut, moment, oneLine, table } from './text.js';

/** Adds `volley find`. */
export function addFind(program: Command, context: Context): void {
  program
    .command('find')
    .summary('find a number in every campaign')
    .description('Finds a number in every campaign: what became of it, and when.')
    .argument('<number>', 'in any spelling')
    .addOption(countryOption())
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('find "+44 7700 900123"'))
    .action(
      action(context, (number: string, options: { country?: string }) => find(context, number, options)),
    );
}

function find(context: Context, number: string, options: { country?: string }): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const found: FoundRecipient[] = [];
    for await (const recipient of volley.find(number, options)) found.push(recipient);
    const now = context.clock();
    const time = (iso: string): string => (iso === '' ? '' : moment(Date.parse(iso), now));
    const rows = found.map(({ campaign, name, status, requestId, sentAt, updatedAt, reason }) => [
      campaign,
      cut(oneLine(name), 24),
      status,
      oneLine(requestId),
      time(sentAt),
      time(updatedAt),
      oneLine(reason),
    ]);
    const heading = ['CAMPAIGN', 'NAME', 'STATUS', 'REQUEST', 'SENT', 'UPDATED', 'REASON'];
    return {
      json: { found },
      lines: rows.length === 0 ? ['No campaign has this number.'] : table(heading, rows),
    };
  });
}
