import { describe, expect, it, vi } from 'vitest';
import { CATALOGUE, type EventType, type VolleyEvent } from '../../../src/base/events/catalogue.js';
import type { FieldTable } from '../../../src/base/events/entry.js';
import { createEvents, type Events, type EventsOptions } from '../../../src/base/events/events.js';
import { maskNumber } from '../../../src/base/events/mask.js';
import { notSentences } from '../../sentence-rule.js';

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

const backingOff = {
  type: 'lane.backingOff',
  lane: 'acme',
  cause: 'throttled',
  reason: '',
  until: Date.UTC(2026, 2, 1, 13),
  epoch: 4,
} as const satisfies VolleyEvent;

describe('a log line', () => {
  it('describes a null field in words', () => {
    const events = recorded({ format: 'lines' });
    events.emit({ type: 'quota.learned', lane: 'acme', quota: 110, from: null });
    events.emit({ type: 'quota.learned', lane: 'acme', quota: 108, from: 110 });
    events.emit({ type: 'request.throttled', lane: 'acme', kind: 'send', retryAfter: null, reason: '' });
    expect(events.lines.map((line) => line.slice(15, -1))).toEqual([
      'Lane acme has learned a quota of 110 requests per window (before: unknown).',
      'Lane acme has learned a quota of 108 requests per window (before: 110).',
      'Lane acme: the service returned 429 for a send request (Retry-After: none).',
    ]);
  });

  it('about a stopped lane names the command that resumes it once, behind what the service says', () => {
    const events = recorded({ format: 'lines' });
    const key = 'the service does not accept the API key of lane acme (401): correct it';
    for (const reason of [`${key}. The service says: no such key.`, `${key}`])
      events.emit({ type: 'lane.stopped', lane: 'acme', reason });
    expect(events.lines.map((line) => line.slice(15, -1))).toEqual([
      `Lane acme is stopped: ${key}. The service says: no such key. When the cause is fixed, run: volley lane resume acme`,
      `Lane acme is stopped: ${key}. When the cause is fixed, run: volley lane resume acme`,
    ]);
  });

  it('contains the event, its fields, and a message in JSON', () => {
    const events = recorded({ role: 'send' });
    events.emit(backingOff);
    expect(events.lines.map((line) => JSON.parse(line))).toEqual([
      {
        level: 'warn',
        time: '2026-03-01T12:30:05.250Z',
        pid: process.pid,
        role: 'send',
        event: 'lane.backingOff',
        lane: 'acme',
        cause: 'throttled',
        reason: '',
        until: '2026-03-01T13:00:00.000Z',
        epoch: 4,
        msg: 'Lane acme backs off until 2026-03-01T13:00:00Z: the service returned 429.',
      },
    ]);
  });

  it('contains only the time, the level, and the message for people', () => {
    const events = recorded({ format: 'lines' });
    events.emit(backingOff);
    expect(events.lines).toEqual([
      '12:30:05 warn  Lane acme backs off until 2026-03-01T13:00:00Z: the service returned 429.\n',
    ]);
  });

  it('is broken between words into the columns of a terminal, and nowhere else', () => {
    const lines = [60, 40, undefined].flatMap((columns) => {
      const events = recorded({ format: 'lines', columns: () => columns });
      events.emit(backingOff);
      return events.lines;
    });
    expect(lines).toEqual([
      '12:30:05 warn  Lane acme backs off until\n               2026-03-01T13:00:00Z: the service returned\n               429.\n',
      '12:30:05 warn  Lane acme backs off until\n               2026-03-01T13:00:00Z: the\n               service returned 429.\n',
      '12:30:05 warn  Lane acme backs off until 2026-03-01T13:00:00Z: the service returned 429.\n',
    ]);
    const json = recorded({ columns: () => 20 });
    json.emit(backingOff);
    expect(json.lines.join('').split('\n')).toHaveLength(2);
  });

  it('is written only at the configured level or above', () => {
    const events = recorded({ level: 'error' });
    events.emit(backingOff);
    events.emit({ type: 'lane.stopped', lane: 'acme', reason: 'key refused' });
    expect(events.lines).toHaveLength(1);
    const silent = recorded({ level: 'silent' });
    silent.emit({ type: 'lane.stopped', lane: 'acme', reason: 'key refused' });
    expect(silent.lines).toEqual([]);
  });

  it('leaves out fields that the catalogue does not define', () => {
    const events = recorded();
    const stray = { ...backingOff, apiKey: 'hunter2' };
    events.emit(stray);
    expect(events.lines.join()).not.toContain('hunter2');
  });

  it('contains the stack of an error in JSON, but only its message in the text', () => {
    const events = recorded();
    events.emit({ type: 'sweep.failed', error: new RangeError('out of reach') });
    const line = JSON.parse(events.lines[0] ?? '');
    expect(line.error).toMatch(/^RangeError: out of reach\n +at /);
    expect(line.msg).toBe('The sweep failed, and is tried again: out of reach.');
  });

  it('is written even if a time is invalid', () => {
    const events = recorded();
    events.emit({ ...backingOff, until: Number.POSITIVE_INFINITY });
    expect(events.lines).toHaveLength(1);
  });
});

describe('a line about a problem', () => {
  /** Events of a process whose minutes end when the test says so. */
  function withMinutes() {
    const due: (() => void)[] = [];
    const events = recorded({
      alarm: (_ms, ring) => {
        due.push(ring);
        return () => {};
      },
    });
    const endMinute = (): void => {
      for (const ring of due.splice(0)) ring();
    };
    const written = (): unknown[] =>
      events.lines.splice(0).map((line) => {
        const { msg, repeated } = JSON.parse(line);
        return repeated === undefined ? msg : [repeated, msg];
      });
    return { events, endMinute, written };
  }
  const failed = (reason: string): VolleyEvent => ({ type: 'sweep.failed', error: new Error(reason) });
  const line = (reason: string): string => `The sweep failed, and is tried again: ${reason}.`;

  it('that repeats is written once a minute, with its count', () => {
    const { events, endMinute, written } = withMinutes();
    for (let at = 0; at < 5; at += 1) events.emit(failed('no answer'));
    events.emit(failed('no memory'));
    expect(written()).toEqual([line('no answer'), line('no memory')]);
    endMinute();
    expect(written()).toEqual([[4, `4 more in the last minute: ${line('no answer')}`]]);
    for (const _ of [1, 2]) events.emit(failed('no answer'));
    events.emit(failed('no memory'));
    expect(written()).toEqual([line('no memory')]);
    endMinute();
    expect(written()).toEqual([[2, `2 more in the last minute: ${line('no answer')}`]]);
    endMinute();
    endMinute();
    events.emit(failed('no answer'));
    expect(written()).toEqual([line('no answer')]);
  });

  it('reaches every listener, also if it is not written again', () => {
    const { events } = withMinutes();
    const heard = vi.fn();
    events.on('sweep.failed', heard);
    for (const _ of [1, 2, 3]) events.emit(failed('no answer'));
    expect(heard).toHaveBeenCalledTimes(3);
  });

  it('is the only one that is held back: what happens as intended is always written', () => {
    const { events, written } = withMinutes();
    for (const _ of [1, 2]) events.emit({ type: 'process.ready', lanes: 1 });
    expect(written()).toEqual(['Volley is ready to serve 1 lane.', 'Volley is ready to serve 1 lane.']);
  });

  it('is written whenever it occurs if there are very many different ones', () => {
    const { events, written } = withMinutes();
    for (let at = 0; at < 1_000; at += 1) events.emit(failed(`number ${at}`));
    for (const _ of [1, 2]) events.emit(failed('one more'));
    expect(written()).toHaveLength(1_002);
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
      case 'id':
        return [name, BARE.includes(text) ? 'id-1' : text];
      case 'enum':
        return [name, 'value'];
      case 'number':
      case 'time':
        return [name, 3];
      case 'span':
        return [name, '3s'];
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
    expect(msg.replaceAll(/first\nsecond/gi, '')).not.toContain('\n');
  });

  it('controls no terminal, whatever its fields contain', () => {
    for (const format of ['json', 'lines'] as const) {
      const events = recorded({ format });
      events.emit(tainted(type, 'a\u001b[2J\u009b2J\u202eb'));
      expect(events.lines[0]?.replace(/\n$/, '')).not.toMatch(/[\p{Cc}\u202e]/u);
    }
  });

  it('has a whole sentence as its message', () => {
    const events = recorded();
    // A value at the beginning would have no capital letter.
    events.emit({ ...tainted(type, 'zz-1'), ...(type.startsWith('http.') ? { method: 'GET' } : {}) });
    const { msg } = JSON.parse(events.lines[0] ?? '');
    expect(type === 'config.hint' ? [] : notSentences([msg])).toEqual([]);
    expect(msg).not.toMatch(/; retrying|^(Started|Ready|Received|Finished|Serving|Lost|Refused) /);
  });

  it('has no field for a phone number', () => {
    const names = Object.keys(CATALOGUE[type].fields);
    expect(names.filter((name) => /^(recipient|number|to|address|msisdn|phone)$/.test(name))).toEqual([]);
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
      outbox: null,
      message: null,
      lane: 'acme',
      campaign: 'c1',
      position: 3,
      reason: '+447700900123 is not active',
    };
    events.emit(backingOff);
    events.emit(rejected);
    end();
    events.emit(rejected);
    expect(received.mock.calls).toEqual([[rejected]]);
  });

  it('can receive events of every type', () => {
    const events = recorded();
    const received: string[] = [];
    events.onAny((event) => received.push(event.type));
    events.emit(backingOff);
    events.emit({ type: 'lane.reopened', lane: 'acme', epoch: 4, actor: null });
    expect(received).toEqual(['lane.backingOff', 'lane.reopened']);
  });

  it('that is added twice can be removed once', () => {
    const events = recorded();
    const received = vi.fn();
    events.on('lane.backingOff', received);
    events.on('lane.backingOff', received)();
    events.emit(backingOff);
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
    events.on('lane.backingOff', received);
    const failed = events.next('listener.failed');
    events.emit(backingOff);
    expect(await failed).toMatchObject({ eventType: 'lane.backingOff', error: new Error('mine') });
    expect(received).toHaveBeenCalledTimes(1);
    expect(events.lines).toHaveLength(2);
  });

  it('can wait for the next event that meets a condition', async () => {
    const events = recorded();
    const second = events.next('lane.backingOff', (event) => event.epoch === 5);
    events.emit(backingOff);
    events.emit({ ...backingOff, epoch: 5 });
    expect(await second).toMatchObject({ epoch: 5 });
  });
});
