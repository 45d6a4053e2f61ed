import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  MAGIC_RECIPIENTS,
  type MagicName,
  magicNumber,
  type Simulator,
  startSimulator,
} from '../../../../src/tools/simulator/index.js';
import { magicOf } from '../../../../src/tools/simulator/rules/magic-recipients.js';
import type { NoReply } from '../raw-http.js';
import { idOf, requestsTo, statusesOf, statusOf } from '../simulator.js';

const ORDINARY = '+4791234567';
let now = 1_800_000_000_000;
let simulator: Simulator;
let requests: ReturnType<typeof requestsTo>;

beforeEach(async () => {
  simulator = await startSimulator({ keys: [{ key: 'k' }], deliveryTime: 1_000 }, { clock: () => now });
  requests = requestsTo(simulator);
});
afterEach(() => simulator.close());

describe('a send request to a magic recipient', () => {
  // How each fault ends is the same as for one that is drawn: see faults.test.ts.
  const first: [MagicName, number | NoReply, accepted: number][] = [
    ['error500', 500, 0],
    ['error500After', 500, 1],
    ['resetAfter', 'reset', 1],
  ];

  it.each(first)(
    '%s: the first request ends in %s and is accepted %i times; the next one succeeds',
    async (name, status, accepted) => {
      const batch = [ORDINARY, magicNumber(name)];
      expect(statusOf(await requests.send(batch))).toBe(status);
      expect(simulator.ledger.requests).toBe(accepted);
      const again = await requests.send(batch);
      expect(statusOf(again)).toBe(201);
      expect(idOf(again)).not.toBe('');
      expect(simulator.summary().duplicates).toBe(accepted * 2);
    },
  );

  it('meets its fault every time with "always", and never with "off"', async () => {
    simulator.configure({ magicRecipients: 'always' });
    for (let time = 0; time < 3; time += 1)
      expect(statusOf(await requests.send([magicNumber('error503')]))).toBe(503);
    simulator.configure({ magicRecipients: 'off' });
    for (const [ending] of Object.values(MAGIC_RECIPIENTS))
      expect(statusOf(await requests.send([`+47955501${ending}`]))).toBe(201);
  });

  it('meets its fault again after the ledger was cleared', async () => {
    await requests.send([magicNumber('error503')]);
    simulator.clear();
    expect(statusOf(await requests.send([magicNumber('error503')]))).toBe(503);
  });

  it('badRequest: the whole batch gets a 400 every time', async () => {
    for (let time = 0; time < 2; time += 1) {
      expect(statusOf(await requests.send([ORDINARY, magicNumber('badRequest')]))).toBe(400);
    }
    expect(simulator.ledger.requests).toBe(0);
  });

  it('throttle…: Retry-After is in seconds, a date, or missing', async () => {
    const headers: (string | undefined)[] = [];
    for (const name of ['throttleSeconds', 'throttleDate', 'throttle'] as const) {
      const result = await requests.send([magicNumber(name)]);
      headers.push(typeof result === 'string' ? result : result.headers.get('retry-after'));
    }
    expect(headers).toEqual(['2', new Date(now + 2_000).toUTCString(), undefined]);
  });

  it('unreadable: a 201 with truncated JSON; withoutRequestId: neither Location nor resourceURL', async () => {
    const unreadable = await requests.send([magicNumber('unreadable')]);
    const nameless = await requests.send([magicNumber('withoutRequestId')]);
    if (typeof unreadable === 'string' || typeof nameless === 'string') expect.fail('both are answered');
    expect(() => JSON.parse(unreadable.body)).toThrow(SyntaxError);
    expect(nameless.headers.has('location')).toBe(false);
    expect(nameless.body).not.toContain('resourceURL');
    expect(statusesOf(nameless)).toEqual(['DeliveredToNetwork']);
  });
});

describe('the delivery status of a magic recipient', () => {
  const endings: [MagicName, sent: string, atOnce: string, later: string][] = [
    ['deliveredAtOnce', 'DeliveredToNetwork', 'DeliveredToTerminal', 'DeliveredToTerminal'],
    ['delivered', 'DeliveredToNetwork', 'DeliveredToNetwork', 'DeliveredToTerminal'],
    ['impossible', 'DeliveredToNetwork', 'DeliveredToNetwork', 'DeliveryImpossible'],
    ['neverFinal', 'DeliveredToNetwork', 'DeliveredToNetwork', 'DeliveredToNetwork'],
    ['impossibleAtOnce', 'DeliveryImpossible', 'DeliveryImpossible', 'DeliveryImpossible'],
    ['unlistedStatus', 'DeliveredToNetwork', 'MessageWaiting', 'MessageWaiting'],
    ['invalidSource', 'DeliveredToNetwork', 'DeliveredToNetwork', 'DeliveryImpossible'],
    ['invalidDestination', 'DeliveredToNetwork', 'DeliveredToNetwork', 'DeliveryImpossible'],
  ];

  it.each(endings)(
    '%s: %s in the reply, %s at the first poll, %s after the usual time',
    async (name, sent, atOnce, later) => {
      const reply = await requests.send([magicNumber(name), ORDINARY]);
      expect(statusesOf(reply)).toEqual([sent, 'DeliveredToNetwork']);
      expect(statusesOf(await requests.poll(idOf(reply)))).toEqual([atOnce, 'DeliveredToNetwork']);
      now += 1_000;
      expect(statusesOf(await requests.poll(idOf(reply)))).toEqual([later, 'DeliveredToTerminal']);
    },
  );

  it('pollNotFound: the request is accepted and every poll gets a 404', async () => {
    const reply = await requests.send([ORDINARY, magicNumber('pollNotFound')]);
    expect(statusOf(reply)).toBe(201);
    for (let time = 0; time < 2; time += 1) expect(statusOf(await requests.poll(idOf(reply)))).toBe(404);
  });
});

describe('a magic number', () => {
  it('is recognised by its last eight digits, whatever comes before', () => {
    for (const [name, [ending]] of Object.entries(MAGIC_RECIPIENTS)) {
      expect(magicOf(Number(`47955501${ending}`))).toBe(name);
      expect(magicOf(Number(`1919955501${ending}`))).toBe(name);
    }
    expect(magicOf(4795550199)).toBeUndefined();
  });

  it('is none of the ordinary numbers', () => {
    const ordinary = fc
      .integer({ min: 10_000, max: 999_999_999_999_999 })
      .filter((digits) => !String(digits).includes('955501'));
    fc.assert(fc.property(ordinary, (digits) => void expect(magicOf(digits)).toBeUndefined()));
  });
});
