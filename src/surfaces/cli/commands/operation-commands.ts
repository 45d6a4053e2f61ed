import type { OperationCommand } from '../../../operations/command-table.js';

// Generated: change the rows in operations/, and run `npm run generate:commands`.
export const OPERATION_COMMANDS = [
  {
    name: 'createCampaign',
    tag: 'Campaigns',
    usage: 'send <file>',
    summary: 'send a message to every number in a list',
    description:
      'Send a message to every number in a list. It shows a preview and asks first; without a terminal to ask on, it sends only with --yes. Exit code 3 with --wait: an operator must act.',
    arguments: {},
    flags: [],
    json: 'print one JSON object',
    examples: [
      'send examples/spring-sale.csv --country GB --sender ACME --message "Hi {{name}}, 20 % off with {{voucher}}"',
      'send examples/spring-sale.csv --country GB --sender 447700900123 --message @examples/spring-sale.txt --at {tomorrow} --yes',
      'send examples/spring-sale.csv --country GB --sender ACME --message @examples/spring-sale.txt --test-to +447700900123',
    ],
    byHand: true,
  },
  {
    name: 'previewCampaign',
    tag: 'Campaigns',
    usage: 'preview <file>',
    summary: 'show what a campaign would send, and when',
    description:
      'Show what a campaign would send, and when. It shows recipients, segments, cost, requests, time, and samples, and stores and sends nothing. Exit code 2: `volley send` would refuse the list.',
    arguments: {},
    flags: [],
    json: 'print one JSON object',
    examples: [
      'preview examples/spring-sale.csv --country GB --sender ACME --message "Hi {{name}}"',
      'PRICE_PER_SEGMENT="0.042 EUR" preview examples/spring-sale.csv --country GB --sender ACME --message "Hi {{name}}" --max-cost 50',
    ],
    byHand: true,
  },
  {
    name: 'listCampaigns',
    tag: 'Campaigns',
    usage: 'list',
    summary: 'list campaigns, newest first',
    description: 'List campaigns, newest first.',
    arguments: {},
    flags: [
      {
        flags: '--state <state>',
        about: 'only campaigns that are importing, scheduled, running, paused, cancelled, completed',
        reads: {
          as: 'name',
          names: ['importing', 'scheduled', 'running', 'paused', 'cancelled', 'completed'],
        },
      },
      { flags: '-l, --lane <name>', about: 'only campaigns of this lane', reads: { as: 'text' } },
      {
        flags: '--name <text>',
        about: 'only campaigns with this text in their name, in upper or lower case',
        reads: { as: 'text' },
      },
      {
        flags: '--idempotency-key <key>',
        about: 'only the campaign that was created with this key',
        reads: { as: 'text' },
      },
      {
        flags: '--created-from <time>',
        about: 'only campaigns created at or after this day or time',
        reads: { as: 'dayOrMoment' },
      },
      {
        flags: '--created-before <time>',
        about: 'only campaigns created before this day or time',
        reads: { as: 'dayOrMoment' },
      },
      {
        flags: '--limit <count>',
        about: 'the most to show',
        reads: { as: 'number', from: 1, to: 10000, usual: 20 },
      },
    ],
    json: 'print one JSON object',
    examples: ['list --state running', 'list --name spring --created-from {today}'],
    byHand: true,
  },
  {
    name: 'getCampaign',
    tag: 'Campaigns',
    usage: 'status [id]',
    summary: 'get the status of a campaign',
    description: 'Get the status of a campaign. Exit code 3 with --watch: an operator must act.',
    arguments: {
      '[id]': 'the campaign: its id, the beginning of it, or last for the newest one (default: last)',
    },
    flags: [],
    json: 'print one JSON object; with --watch, at the end',
    examples: ['status', 'status last --watch'],
    byHand: true,
  },
  {
    name: 'pauseCampaign',
    tag: 'Campaigns',
    usage: 'pause <id>',
    summary: 'pause a campaign',
    description:
      'Pause a campaign. No more of its requests start, and those in flight are finished. Polling for delivery reports continues.',
    arguments: { '<id>': 'the campaign: its id, the beginning of it, or last for the newest one' },
    flags: [],
    json: 'print one JSON object',
    examples: ['pause last'],
    byHand: false,
  },
  {
    name: 'resumeCampaign',
    tag: 'Campaigns',
    usage: 'resume <id>',
    summary: 'resume a paused campaign',
    description: 'Resume a paused campaign.',
    arguments: { '<id>': 'the campaign: its id, the beginning of it, or last for the newest one' },
    flags: [],
    json: 'print one JSON object',
    examples: ['resume last'],
    byHand: false,
  },
  {
    name: 'cancelCampaign',
    tag: 'Campaigns',
    usage: 'cancel <id>',
    summary: 'cancel a campaign for good',
    description:
      'Cancel a campaign for good. Nothing more of it is sent. Delivery reports for sent messages still arrive. On a terminal it asks first.',
    arguments: { '<id>': 'the campaign: its id, the beginning of it, or last for the newest one' },
    flags: [{ flags: '-y, --yes', about: 'do not ask' }],
    json: 'print one JSON object',
    examples: ['cancel last'],
    byHand: false,
  },
  {
    name: 'getReport',
    tag: 'Campaigns',
    usage: 'report <id>',
    summary: 'get the report of a campaign',
    description:
      'Get the report of a campaign. It has one line for each recipient, in the order of the list. Recipients suppressed during the import follow, and then, with the status `duplicate`, the rows that were left out because their number is that of an earlier row (the first 100,000). In CSV, a reason, id, or reference that a spreadsheet could read as a formula is preceded by an apostrophe.',
    arguments: { '<id>': 'the campaign: its id, the beginning of it, or last for the newest one' },
    flags: [
      {
        flags: '--format <csv|ndjson>',
        about: 'the format (default: csv)',
        reads: { as: 'name', names: ['csv', 'ndjson'] },
      },
      {
        flags: '--status <status>',
        about:
          'only recipients with this status: delivered (short for deliveredToTerminal), planned, sending, unknown, deliveredToNetwork, deliveredToTerminal, deliveryImpossible, rejected, lapsed, cancelled, suppressed, abandoned, unconfirmed, duplicate',
        reads: { as: 'reportedStatus' },
      },
      {
        flags: '--out <file>',
        about: 'write to this new file, all or nothing; - is standard output, the default',
        reads: { as: 'text' },
      },
      { flags: '--force', about: 'overwrite the file' },
    ],
    json: 'print one JSON object: the rows, or with --out what was written',
    examples: ['report last --status deliveryImpossible --out undelivered.csv'],
    byHand: false,
  },
  {
    name: 'resolveCampaign',
    tag: 'Campaigns',
    usage: 'resolve <id>',
    summary: 'settle requests with an unknown outcome',
    description:
      'Settle requests with an unknown outcome. They may or may not have been accepted. On a terminal, without an option, it shows what is known about each and asks. Exit code 3: some are not settled.',
    arguments: { '<id>': 'the campaign: its id, the beginning of it, or last for the newest one' },
    flags: [
      {
        flags: '--request <reference>',
        about: 'only this request, as `volley status` names it (default: all)',
        reads: { as: 'text' },
      },
    ],
    json: 'print one JSON object',
    examples: ['resolve last', 'resolve last --abandon', 'resolve last --resend'],
    byHand: true,
  },
] as const satisfies readonly OperationCommand[];
