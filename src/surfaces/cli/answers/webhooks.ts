import { EXIT } from '../../../base/exit-codes.js';
import { moment } from '../../../base/moments.js';
import type { Webhook } from '../../../campaign/views/webhook-views.js';
import * as operations from '../../../operations/webhooks.js';
import { columnsOf } from '../output/terminal.js';
import { counted, oneLine, table } from '../output/text.js';
import type { Answers } from './answer.js';

const answers: Answers<'Webhooks', typeof operations> = {
  async addWebhook(run, { context }) {
    const made = await run();
    // Only the secret goes to standard output, so that a script can store it in a file or a variable.
    context.note(
      `Webhook ${made.id} posts events of ${lanesOf(made)} to ${oneLine(made.url)}. To test it: volley webhook test ${made.id}. Its secret is shown only once:`,
    );
    return { json: made, lines: [made.secret] };
  },

  async listWebhooks(run, { context: { clock, stdout } }) {
    const { webhooks } = await run();
    const now = clock();
    const rows = webhooks.map((each) => [
      each.id,
      oneLine(each.url),
      each.lanes === null ? 'all' : each.lanes.join(','),
      stateOf(each),
      String(each.waitingCount),
      String(each.failedCount),
      each.lastDeliveredAt === null ? 'never' : moment(Date.parse(each.lastDeliveredAt), now),
    ]);
    const heading = ['ID', 'URL', 'LANES', 'STATE', 'WAITING', 'REFUSED', 'LAST DELIVERY'];
    const none = 'There are no webhooks yet. To add one: volley webhook add https://shop.example/volley';
    return {
      json: { webhooks },
      lines: rows.length === 0 ? [none] : table(heading, rows, columnsOf(stdout)),
    };
  },

  async getWebhook(run, { context }) {
    const shown = await run();
    return { json: shown, lines: linesOf(shown, context.clock()) };
  },

  async testWebhook(run) {
    const test = await run();
    const line =
      test.outcome === 'accepted'
        ? `The endpoint accepted the test with status ${test.status} after ${test.took}.`
        : `The endpoint did not accept the test: ${oneLine(test.reason ?? '')}.`;
    return { json: test, lines: [line], ...(test.outcome === 'accepted' ? {} : { exit: EXIT.failed }) };
  },

  async rotateWebhook(run, { context }) {
    const made = await run();
    const former =
      made.oldSecretUntil === null
        ? 'Its events are no longer signed with the former one.'
        : `Until ${moment(Date.parse(made.oldSecretUntil), context.clock())}, its events are signed with the former one as well.`;
    context.note(`Webhook ${made.id} has another secret. ${former} The new one is shown only once:`);
    return { json: made, lines: [made.secret] };
  },

  async listFailedDeliveries(run, { context: { clock, stdout }, input: { id } }) {
    const { failed } = await run();
    const now = clock();
    const rows = failed.map((each) => [
      each.id,
      each.type,
      each.lane,
      String(each.resultCount),
      moment(Date.parse(each.failedAt), now),
      oneLine(each.reason),
    ]);
    const heading = ['ID', 'TYPE', 'LANE', 'RESULTS', 'GIVEN UP', 'REASON'];
    const none = `Webhook ${id} has refused no event.`;
    return { json: { failed }, lines: rows.length === 0 ? [none] : table(heading, rows, columnsOf(stdout)) };
  },
};

const lanesOf = ({ lanes }: Pick<Webhook, 'lanes'>): string =>
  lanes === null ? 'all lanes' : `lane${lanes.length === 1 ? '' : 's'} ${lanes.join(', ')}`;

const stateOf = ({ state, disabledBecause, failingSince }: Webhook): string => {
  if (state === 'disabled') return `disabled (${disabledBecause})`;
  return failingSince === null ? 'enabled' : 'failing';
};

function linesOf(shown: Webhook, now: number): string[] {
  const { failingSince, lastError, removedCount, failedCount, lastDeliveredAt, oldSecretUntil } = shown;
  const at = (time: string): string => moment(Date.parse(time), now);
  return [
    `Webhook ${shown.id}: ${oneLine(shown.url)} (${lanesOf(shown)}), ${stateOf(shown)}`,
    `Accepted ${counted(shown.deliveredCount, 'event')} with ${counted(shown.resultCount, 'result')}${lastDeliveredAt === null ? '' : `, the last one ${at(lastDeliveredAt)}`}; ${counted(shown.waitingCount, 'event')} waiting`,
    ...(failingSince === null ? [] : [`Failing since ${at(failingSince)}: ${oneLine(lastError ?? '')}`]),
    ...(failedCount === 0
      ? []
      : [`Refused ${counted(failedCount, 'event')}. To list them: volley webhook failed ${shown.id}`]),
    ...(removedCount === 0
      ? []
      : [
          `At least ${counted(removedCount, 'result')} removed at the end of RETENTION before they were delivered`,
        ]),
    ...(oldSecretUntil === null ? [] : [`The former secret signs until ${at(oldSecretUntil)}`]),
  ];
}

export { answers, operations };
