import { expect, test } from 'vitest';
import { DELIVERY_STATUS, RECIPIENT_STATES } from '../../../src/campaign/states/recipient.js';
import { parseWantedStatus } from '../../../src/campaign/states/reported-status.js';

test('every recipient state is accepted as a status, in any case', () => {
  for (const state of RECIPIENT_STATES) {
    expect(parseWantedStatus(state)).toBe(state);
    expect(parseWantedStatus(` ${state.toUpperCase()} `)).toBe(state);
  }
});

test("the service's spelling of a delivery status is accepted", () => {
  expect(Object.keys(DELIVERY_STATUS).map(parseWantedStatus)).toEqual([
    'deliveredToNetwork',
    'deliveredToTerminal',
    'deliveryImpossible',
    'unconfirmed',
  ]);
});

test('"delivered" is short for deliveredToTerminal', () => {
  expect(parseWantedStatus('delivered')).toBe('deliveredToTerminal');
});

test('an unknown status is not accepted', () => {
  expect(parseWantedStatus('arrived')).toBeNull();
  expect(parseWantedStatus('')).toBeNull();
});
