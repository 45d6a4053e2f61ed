import { useEffect, useState } from 'preact/hooks';
import { serverNow } from '../base/live.js';
import { isRevealed, masked } from '../base/masked.js';
import { texts } from '../base/texts.js';
import { fullTime, timeText } from '../base/times.js';

interface TimeProps {
  readonly at: string | null | undefined;
  readonly zone?: string | null;
  readonly withSeconds?: boolean;
}

/** A time in its zone; the whole of it is its title. A dash if there is none. */
export function Time({ at, zone = null, withSeconds = false }: TimeProps) {
  if (at == null) return <>–</>;
  const time = Date.parse(at);
  return (
    <time dateTime={at} title={fullTime(time, zone)}>
      {timeText(time, serverNow(), zone, withSeconds)}
    </time>
  );
}

type Range = { readonly earliest: string; readonly latest: string | null; readonly isApproximate: boolean };

/** Between two times, or about so; without the second, from the first on. */
export function TimeRange({ earliest, latest, isApproximate, zone = null }: Range & Pick<TimeProps, 'zone'>) {
  return (
    <span class="nowrap">
      {latest === null ? texts.notBefore : isApproximate && texts.about} <Time at={earliest} zone={zone} />
      {latest !== null && [' – ', <Time key="latest" at={latest} zone={zone} />]}
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
