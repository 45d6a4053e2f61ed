import { expect, test } from 'vitest';
import { DELIVERY_STATUS, parseReportedStatus, RECIPIENT_STATES } from '../../src/campaign/recipient.js';

test('every recipient state is accepted as a status, in any case', () => {
  for (const state of RECIPIENT_STATES) {
    expect(parseReportedStatus(state)).toBe(state);
    expect(parseReportedStatus(` ${state.toUpperCase()} `)).toBe(state);
  }
});

test("the service's spelling of a delivery status is accepted", () => {
  expect(Object.keys(DELIVERY_STATUS).map(parseReportedStatus)).toEqual([
    'deliveredToNetwork',
    'deliveredToTerminal',
    'deliveryImpossible',
    'unconfirmed',
  ]);
});

test('"delivered" is short for deliveredToTerminal', () => {
  expect(parseReportedStatus('delivered')).toBe('deliveredToTerminal');
});

test('an unknown status is not accepted', () => {
  expect(parseReportedStatus('arrived')).toBeNull();
  expect(parseReportedStatus('')).toBeNull();
});
