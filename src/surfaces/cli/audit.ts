import { describeActor } from '../../campaign/actor.js';
import type { AuditEntry } from '../../campaign/audit.js';
import type { Answer, Context } from './context.js';
import { withLocalVolley } from './open.js';
import { columnsOf } from './terminal.js';
import { grouped, moment, oneLine, table } from './text.js';

const PAGE = 1_000;

/** `volley audit` */
export function audit(
  context: Context,
  { lane, campaign, limit = 50 }: { lane?: string; campaign?: string; limit?: number },
): Promise<Answer> {
  return withLocalVolley(context, async (volley) => {
    const entries: AuditEntry[] = [];
    const lanes = lane === undefined ? undefined : [lane];
    let after: string | undefined;
    do {
      const page = await volley.audit({
        lanes,
        campaign,
        limit: Math.min(PAGE, limit - entries.length),
        after,
      });
      entries.push(...page.entries);
      after = page.next ?? undefined;
    } while (after !== undefined && entries.length < limit);
    const now = context.clock();
    const rows = withoutAttempts(entries).map((entry) => [
      moment(Date.parse(entry.at), now),
      oneLine(entry.actor === null ? 'unknown' : describeActor(entry.actor)),
      entry.action,
      entry.lane ?? '',
      oneLine(describe(entry)),
    ]);
    const none = 'Nothing is recorded yet.';
    return {
      json: { entries },
      lines:
        rows.length === 0
          ? [none]
          : table(['TIME', 'ACTOR', 'ACTION', 'LANE', 'DETAILS'], rows, columnsOf(context.stdout)),
    };
  });
}

/**
 * An operation is recorded before it runs, and again if it fails. People see a failed one once, with its reason. `entries`: the newest
 * first.
 */
function withoutAttempts(entries: readonly AuditEntry[]): AuditEntry[] {
  const failed = new Map<string, number>();
  return entries.filter((entry) => {
    const operation = JSON.stringify([entry.actor, entry.action, entry.lane, entry.campaign, entry.details]);
    const waiting = failed.get(operation) ?? 0;
    if (entry.failed !== null) failed.set(operation, waiting + 1);
    else if (waiting > 0) failed.set(operation, waiting - 1);
    return entry.failed !== null || waiting === 0;
  });
}

function describe({ campaign, details, failed }: AuditEntry): string {
  const parts = Object.entries(details).map(([name, value]) =>
    name === 'lanes' && value === 'all lanes'
      ? value
      : `${name} ${typeof value === 'number' ? grouped(value) : value}`,
  );
  return [
    ...(campaign === null ? [] : [campaign]),
    ...parts,
    ...(failed === null ? [] : [`failed: ${failed}`]),
  ].join(', ');
}
