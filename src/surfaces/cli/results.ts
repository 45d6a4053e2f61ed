import { EXIT } from '../../base/exit-codes.js';
import { GoneError } from '../../campaign/errors.js';
import type { ResultPage } from '../../campaign/recipient-views.js';
import type { Answer, Context } from './context.js';
import { CliError } from './errors.js';
import { withLocalVolley } from './open.js';
import { columnsOf } from './terminal.js';
import { explanation, moment, oneLine, table } from './text.js';

/** `volley results` */
export function results(
  context: Context,
  { after, lane, limit }: { after?: string; lane?: string; limit?: number },
): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const lanes = lane === undefined ? undefined : [lane];
    const page = await orGone(volley.results({ after, lanes, limit }));
    const now = context.clock();
    const rows = page.results.map((result) => [
      oneLine(result.reference || result.message),
      result.recipient,
      result.status,
      result.campaign || `outbox ${result.outbox} (lane ${result.lane})`,
      result.updatedAt === '' ? '' : moment(Date.parse(result.updatedAt), now),
      explanation(result),
    ]);
    const heading = ['REFERENCE OR ID', 'RECIPIENT', 'STATUS', 'CAMPAIGN', 'UPDATED', 'REASON'];
    const none =
      after === undefined ? 'There are no results yet.' : 'There are no results after the cursor yet.';
    return {
      json: page,
      lines: [
        ...(rows.length === 0 ? [none] : table(heading, rows, columnsOf(context.stdout))),
        `${page.hasMore ? 'More' : 'Later results'}: volley results --after ${page.next}`,
      ],
    };
  });
}

async function orGone(reading: Promise<ResultPage>): Promise<ResultPage> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof GoneError) throw new CliError(EXIT.badInput, 'gone', error.message);
    throw error;
  }
}
