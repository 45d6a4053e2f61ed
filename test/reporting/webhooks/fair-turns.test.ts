import { expect, test } from 'vitest';
import { fairTurns } from '../../../src/reporting/webhooks/fair-turns.js';

/** Turns that last until a test ends them. */
function scene(most: number) {
  const turns = fairTurns(most);
  const open: { readonly owner: string; end(): void }[] = [];
  return {
    /** Asks for turns. */
    async ask(owner: string, count = 1, signal = new AbortController().signal): Promise<void> {
      for (let at = 0; at < count; at += 1)
        void turns.run(owner, signal, () => new Promise<void>((end) => open.push({ owner, end })));
      await settled();
    },
    /** Ends turns of an owner, the oldest first. */
    async end(owner: string, count = 1): Promise<void> {
      for (let at = 0; at < count; at += 1) {
        const index = open.findIndex((one) => one.owner === owner);
        for (const one of open.splice(index, 1)) one.end();
        await settled();
      }
    },
    held: (owner: string): number => open.filter((one) => one.owner === owner).length,
  };
}

/** Turns begin without waiting for anything but promises. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('However many endpoints of one owner do not answer, one of another owner begins at once', async () => {
  const { ask, held } = scene(200);
  await ask('silent', 984);
  expect(held('silent')).toBe(100);
  await ask('other');
  expect(held('other')).toBe(1);
});

test('Owners that want more turns than there are get the same share, and as many stay free for the next one', async () => {
  const { ask, end, held } = scene(100);
  const owners = ['a', 'b', 'c', 'd'];
  for (const owner of owners) await ask(owner, 100);
  // The first one began with half of all.
  expect(held('a')).toBe(50);
  await end('a', 50);
  await end('b', 10);
  expect(owners.map(held)).toEqual([20, 20, 20, 20]);
  await ask('e', 20);
  expect(held('e')).toBe(10);
});

test('The next turn is that of the owner with the fewest, and among its endpoints that of the one that waits longest', async () => {
  const { ask, end, held } = scene(2);
  await ask('a', 2);
  await ask('b');
  await ask('c');
  expect([held('a'), held('b'), held('c')]).toEqual([1, 1, 0]);
  await end('b');
  expect([held('a'), held('b'), held('c')]).toEqual([1, 0, 1]);
});

test('An endpoint that is given up on while it waits takes no turn', async () => {
  const { ask, end, held } = scene(2);
  const control = new AbortController();
  await ask('a');
  await ask('a', 1, control.signal);
  control.abort();
  await ask('a', 1, control.signal);
  await end('a');
  expect(held('a')).toBe(0);
  await ask('b', 2);
  expect(held('b')).toBe(1);
});
