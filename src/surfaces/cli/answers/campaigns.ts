import { until } from '../../../base/moments.js';
import { CAMPAIGN_STATE } from '../../../campaign/states/campaign.js';
import * as campaigns from '../../../operations/rows/campaigns.js';
import * as results from '../../../operations/rows/results.js';
import { dateOf } from '../../../operations/schemas/schemas.js';
import { cancelWarning, DONE } from '../../../operations/words.js';
import { HOW_TO_CREATE } from '../context/action.js';
import { startTime } from '../flags/start-time.js';
import { destinationOf, via } from '../open/destination.js';
import { listLines, moreLines } from '../output/list.js';
import { costText } from '../output/progress.js';
import { tableOf, timeText } from '../output/table.js';
import { columnsOf } from '../output/terminal.js';
import { counted, cut, explanation, oneLine } from '../output/text.js';
import { noteIfNoWorkers } from '../watch/watch.js';
import type { Answers, Questions, Scene, Typed } from './answer.js';

const operations = { ...campaigns, ...results };

/** The library says best what is wrong with a change. */
const typed: Typed = { setCampaign: (given: Readonly<Record<string, unknown>>) => given };

const answers: Answers<'Campaigns', typeof operations> = {
  async listCampaigns(found, { context: { clock, stdout }, volley, input, lanes }, cursor) {
    if (found.length === 0) {
      const isFiltered = Object.values(input).some((value) => value !== undefined);
      return [isFiltered ? 'No campaign matches these options.' : `No campaigns yet. ${HOW_TO_CREATE}`];
    }
    const lines = listLines(found, clock(), columnsOf(stdout));
    if (cursor === null) return lines;
    const { lane: _lane, ...wanted } = input;
    const [createdFrom, createdBefore] = [dateOf(wanted.createdFrom), dateOf(wanted.createdBefore)];
    const rest = await volley.count({ ...wanted, createdFrom, createdBefore, lanes, cursor });
    return [...lines, ...moreLines(rest, found.length)];
  },

  async setCampaign(run, { context: { clock }, volley, setting: { config }, input }) {
    const { sendAt } = input;
    let start: number | undefined;
    if (typeof sendAt === 'string') {
      const { lane, zone: own } = await volley.status(input.id);
      const { zone = own } = input;
      start = startTime(config, { sendAt, zone: zone ?? undefined, lane }, clock());
    }
    const done = await run(start === undefined ? {} : { sendAt: new Date(start).toISOString() });
    return { json: done, lines: [DONE.setCampaign.text(done, input)] };
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

  getReport: {
    async after({ volley, input: { id } }) {
      const { cost } = await volley.status(id);
      return { json: { cost }, lines: cost === null ? [] : [`The campaign costs ${costText(cost)}.`] };
    },
  },

  async listResults(run, { context, input: { cursor } }) {
    const page = await run();
    const none = `There are no results${cursor === undefined ? '' : ' after the cursor'} yet.`;
    return {
      json: page,
      lines: [
        ...tableOf(context.stdout, page.results, none, {
          'REFERENCE OR ID': ({ reference, message }) => reference ?? message,
          RECIPIENT: ({ to }) => to,
          STATUS: ({ status }) => status,
          CAMPAIGN: ({ campaign, outbox, lane }) => campaign ?? `outbox ${outbox} (lane ${lane})`,
          UPDATED: ({ updatedAt }) => timeText(updatedAt, context.clock()),
          REASON: explanation,
        }),
        `${page.hasMore ? 'More' : 'Later results'}: volley results --cursor ${page.nextCursor}`,
      ],
    };
  },
};

const questions: Questions = {
  async cancelCampaign({ volley, input }: Scene<{ readonly id: string }>) {
    const { id, name, state, counts } = await volley.status(input.id);
    // Otherwise the command changes nothing, or explains why it cannot.
    const { commands } = CAMPAIGN_STATE[state];
    const isActive = state !== 'cancelled' && commands.some((command) => command === 'cancel');
    if (!isActive || counts.planned === 0) return null;
    return `Campaign ${id} (${cut(oneLine(name), 40)}): ${cancelWarning(counts)} Cancel it?`;
  },

  async deleteCampaign({ volley, input: { id } }: Scene<{ readonly id: string }>) {
    const { name, counts } = await volley.status(id);
    return `Delete campaign ${id} (${cut(oneLine(name), 40)}) with ${counted(counts.total, 'recipient')}? This cannot be undone.`;
  },
};

export { answers, operations, questions, typed };
