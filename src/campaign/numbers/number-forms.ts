/*
 * One subscriber may have two numbers: that of a former numbering plan, under which networks still report replies, and that of today.
 *
 *   Mexico     +52 1 55 1234 5678  ──►  +52 55 1234 5678
 *   Brazil     +55 11 8765 4321    ──►  +55 11 9 8765 4321
 *   Argentina  +54 11 2345 6789    ···  +54 9 11 2345 6789     may be two people
 *
 * The table is closed: a rule that is wrong merges strangers, so each one has its source.
 */

/** A number as one part of its rule, and the other number of the subscriber. */
type Form = readonly [pattern: RegExp, other: string];

interface Rule {
  /** Since when, and where that is written. */
  readonly source: string;
  readonly former: Form;
  readonly current: Form;
  /** Whether both numbers certainly belong to the same subscriber. */
  readonly isCertain: boolean;
  /** Whether the former number cannot be called any more, so that a list that has it means the current one. */
  readonly isReplaced: boolean;
}

/** By calling code. */
const RULES: Readonly<Record<string, Rule>> = {
  52: {
    source:
      'Plan Técnico Fundamental de Numeración (DOF, 11 May 2018), in force since 3 August 2019: the 1 before mobile numbers is gone; ITU-T, communication of 12 June 2018',
    former: [/^\+521([2-9]\d{9})$/, '+52$1'],
    current: [/^\+52([2-9]\d{9})$/, '+521$1'],
    isCertain: true,
    isReplaced: true,
  },
  55: {
    // Short numbers that begin with 2 to 5 are landlines. Putting a 9 before them makes another person's mobile number.
    source:
      'Anatel, Resolução 553 (2010), in all areas since 6 November 2016: mobile numbers, which began with 6 to 9, got a 9 in front',
    former: [/^\+55([1-9][1-9])([6-9]\d{7})$/, '+55$19$2'],
    current: [/^\+55([1-9][1-9])9([6-9]\d{7})$/, '+55$1$2'],
    isCertain: true,
    isReplaced: false,
  },
  54: {
    source:
      'Plan Fundamental de Numeración Nacional (Resolución SC 46/97): from abroad, a 9 precedes the area code of a mobile number; without it, the same digits may be a landline',
    former: [/^\+54(11\d{8}|[23]\d{9})$/, '+549$1'],
    current: [/^\+549(11\d{8}|[23]\d{9})$/, '+54$1'],
    isCertain: false,
    isReplaced: false,
  },
};

const CODE_DIGITS = 2;
/** With which all of their codes begin. */
const FIVE = '5'.charCodeAt(0);

/** The rule of a number, and the other number of its subscriber. */
function otherOf(
  number: string,
): { readonly rule: Rule; readonly isFormer: boolean; readonly other: string } | null {
  // Most numbers end here, and every number of every list comes here.
  if (number.charCodeAt(1) !== FIVE) return null;
  const rule = RULES[number.slice(1, 1 + CODE_DIGITS)];
  if (rule === undefined) return null;
  for (const [pattern, replacement] of [rule.former, rule.current]) {
    const other = number.replace(pattern, replacement);
    if (other !== number) return { rule, isFormer: pattern === rule.former[0], other };
  }
  return null;
}

/** The numbers, E.164 with their plus, that certainly belong to the subscriber of this one, which comes first. */
export function formsOf(number: string): readonly [string, ...string[]] {
  const found = otherOf(number);
  return found?.rule.isCertain === true ? [number, found.other] : [number];
}

/** The same with those that may belong to the same subscriber: a number that wants no messages gets none under any of them. */
export function possibleFormsOf(number: string): readonly [string, ...string[]] {
  const found = otherOf(number);
  return found === null ? [number] : [number, found.other];
}

/** The number that stands for all {@link formsOf} a subscriber: that of today. */
export function subscriberOf(number: string): string {
  const found = otherOf(number);
  return found?.isFormer === true && found.rule.isCertain ? found.other : number;
}

/** The number that a list means: that of today, if the former one cannot be called any more. */
export function callableForm(number: string): string {
  const found = otherOf(number);
  return found?.isFormer === true && found.rule.isReplaced ? found.other : number;
}
