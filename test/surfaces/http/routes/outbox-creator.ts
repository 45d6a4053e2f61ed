import { expect } from 'vitest';
import type { ApiServer } from '../../../scene/api.js';

/** The settings of an outbox that reminds of appointments. */
export const OUTBOX = {
  message: 'Hi {{name}}, see you at {{appointment}}',
  sendRule: 'appointment - 24h',
  zone: 'Europe/London',
  late: '2h',
};
export const NUMBER = '+447700900123';

/** A message for {@link OUTBOX}. */
export const message = (change: object = {}) => ({
  to: NUMBER,
  name: 'Ada',
  appointment: '2030-05-01T14:30',
  ...change,
});

/** A function that creates an outbox with a name of its own, and returns its path. */
export function outboxCreator(call: ApiServer['call']): (change?: object) => Promise<string> {
  let names = 0;
  return async (change = {}) => {
    names += 1;
    const name = `outbox-${names}`;
    expect((await call('POST', '/v1/outboxes', { body: { ...OUTBOX, name, ...change } })).status).toBe(201);
    return `/v1/outboxes/${name}`;
  };
}
