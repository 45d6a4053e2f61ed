import { z } from 'zod';
import type { Operator } from '../../campaign/states/audit.js';
import { outboxId, outboxKeys } from '../../engine/recipients/outbox-messages.js';
import { laneScript } from '../../engine/scripts/lane-script.js';
import { OutboxNotEmptyError } from './definition/errors.js';
import { unindexOutbox } from './definition/outbox-index.js';
import { noSuchOutbox, type Opened, type OutboxesOptions } from './open-outbox.js';

/** Deletes an outbox. */
export interface OutboxDeleter {
  /**
   * Deletes an outbox that has forgotten all its messages, as it does `RETENTION` after they have ended. Rejects with an
   * `OutboxNotEmptyError` if it knows any: an outbox of the same name could send them again.
   */
  delete(): Promise<void>;
}

const deleteScript = laneScript(import.meta.url, './delete-outbox.lua', (reply) => {
  const [outcome, waiting, known] = z
    .tuple([z.enum(['deleted', 'missing', 'kept']), z.number(), z.number()])
    .parse(reply);
  return { outcome, waiting, known };
});

/** Deletes an outbox for an operator. */
export function outboxDeleter(
  { redis, keys }: Pick<OutboxesOptions, 'redis' | 'keys'>,
  by: Operator,
  name: string,
  open: () => Promise<Opened>,
): OutboxDeleter {
  return {
    async delete() {
      const { lane, forget } = await open();
      const { fixed } = outboxKeys(keys, lane.id, name);
      await by.audited({ action: 'outbox.delete', lane: lane.id, details: { outbox: name } }, async () => {
        const { outcome, waiting, known } = await deleteScript(lane, { name, id: outboxId(name) }, [], {
          ownKeys: fixed,
        });
        if (outcome === 'kept') throw notEmpty(name, waiting, known);
        forget();
        await unindexOutbox(redis, keys, lane.id, name);
        if (outcome === 'missing') throw noSuchOutbox(name);
      });
    },
  };
}

function notEmpty(name: string, waiting: number, known: number): OutboxNotEmptyError {
  const rest = `it can be deleted when it has forgotten all its messages, RETENTION after they have ended`;
  return new OutboxNotEmptyError(
    waiting > 0
      ? `messages wait in outbox ${name} (${waiting}): cancel them first; ${rest}`
      : `outbox ${name} still knows ids of messages that were sent or have ended (${known}), so that none is sent twice: ${rest}. Close it until then`,
  );
}
