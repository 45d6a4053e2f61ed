import * as operations from '../../../operations/rows/templates.js';
import { tableOf } from '../output/table.js';
import { cut } from '../output/text.js';
import type { Answers } from './answer.js';

/** Characters of a text that people see. */
const TEXT_SHOWN = 500;

const answers: Answers<'Templates', typeof operations> = {
  async listTemplates(run, { context: { stdout } }) {
    const done = await run();
    const none = 'There are no templates. To save a text: volley template put --help';
    const lines = tableOf(stdout, done.templates, none, {
      NAME: ({ name }) => name,
      SENDER: ({ sender }) => sender,
      COLUMNS: ({ columns }) => columns.join(', '),
      TEXT: ({ message }) => cut(message, TEXT_SHOWN),
    });
    return { json: done, lines };
  },
};

export { answers, operations };
