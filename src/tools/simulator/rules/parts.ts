import { septets } from './sender.js';

/** The parts in which a text is sent (3GPP TS 23.038 and 23.040). */
export function partsOf(text: string): number {
  const units = septets(text);
  if (units === undefined) return text.length > 70 ? Math.ceil(text.length / 67) : 1;
  return units > 160 ? Math.ceil(units / 153) : 1;
}
