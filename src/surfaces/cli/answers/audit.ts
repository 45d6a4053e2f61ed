import { describeActor } from '../../../campaign/states/actor.js';
import type { AuditEntry } from '../../../campaign/states/audit.js';
import * as audit from '../../../operations/rows/audit.js';
import * as usage from '../../../operations/rows/usage.js';
import { tableOf, timeText } from '../output/table.js';
import { cut, grouped } from '../output/text.js';
import type { Answers } from './answer.js';

const operations = { ...audit, ...usage };

const answers: Answers<'Operation', typeof operations> = {
  listAuditEntries(entries, { context: { clock, stdout } }) {
    return tableOf(stdout, withoutAttempts(entries), 'Nothing is recorded yet.', {
      TIME: ({ createdAt }) => timeText(createdAt, clock()),
      ACTOR: ({ actor }) => (actor === null ? 'unknown' : describeActor(actor)),
      ACTION: ({ action }) => action,
      LANE: ({ lane }) => lane,
      DETAILS: describe,
    });
  },

  async getUsage(run, { context: { stdout } }) {
    const done = await run();
    const lines = tableOf(stdout, done.days, 'Nothing was sent in this time.', {
      DAY: ({ day }) => day,
      MESSAGES: ({ messageCount }) => grouped(messageCount),
      SEGMENTS: ({ segmentCount }) => grouped(segmentCount),
      COST: ({ cost }) => cost,
      DELIVERED: ({ outcomes }) => grouped(outcomes.deliveredToTerminal),
      FAILED: ({ outcomes }) => grouped(outcomes.deliveryImpossible + outcomes.rejected),
      TAGS: ({ tags }) => cut(tags.map(({ tag }) => tag).join(','), 40),
    });
    return { json: done, lines };
  },
};

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

export { answers, operations };
