import { once } from 'node:events';
import { createWriteStream } from 'node:fs';

const NAMES = [
  'Anna',
  'Søren',
  'José',
  "O'Brien",
  'Zoë',
  'Mohammed',
  'Grace',
  'Liam',
  'Chloé',
  'Wei',
  'Priya',
];
const CITIES = ['London', 'Leeds', 'Bristol', 'Wells, Somerset', 'Aberdeen', 'Cardiff', 'Belfast', 'York'];

/** Writes a CSV of so many rows: numbers in no order, as lists that were gathered over years have them, each once. */
export async function writeList(path: string, rows: number): Promise<void> {
  const out = createWriteStream(path);
  out.write('number,name,city\n');
  for (let row = 0; row < rows; row += 1) {
    // Coprime with the ten million numbers there are.
    const digits = String(10_000_000 + ((row * 7_654_321) % 10_000_000));
    const line = `+4477${digits},${NAMES[row % NAMES.length]} ${row % 977},"${CITIES[row % CITIES.length]}"\n`;
    if (!out.write(line)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');
}
