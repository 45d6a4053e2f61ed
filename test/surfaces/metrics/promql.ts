import type { Documented } from './documented.js';

/** Keywords of PromQL that our queries use. Any other word counts as a metric. */
const WORDS = new Set(
  'sum max min by on and or unless offset rate increase changes delta histogram_quantile deriv vector'.split(
    ' ',
  ),
);
/** Labels that Prometheus adds to every series. */
const OF_PROMETHEUS = ['job', 'instance'];
const UP: Documented = { name: 'up', type: 'gauge', labels: [], meaning: '' };

/** The unknown metrics and labels in a query, as messages. */
export function faultsOf(query: string, metrics: readonly Documented[]): string[] {
  const known = new Map([...metrics, UP].map((metric) => [metric.name, metric]));
  for (const { name, type, ...rest } of metrics) {
    if (type !== 'histogram') continue;
    for (const part of ['_bucket', '_sum', '_count']) {
      known.set(name + part, { ...rest, type, name: name + part, labels: [...rest.labels, 'le'] });
    }
  }
  const faults: string[] = [];
  const labels = new Set<string>(OF_PROMETHEUS);
  const bare = query.replace(/"[^"]*"/g, '""');
  for (const [, name = '', , matchers = ''] of bare
    .replace(/\b(?:by|on|group_left)\s*\([^)]*\)/g, ' ')
    .replace(/\[[^\]]*\]|\$\w+/g, '')
    .matchAll(/\b([a-z]\w*)\b(\{([^}]*)\})?/g)) {
    if (WORDS.has(name) || /^\d/.test(name)) continue;
    const metric = known.get(name);
    if (metric === undefined) {
      faults.push(`no metric: ${name}`);
      continue;
    }
    for (const label of metric.labels) labels.add(label);
    const used = [...matchers.matchAll(/(\w+)\s*[=!]/g)].map(([, label = '']) => label);
    const own = [...metric.labels, ...OF_PROMETHEUS];
    faults.push(...used.filter((label) => !own.includes(label)).map((label) => `${name} has no ${label}`));
  }
  const grouped = [...bare.matchAll(/\b(?:by|on|group_left)\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((label) => label.trim()),
  );
  faults.push(
    ...grouped.filter((label) => label !== '' && !labels.has(label)).map((label) => `no label: ${label}`),
  );
  return faults;
}
