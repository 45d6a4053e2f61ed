import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import {
  type MessageLine,
  messagesOfCsv,
  messagesOfJson,
  messagesOfNdjson,
} from '../../../../src/intake/outbox/messages/read-messages.js';

const membersOf = (count: number, value = '0') =>
  Array.from({ length: count }, (_, at) => `"m${at}":${value}`).join(',');

async function read(...lines: readonly string[]): Promise<MessageLine[]> {
  const found: MessageLine[] = [];
  for await (const line of messagesOfNdjson(asStream(lines.join('\n')))) found.push(line);
  return found;
}

async function* asStream(text: string): AsyncGenerator<string> {
  yield text;
}

test('A line of NDJSON with too many members is refused before it is parsed', async () => {
  const reason = 'has more than 200 members';
  const items = Array.from({ length: 201 }, () => '0').join(',');
  expect(
    await read(
      `{${membersOf(201)}}`,
      `{${membersOf(201)} and no JSON`,
      `{"to":[${items}]}`,
      `{"to":{${membersOf(201)}}}`,
    ),
  ).toMatchObject([{ reason }, { reason }, { reason }, { reason }]);
});

test('Commas in the texts of a line of NDJSON are not members', async () => {
  const text = JSON.stringify(`,"\\${',"'.repeat(500)}`);
  const lines = await read(`{${membersOf(200, text)}}`, ` {"id":${text}} `);
  expect(lines.map((line) => 'message' in line && Object.keys(line.message).length)).toEqual([200, 1]);
});

test('A line of NDJSON that is no object is one invalid line', async () => {
  const reason = 'is not a JSON object';
  const lines = await read('[1]', '"{"', 'null', '{"a":1} {', '{', `[${membersOf(300)}]`);
  expect(lines).toMatchObject(lines.map((_, at) => ({ line: at + 1, reason })));
});

test('A list of JSON that ends in the middle of a character is refused', async () => {
  const [whole, cut] = [Buffer.from('{"id":"a"}'), Buffer.from([0xc3])];
  const all = async (lines: AsyncIterable<MessageLine>) => {
    for await (const _line of lines);
  };
  await expect(all(messagesOfNdjson(Readable.from([whole, cut])))).rejects.toThrow(
    'is not UTF-8, after line 0',
  );
  const array = Readable.from([Buffer.concat([Buffer.from('['), whole, Buffer.from(']')]), cut]);
  await expect(all(messagesOfJson(array))).rejects.toThrow('is not UTF-8, after message 1');
});

test('A brace too many in a JSON array makes a message invalid, and hides none', async () => {
  const found: MessageLine[] = [];
  for await (const line of messagesOfJson(asStream('[{"id":"a"}} [{"id":"b"}], {"id":"c"}]')))
    found.push(line);
  expect(found).toMatchObject([
    { line: 1, reason: 'is not a JSON object' },
    { line: 2, message: { id: 'c' } },
  ]);
});

test('Other work of the process runs after each 64 kB of long lines of NDJSON', async () => {
  const line = JSON.stringify({ id: 'a', name: 'x'.repeat(64 * 1024) });
  let [turns, isReading] = [0, true];
  const takeTurn = (): void => {
    turns += 1;
    if (isReading) setImmediate(takeTurn);
  };
  setImmediate(takeTurn);
  await read(...Array.from({ length: 50 }, () => line));
  isReading = false;
  expect(turns).toBeGreaterThanOrEqual(49);
});

async function readRows(text: string): Promise<MessageLine[]> {
  const found: MessageLine[] = [];
  for await (const line of messagesOfCsv(Readable.from([Buffer.from(text)]), {}, 'GB')) found.push(line);
  return found;
}

test('A quote that is wrong in a CSV makes one message invalid and hides no other', async () => {
  const rows = await readRows(
    'id,phone,town\na,07700900121,"Bath\nb,07700900122,Ely\nc,07700900123,"Hull"\n',
  );
  expect(rows).toMatchObject([
    { line: 2, id: 'a', reason: expect.stringContaining('opens a quote in column "town"') },
    { line: 3, message: { id: 'b' }, warnings: [] },
    { line: 4, message: { id: 'c' }, warnings: [] },
  ]);
});

test('A field of a CSV that contains what look like messages is a warning', async () => {
  const [only, ...others] = await readRows('id,phone,town\na,07700900121,"Bath\nb,07700900122,Ely"\n');
  expect(others).toEqual([]);
  expect(only).toMatchObject({ warnings: [expect.stringContaining('lines 2 to 3')] });
});

test('A CSV with two columns for a member of a message is refused', async () => {
  await expect(readRows('id,phone,sendAt,sendAt\na,07700900121,,\n')).rejects.toThrow(
    'Several columns are named "sendAt"',
  );
});

test('The columns of a CSV with the id and the time have their names in any case', async () => {
  expect(await readRows('ID,phone,SendAt\na,07700900121,2030-05-01T10:00Z\n')).toMatchObject([
    { message: { id: 'a', sendAt: '2030-05-01T10:00Z' }, idColumn: 'ID', toColumn: 'phone' },
  ]);
});
