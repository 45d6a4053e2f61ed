import { SETTLED_STATES } from '../../../campaign/recipient.js';
import { barParts, type Counts, type Kind } from '../base/recipients.js';
import { texts } from '../base/texts.js';
import { countText, percentText } from '../base/times.js';

/*
 * A campaign as a bar. It grows with settled recipients: one that is on the network is no success yet, and one that is unknown is neither.
 */

const percent = (share: number): string => `${share * 100}%`;

/** The bar; its text for readers who do not see it is the list of its parts. */
export function Bar({ counts, isSmall }: { readonly counts: Counts; readonly isSmall?: boolean }) {
  const parts = barParts(counts);
  const text = parts.map(({ kind, count }) => `${countText(count)} ${texts.kinds[kind]}`).join(', ');
  return (
    <svg class={`bar${isSmall ? ' small' : ''}`} role="img" aria-label={text}>
      {parts.map(({ kind, from, share, count }) => (
        <rect key={kind} x={percent(from)} width={percent(share)} height="100%" class={`fill-${kind}`}>
          <title>{`${countText(count)} ${texts.kinds[kind]}`}</title>
        </rect>
      ))}
    </svg>
  );
}

/** How much is settled, and how fast it is sent. What is only sent is no success yet. */
export function Progress({
  counts,
  perMinute,
}: {
  readonly counts: Counts;
  readonly perMinute: number | null;
}) {
  const settled = SETTLED_STATES.reduce((sum, state) => sum + counts[state], 0);
  return (
    <span class="progress">
      <strong>{percentText(settled, counts.total)}</strong> {texts.campaign.settled}{' '}
      <span class="quiet">
        {texts.campaign.of(counts.total)}
        {perMinute !== null && perMinute > 0 && ` · ${texts.campaign.perMinute(perMinute)}`}
      </span>
    </span>
  );
}

/** What the colours and patterns mean, for the parts that there are. */
export function Legend({ counts }: { readonly counts: Counts }) {
  return (
    <ul class="legend">
      {barParts(counts).map(({ kind, count }) => (
        <li key={kind}>
          <Swatch kind={kind} /> {countText(count)} {texts.kinds[kind]}
        </li>
      ))}
    </ul>
  );
}

export function Swatch({ kind }: { readonly kind: Kind }) {
  return (
    <svg class="swatch" aria-hidden="true">
      <rect width="100%" height="100%" class={`fill-${kind}`} />
    </svg>
  );
}

/** The patterns, once on every page. Their colours are in parts.css. */
export function Patterns() {
  return (
    <svg class="unseen" aria-hidden="true">
      <defs>
        <pattern
          id="p-unknown"
          width="6"
          height="6"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect width="6" height="6" class="base" />
          <rect width="3" height="6" class="ink" />
        </pattern>
        <pattern id="p-network" width="5" height="5" patternUnits="userSpaceOnUse">
          <rect width="5" height="5" class="base" />
          <circle cx="2.5" cy="2.5" r="1" class="ink" />
        </pattern>
        <pattern id="p-failed" width="6" height="6" patternUnits="userSpaceOnUse">
          <rect width="6" height="6" class="base" />
          <path d="M1 1l4 4M5 1l-4 4" class="line" />
        </pattern>
        <pattern id="p-unconfirmed" width="4" height="4" patternUnits="userSpaceOnUse">
          <rect width="4" height="4" class="base" />
          <rect width="4" height="1.5" class="ink" />
        </pattern>
        <pattern
          id="p-left"
          width="5"
          height="5"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(-45)"
        >
          <rect width="5" height="5" class="base" />
          <rect width="1" height="5" class="ink" />
        </pattern>
        <pattern id="p-permits" width="4" height="4" patternUnits="userSpaceOnUse">
          <rect width="4" height="4" class="base" />
          <rect width="2" height="2" class="ink" />
        </pattern>
      </defs>
    </svg>
  );
}
