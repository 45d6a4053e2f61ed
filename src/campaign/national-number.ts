import type { NumberingPlan } from './numbering-plan.js';
import { planOfCallingCode } from './numbering-plan.js';

/** A number taken apart: calling code without plus, and the digits after it without the trunk prefix. */
export interface ReadNumber {
  readonly callingCode: string;
  readonly national: string;
}

/** `unsure`: a spelling with rules of its own (Argentina's 15, Brazil's carrier codes), left to the library. */
export type Reading = ReadNumber | 'noSuchCallingCode' | 'unsure';

const LONGEST_CALLING_CODE = 3;

/**
 * Reads digits that begin with a plus, as libphonenumber does, some twenty times faster:
 * a property test holds both equal over all countries. The number may still be too long or short to exist.
 */
export function readInternational(digits: string): Reading {
  if (digits[1] === '0') return 'noSuchCallingCode';
  for (let end = 2; end <= LONGEST_CALLING_CODE + 1; end++) {
    const plan = planOfCallingCode(digits.slice(1, end));
    if (plan !== undefined) return withNational(plan, digits.slice(end));
  }
  return 'noSuchCallingCode';
}

/** Reads digits without a plus as they are dialled in the plan's country: national, 00…, or without the plus. */
export function readLocal(digits: string, plan: NumberingPlan): Reading {
  const dialled = plan.internationalPrefix?.exec(digits)?.[0].length ?? 0;
  const abroad = dialled > 0 ? digits.slice(dialled) : '';
  if (abroad !== '' && !abroad.startsWith('0')) return readInternational(`+${abroad}`);
  if (digits.startsWith(plan.callingCode)) {
    const rest = digits.slice(plan.callingCode.length);
    const missesPlus = lacksPlus(plan, digits, rest);
    if (missesPlus === 'unsure') return 'unsure';
    if (missesPlus) return readInternational(`+${digits}`);
  }
  return withNational(plan, digits);
}

function withNational(plan: NumberingPlan, digits: string): Reading {
  const national = stripTrunkPrefix(plan, digits);
  return national === 'unsure' ? 'unsure' : { callingCode: plan.callingCode, national };
}

/** German 49… may be an area code or the country: the country, if only that makes a number, or if it is too long. */
function lacksPlus(plan: NumberingPlan, digits: string, rest: string): boolean | 'unsure' {
  const longer = stripTrunkPrefix(plan, digits);
  const shorter = stripTrunkPrefix(plan, rest);
  if (longer === 'unsure' || shorter === 'unsure') return 'unsure';
  const tooLong = longer.length > (plan.lengths.at(-1) ?? 0);
  return tooLong || (!plan.general.test(longer) && plan.general.test(shorter));
}

/** Takes off a leading 0 and its like, unless what is left could not be a number or only the whole could. */
function stripTrunkPrefix(plan: NumberingPlan, digits: string): string | 'unsure' {
  const prefix = plan.nationalPrefix?.exec(digits);
  if (prefix === null || prefix === undefined) return digits;
  if (prefix.length > 1 && prefix.at(-1) !== undefined) return 'unsure';
  const rest = digits.slice(prefix[0].length);
  if (plan.general.test(digits) && !plan.general.test(rest)) return digits;
  const longest = plan.lengths.at(-1) ?? 0;
  return rest.length > longest || plan.lengths.includes(rest.length) ? rest : digits;
}
