import { z } from 'zod';
import { resultPage } from '../../campaign/views/recipient-views.js';
import { MAX_CURSOR_LENGTH, MAX_LANES } from '../../reporting/results-cursor.js';
import { byLanesOfKey } from '../access.js';
import { call } from '../operation.js';
import { LANE_FLAG, laneName, several, wholeNumber } from '../schemas/schemas.js';

export const listResults = call({
  name: 'listResults',
  summary: 'Follow the results of recipients',
  description:
    'Returns recipients whose outcome has become final or unknown, of all campaigns, the oldest first, with their current state and your references. Each result is delivered at least once; a later state of a recipient follows an earlier one.',
  httpNote:
    'Campaigns that the key may not see are left out. Process a page, store its `nextCursor`, and pass that as `cursor`, at once if `hasMore` is true, and otherwise in a while. You can continue from a cursor as long as the campaigns are kept (`RETENTION`); after that, the response is 410. Resending to a recipient is not a result; the outcome of that request is. Rows that were left out are results with the status `duplicate` or `invalid`. Messages of outboxes have their `outbox` and your id, `message`, and are results as well if they are cancelled or lapse while they wait.',
  tag: 'Campaigns',
  scope: 'read',
  cost: { itemsPerToken: 250 },
  access: byLanesOfKey,
  http: 'GET /results',
  cli: {
    usage: 'results',
    note: 'Pass the cursor that it prints as --cursor to continue.',
    flags: {
      cursor: { value: 'cursor', about: 'continue after this cursor (default: the oldest result)' },
      lane: { ...LANE_FLAG, about: 'only results of this lane; repeat it for several' },
      limit: { value: 'count', about: 'how many' },
    },
    examples: ['results', 'results --limit 10000 --json'],
  },
  input: z.strictObject({
    cursor: z
      .string()
      .max(MAX_CURSOR_LENGTH)
      .optional()
      .describe('`nextCursor` of an earlier page. Default: the oldest result that is kept'),
    limit: wholeNumber(1, 10_000).default(1_000).describe('The page size'),
    lane: several(laneName, MAX_LANES)
      .optional()
      .describe(
        `Only results of this lane. Repeat it for results of several. Required with more than ${MAX_LANES} lanes`,
      ),
  }),
  output: resultPage,
  isLong: true,
  position: 'results',
  returns: 'A page of results',
  outcomes: ['gone'],
  run: (volley, { cursor, limit }, { lanes }) => volley.results({ cursor, limit, lanes }),
});
