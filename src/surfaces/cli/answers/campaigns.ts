import { moment, until } from '../../../base/moments.js';
import { CAMPAIGN_STATE } from '../../../campaign/campaign.js';
import * as campaigns from '../../../operations/campaigns.js';
import * as results from '../../../operations/results.js';
import { destinationOf, via } from '../destination.js';
import { CliError } from '../errors.js';
import { costText } from '../progress.js';
import { columnsOf } from '../terminal.js';
import { counted, cut, explanation, grouped, oneLine, table } from '../text.js';
import { noteIfNoWorkers } from '../watch.js';
import type { Answers, Scene } from './answer.js';

const operations = { ...campaigns, ...results };

const answers: Answers<'Campaigns', typeof operations> = {
  async pauseCampaign(run) {
    const paused = await run();
    const { id, inFlight } = paused;
    const rest =
      inFlight === 0
        ? 'No requests are in flight'
        : `${counted(inFlight, 'request')} in flight will be finished`;
    return { json: paused, lines: [`Campaign ${id} is paused. ${rest}. To resume it: volley resume ${id}`] };
  },

  async resumeCampaign(run, { context, volley, setting, input: { id } }) {
    const { state: before, lane } = await volley.status(id);
    const destination = destinationOf(setting, lane);
    const { state } = await run();
    const { sendAt, zone } = await volley.status(id);
    await noteIfNoWorkers(context, volley);
    const done = before === 'paused' ? 'is resumed' : 'was not paused';
    const next =
      state === 'scheduled' && sendAt !== null
        ? `starts ${until(sendAt, context.clock(), zone)}`
        : `is ${state}`;
    return {
      json: { id, destination, state },
      lines: [`Campaign ${id}${via(destination)} ${done}. It ${next}.`],
    };
  },

  async cancelCampaign(run, scene) {
    if (scene.asks) await confirmCancel(scene);
    const done = await run();
    const { id, cancelled, inFlight } = done;
    const rest =
      cancelled === 0 ? 'Nothing was left to send' : `${counted(cancelled, 'recipient')} will get no message`;
    const running = cancelled + inFlight === 0 ? '' : `; ${counted(inFlight, 'request')} in flight`;
    return { json: done, lines: [`Campaign ${id} is cancelled. ${rest}${running}.`] };
  },

  async deleteCampaign(run, { asks, context, volley, input: { id } }) {
    if (asks) {
      const { name, counts } = await volley.status(id);
      const question = `Delete campaign ${id} (${cut(oneLine(name), 40)}) with ${counted(counts.total, 'recipient')}? This cannot be undone.`;
      if (!(await context.confirm(question, 'nothing was deleted')))
        throw new CliError('declined', 'Nothing was deleted.');
    }
    const done = await run();
    return { json: done, lines: [`Campaign ${id} is deleted.`] };
  },

  getReport: {
    async after({ volley, input: { id } }) {
      const { cost } = await volley.status(id);
      return { json: { cost }, lines: cost === null ? [] : [`The campaign costs ${costText(cost)}.`] };
    },
  },

  async listResults(run, { context, input: { cursor } }) {
    const page = await run();
    const now = context.clock();
    const rows = page.results.map((result) => [
      oneLine(result.reference ?? result.message ?? ''),
      oneLine(result.to ?? ''),
      result.status,
      result.campaign ?? `outbox ${result.outbox} (lane ${result.lane})`,
      result.updatedAt === null ? '' : moment(Date.parse(result.updatedAt), now),
      explanation(result),
    ]);
    const heading = ['REFERENCE OR ID', 'RECIPIENT', 'STATUS', 'CAMPAIGN', 'UPDATED', 'REASON'];
    const none = `There are no results${cursor === undefined ? '' : ' after the cursor'} yet.`;
    return {
      json: page,
      lines: [
        ...(rows.length === 0 ? [none] : table(heading, rows, columnsOf(context.stdout))),
        `${page.hasMore ? 'More' : 'Later results'}: volley results --cursor ${page.nextCursor}`,
      ],
    };
  },
};

/** Asks whether to cancel an active campaign. Throws if the answer is no. */
async function confirmCancel({ context, volley, input }: Scene<{ readonly id: string }>): Promise<void> {
  const { id, name, state, counts } = await volley.status(input.id);
  // Otherwise the command changes nothing, or explains why it cannot.
  const { commands } = CAMPAIGN_STATE[state];
  if (state === 'cancelled' || !commands.some((command) => command === 'cancel')) return;
  const { planned, sending, total } = counts;
  if (planned === 0) return;
  const inFlight =
    sending === 0
      ? ''
      : ` ${counted(sending, 'more is', 'more are')} in flight and may still get the message.`;
  context.note(
    `Campaign ${id} (${cut(oneLine(name), 40)}): ${grouped(planned)} of ${counted(total, 'recipient')} would get no message.${inFlight}`,
  );
  if (
    await context.confirm(
      `Cancel the messages to ${counted(planned, 'recipient')}? This cannot be undone.`,
      'nothing was cancelled',
    )
  )
    return;
  throw new CliError('declined', 'Nothing was cancelled.');
}

export { answers, operations };
