import { expect, test } from 'vitest';
import { scene } from '../../scene/scene.js';

const { open } = scene('unchanged', { settings: { SENDER_ADDRESS: 'ACME' } });
const TO = '+447700900123';

test('A command that changes nothing is answered as before, and is not recorded', async () => {
  const volley = open();
  const at = Date.now() + 3_600_000;
  const created = await volley.enqueue({ message: 'Hi', sendAt: at, recipients: [{ to: TO }] });
  if (created.outcome !== 'created') throw new Error(created.outcome);
  const { id } = created;
  const weekly = { id: 'weekly', cron: '0 9 * * 1', zone: 'UTC', message: 'Hi', recipients: [{ to: TO }] };
  const box = volley.outbox('box');
  /** The actions that are recorded while these commands run, oldest first. */
  const recorded = async (...commands: (() => Promise<unknown>)[]): Promise<string[]> => {
    const before = (await volley.audit({ limit: 1 })).entries[0]?.id;
    for (const command of commands) await command();
    const { entries } = await volley.audit();
    const from = entries.findIndex((entry) => entry.id === before);
    return entries
      .slice(0, from === -1 ? entries.length : from)
      .map(({ action }) => action)
      .reverse();
  };
  const once = [
    ['campaign.pause', () => volley.pause(id)],
    ['campaign.resume', () => volley.resume(id)],
    ['campaign.cancel', () => volley.cancel(id)],
    ['lane.hold', () => volley.holdLane('default')],
    ['lane.resume', () => volley.resumeLane('default')],
    ['outbox.create', () => volley.outboxes.create({ name: 'box', message: 'Hi' })],
    ['outbox.pause', () => box.pause()],
    ['outbox.resume', () => box.resume()],
    ['outbox.close', () => box.close()],
    ['schedule.add', () => volley.schedules.add(weekly)],
    ['schedule.pause', () => volley.schedules.pause('weekly')],
    ['schedule.resume', () => volley.schedules.resume('weekly')],
    ['schedule.run', () => volley.schedules.run('weekly')],
    ['suppression.add', () => volley.suppression.add([TO])],
    ['suppression.remove', () => volley.suppression.remove([TO])],
  ] as const;
  for (const [action, command] of once) {
    expect(await recorded(command)).toEqual([action]);
    // An addition counts even if the number is on the list: the entry has one more reason to stay.
    if (action !== 'suppression.add') expect(await recorded(command), action).toEqual([]);
  }
  const refused = () => expect(volley.pause(id)).rejects.toThrow(`campaign ${id} is cancelled`);
  const nothing = () => volley.resolve(id, { as: 'abandon' });
  expect(await recorded(refused, nothing)).toEqual([]);
  expect(await volley.cancel(id)).toEqual({ inFlight: 0, cancelled: 0 });
});
