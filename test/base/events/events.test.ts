import { describe, expect, it, vi } from 'vitest';
import { CATALOGUE, type EventType, type VolleyEvent } from '../../../src/base/events/catalogue.js';
import type { FieldTable } from '../../../src/base/events/entry.js';
import {
  createEvents,
  type Events,
  type EventsOptions,
  maskNumber,
} from '../../../src/base/events/events.js';

/** Events whose log lines are recorded. */
function recorded(options: Partial<EventsOptions> = {}): Events & { lines: string[] } {
  const lines: string[] = [];
  const events = createEvents({
    level: 'trace',
    destination: { write: (line) => void lines.push(line) },
    clock: () => Date.UTC(2026, 2, 1, 12, 30, 5, 250),
    ...options,
  });
  return { ...events, lines };
}

const paused = {
  type: 'lane.paused',
  lane: 'acme',
  reason: 'throttled',
  cause: '',
  until: Date.UTC(2026, 2, 1, 13),
  epoch: 4,
  actor: null,
} as const satisfies VolleyEvent;

describe('a log line', () => {
  it('describes a null field in words', () => {
    const events = recorded({ format: 'lines' });
    events.emit({ type: 'quota.learned', lane: 'acme', quota: 110, from: null });
    events.emit({ type: 'quota.learned', lane: 'acme', quota: 108, from: 110 });
    events.emit({ type: 'request.throttled', lane: 'acme', kind: 'send', retryAfterMs: null, reason: '' });
    expect(events.lines.map((line) => line.slice(15, -1))).toEqual([
      'lane acme: learned a quota of 110 requests per window (before: unknown)',
      'lane acme: learned a quota of 108 requests per window (before: 110)',
      'lane acme: the service returned 429 for a send request (Retry-After: none)',
    ]);
  });

  it('contains the event, its fields, and a message in JSON', () => {
    const events = recorded({ role: 'send' });
    events.emit(paused);
    expect(events.lines.map((line) => JSON.parse(line))).toEqual([
      {
        level: 'warn',
        time: '2026-03-01T12:30:05.250Z',
        pid: process.pid,
        role: 'send',
        event: 'lane.paused',
        lane: 'acme',
        reason: 'throttled',
        cause: '',
        until: '2026-03-01T13:00:00.000Z',
        epoch: 4,
        actor: null,
        msg: 'lane acme is paused until 2026-03-01T13:00:00Z: the service returned 429',
      },
    ]);
  });

  it('contains only the time, the level, and the message for people', () => {
    const events = recorded({ format: 'lines' });
    events.emit(paused);
    expect(events.lines).toEqual([
      '12:30:05 warn  lane acme is paused until 2026-03-01T13:00:00Z: the service returned 429\n',
    ]);
  });

  it('is broken between words into the columns of a terminal, and nowhere else', () => {
    let columns: number | undefined = 60;
    const events = recorded({ format: 'lines', columns: () => columns });
    events.emit(paused);
    columns = 40;
    events.emit(paused);
    columns = undefined;
    events.emit(paused);
    expect(events.lines).toEqual([
      '12:30:05 warn  lane acme is paused until\n               2026-03-01T13:00:00Z: the service returned\n               429\n',
      '12:30:05 warn  lane acme is paused until\n               2026-03-01T13:00:00Z: the\n               service returned 429\n',
      '12:30:05 warn  lane acme is paused until 2026-03-01T13:00:00Z: the service returned 429\n',
    ]);
    const json = recorded({ columns: () => 20 });
    json.emit(paused);
    expect(json.lines.join('').split('\n')).toHaveLength(2);
  });

  it('is written only at the configured level or above', () => {
    const events = recorded({ level: 'error' });
    events.emit(paused);
    events.emit({ type: 'lane.stopped', lane: 'acme', reason: 'key refused' });
    expect(events.lines).toHaveLength(1);
    const silent = recorded({ level: 'silent' });
    silent.emit({ type: 'lane.stopped', lane: 'acme', reason: 'key refused' });
    expect(silent.lines).toEqual([]);
  });

  it('leaves out fields that the catalogue does not define', () => {
    const events = recorded();
    const stray = { ...paused, apiKey: 'hunter2' };
    events.emit(stray);
    expect(events.lines.join()).not.toContain('hunter2');
  });

  it('contains the stack of an error in JSON, but only its message in the text', () => {
    const events = recorded();
    events.emit({ type: 'sweep.failed', error: new RangeError('out of reach') });
    const line = JSON.parse(events.lines[0] ?? '');
    expect(line.error).toMatch(/^RangeError: out of reach\n +at /);
    expect(line.msg).toBe('sweep failed: out of reach; retrying');
  });

  it('is written even if a time is invalid', () => {
    const events = recorded();
    events.emit({ ...paused, until: Number.POSITIVE_INFINITY });
    expect(events.lines).toHaveLength(1);
  });
});

const NUMBERS = ['+447700900123', '+4915112345678', '15551234567', '004520123456', '07700900123'];
const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl';
const SECRETS = ['key-4711-secret', 'pass word/&', 'k+ü'.repeat(3)];

/** Phone numbers without a plus. Ids keep their digits, so these texts are not used for ids. */
const BARE = [...NUMBERS.slice(2), 'numbers 15551234567, 1-555-123-4567 and 07700 900123'];

const TAINTED = [
  ...BARE,
  ...NUMBERS.slice(0, 2),
  ...NUMBERS.slice(0, 2).map((number) => `tel:${number} is not active`),
  `{"address":["tel:+447700900123"],"deliveryStatus":"?"}`,
  'GET /outbound/tel%3A%2B447700900123/requests',
  'numbers +44 7700 900 123 and +1 (555) 123-4567',
  `the key ${TOKEN} is invalid`,
  `Authorization: Bearer ${TOKEN}`,
  'authorization: bearer opaque-token-hunter2',
  `{"AccessToken":"${TOKEN}"}`,
  'no key such as vk_0123456789ab_hunter2hunter2hunter2 is known',
  'X-Authorization=Basic aHVudGVyMg==',
  '{"RefreshToken": "hunter2", "password":"hunter2"}',
  'apiKey=hunter2&x=1 and securityToken: hunter2',
  'connect redis://me:hunter2@redis.example:6379',
  ...SECRETS,
  ...SECRETS.map((secret) => `https://host.example/?q=${encodeURIComponent(secret)}`),
];

/** The secrets in a log line, and everything that looks like a phone number. */
function leaks(line: string): string[] {
  const found = [TOKEN, 'hunter2', 'opaque', 'aHVudGVyMg', ...SECRETS, ...SECRETS.map(encodeURIComponent)];
  const { time: _time, pid: _pid, ...rest } = JSON.parse(line);
  const text = JSON.stringify(rest);
  const digits = text.replace(/6379|\d{4}-\d\d-\d\dT[\d:.]+Z/g, '').match(/\d(?:[ ().-]{0,2}\d){5,}/g) ?? [];
  return [...found.filter((secret) => text.includes(secret)), ...digits];
}

/** An event of a type with `text` in every field that can contain foreign text. */
function tainted(type: EventType, text: string): VolleyEvent {
  const fields: FieldTable = CATALOGUE[type].fields;
  const values = Object.entries(fields).map(([name, { kind }]) => {
    switch (kind) {
      case 'prose':
        return [name, text];
      case 'failure':
        return [name, new Error(text)];
      case 'phone':
        return [name, NUMBERS.includes(text) ? text : '+447700900123'];
      case 'id':
        return [name, BARE.includes(text) ? 'id-1' : text];
      case 'enum':
        return [name, 'value'];
      case 'number':
      case 'time':
        return [name, 3];
      default:
        return kind satisfies never;
    }
  });
  return { type, ...Object.fromEntries(values) };
}

const TYPES = Object.keys(CATALOGUE) as EventType[];

describe.each(TYPES)('%s', (type) => {
  it('logs no phone number, key, or token, whatever its fields contain', () => {
    for (const text of TAINTED) {
      const events = recorded({ secrets: SECRETS });
      events.emit(tainted(type, text));
      expect(events.lines).toHaveLength(1);
      expect(leaks(events.lines[0] ?? ''), text).toEqual([]);
    }
  });

  it('has a message on one line without missing values', () => {
    const events = recorded();
    events.emit(tainted(type, 'first\nsecond'.repeat(200)));
    const { msg } = JSON.parse(events.lines[0] ?? '');
    expect(msg).not.toMatch(/undefined|null|NaN|\[object/);
    expect(msg.replaceAll('first\nsecond', '')).not.toContain('\n');
  });

  it('declares phone numbers as phone fields', () => {
    const fields: FieldTable = CATALOGUE[type].fields;
    const numbers = Object.entries(fields).filter(([name]) =>
      /^(recipient|number|to|address|msisdn)$/.test(name),
    );
    for (const [, { kind }] of numbers) expect(kind).toBe('phone');
  });

  it('has no field that every log line has already', () => {
    const names = Object.keys(CATALOGUE[type].fields);
    expect(
      names.filter((name) => ['level', 'time', 'pid', 'role', 'event', 'msg', 'type'].includes(name)),
    ).toEqual([]);
  });
});

describe('harmless text', () => {
  it.each([
    'connect ECONNREFUSED 10.100.200.255:6379',
    'request 3f2504e0-4f89-11d3-9a0c-0305e82c3301 of batch 12',
    'since 2026-03-01T12:30:05Z, 100,000 recipients',
    'HTTP 503 after 30000 ms',
  ])('is logged unchanged: %s', (reason) => {
    const events = recorded();
    events.emit({ type: 'lane.stopped', lane: 'acme', reason });
    expect(JSON.parse(events.lines[0] ?? '').reason).toBe(reason);
  });

  it('keeps its digits in an id', () => {
    const events = recorded();
    events.emit({ type: 'request.missing', lane: 'acme', requestId: '4711081512345', reason: '' });
    expect(JSON.parse(events.lines[0] ?? '').requestId).toBe('4711081512345');
  });
});

describe('maskNumber', () => {
  it.each([
    ['+447700900123', '+44…123'],
    ['447700900123', '…123'],
    ['tel:+447700900123', '…123'],
    ['72345', '…45'],
    ['', '…'],
  ])('masks %j as %s', (number, shown) => {
    expect(maskNumber(number)).toBe(shown);
  });
});

describe('a listener', () => {
  it('receives unmasked events of its type, even unlogged ones, until it is removed', () => {
    const events = recorded({ level: 'silent' });
    const received = vi.fn();
    const end = events.on('recipient.rejected', received);
    const rejected: VolleyEvent = {
      type: 'recipient.rejected',
      lane: 'acme',
      campaign: 'c1',
      position: 3,
      reason: '+447700900123 is not active',
    };
    events.emit(paused);
    events.emit(rejected);
    end();
    events.emit(rejected);
    expect(received.mock.calls).toEqual([[rejected]]);
  });

  it('can receive events of every type', () => {
    const events = recorded();
    const received: string[] = [];
    events.onAny((event) => received.push(event.type));
    events.emit(paused);
    events.emit({ type: 'lane.reopened', lane: 'acme', epoch: 4, actor: null });
    expect(received).toEqual(['lane.paused', 'lane.reopened']);
  });

  it('that is added twice can be removed once', () => {
    const events = recorded();
    const received = vi.fn();
    events.on('lane.paused', received);
    events.on('lane.paused', received)();
    events.emit(paused);
    expect(received).toHaveBeenCalledTimes(1);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('mine');
      },
    ],
    ['rejects', () => Promise.reject(new Error('mine'))],
  ])('that %s affects no other listener and is reported once', async (_how, fault) => {
    const events = recorded();
    const received = vi.fn();
    events.onAny(fault);
    events.on('lane.paused', received);
    const failed = events.next('listener.failed');
    events.emit(paused);
    expect(await failed).toMatchObject({ eventType: 'lane.paused', error: new Error('mine') });
    expect(received).toHaveBeenCalledTimes(1);
    expect(events.lines).toHaveLength(2);
  });

  it('can wait for the next event that meets a condition', async () => {
    const events = recorded();
    const second = events.next('lane.paused', (event) => event.epoch === 5);
    events.emit(paused);
    events.emit({ ...paused, epoch: 5 });
    expect(await second).toMatchObject({ epoch: 5 });
  });
});
