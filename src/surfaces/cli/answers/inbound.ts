import { moment } from '../../../base/moments.js';
import type { InboundMessage } from '../../../campaign/states/inbound.js';
import * as operations from '../../../operations/inbound.js';
import { columnsOf } from '../output/terminal.js';
import { counted, oneLine, table } from '../output/text.js';
import type { Answers } from './answer.js';

const answers: Answers<'Replies', typeof operations> = {
  listInbound(messages, { context: { clock, stdout } }) {
    const now = clock();
    const rows = messages.map((message) => [
      moment(Date.parse(message.receivedAt), now),
      message.lane,
      oneLine(message.from),
      oneLine(message.to),
      oneLine(message.text),
      describe(message),
    ]);
    const heading = ['TIME', 'LANE', 'FROM', 'TO', 'TEXT', 'EFFECT'];
    return rows.length === 0 ? ['No message has arrived.'] : table(heading, rows, columnsOf(stdout));
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
