import { expect, test } from 'vitest';
import { isZone, noSuchZone } from '../../../src/campaign/time/zone.js';

test('A zone that does not exist is compared with all others once, however many rows of a list name it', () => {
  const said = noSuchZone('Europe/Londn');
  expect(said).toBe('there is no time zone "Europe/Londn". Did you mean Europe/London?');
  const began = performance.now();
  for (let row = 0; row < 20_000; row += 1) noSuchZone('Europe/Londn');
  // Comparing each time takes a minute.
  expect(performance.now() - began).toBeLessThan(5_000);
});

test('The spellings of a zone share what is kept of it', () => {
  const spellings = Array.from({ length: 3_000 }, (_, at) =>
    [...'europe/vilnius']
      .map((letter, place) => ((at >> place) & 1 ? letter.toUpperCase() : letter))
      .join(''),
  );
  expect(isZone('Europe/Vilnius')).toBe(true);
  const before = process.memoryUsage.rss();
  expect(spellings.every(isZone)).toBe(true);
  // Each format takes 14 kB.
  expect(process.memoryUsage.rss() - before).toBeLessThan(20_000_000);
});
