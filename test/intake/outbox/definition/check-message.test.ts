import { expect, test } from 'vitest';
import { messageChecker } from '../../../../src/intake/outbox/definition/check-message.js';
import { UNCHANGED } from '../../../../src/intake/outbox/definition/settings.js';

const settings = {
  message: 'Hi',
  columns: [],
  ...UNCHANGED,
  sender: 'ACME',
  sendRule: 'now',
  zone: 'UTC',
  lateMs: 1_000,
  priority: 'normal' as const,
  id: 'outbox0000001',
  created: 0,
};
const checkerOf = (own: object) => messageChecker({ ...settings, ...own }, { numberKinds: 'any' }, []);
const check = checkerOf({});

test('A reference with half of a surrogate pair is refused: the script that stores the message could not read it', () => {
  const message = { id: 'a', to: '+447700900123', reference: '😀' };
  expect(check(message, 0)).toMatchObject({ ok: true });
  expect(check({ ...message, reference: 'order \ud83d' }, 0)).toMatchObject({
    problems: [{ member: 'reference', reason: expect.stringMatching(/^contains half of a surrogate pair/) }],
  });
});

test('A zero byte is refused in a value, in the reference, and in the id', () => {
  const valued = checkerOf({ message: 'Hi {{name}}', columns: ['name'] });
  const message = { id: 'a', to: '+447700900123', name: 'Ada', reference: 'order' };
  expect(valued(message, 0)).toMatchObject({ ok: true });
  for (const member of ['name', 'reference', 'id'])
    expect(valued({ ...message, [member]: 'A\0' }, 0)).toMatchObject({
      problems: [{ member, reason: 'contains a zero byte (NUL), which no text does' }],
    });
});

test('A number that JavaScript does not keep exactly is refused in what is stored: two ids would be one', () => {
  const valued = checkerOf({ message: 'Code {{code}}', columns: ['code'] });
  const message = { id: 'a', to: '+447700900123', code: 7 };
  expect(valued({ ...message, unused: 1e21 }, 0)).toMatchObject({ ok: true });
  for (const member of ['id', 'reference', 'tag', 'code'])
    for (const value of [12_345_678_901_234_567_000, 1e21, Number.NaN])
      expect(valued({ ...message, [member]: value } as never, 0)).toMatchObject({
        problems: [{ member, reason: expect.stringMatching(/^is the number .*; pass it as a string$/) }],
      });
});
