import { join } from 'node:path';
import type { Volley } from '../../../app/volley.js';
import type { LocalConfig } from '../../../base/config/index.js';
import { EXIT } from '../../../base/exit-codes.js';
import { until } from '../../../base/moments.js';
import { asSentence } from '../../../campaign/errors/errors.js';
import { numberReader } from '../../../campaign/numbers/number.js';
import { compileTemplate } from '../../../campaign/text/template.js';
import type { Preview } from '../../../campaign/views/preview-views.js';
import {
  type CampaignInput,
  type CampaignRefusal,
  type CreatedCampaign,
  type EnqueueOutcome,
  localZone,
} from '../../../intake/import/campaign-input.js';
import { rowsOf } from '../../../intake/import/open-list.js';
import type { RecipientInput } from '../../../intake/import/read-objects.js';
import { checkRows } from '../../../intake/import/rows/check-rows.js';
import { refusedCampaign } from '../../../operations/rows/refused-campaign.js';
import { listenForStop } from '../../lifecycle.js';
import { confirm } from '../context/ask.js';
import type { Answer, Context } from '../context/context.js';
import { badInput, CliError, interrupted } from '../context/errors.js';
import { readNumbers, STDIN } from '../files/input.js';
import type { CampaignFlags } from '../flags/campaign-flags.js';
import { mustBeInFuture, startTime } from '../flags/start-time.js';
import { destinationOf, via } from '../open/destination.js';
import { type Setting, withLocalVolley } from '../open/open.js';
import { withOptions } from '../output/option-names.js';
import { fixOf } from '../output/refusal.js';
import { counted, money } from '../output/text.js';
import { howToStop, noteIfNoWorkers, watchCampaign } from '../watch/watch.js';
import { type InvalidFile, invalidFile } from './invalid-file.js';
import { campaignInput, leftOut, lookOf, renderInvalid, renderPreview, renderWarnings } from './preview.js';
import { getsTwice, leftOutBefore, withOnlyNewAdvice, withTextWarnings } from './sent-before.js';

interface SendOptions extends CampaignFlags<'campaign'> {
  testTo?: string;
  onlyNew?: boolean;
  yes?: boolean;
  wait?: boolean;
}

/** What an interrupted command did, before the campaign is confirmed. */
const NOTHING_SENT = 'nothing was sent';

/** `volley send` */
export async function send(
  context: Context,
  file: string | undefined,
  options: SendOptions,
): Promise<Answer> {
  const asks = options.yes !== true;
  if (asks && !context.interactive) {
    throw badInput(
      'This is not a terminal, so Volley cannot ask for confirmation. Add --yes to send without a question. To check first, write `preview` in place of `send`.',
    );
  }
  return withLocalVolley(context, async (volley, setting) => {
    const { config, simulator } = setting;
    if (simulator !== undefined) context.note('Messages go to a simulator, not to phones.');
    const sendAt = startTime(config, options, context.clock());
    const zone = localZone(config, options) ?? null;
    // With an idempotency key, a repeated command returns the first campaign even if its time has passed.
    if (options.idempotencyKey === undefined) mustBeInFuture(sendAt, context.clock(), zone);
    const input = await campaignInput(context, volley, file, { ...options, sendAt });
    const bad = options.skipInvalid ? invalidFile(invalidBeside(context, file, options)) : undefined;
    const interrupt = listenForStop();
    let isConfirmed = false;
    let outcome: EnqueueOutcome;
    try {
      outcome = await volley.enqueue({
        ...(options.testTo === undefined
          ? input
          : await sampleInput(context, volley, input, file ?? '', options.testTo, config.defaultCountry)),
        idempotencyKey: options.idempotencyKey,
        estimate: asks,
        signal: interrupt.signal,
        again: options.again === true || options.testTo !== undefined,
        ...(bad === undefined ? {} : { skipInvalid: true, onInvalid: bad.add }),
        onWait: () =>
          context.note(
            'Waiting for another upload of this list. If it was interrupted, it is discarded after about 15 seconds.',
          ),
        async confirm(preview) {
          mustBeInFuture(sendAt, context.clock(), zone);
          interrupt.signal.throwIfAborted();
          isConfirmed = asks ? await ask(context, setting, preview, interrupt.signal) : true;
          if (!asks)
            for (const line of renderWarnings(withTextWarnings(preview), lookOf(context, context.stderr)))
              context.note(line);
          return isConfirmed;
        },
      });
    } catch (error) {
      bad?.discard();
      // Once it is confirmed, nothing checks the signal any more, so another error has its own reason.
      throw interrupt.signal.aborted && !isConfirmed ? interrupted(NOTHING_SENT) : withOnlyNewAdvice(error);
    } finally {
      interrupt.dispose();
    }
    // If the campaign existed before, so does the file of its invalid rows.
    if (outcome.outcome !== 'created') bad?.discard();
    if (outcome.outcome === 'refused') throw refusalOf(outcome);
    const answer = await created(
      context,
      volley,
      { destination: destinationOf(setting, outcome.lane), zone },
      options.wait === true && !interrupt.signal.aborted,
      outcome,
      bad,
    );
    if (!interrupt.signal.aborted) return answer;
    context.note(`Interrupted, but the campaign was already created. ${howToStop(outcome.id)}`);
    return { ...answer, exit: EXIT.interrupted };
  });
}

/** Shows what is sent, and asks whether to send it. */
function ask(
  context: Context,
  setting: Setting<LocalConfig>,
  preview: Preview,
  signal: AbortSignal,
): Promise<boolean> {
  const destination = destinationOf(setting, preview.lane);
  for (const line of renderPreview(preview, destination, lookOf(context, context.stderr))) context.note(line);
  const { recipientCount } = preview;
  const question =
    recipientCount === 0
      ? `No recipient gets a message. Create the campaign${via(destination)} anyway?`
      : `Send to ${counted(recipientCount, 'recipient')}${getsTwice(preview)}${forCost(preview)}${via(destination)}${starting(preview, context.clock())}?`;
  return confirm(context, question, { consequence: NOTHING_SENT, signal });
}

/** ` for 47.04 EUR`; empty if no prices are configured. */
function forCost({ cost }: Pick<Preview, 'cost'>): string {
  if (cost === null) return '';
  return ` for ${cost.unpriced > 0 ? 'at least ' : ''}${money(cost.total, cost.currency)}`;
}

/** `, starting Tue 24 Nov 09:00 CET (in 11h)`; empty for a campaign that starts at once. */
function starting({ sendAt, zone }: Pick<Preview, 'sendAt' | 'zone'>, now: number): string {
  return sendAt === null ? '' : `, starting ${until(sendAt, now, zone)}`;
}

/** The list beside which the file of the invalid rows is. Results of a campaign have none. */
function invalidBeside({ cwd }: Context, file: string | undefined, { toResultsOf }: SendOptions): string {
  if (file === undefined) return join(cwd, `results-of-${toResultsOf?.campaign}`);
  return file === STDIN ? join(cwd, 'stdin') : file;
}

/**
 * A campaign with one recipient, `number`, and the values of the first valid row of the list, to see the message on a
 * phone (`send --test-to`). The rest of the list is not read.
 */
async function sampleInput(
  context: Context,
  volley: Volley,
  input: CampaignInput,
  file: string,
  typed: string,
  defaultCountry: string | undefined,
): Promise<CampaignInput> {
  const country = input.country ?? defaultCountry;
  const [number = ''] = await readNumbers(context, [typed]);
  const read = numberReader(country)(number);
  if (!read.ok) throw badInput(`option '--test-to <number>': ${withOptions(read.reason)}.`);
  const { lane, template } = input;
  const saved = template === undefined ? undefined : await volley.templates.get(template, { lane });
  const list = await rowsOf(input.recipients, input);
  const compiled = compileTemplate(input.message ?? saved?.message ?? '', list.columns);
  if (!compiled.ok) {
    list.close();
    throw badInput(`${saved === undefined ? '--message' : `Template ${saved.name}`}: ${compiled.reason}`);
  }
  const checked = await checkRows(list, {
    toColumn: input.toColumn,
    countryColumn: input.countryColumn,
    defaultCountry: country,
    template: compiled.template,
  });
  const { columns } = checked;
  for await (const batch of checked.batches) {
    const row = batch.find((candidate) => candidate.kind === 'recipient');
    if (row?.kind !== 'recipient') continue;
    const values = Object.fromEntries(
      compiled.template.placeholders.map((name) => [name, row.values[columns.indexOf(name)] ?? '']),
    );
    const recipient: RecipientInput = { ...values, to: read.number };
    return {
      ...input,
      recipients: [recipient],
      toColumn: 'to',
      countryColumn: undefined,
      zoneColumn: undefined,
      timeColumn: undefined,
      // The zone of a row is not that of this phone.
      zoneFrom: input.window?.zone === undefined ? undefined : 'number',
      // A sample may be sent as often as someone looks at it.
      sentBefore: undefined,
      name: `sample of ${input.name}`,
    };
  }
  throw badInput(`No row of ${file} is valid. To see what is wrong with each row: volley preview ${file}`);
}

/** Why no campaign was created, and what to do. */
function refusalOf(outcome: CampaignRefusal): CliError {
  const { code, message, campaign, preview } = outcome;
  if (code === 'declined') return new CliError(code, 'Nothing was sent.');
  const see = campaign === null ? '' : ` See \`volley status ${campaign}\`.`;
  const text = `${asSentence(message)} Nothing was sent.${see} ${fixOf(code, preview)}`;
  const rows = code === 'invalidRows' ? renderInvalid(preview) : [];
  return new CliError(code, [text, ...rows].join('\n'), refusedCampaign(outcome).members);
}

/** Describes the campaign. With `wait` it follows the campaign to its end and shows progress. */
async function created(
  context: Context,
  volley: Volley,
  { destination, zone }: { readonly destination: string | null; readonly zone: string | null },
  wait: boolean,
  campaign: CreatedCampaign,
  bad: InvalidFile | undefined,
): Promise<Answer> {
  const { id, outcome, state, recipientCount, duplicates, sentBefore } = campaign;
  const file = bad?.end();
  const json = { ...campaign, destination, ...(file && { invalidFile: file.path }) };
  const left = leftOut(campaign);
  const start = { sendAt: state === 'scheduled' ? campaign.sendAt : null, zone };
  const lines = [
    outcome === 'existing'
      ? `Campaign ${id}${via(destination)} was already created with this idempotency key; nothing was added.`
      : `Campaign ${context.paint('bold', id)}: ${counted(recipientCount, 'recipient')}${forCost(campaign)}${via(destination)}${starting(start, context.clock())}${left === '' ? '' : `; left out: ${left}`}.`,
    ...(file === undefined ? [] : [`The invalid rows are in ${file.path}.`]),
    ...(duplicates === 0
      ? []
      : [
          `${leftOutBefore(sentBefore) === null ? 'The duplicates are' : 'Who was left out is'} listed in its report: volley report ${id} --status duplicate`,
        ]),
    `To see its progress: volley status ${id} --watch`,
  ];
  await noteIfNoWorkers(context, volley);
  if (!wait) return { json, lines };
  if (!context.json) for (const line of lines.slice(0, -1)) context.note(line);
  const { status, exit } = await watchCampaign(context, volley, id);
  if (exit === EXIT.done && status.state === 'cancelled') {
    throw new CliError('cancelled', `Campaign ${id} was cancelled.`, { ...json, status });
  }
  return { json: { ...json, status }, lines: [`${id} ${status.state}`], exit };
}
