/** A metric as Prometheus parses it. */
export interface Exposed {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

export interface Sample {
  /** For a histogram with `_bucket`, `_sum`, or `_count`. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Parses the text format line by line. Throws if a line is invalid. */
export function readExposition(page: string): Exposed[] {
  const metrics = new Map<string, { name: string; type: string; help: string; samples: Sample[] }>();
  const metricOf = (name: string) => {
    const known = metrics.get(name) ?? metrics.get(name.replace(/_(bucket|sum|count)$/, ''));
    if (known === undefined) throw new Error(`a sample before its metric: ${name}`);
    return known;
  };
  for (const line of page.split('\n').filter((text) => text !== '')) {
    const [, kind, of, rest] = /^# (HELP|TYPE) (\w+) (.*)$/.exec(line) ?? [];
    if (kind === 'HELP' && of !== undefined && rest !== undefined) {
      if (metrics.has(of)) throw new Error(`metric appears twice: ${of}`);
      metrics.set(of, { name: of, type: '', help: rest, samples: [] });
    } else if (kind === 'TYPE' && of !== undefined && rest !== undefined) {
      metricOf(of).type = rest;
    } else {
      const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name === undefined || value === undefined) throw new Error(`no line of the format: ${line}`);
      const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', of = '']) => [key, of]);
      const read = value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value);
      metricOf(name).samples.push({ name, labels: Object.fromEntries(pairs), value: read });
    }
  }
  return [...metrics.values()];
}

/** The sum of the samples of a metric with these labels. */
export function sumOf(
  metrics: readonly Exposed[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const metric = metrics.find((one) => one.name === name);
  if (metric === undefined) throw new Error(`not exposed: ${name}`);
  return metric.samples
    .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0);
}
