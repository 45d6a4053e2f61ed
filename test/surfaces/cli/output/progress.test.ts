import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { bar, campaignLine, renderCampaign, shares } from '../../../../src/surfaces/cli/output/progress.js';
import { type Paint, unpainted } from '../../../../src/surfaces/cli/output/terminal.js';
import { widthOf } from '../../../../src/surfaces/cli/output/text.js';
import { isoAt, NOON, statusWith } from '../campaign-status.js';

const look = { now: NOON, width: 82, paint: unpainted };

test('A bar is exact to an eighth of a column, and any share above 0 is visible', () => {
  expect(bar(0, 10)).toBe('');
  expect(bar(1, 10)).toBe('█'.repeat(10));
  expect(bar(0.5, 10)).toBe('█████');
  expect(bar(0.5, 5)).toBe('██▌');
  expect(bar(0.000_001, 10)).toBe('▏');
  expect(bar(7, 10)).toBe('█'.repeat(10));
});

test('A campaign that is only scheduled shows its window, and one that has ended shows none', () => {
  const window = {
    hours: 'Mon-Sat 09:00-20:00',
    except: [],
    zone: null,
    opensAt: null,
    closesAt: isoAt(3_600_000),
  };
  const scheduled = {
    ...statusWith({ state: 'scheduled', waitingFor: 'start' }),
    window,
    zone: 'Europe/Paris',
  };
  const shown = (status: typeof scheduled): string =>
    renderCampaign(status, { ...look, width: 120 }).join('\n');
  expect(shown(scheduled)).toMatch(
    /^ {2}window +Mon-Sat 09:00-20:00 Europe\/Paris; closes 15:00:00 CEST \(in 1h\)$/m,
  );
  expect(shown({ ...scheduled, state: 'completed', endedAt: isoAt(0) })).not.toContain('window');
});

test('Shares fill the width exactly, and the smallest count above 0 gets a column', () => {
  expect(shares([1, 1], 10)).toEqual([5, 5]);
  expect(shares([999_999, 1, 0], 20)).toEqual([19, 1, 0]);
  expect(shares([0, 0], 20)).toEqual([0, 0]);
  const columns = shares([3, 7, 11, 13], 40);
  expect(columns.reduce((sum, count) => sum + count, 0)).toBe(40);
});

test('A campaign is drawn with its states, its quota, and what happens next', () => {
  const status = statusWith({
    counts: {
      deliveredToTerminal: 20,
      deliveredToNetwork: 10,
      sending: 4,
      planned: 64,
      deliveryImpossible: 2,
    },
    requests: { send: 36, poll: 20, throttled: 1 },
    quota: { used: 56, limit: 1_000, span: '1h', keptForPolls: 0, nextPermitAt: null, nextPermits: 0 },
    eta: { earliest: isoAt(80_000), latest: isoAt(90_000), isApproximate: false, reason: null },
    rate: 1_920,
  });
  expect(renderCampaign(status, look)).toEqual([
    'Spring sale                                             c1 · lane main · running',
    '███████████████▓▓▓▓▓▓▓▒▒▒×░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  22%',
    '  █ delivered    20  ████████',
    '  ▓ on network   10  ████',
    '  ▒ sending       4  █▋',
    '  × impossible    2  ▊',
    '  ░ planned      64  █████████████████████████▋',
    '  sender        ACME',
    '  text          Hi {{name}}',
    '  requests      36 for messages, 20 for reports, 1 refused as too many (429)',
    '  quota         56 of 1,000 used',
    '  rate          1,920 messages an hour on average',
    '  Sending. Last message between 12:01:20 and 12:01:30 UTC (in 1m 20s to 1m 30s).',
  ]);
});

test('The time of the last message gets a line of its own if the sentence is too long for one', () => {
  const status = statusWith({
    waitingFor: 'permits',
    quota: { used: 100, limit: 100, span: '1h', keptForPolls: 0, nextPermitAt: isoAt(4_000), nextPermits: 3 },
    eta: { earliest: isoAt(9_000), latest: isoAt(13_000), isApproximate: false, reason: null },
  });
  expect(renderCampaign(status, look).slice(-3)).toEqual([
    '  The hourly limit of 100 is used up; continues at 12:00 UTC (in 4s). To send',
    '  faster, ask the service for a higher limit.',
    '  Last message between 12:00:09 and 12:00:13 UTC (in 9 to 13 s).',
  ]);
});

test('A quota that was just learned from refusals is shown as used up, not as exceeded', () => {
  const quota = { used: 115, limit: 110, span: '1h', keptForPolls: 0, nextPermitAt: null, nextPermits: 0 };
  expect(renderCampaign(statusWith({ quota }), look)).toContain('  quota         all 110 used');
});

test('On a terminal with few rows, the states share one line', () => {
  const status = statusWith({ counts: { deliveredToTerminal: 1, planned: 1 } });
  const lines = renderCampaign(status, { ...look, compact: true });
  expect(lines).toHaveLength(6);
  expect(lines[2]).toBe('  █ delivered 1  ▓ on network 0  ▒ sending 0  ░ planned 1');
});

test('Without a known quota, the rate so far says nothing about the last message', () => {
  const status = statusWith({
    counts: { deliveredToNetwork: 60, planned: 120 },
    quota: { used: 60, limit: null, span: '1h', keptForPolls: 0, nextPermitAt: null, nextPermits: 0 },
    eta: {
      earliest: isoAt(1_000),
      latest: null,
      isApproximate: false,
      reason: 'the limit of the service is not known yet',
    },
    rate: 3_600,
  });
  const text = renderCampaign(status, { ...look, width: 80 }).join('\n');
  expect(text).toContain('rate          3,600 messages an hour on average');
  expect(text.replace(/\s+/g, ' ')).toContain(
    'Last message not before 12:00:01 UTC (in 1s): the limit of the service is not known yet.',
  );
});

test.each([60, 80, 120])('At %i columns, no line is too long, and the command is whole', (width) => {
  const status = statusWith({
    id: '1a2b3c4d5e6f7',
    waitingFor: 'resolve',
    counts: { unknown: 17, deliveredToTerminal: 1 },
  });
  const lines = renderCampaign(status, { ...look, width });
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
  expect(lines.join('\n')).toContain('volley resolve 1a2b3c4d5e6f7');
});

test('The picture is never wider than its width', () => {
  const status = statusWith({
    name: 'A name that is far longer than the terminal is wide, with 🎂 in it and more',
    counts: { deliveredToTerminal: 1_234_567, planned: 7_654_321 },
  });
  for (const width of [40, 60, 80, 200]) {
    for (const line of renderCampaign(status, { ...look, width }).slice(0, 6)) {
      expect(widthOf(line)).toBeLessThanOrEqual(Math.min(width, 100));
    }
  }
});

test('100% means that every recipient is settled', () => {
  const almost = statusWith({ counts: { deliveredToTerminal: 999_999, deliveredToNetwork: 1 } });
  expect(renderCampaign(almost, look)[1]).toMatch(/ 99%$/);
  const all = statusWith({ counts: { deliveredToTerminal: 999_999, rejected: 1 } });
  expect(renderCampaign(all, look)[1]).toMatch(/ 100%$/);
});

test('Suppressed recipients are no progress', () => {
  const counts = { suppressed: 60, deliveredToTerminal: 10, planned: 30 };
  expect(renderCampaign(statusWith({ counts }), look)[1]).toMatch(/ 25%$/);
  expect(campaignLine(statusWith({ counts }), NOON)).toContain(': 10 of 40 done (25%);');
  const suppressed = statusWith({ counts: { suppressed: 3 }, state: 'completed', endedAt: isoAt(0) });
  expect(renderCampaign(suppressed, look)[1]).toMatch(/ 100%$/);
});

test('Of a long text, the status shows the beginning', () => {
  const lines = renderCampaign(statusWith({ message: 'spring '.repeat(100) }), look);
  const at = lines.findIndex((line) => line.startsWith('  text '));
  expect(lines[at + 2]).toMatch(/…$/);
  expect(lines[at + 3]).toMatch(/^ {2}requests /);
});

test('An empty campaign shows 0%', () => {
  expect(renderCampaign(statusWith(), look)[1]).toBe('   0%');
});

test('A campaign name cannot put escape sequences into the picture', () => {
  const [heading] = renderCampaign(statusWith({ name: 'x\u001b[2J' }), look);
  expect(heading).toContain('x·[2J');
});

test('Colours change nothing else', () => {
  const status = statusWith({ counts: { deliveredToTerminal: 5, planned: 5 } });
  const loud: Paint = (_ink, text) => `\u001b[31m${text}\u001b[39m`;
  const bare = renderCampaign(status, { ...look, paint: loud }).map((line) =>
    stripVTControlCharacters(line).trimEnd(),
  );
  expect(bare).toEqual(renderCampaign(status, look).map((line) => line.trimEnd()));
});

test('The plain line lists the states with recipients, and what happens next', () => {
  const status = statusWith({ counts: { planned: 3, deliveredToTerminal: 1 } });
  expect(campaignLine(status, NOON)).toBe(
    '12:00:00 UTC c1 running: 1 of 4 done (25%); planned 3, delivered 1. Sending.',
  );
});
