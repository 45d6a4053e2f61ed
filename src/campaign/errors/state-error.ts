import { InputError } from './errors.js';

/** The state of a campaign, or of a request for call records, does not allow the command. Nothing was changed. Callers of the library see an InputError. */
export class StateError extends InputError {
  override readonly code = 'invalidState';
}
