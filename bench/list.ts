/** The list that the benches import: realistic names and places, and numbers in random order. */
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

/** One text for all recipients, and one with the recipient's name and city. */
export const TEXTS = {
  'shared text': 'Spring sale: 20% off everything until Sunday. Reply STOP to opt out.',
  personalised:
    'Hi {{name}}, the spring sale has come to {{city}}: 20% off everything until Sunday. Reply STOP to opt out.',
} as const;

/** Name and city of the recipient with this index. */
export function personAt(at: number): { readonly name: string; readonly city: string } {
  return {
    name: `${FIRST[(at * 7) % FIRST.length]} ${LAST[(at * 13) % LAST.length]} ${at % 977}`,
    city: CITIES[(at * 5) % CITIES.length] ?? '',
  };
}

/** Writes a CSV with distinct numbers in random order, like a list that has grown over years. */
export async function writeList(path: string, rows: number): Promise<void> {
  const out = createWriteStream(path);
  out.write('number,name,city\n');
  for (let row = 0; row < rows; row += 1) {
    // A step that is coprime with the ten million numbers visits each number once, in a scattered order.
    const digits = String(10_000_000 + ((row * 7_654_321) % 10_000_000));
    const { name, city } = personAt(row);
    if (!out.write(`+4477${digits},${name},"${city}"\n`)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');
}
