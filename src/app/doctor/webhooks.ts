import { counted } from '../../base/counted.js';
import { moment } from '../../base/moments.js';
import { oneLine } from '../../campaign/text/visible-text.js';
import type { Webhook } from '../../campaign/views/webhook-views.js';
import { type Finding, fail, firstFew, ok, warn } from './check.js';

/** A few failures are normal: the retries begin after 5 s and 5 min. */
const FAILING_FOR_MS = 10 * 60_000;

/** Whether webhooks are disabled, fail, or have lost results. */
export function checkWebhooks(webhooks: readonly Webhook[], now: number): Finding[] {
  const name = 'webhooks';
  const disabled = webhooks.filter(
    ({ disabledBecause }) => disabledBecause !== null && disabledBecause !== 'operator',
  );
  const failing = webhooks.filter(
    ({ state, failingSince }) =>
      state === 'enabled' && failingSince !== null && Date.parse(failingSince) < now - FAILING_FOR_MS,
  );
  const lossy = webhooks.filter(({ removedCount }) => removedCount > 0);
  const refused = webhooks.filter(({ failedCount }) => failedCount > 0);
  const others = webhooks.length - new Set([...disabled, ...failing, ...lossy, ...refused]).size;
  return [
    ...firstFew(disabled, ({ id, disabledBecause, lastError }) =>
      fail(
        name,
        `${id} is disabled (${disabledBecause})${lastError === null ? '' : `: ${oneLine(lastError)}`}`,
        disabledBecause?.startsWith('key')
          ? `Give it to another key: volley webhook assign ${id} --key KEY`
          : `Fix the receiver, then: volley webhook enable ${id}`,
      ),
    ),
    ...firstFew(failing, ({ id, failingSince, lastError }) =>
      warn(
        name,
        `${id} has failed since ${moment(Date.parse(failingSince ?? ''), now)}: ${oneLine(lastError ?? '')}`,
        `Fix the receiver, then: volley webhook test ${id}`,
      ),
    ),
    ...firstFew(refused, ({ id, failedCount }) =>
      warn(
        name,
        `${id} refused ${counted(failedCount, 'event')} while it accepted others`,
        `To list them: volley webhook failed ${id}. To send them again: volley webhook replay ${id}`,
      ),
    ),
    ...firstFew(lossy, ({ id, removedCount }) =>
      warn(
        name,
        `${id} missed at least ${counted(removedCount, 'result')}, which RETENTION removed`,
        'Keep campaigns for longer, or remove the webhook: volley webhook show says how far it lags.',
      ),
    ),
    ...(others > 0 ? [ok(name, `${counted(others, 'webhook')} without a problem`)] : []),
  ];
}
