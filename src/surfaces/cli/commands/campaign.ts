import { type Command, Option } from 'commander';
import { FIELDS } from '../../../campaign/fields/fields.js';
import { action, examples } from '../context/action.js';
import type { Context } from '../context/context.js';
import { withResolutions } from '../context/resolutions.js';
import { withCountry, withFields, withList } from '../flags/campaign-flags.js';
import { filled, oneOf } from '../flags/option-values.js';
import { addOperations } from './operation.js';

const verbs = () => import('../actions/campaign.js');

/** Adds the commands that create, show, and change campaigns. */
export function addCampaignCommands(program: Command, context: Context): void {
  addOperations(program, context, 'Campaigns', {
    createCampaign: {
      before: (command) => withOnlyNew(withFields(withList(command), context, 'campaign')),
      after: (command) =>
        command
          .addOption(
            // A sample is sent now, to one number.
            new Option(
              '--test-to <number>',
              'send one sample, with the first valid row, to this number instead',
            )
              .conflicts(['idempotencyKey', 'skipInvalid', 'onlyNew', 'toResultsOf', 'sendAt'])
              .argParser(filled),
          )
          .option('-y, --yes', 'do not ask')
          .option('-w, --wait', 'show progress until the campaign is completed'),
      action: action(context, () => import('../actions/send.js'), 'send'),
    },
    previewCampaign: {
      before: (command) => withOnlyNew(withFields(withList(command), context, 'preview')),
      action: action(context, () => import('../actions/preview.js'), 'preview'),
    },
    getCampaign: {
      after: (command) => command.option('-w, --watch', 'show progress until the campaign is completed'),
      action: action(context, verbs, 'status'),
    },
    getReport: {
      after: withExcel,
      action: action(context, () => import('../actions/report.js'), 'report'),
    },
    setCampaign: {
      before: (command) => withFields(command, context, 'change', {}, true),
    },
    resolveCampaign: {
      before: withResolutions,
      action: action(context, verbs, 'resolve'),
    },
  });
  program
    .command('template')
    .summary('save texts under names, to send them again')
    .description(
      'Saves the texts of campaigns and schedules, with their senders; see docs/campaign-options.md, Templates.',
    )
    .addHelpText(
      'after',
      examples(
        'template put sale --message "Hi {{name}}, your code is {{voucher}}" --sender ACME',
        'send examples/spring-sale.csv --country GB --template sale',
      ),
    );
  addOperations(program, context, 'Templates', {
    putTemplate: {
      before: (command) =>
        withFields(command, context, 'template', {
          sender: 'the sender (default: that of each campaign, or SENDER_ADDRESS)',
        }),
    },
  });
}

/** Adds `--only-new`. Programs have no such field: they repeat a request with its idempotency key. */
function withOnlyNew(command: Command): Command {
  return command.option(
    '--only-new',
    'leave out numbers that get the same text from a campaign of the last 24 hours',
  );
}

/** Adds the flags of a report for Excel. */
function withExcel(command: Command): Command {
  command
    .option(
      '--excel',
      'write a CSV file for Excel, with the columns that the text uses; you can send it as a list again',
    )
    .option(
      '--separator <name>',
      'with --excel: comma, semicolon, or tab (default: that of your locale)',
      oneOf(['comma', 'semicolon', 'tab']),
    )
    .option('--list <file>', 'with --excel: add the other columns of this list, which you sent', filled);
  return withCountry(command, {
    ...FIELDS.country,
    help: 'with --list: the country of its numbers without a calling code',
  })
    .option('--to-column <column>', 'with --list: the column with its numbers', filled)
    .option('--country-column <column>', 'with --list: the column with its countries', filled);
}
