import { readFileSync } from 'node:fs';

/** A metric as docs/metrics.md describes it. */
export interface Documented {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly meaning: string;
}

/** The metrics in the tables of the page, in their order. */
export function documentedMetrics(page = readFileSync('docs/metrics.md', 'utf8')): Documented[] {
  return [...page.matchAll(/^\| `(\w+)` (\w+)(?: \(([^)|]+)\))? \| (.+) \|$/gm)].map(
    ([, name = '', type = '', labels = '', meaning = '']) => ({
      name,
      type,
      labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label).sort(),
      meaning,
    }),
  );
}
