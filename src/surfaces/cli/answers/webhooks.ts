import { EXIT } from '../../../base/exit-codes.js';
import { moment } from '../../../base/moments.js';
import type { Webhook } from '../../../campaign/views/webhook-views.js';
import * as operations from '../../../operations/rows/webhooks.js';
import { tableOf, timeText } from '../output/table.js';
import { counted, oneLine } from '../output/text.js';
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
    const none = 'There are no webhooks yet. To add one: volley webhook add https://shop.example/volley';
    const lines = tableOf(stdout, webhooks, none, {
      ID: ({ id }) => id,
      URL: ({ url }) => url,
      LANES: ({ lanes }) => lanes?.join(',') ?? 'all',
      STATE: stateOf,
      WAITING: ({ waitingCount }) => String(waitingCount),
      REFUSED: ({ failedCount }) => String(failedCount),
      'LAST DELIVERY': ({ lastDeliveredAt }) => timeText(lastDeliveredAt, clock()) ?? 'never',
    });
    return { json: { webhooks }, lines };
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

  listFailedDeliveries(failed, { context: { clock, stdout }, input: { id } }) {
    return tableOf(stdout, failed, `Webhook ${id} has refused no event.`, {
      ID: (each) => each.id,
      TYPE: ({ type }) => type,
      LANE: ({ lane }) => lane,
      RESULTS: ({ resultCount }) => String(resultCount),
      'GIVEN UP': ({ failedAt }) => timeText(failedAt, clock()),
      REASON: ({ reason }) => reason,
    });
  },
};

/** The lanes of a webhook, or of a key. */
export const lanesOf = ({ lanes }: Pick<Webhook, 'lanes'>): string =>
  lanes === null ? 'all lanes' : `lane${lanes.length === 1 ? '' : 's'} ${lanes.join(', ')}`;

/** Which events of its lanes an endpoint gets, if not all. */
function filterOf({ events, outboxes, tags }: Webhook): string[] {
  const of = [
    ...(outboxes === null ? [] : [`of outbox ${outboxes.join(', ')}`]),
    ...(tags === null ? [] : [`tagged ${tags.join(', ')}`]),
  ].join(' or ');
  const which = [events?.join(', ') ?? '', of].filter((part) => part !== '');
  return which.length === 0 ? [] : [`Gets only: ${which.join('; ')}`];
}

const stateOf = ({ state, disabledBecause, failingSince }: Webhook): string => {
  if (state === 'disabled') return `disabled (${disabledBecause})`;
  return failingSince === null ? 'enabled' : 'failing';
};

function linesOf(shown: Webhook, now: number): string[] {
  const { failingSince, lastError, removedCount, failedCount, lastDeliveredAt, oldSecretUntil } = shown;
  const at = (time: string): string => moment(Date.parse(time), now);
  return [
    `Webhook ${shown.id}: ${oneLine(shown.url)} (${lanesOf(shown)}), ${stateOf(shown)}`,
    ...filterOf(shown),
    ...(shown.key === null ? [] : [`Belongs to API key ${shown.key}, and ends with it`]),
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
