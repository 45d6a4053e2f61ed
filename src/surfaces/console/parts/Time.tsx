import type { TimeRange as Range } from 'built/campaign/views/measures.js';
import { useEffect, useState } from 'preact/hooks';
import { serverNow } from '../base/live.js';
import { isRevealed, masked } from '../base/masked.js';
import { texts } from '../base/texts.js';
import { fullTime, timeText } from '../base/times.js';

interface TimeProps {
  readonly at: string | null | undefined;
  readonly zone?: string | null;
  readonly withSeconds?: boolean;
  /** With its day, also today. */
  readonly isDated?: boolean;
  /** A time that is shown before it: what they share is not repeated. */
  readonly after?: string;
  /** In a sentence: `at 14:05`, but `1 May 14:05`. */
  readonly isIn?: boolean;
}

/** A time in its zone; the whole of it is its title. A dash if there is none. */
export function Time({ at, zone = null, after, ...how }: TimeProps) {
  const { withSeconds = false, isDated = false, isIn = false } = how;
  if (at == null) return <>–</>;
  const time = Date.parse(at);
  const now = isDated ? 0 : serverNow();
  const text = timeText(time, after ? Date.parse(after) : now, zone, withSeconds);
  return (
    <time dateTime={at} title={fullTime(time, zone)}>
      {isIn && /^\d+:/.test(text) && `${texts.at} `}
      {text}
    </time>
  );
}

/** Between two times, or about so; without the second, from the first on. Within one minute, they are one. */
export function TimeRange({ earliest, latest, isApproximate, zone = null }: Range & Pick<TimeProps, 'zone'>) {
  return (
    <span>
      {latest === null ? texts.notBefore : isApproximate && texts.about} <Time at={earliest} zone={zone} />
      {latest !== null &&
        latest.slice(0, 16) !== earliest.slice(0, 16) && [
          ' – ',
          <Time key="latest" at={latest} zone={zone} after={earliest} />,
        ]}
    </span>
  );
}

/** A number of a person: masked, unless the reader reveals numbers. */
export function PhoneNumber({ number }: { readonly number: string }) {
  return <code>{isRevealed.value ? number : masked(number)}</code>;
}

/** The time of the server, read again every second while the component is shown. */
export function useNow(): number {
  const [now, setNow] = useState(serverNow());
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
