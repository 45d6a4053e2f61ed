import { readFileSync } from 'node:fs';

/** A metric as docs/metrics.md has it. */
export interface Documented {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  /** Empty for those of Node, whose words are the library's. */
  readonly meaning: string;
}

/** The rows of a page's tables of metrics, in their order. */
export function documentedMetrics(page = readFileSync('docs/metrics.md', 'utf8')): Documented[] {
  return [...page.matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]+) \|(?: (.+) \|)?$/gm)].map(
    ([, name = '', type = '', labels = '', meaning = '']) => ({
      name,
      type,
      labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label).sort(),
      meaning,
    }),
  );
}
