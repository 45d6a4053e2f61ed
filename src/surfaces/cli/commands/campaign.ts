import { type Command, Option } from 'commander';
import { CAMPAIGN_STATES } from '../../../campaign/campaign.js';
import { parseReportedStatus, REPORTED_STATUSES } from '../../../campaign/recipient.js';
import type { Context } from '../context.js';
import { action, examples } from './action.js';
import { withCountry, withListOptions } from './list-options.js';
import { dayOrMoment, filled, oneOf, today, tomorrow, wholeNumber } from './option-values.js';

const verbs = () => import('../campaign.js');
const CAMPAIGN = 'the campaign: its id, the beginning of it, or last for the newest one';

/** Adds the commands that create, show, and change campaigns, in the order in which help lists them. */
export function addCampaignCommands(program: Command, context: Context): void {
  const onCampaign = (name: string, summary: string): Command =>
    program.command(name).summary(summary).argument('<id>', CAMPAIGN);
  const option = (flag: string, description: string, ...conflicts: string[]): Option =>
    new Option(flag, description).conflicts(conflicts);

  withListOptions(program.command('send').summary('send a message to every number in a list'), context)
    .description(
      'Sends a message to every number in a list. It shows a preview and asks first; without a terminal to ask on, it sends only with --yes. Exit code 3 with --wait: an operator must act.',
    )
    .option(
      '--idempotency-key <key>',
      'a campaign created with the same key is returned, not repeated',
      filled,
    )
    .option('--test-to <number>', 'send one sample, with the first valid row, to this number instead', filled)
    .option('-y, --yes', 'do not ask')
    .option('-w, --wait', 'show progress until the campaign is completed')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      examples(
        'send examples/spring-sale.csv --country GB --sender ACME --message "Hi {{name}}, 20 % off with {{voucher}}"',
        `send examples/spring-sale.csv --country GB --sender 447700900123 --message @examples/spring-sale.txt --at ${tomorrow(context.clock())} --yes`,
        'send examples/spring-sale.csv --country GB --sender ACME --message @examples/spring-sale.txt --test-to +447700900123',
      ),
    )
    .action(action(context, () => import('../send.js'), 'send'));

  withListOptions(program.command('preview').summary('show what a campaign would send, and when'), context)
    .description(
      'Shows what a campaign would send: recipients, segments, cost, requests, time, and samples. It stores nothing and sends nothing. Exit code 2: `volley send` would refuse the list.',
    )
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      examples(
        'preview examples/spring-sale.csv --country GB --sender ACME --message "Hi {{name}}"',
        'PRICE_PER_SEGMENT="0.042 EUR" preview examples/spring-sale.csv --country GB --sender ACME --message "Hi {{name}}" --max-cost 50',
      ),
    )
    .action(action(context, () => import('../preview.js'), 'preview'));

  program
    .command('list')
    .summary('list campaigns, newest first')
    .description('Lists campaigns, newest first.')
    .option(
      '--state <state>',
      `only campaigns that are ${CAMPAIGN_STATES.join(', ')}`,
      oneOf(CAMPAIGN_STATES),
    )
    .option('-l, --lane <name>', 'only campaigns of this lane', filled)
    .option('--name <text>', 'only campaigns with this text in their name, in upper or lower case', filled)
    .option('--idempotency-key <key>', 'only the campaign that was created with this key', filled)
    .option('--created-from <time>', 'only campaigns created at or after this day or time', (text: string) =>
      dayOrMoment(text, context.clock),
    )
    .option('--created-before <time>', 'only campaigns created before this day or time', (text: string) =>
      dayOrMoment(text, context.clock),
    )
    .option('--limit <count>', 'the most to show', wholeNumber(1, 10_000), 20)
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      examples('list --state running', `list --name spring --created-from ${today(context.clock())}`),
    )
    .action(action(context, () => import('../list.js'), 'list'));

  program
    .command('status')
    .summary("show a campaign's status")
    .argument('[id]', `${CAMPAIGN} (default: last)`)
    .description("Shows a campaign's status. Exit code 3 with --watch: an operator must act.")
    .option('-w, --watch', 'show progress until the campaign is completed')
    .option('--json', 'print one JSON object; with --watch, at the end')
    .addHelpText('after', examples('status', 'status last --watch'))
    .action(action(context, verbs, 'status'));

  onCampaign('pause', 'pause a campaign')
    .description('Pauses a campaign: no more of its requests start. Polling for delivery reports continues.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('pause last'))
    .action(action(context, verbs, 'pause'));

  onCampaign('resume', 'resume a paused campaign')
    .description('Resumes a paused campaign.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('resume last'))
    .action(action(context, verbs, 'resume'));

  onCampaign('cancel', 'cancel a campaign for good')
    .description(
      'Cancels a campaign for good: nothing more of it is sent. Delivery reports for sent messages still arrive. On a terminal it asks first.',
    )
    .option('-y, --yes', 'do not ask')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('cancel last'))
    .action(action(context, verbs, 'cancel'));

  onCampaign('report', 'write the status of each recipient')
    .description(
      'Writes a line for each recipient: number, status, reason, request id, sent at, updated at, reference. Rows that were left out as duplicates come last. In CSV, a reason, id, or reference that a spreadsheet could read as a formula starts with an apostrophe.',
    )
    .option('--format <csv|ndjson>', 'the format (default: csv)', oneOf(['csv', 'ndjson'] as const))
    .option(
      '--status <status>',
      `only recipients with this status: delivered (short for deliveredToTerminal), ${REPORTED_STATUSES.join(', ')}`,
      (text) => parseReportedStatus(text) ?? oneOf(REPORTED_STATUSES)(text),
    )
    .option(
      '--out <file>',
      'write to this new file, all or nothing; - is standard output, the default',
      filled,
    )
    .option('--force', 'overwrite the file')
    .option('--json', 'print one JSON object: the rows, or with --out what was written')
    .addHelpText('after', examples('report last --status deliveryImpossible --out undelivered.csv'))
    .action(action(context, verbs, 'report'));

  onCampaign('resolve', 'settle requests with an unknown outcome')
    .description(
      'Settles requests of a campaign with an unknown outcome. On a terminal, without an option, it shows what is known about each and asks. Exit code 3: some are not settled.',
    )
    .addOption(option('--resend', 'send them again, at the risk of a second message', 'abandon', 'accepted'))
    .addOption(option('--abandon', 'give them up', 'resend', 'accepted'))
    .addOption(option('--accepted', 'count them as accepted by the service', 'resend', 'abandon'))
    .option('--request <reference>', 'only this request, as `volley status` names it (default: all)')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('resolve last', 'resolve last --abandon', 'resolve last --resend'))
    .action(action(context, verbs, 'resolve'));

  withCountry(
    program
      .command('find')
      .summary('find a number in every campaign')
      .description('Finds a number in every campaign, with its status and times.')
      .argument('<number>', 'in any format; - reads numbers from standard input'),
  )
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('find "+44 7700 900123"'))
    .action(action(context, verbs, 'find'));
}
