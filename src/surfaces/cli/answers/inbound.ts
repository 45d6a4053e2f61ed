import type { InboundMessage } from '../../../campaign/states/inbound.js';
import * as operations from '../../../operations/rows/inbound.js';
import { tableOf, timeText } from '../output/table.js';
import { counted } from '../output/text.js';
import type { Answers } from './answer.js';

const answers: Answers<'Replies', typeof operations> = {
  listInbound(messages, { context: { clock, stdout }, input: { campaign } }) {
    const none =
      campaign === undefined ? 'No message has arrived.' : 'No reply to this campaign has arrived.';
    return tableOf(stdout, messages, none, {
      TIME: ({ receivedAt }) => timeText(receivedAt, clock()),
      LANE: ({ lane }) => lane,
      FROM: ({ from }) => from,
      TO: ({ to }) => to,
      TEXT: ({ text }) => text,
      EFFECT: describe,
    });
  },
};

function describe({ effect }: InboundMessage): string {
  if (effect === null) return '';
  const { wish, isNew, operation, inFlightCount, reply } = effect;
  if (operation === null) return wish === 'stop' ? 'nothing: not a phone number' : 'nothing to lift';
  if (wish === 'start') return `operation ${operation} undone`;
  return [
    isNew ? `suppressed by operation ${operation}` : `suppressed already, by operation ${operation}`,
    ...(inFlightCount === 0 ? [] : [`${counted(inFlightCount, 'message')} in flight`]),
    ...(reply === null ? [] : [`confirmed by ${reply}`]),
  ].join(', ');
}

export { answers, operations };
