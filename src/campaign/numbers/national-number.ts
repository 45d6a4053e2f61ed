import type { NumberingPlan } from './numbering-plan.js';
import { planOfCallingCode } from './numbering-plan.js';

/** The parts of a number: its calling code without plus, and the digits after it without the trunk prefix. */
interface ReadNumber {
  readonly callingCode: string;
  readonly national: string;
  /** Set if it was written without its calling code, so that it is a number of the country in which it was read. */
  readonly isNational?: true;
}

/** `unsure`: a spelling with special rules (Argentina's 15, Brazil's carrier codes), which is left to the library. */
export type Reading = ReadNumber | 'noSuchCallingCode' | 'unsure';

const LONGEST_CALLING_CODE = 3;
/** Canada has numbers of seven digits (310 1234). The library knows them in each country that shares its calling code. */
const CANADIAN_SHORT_LENGTH = 7;

/**
 * Reads digits that begin with a plus, as libphonenumber does but some twenty times faster; a property test compares both
 * over all countries. The number may still be too long or too short to exist.
 */
export function readInternational(digits: string): Reading {
  if (digits[1] === '0') return 'noSuchCallingCode';
  for (let end = 2; end <= LONGEST_CALLING_CODE + 1; end++) {
    const plan = planOfCallingCode(digits.slice(1, end));
    if (plan !== undefined) return withNational(plan, digits.slice(end));
  }
  return 'noSuchCallingCode';
}

/** Reads digits without a plus as dialled in the plan's country: national, 00…, or international with the plus missing. */
export function readLocal(digits: string, plan: NumberingPlan): Reading {
  const dialled = plan.internationalPrefix?.exec(digits)?.[0].length ?? 0;
  const abroad = dialled > 0 ? digits.slice(dialled) : '';
  if (abroad !== '' && !abroad.startsWith('0')) return readInternational(`+${abroad}`);
  if (digits.startsWith(plan.callingCode)) {
    const rest = digits.slice(plan.callingCode.length);
    if (plan.callingCode === '1' && rest.length === CANADIAN_SHORT_LENGTH) return 'unsure';
    const isPlusMissing = lacksPlus(plan, digits, rest);
    if (isPlusMissing === 'unsure') return 'unsure';
    if (isPlusMissing) return readInternational(`+${digits}`);
  }
  const national = stripTrunkPrefix(plan, digits);
  return national === 'unsure' ? 'unsure' : { callingCode: plan.callingCode, national, isNational: true };
}

function withNational(plan: NumberingPlan, digits: string): Reading {
  const national = stripTrunkPrefix(plan, digits);
  return national === 'unsure' ? 'unsure' : { callingCode: plan.callingCode, national };
}

/** German 49… may be an area code or the country: it is the country if only that makes a number, or if the area code makes it too long. */
function lacksPlus(plan: NumberingPlan, digits: string, rest: string): boolean | 'unsure' {
  const longer = stripTrunkPrefix(plan, digits);
  const shorter = stripTrunkPrefix(plan, rest);
  if (longer === 'unsure' || shorter === 'unsure') return 'unsure';
  const tooLong = longer.length > (plan.lengths.at(-1) ?? 0);
  return tooLong || (!plan.general.test(longer) && plan.general.test(shorter));
}

/** Removes a trunk prefix such as a leading 0, unless the rest cannot be a number, or only the whole can. */
function stripTrunkPrefix(plan: NumberingPlan, digits: string): string | 'unsure' {
  const prefix = plan.nationalPrefix?.exec(digits);
  if (prefix === null || prefix === undefined) return digits;
  if (prefix.length > 1 && prefix.at(-1) !== undefined) return 'unsure';
  const rest = digits.slice(prefix[0].length);
  if (plan.general.test(digits) && !plan.general.test(rest)) return digits;
  const longest = plan.lengths.at(-1) ?? 0;
  return rest.length > longest || plan.lengths.includes(rest.length) ? rest : digits;
}
