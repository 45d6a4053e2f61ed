import { InputError } from './errors.js';
import { type NumberReader, numberReader } from './number.js';

/**
 * Makes a reader for numbers that somebody gave by themselves, not in a list. Throws an InputError for a country that
 * does not exist.
 */
export function readerOf(country: string | undefined): NumberReader {
  try {
    return numberReader(country);
  } catch (error) {
    if (error instanceof RangeError) throw new InputError(error.message, { cause: error, field: 'country' });
    throw error;
  }
}
