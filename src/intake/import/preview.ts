import { exactDuration } from '../../base/duration.js';
import { type Estimate, type EstimatedCampaign, estimate } from '../../campaign/estimate/estimate.js';
import type { LaneOutlook } from '../../campaign/estimate/lane-outlook.js';
import { isOfRecipients, windowNow, zoneOf } from '../../campaign/estimate/window.js';
import {
  estimateZones,
  partNamed,
  windowOfZones,
  type ZoneCount,
  type ZoneRequests,
  zonesAt,
} from '../../campaign/estimate/zones.js';
import { costMeter, formatAmount, type PriceList } from '../../campaign/limits/price.js';
import { requestsNeeded } from '../../campaign/limits/request-count.js';
import { nationalSender } from '../../campaign/numbers/likely-country.js';
import { PRIORITY_WEIGHT } from '../../campaign/states/campaign.js';
import { charactersForcingUcs2, segmentsOf } from '../../campaign/text/segments.js';
import type { Template } from '../../campaign/text/template.js';
import type { RepeatedRow } from '../../campaign/views/list-views.js';
import type { PlannedCost, Preview, Sample } from '../../campaign/views/preview-views.js';
import type { Lane } from '../../engine/lane/lane.js';
import { SLICE } from '../../engine/recipients/slices.js';
import type { CheckedCampaign } from './campaign-input.js';
import { invalidRows } from './invalid-groups.js';
import { MANY_SEGMENTS, previewWarnings } from './preview-warnings.js';
import type { CheckedRow, CheckedRows, Duplicates } from './rows/check-rows.js';
import { namedRows } from './rows/named-rows.js';

/**
 * Polls per send request until all its recipients are final: most phones are reached before the first poll, 15 s after sending by
 * default; every second request is polled once more.
 */
const USUAL_POLLS_PER_REQUEST = 1.5;
/** The same on a lane that receives notifications: only requests whose notifications were lost are polled, at most one in ten. */
const NOTIFIED_POLLS_PER_REQUEST = 0.1;
const MAX_SAMPLES = 3;
const MAX_REPEATS = 20;
const MAX_UNPRICED = 20;
/** Numbers that may show the country of numbers without one. */
const MAX_NUMBERS_READ = 100;
/** Messages searched for characters that force UCS-2: enough to find them, few enough to cost nothing. */
const MAX_MESSAGES_SEARCHED = 200;

/** What a preview describes besides its list. */
interface Previewed {
  readonly campaign: Omit<CheckedCampaign, 'lane'>;
  /** The current time, ms since the epoch. */
  readonly now: number;
  readonly lane: Pick<Lane, 'name' | 'rules'>;
  /** Undefined: what messages cost is not known. */
  readonly prices: PriceList | undefined;
}

/** A message with its cost in micros; undefined: its number has no price. */
type Measured = Omit<Sample, 'cost'> & { readonly micros: number | undefined };

/** Collects the preview of a campaign while its list is read. */
export function previewBuilder(template: Template, { campaign, lane, prices, now }: Previewed) {
  const {
    sender,
    senderName,
    sendAt,
    validFor: validForMs,
    priority,
    country,
    budget,
    zone,
    window,
  } = campaign;
  const isShared = template.placeholders.length === 0;
  const shared = isShared ? segmentsOf(template.text) : undefined;
  const ucs2Characters = new Set<string>();
  const samples: Sample[] = [];
  let [longest, dearest]: (Measured | undefined)[] = [];
  const invalid = invalidRows(campaign.problems);
  const repeats: Record<RepeatedRow['text'], RepeatedRow[]> = { same: [], different: [] };
  const segments = { min: Number.POSITIVE_INFINITY, max: 0, total: 0 };
  const international: string[] = [];
  const notMobile = namedRows();
  const meter = prices === undefined ? undefined : costMeter(prices);
  const unpricedRows: PlannedCost['unpricedRows'][number][] = [];
  const startsAt = Math.max(now, sendAt ?? 0);
  const partCounts = new Map<string, number>();
  let unpriced = 0;
  let [recipients, suppressed, ucs2, long] = [0, 0, 0, 0];

  const costOf = (): PlannedCost | null => {
    if (prices === undefined || meter === undefined) return null;
    const { currency } = prices;
    const range = meter.range();
    const amount = (micros: bigint | number): string => formatAmount(micros, currency);
    return {
      total: amount(meter.total()),
      currency,
      segmentPrice: range === null ? null : { min: amount(range.min), max: amount(range.max) },
      maxCost: budget === undefined ? null : amount(budget),
      unpriced,
      unpricedRows,
    };
  };

  const isLonger = (text: string, count: number): boolean =>
    longest === undefined ||
    count > longest.segments ||
    (count === longest.segments && text.length > longest.text.length);
  const sampleOf = ({ micros, ...message }: Measured): Sample => ({
    ...message,
    cost: prices === undefined || micros === undefined ? null : formatAmount(micros, prices.currency),
  });

  return {
    /** Adds a recipient. Returns what its message costs, in micros: 0 if it gets none, or its number has no price. */
    addRecipient(row: Extract<CheckedRow, { kind: 'recipient' }>, isSuppressed: boolean): number {
      const { line, number, values } = row;
      if (international.length < MAX_NUMBERS_READ) international.push(number);
      if (isSuppressed) {
        suppressed += 1;
        return 0;
      }
      recipients += 1;
      if (row.part !== undefined) partCounts.set(row.part, (partCounts.get(row.part) ?? 0) + 1);
      if (row.isNotMobile === true) notMobile.add(line);
      const text = shared === undefined ? template.render(values) : template.text;
      const measured = shared ?? segmentsOf(text);
      if (measured.encoding === 'UCS-2') {
        ucs2 += 1;
        if (ucs2 <= (isShared ? 1 : MAX_MESSAGES_SEARCHED)) {
          for (const character of charactersForcingUcs2(text)) ucs2Characters.add(character);
        }
      }
      if (measured.segments > MANY_SEGMENTS) long += 1;
      segments.min = Math.min(segments.min, measured.segments);
      segments.max = Math.max(segments.max, measured.segments);
      segments.total += measured.segments;
      const micros = meter?.add(number, measured.segments);
      const isDearer = micros !== undefined && micros > (dearest?.micros ?? -1);
      if (samples.length < MAX_SAMPLES || isDearer || isLonger(text, measured.segments)) {
        const { encoding, segments: count } = measured;
        const message = { line, to: number, text, values, encoding, segments: count, micros };
        if (samples.length < MAX_SAMPLES) samples.push(sampleOf(message));
        if (isLonger(text, measured.segments)) longest = message;
        if (isDearer) dearest = message;
      }
      if (micros !== undefined || meter === undefined) return micros ?? 0;
      unpriced += 1;
      if (unpricedRows.length < MAX_UNPRICED) unpricedRows.push({ line, to: number });
      return 0;
    },
    addInvalid: invalid.add,
    addRepeated(row: RepeatedRow): void {
      if (repeats[row.text].length < MAX_REPEATS) repeats[row.text].push(row);
    },
    /** `outlook` and the other campaigns of the lane decide how long sending takes. Null: it is not estimated. */
    build(
      list: CheckedRows,
      duplicates: Duplicates,
      outlook: LaneOutlook | null,
      isSuppressionChecked: boolean,
    ): Preview {
      const counts = { ...list.counts(), recipientCount: recipients, suppressed };
      const most = lane.rules.maxRecipients;
      const ofZones = isOfRecipients(window) || partCounts.size > 0 ? zonesOf(partCounts) : null;
      const requestsOf = (count: number): number => requestsNeeded(count, isShared, most, SLICE);
      const zoneRequests = ofZones?.map((part) => ({ ...part, requests: requestsOf(part.waiting) }));
      const sends = zoneRequests?.reduce((sum, { requests }) => sum + requests, 0) ?? requestsOf(recipients);
      const shownZone = zone ?? zoneOf(window, lane.rules.sendWindow);
      const zones = ofZones && zonesAt(window, lane.rules.sendWindow, ofZones, startsAt, shownZone);
      const estimateWith = (known: LaneOutlook, launchAt = Math.max(known.now, sendAt ?? 0)) =>
        estimateOnce(known, lane.rules, zoneRequests, {
          // It does not exist yet; of campaigns whose turn it is, the oldest goes first.
          id: '~',
          requests: sends,
          weight: PRIORITY_WEIGHT[priority],
          launchAt,
          lapseAt: validForMs === undefined ? 0 : launchAt + validForMs,
          sending: 0,
          awaiting: 0,
          unknown: 0,
          obstacle: null,
          window,
        });
      const estimated = outlook === null ? null : estimateWith(outlook);
      const { eta = null, completion = null } = estimated ?? {};
      const inTime = validForMs === undefined ? undefined : estimated?.inTime;
      // Messages that lapse are neither sent nor polled.
      const sent = inTime?.atMost ?? sends;
      const pollsPerRequest =
        lane.rules.notify === true ? NOTIFIED_POLLS_PER_REQUEST : USUAL_POLLS_PER_REQUEST;
      const polls = Math.ceil(sent * pollsPerRequest);
      const reached = (requests: number): number =>
        requests >= sends ? recipients : Math.min(recipients, requests * (isShared ? most : 1));
      const seen = {
        message: template.text,
        sender,
        senderName: senderName ?? null,
        lane: lane.name,
        sendAt: sendAt === undefined ? null : new Date(sendAt).toISOString(),
        zone: shownZone,
        window: windowOfZones(window, zones, startsAt),
        zones,
        laneZone: zoneOf(lane.rules.sendWindow),
        laneWindow: windowNow(lane.rules.sendWindow, startsAt),
        validFor: validForMs === undefined ? null : exactDuration(validForMs),
        refusal: null,
        sheet: list.sheet,
        sheets: list.sheets,
        columns: list.columns,
        toColumn: list.numberColumn,
        countryColumn: list.countryColumn,
        countries: list.countries.counts(),
        ...counts,
        repeats: [...repeats.same, ...repeats.different].sort((a, b) => a.line - b.line),
        isSuppressionChecked,
        notMobile: notMobile.count(),
        invalidGroups: invalid.groups(
          list.columns,
          [...international, withPlus(sender)],
          list.unusedCountryColumn,
        ),
        errors: invalid.errors(),
        problems: invalid.problems(),
        encodings: { gsm7: recipients - ucs2, ucs2 },
        ucs2Characters: [...ucs2Characters],
        segments: { ...segments, min: segments.total === 0 ? 0 : segments.min },
        cost: costOf(),
        requests: { send: sent, poll: polls, total: sent + polls },
        eta,
        completion,
        samples,
        longest: longest === undefined ? null : sampleOf(longest),
        dearest: dearest === undefined ? null : sampleOf(dearest),
        sentBefore: null,
        digest: null,
      };
      const warnings = previewWarnings(seen, {
        ofRows: list.warnings(),
        senderNumber: nationalSender(sender, country),
        long,
        notMobile,
        duplicates,
        validForMs,
        inTime: inTime && { atLeast: reached(inTime.atLeast), atMost: reached(inTime.atMost) },
      });
      return { ...seen, warnings };
    },
  };
}

/** In a preview, all recipients wait. */
const zonesOf = (counts: ReadonlyMap<string, number>): ZoneCount[] =>
  [...counts].map(([name, recipients]) => ({ ...partNamed(name), recipients, waiting: recipients }));

/** A sender may be written without a plus. */
const withPlus = (sender: string): string => (/^\d{7,}$/.test(sender) ? `+${sender}` : sender);

/** Imports that run at the same time share the state of their lane. Where they are alike, so is their estimate. */
const estimates = new WeakMap<LaneOutlook, Map<string, Estimate>>();

function estimateOnce(
  outlook: LaneOutlook,
  rules: Lane['rules'],
  zones: readonly ZoneRequests[] | undefined,
  own: EstimatedCampaign,
): Estimate {
  const known = estimates.get(outlook) ?? new Map<string, Estimate>();
  estimates.set(outlook, known);
  const name = JSON.stringify([own, zones]);
  const make = (): Estimate =>
    zones === undefined
      ? estimate(outlook, rules, own)
      : estimateZones(outlook, rules, own, { window: own.window, zones });
  const made = known.get(name) ?? make();
  known.set(name, made);
  return made;
}
