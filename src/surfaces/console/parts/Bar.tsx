import type { LiveCampaign } from 'built/campaign/views/live-views.js';
import type { ComponentChildren } from 'preact';
import { RECIPIENT_STATES, SETTLED_STATES } from '../../../campaign/states/recipient.js';
import type { ReportedStatus } from '../../../campaign/states/reported-status.js';
import { barParts, type Counts, KIND_OF, type Kind } from '../base/recipients.js';
import { recipientsText, stateText, texts } from '../base/texts.js';
import { countText, percentText } from '../base/times.js';

const kindText = (kind: Kind): string =>
  (texts.kinds as Partial<Record<Kind, string>>)[kind] ??
  stateText(RECIPIENT_STATES.find((state) => KIND_OF[state] === kind) ?? kind).toLowerCase();
const percent = (share: number): string => `${share * 100}%`;

/** A campaign as a bar, with a part for each kind of state. Its text for readers who do not see it is the list of its parts. */
export function Bar({ counts, isSmall }: { readonly counts: Counts; readonly isSmall?: boolean }) {
  const parts = barParts(counts);
  const text = parts.map(({ kind, count }) => `${countText(count)} ${kindText(kind)}`).join(', ');
  return (
    <svg class={`bar${isSmall ? ' small' : ''}`} role="img" aria-label={text}>
      {parts.map(({ kind, from, share, count }) => (
        <rect key={kind} x={percent(from)} width={percent(share)} height="100%" fill={fillOf(kind)}>
          <title>{`${countText(count)} ${kindText(kind)}`}</title>
        </rect>
      ))}
    </svg>
  );
}

/** How much is settled, and how fast it is sent, while there is more to come. What is only sent is no success yet, and what is unknown is neither. */
export function Progress({ status, sendsPerMinute: rate }: Omit<LiveCampaign, 'waiting'>) {
  const { counts, state, endedAt } = status;
  const settled = SETTLED_STATES.reduce((sum, each) => sum + counts[each], 0);
  if (endedAt !== null || state === 'cancelled')
    return <span class="end quiet">{recipientsText(counts.total)}</span>;
  return (
    <span class="end">
      <strong>{percentText(settled, counts.total)}</strong> {texts.campaign.done}{' '}
      <span class="quiet">
        {texts.campaign.of(counts.total)}
        {rate !== null && rate > 0 && ` · ${texts.campaign.perMinute(rate)}`}
      </span>
    </span>
  );
}

export function Swatch({ kind }: { readonly kind: Kind }) {
  return (
    <svg class="swatch" aria-hidden="true">
      <rect width="100%" height="100%" fill={fillOf(kind)} />
    </svg>
  );
}

/** The state of a row, with its colour and pattern; its title says what it means. */
export function RowStateText({ state, children }: { state: ReportedStatus; children?: ComponentChildren }) {
  return (
    <span class="nowrap" title={texts.recipients[state][1]}>
      <Swatch kind={state === 'duplicate' || state === 'invalid' ? 'left' : KIND_OF[state]} />{' '}
      {stateText(state)} <span class="quiet">{children}</span>
    </span>
  );
}

/** The shapes of patterns: a square of this size, and what is drawn in it. */
const SHAPES = {
  plain: [4, ''],
  dots: [5, 'M2.5 2.5h.01'],
  stripes: [6, 'M-1 1l2-2M0 6l6-6M5 7l2-2'],
  thin: [7, 'M0 0l7 7'],
  crosses: [6, 'M1 1l4 4M5 1l-4 4'],
  lines: [4, 'M0 1h4'],
} as const;

/** Colour, pattern, its colour, and how thick it is drawn. Patterns tell parts apart where colours do not. */
const FILLS: Readonly<
  Record<Kind | 'permits', readonly [base: string, shape: keyof typeof SHAPES, ink?: string, size?: number]>
> = {
  delivered: ['--delivered', 'plain'],
  sending: ['--sending', 'plain'],
  planned: ['--planned', 'plain'],
  unknown: ['--surface', 'stripes', '--unknown', 3],
  network: ['--network', 'dots', '--surface', 2],
  failed: ['--failed', 'crosses', '--surface', 1.2],
  unconfirmed: ['--unconfirmed', 'lines', '--surface', 1.5],
  left: ['--planned', 'thin', '--left', 1.2],
  permits: ['--surface', 'lines', '--delivered', 2],
};

/** The patterns, once on every page. */
export function Patterns() {
  return (
    <svg class="unseen" fill="none" stroke-linecap="round" aria-hidden="true">
      {Object.entries(FILLS).map(([kind, [base, shape, ink = base, thickness = 0]]) => {
        const [size, path] = SHAPES[shape];
        return (
          <pattern key={kind} id={`p-${kind}`} width={size} height={size} patternUnits="userSpaceOnUse">
            <rect width={size} height={size} fill={`var(${base})`} />
            <path d={path} stroke={`var(${ink})`} stroke-width={thickness} />
          </pattern>
        );
      })}
    </svg>
  );
}

/** The pattern of a kind, as a fill. */
export const fillOf = (kind: Kind | 'permits'): string => `url(#p-${kind})`;
