import type { EnqueueOutcome } from '../import/campaign-input.js';
import { badInput, EXIT, Refusal } from './exit.js';
import { renderInvalid } from './show-preview.js';
import { counted, grouped } from './text.js';

/** Why `volley send` made no campaign, and what would be right. */
export function refusalOf(outcome: Exclude<EnqueueOutcome, { recipients: number }>): Refusal {
  switch (outcome.kind) {
    case 'invalidRows':
      return refusedRows(outcome);
    case 'repeated':
      return badInput(
        `Campaign ${outcome.id} has the same file, text and sender and is younger than 24 hours: \`volley status ${outcome.id}\`. To send it once more, give --again.`,
        { reason: 'repeated', id: outcome.id },
      );
    case 'conflict':
      return badInput(
        `--idempotency-key belongs to campaign ${outcome.id}, which has another list, text, sender, sender name, lane, time, validity or priority: give what it was made with, or another key.`,
        { reason: 'conflict', id: outcome.id },
      );
    case 'declined':
      return new Refusal(EXIT.failed, 'declined', 'Nothing was sent.');
    default:
      return outcome satisfies never;
  }
}

function refusedRows({ preview }: Extract<EnqueueOutcome, { kind: 'invalidRows' }>): Refusal {
  const { invalid, rows, problems } = preview;
  return badInput(
    [
      `${grouped(invalid)} of ${counted(rows, 'row')} cannot be sent to, so nothing is:`,
      ...renderInvalid(problems, invalid),
      invalid === rows ? 'Mend them.' : 'Mend them, or leave them out with --skip-invalid.',
    ].join('\n'),
    {
      reason: 'invalidRows',
      invalid,
      rows,
      problems: problems.map(({ line, column, reason }) => ({ line, column, reason })),
    },
  );
}
