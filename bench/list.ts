/** The list that benches import: names and places as people have them, numbers in no order. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';

const FIRST = [
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
const LAST = [
  'Smith',
  'Sørensen',
  'Jones',
  'Taylor & Sons',
  'García',
  'Patel',
  'Walker',
  'Nowak',
  'Khan',
  'Ng',
];
const CITIES = ['London', 'Leeds', 'Bristol', 'Wells, Somerset', 'Aberdeen', 'Cardiff', 'Belfast', 'York'];

/** A text for all, and one of everybody's own. */
export const TEXTS = {
  'shared text': 'Spring sale: 20 % off everything until Sunday. Reply STOP to opt out.',
  personalised:
    'Hi {{name}}, the spring sale has come to {{city}}: 20 % off everything until Sunday. Reply STOP to opt out.',
} as const;

/** Name and city of the recipient at a place from 0. */
export function personAt(at: number): { readonly name: string; readonly city: string } {
  return {
    name: `${FIRST[(at * 7) % FIRST.length]} ${LAST[(at * 13) % LAST.length]} ${at % 977}`,
    city: CITIES[(at * 5) % CITIES.length] ?? '',
  };
}

/** Writes a CSV of so many rows: numbers in no order, as lists that were gathered over years have them, each once. */
export async function writeList(path: string, rows: number): Promise<void> {
  const out = createWriteStream(path);
  out.write('number,name,city\n');
  for (let row = 0; row < rows; row += 1) {
    // Coprime with the ten million numbers there are: each comes once, far from the one before.
    const digits = String(10_000_000 + ((row * 7_654_321) % 10_000_000));
    const { name, city } = personAt(row);
    if (!out.write(`+4477${digits},${name},"${city}"\n`)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');
}
