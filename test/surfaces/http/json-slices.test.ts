import fc from 'fast-check';
import { expect, it } from 'vitest';
import { JsonList, parseInSlices } from '../../../src/surfaces/http/json-slices.js';

/** The value, or null in a wrapper if the text is not valid JSON. */
async function outcome(read: () => unknown): Promise<unknown> {
  try {
    return { value: await read() };
  } catch (error) {
    if (error instanceof SyntaxError) return 'invalid';
    throw error;
  }
}

const item = fc.jsonValue({ maxDepth: 2 });
const body = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.dictionary(fc.string({ maxLength: 5 }), fc.oneof(item, fc.array(item, { maxLength: 30 })), {
    maxKeys: 4,
  }),
);
/** Parses in slices, and then what has stayed text. */
async function parsed(json: string, sliceBytes: number, maxParsedBytes: number): Promise<unknown> {
  const value = await parseInSlices(Buffer.from(json), JSON.parse, { sliceBytes, maxParsedBytes });
  if (typeof value !== 'object' || value === null) return value;
  for (const [name, member] of Object.entries(value))
    if (member instanceof JsonList) Object.assign(value, { [name]: [...member] });
  return value;
}

/** JSON with spaces, and possibly a part that was deleted, doubled, or replaced. */
const text = fc
  .tuple(
    body,
    fc.constantFrom(undefined, 1, '\t'),
    fc.option(
      fc.tuple(fc.nat(), fc.nat(3), fc.constantFrom('', ',', '[', ']', '{', '}', '"', '\\', '1', ' ', ':')),
    ),
  )
  .map(([value, indent, damage]) => {
    const json = JSON.stringify(value, undefined, indent);
    if (damage === null) return json;
    const at = damage[0] % json.length;
    return json.slice(0, at) + damage[2] + json.slice(at + damage[1]);
  })
  .filter((json) => !json.includes('__proto__'));

it('Parsing in slices of any length, now or when a list is read, gives the result of parsing at once, also for invalid JSON', async () => {
  const length = fc.integer({ min: 1, max: 40 });
  await fc.assert(
    fc.asyncProperty(text, length, fc.nat(60), async (json, sliceBytes, maxParsedBytes) => {
      const sliced = await outcome(() => parsed(json, sliceBytes, maxParsedBytes));
      expect(sliced).toEqual(await outcome(() => JSON.parse(json)));
    }),
    { numRuns: 3_000 },
  );
});

it.each([
  '{"a":[1,2,]}',
  '{"a":[,1,2]}',
  '{"a":[1,,2]}',
  '{"a":[   ,1]}',
  '{"a":[1,   ]}',
  '{"a":[1}}',
  '{"a":[1]',
  '{"a":[1',
  '{"a":[1]]}',
  '{"a":["x}',
  '{"a":[1],"a":[2,3],"b":[],"c":"]\\\\"}',
  '{"a":[[1,2],{"b":[3]}],"c":[4]}',
  ' [[1,2],[3]] ',
  '',
])('Parsing in slices treats %s as parsing at once does', async (json) => {
  for (const maxParsedBytes of [0, 1_000])
    expect(await outcome(() => parsed(json, 1, maxParsedBytes))).toEqual(
      await outcome(() => JSON.parse(json)),
    );
});

it('Other work runs while a long list is parsed, and no part of it is long', async () => {
  const recipients = Array.from({ length: 40_000 }, (_, at) => ({
    to: `+4477${10_000_000 + at}`,
    name: 'n"\\',
  }));
  const bytes = Buffer.from(JSON.stringify({ message: 'Hi', recipients }));
  let [turns, longest] = [0, 0];
  let isParsing = true;
  const work = (): void => {
    turns += 1;
    if (isParsing) setImmediate(work);
  };
  setImmediate(work);
  const parsed = await parseInSlices(bytes, (part) => {
    longest = Math.max(longest, part.length);
    return JSON.parse(part);
  });
  isParsing = false;
  expect(parsed).toEqual({ message: 'Hi', recipients });
  expect(turns).toBeGreaterThan(bytes.length / 70_000);
  expect(longest).toBeLessThan(70_000);
});
