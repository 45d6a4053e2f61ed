import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { printedCommands, unknownIn } from '../../house/commands.js';
import { documentedMetrics } from './documented.js';
import { faultsOf } from './promql.js';

const metrics = documentedMetrics();

const rule = z.strictObject({
  alert: z.string().regex(/^Volley[A-Z][A-Za-z]+$/),
  expr: z.string(),
  for: z
    .string()
    .regex(/^\d+[smh]$/)
    .optional(),
  labels: z.strictObject({ severity: z.enum(['page', 'ticket']) }),
  annotations: z.strictObject({ summary: z.string().min(20), runbook: z.string() }),
});
const file = z.strictObject({
  groups: z.tuple([z.strictObject({ name: z.literal('volley'), rules: z.array(rule).min(10) })]),
});
const alerts = file.parse(parse(readFileSync('docs/alerts.yml', 'utf8'))).groups[0].rules;
const runbook = readFileSync('docs/runbook.md', 'utf8');
const sections = runbook.split(/^## /m).slice(1);

describe('a query', () => {
  test('is rejected if it uses an unknown metric or label', () => {
    expect(faultsOf('sum by (lane) (rate(volley_sends_total{outcome="accepted"}[5m])) > 0', metrics)).toEqual(
      [],
    );
    expect(faultsOf('volley_sent_total', metrics)).toEqual(['no metric: volley_sent_total']);
    expect(faultsOf('avg(volley_workers)', metrics)).toEqual(['no metric: avg']);
    expect(faultsOf('volley_workers{lane="a"}', metrics)).toEqual(['volley_workers has no lane']);
    expect(faultsOf('max by (lane) (volley_workers)', metrics)).toEqual(['no label: lane']);
  });
});

describe('an alert', () => {
  test.each(alerts)('$alert uses documented metrics and labels', ({ expr, annotations }) => {
    expect(faultsOf(expr, metrics)).toEqual([]);
    const named = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label);
    const kept = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/));
    // A label that the query aggregates away would be empty in the summary.
    if (kept.length > 0) expect(named.filter((label) => !kept.includes(label))).toEqual([]);
  });

  test.each(alerts)('$alert links to its section of the runbook', ({ alert, annotations }) => {
    expect(annotations.runbook).toBe(`docs/runbook.md#${alert.toLowerCase()}`);
  });
});

const promtool = spawnSync('promtool', ['--version']).status === 0;

test.skipIf(!promtool)(
  'Prometheus accepts the rules and raises the expected alerts (requires promtool)',
  () => {
    for (const [command, path] of [
      ['check', 'docs/alerts.yml'],
      ['test', 'test/surfaces/metrics/alerts.promtool.yml'],
    ] as const) {
      const { status, stdout, stderr } = spawnSync('promtool', [command, 'rules', path], {
        encoding: 'utf8',
      });
      expect([status, status === 0 ? '' : stdout + stderr]).toEqual([0, '']);
    }
  },
);

describe('the runbook', () => {
  test('has one section for each alert, in the same order', () => {
    expect(sections.map((section) => section.split('\n', 1)[0])).toEqual(alerts.map(({ alert }) => alert));
  });

  test.each(sections)('describes meaning, cause, what to look at, and commands in section %#', (section) => {
    for (const label of ['**Means**', '**Cause**']) expect(section).toContain(label);
    expect(section.replaceAll('\n', ' ')).toContain('**Look at**');
    expect(printedCommands(section)).not.toEqual([]);
  });

  test.each(printedCommands(runbook))('prints only existing commands and options: %s', (line) => {
    expect(unknownIn(line)).toEqual([]);
  });

  test('an unknown command or option is detected', () => {
    expect(unknownIn('volley restart')).toEqual(['no command: restart']);
    expect(unknownIn('volley lanes --all')).toEqual(['--all']);
  });
});

describe('the dashboard', () => {
  const target = z.looseObject({ expr: z.string(), refId: z.string() });
  const panel = z.looseObject({
    id: z.number(),
    type: z.string(),
    title: z.string(),
    gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
    targets: z.array(target).default([]),
  });
  const dashboard = z
    .looseObject({ title: z.literal('Volley'), uid: z.literal('volley'), panels: z.array(panel).min(20) })
    .parse(JSON.parse(readFileSync('docs/grafana/volley.json', 'utf8')));
  const shown = dashboard.panels.filter(({ type }) => type !== 'row');

  test.each(shown)('$title uses documented metrics and labels', ({ targets }) => {
    expect(targets.length).toBeGreaterThan(0);
    expect(targets.flatMap(({ expr }) => faultsOf(expr, metrics))).toEqual([]);
  });

  test('has panels with unique ids that do not overlap', () => {
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const overlapping = panels.flatMap(({ title, gridPos: a }, at) =>
      panels
        .slice(at + 1)
        .filter(({ gridPos: b }) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h)
        .map((other) => `${title} and ${other.title}`),
    );
    expect(overlapping).toEqual([]);
    expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
  });

  test('shows every Volley metric that no alert uses', () => {
    const queries = shown.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join(' ');
    const alerted = alerts.map(({ expr }) => expr).join(' ');
    const own = metrics.map(({ name }) => name).filter((name) => name.startsWith('volley_'));
    const nowhere = own.filter(
      (name) => !new RegExp(`\\b${name}(_bucket)?\\b`).test(`${queries} ${alerted}`),
    );
    expect(nowhere).toEqual([]);
  });
});
