import { InputError, VolleyError } from '../../campaign/errors/errors.js';

/** The campaign has another revision than the change is about. Nothing was changed. */
export class OtherRevisionError extends VolleyError {
  override readonly name = 'OtherRevisionError';
  readonly code = 'unexpected';
  /** The current one. */
  readonly revision: number;

  constructor(id: string, revision: number) {
    super(
      `campaign ${id} has revision ${revision} by now: read it again, and decide whether you still want the change`,
    );
    this.revision = revision;
  }
}

/** The campaign would cost more than it may. Nothing was changed. */
export class OverBudgetError extends InputError {
  override readonly name = 'OverBudgetError';
  override readonly code = 'overBudget';

  constructor(total: string, currency: string) {
    super(`the campaign would cost ${total} ${currency}: raise \`maxCost\`, or shorten the text`, {
      field: 'maxCost',
    });
  }
}

/** What the campaign would cost is not known. Nothing was changed. */
export class UnpricedError extends InputError {
  override readonly name = 'UnpricedError';
  override readonly code = 'noPrice';

  constructor(unpriced: number) {
    super(`${unpriced} of its numbers have no price, so a limit of the cost cannot be checked`, {
      field: 'maxCost',
    });
  }
}
