import type { Volley } from '../../../app/volley.js';
import { badInput } from '../context/errors.js';

/** The lane that a command means without `--lane`: the only one, or the only one with an account. Throws if there are several. */
export function onlyLane(
  volley: Pick<Volley, 'token'>,
  lanes: readonly { readonly name: string }[],
  which: 'only' | 'onlyWithAccount',
): string {
  const isMeant = (name: string): boolean => which === 'only' || volley.token(name) !== null;
  const names = lanes.map(({ name }) => name).filter(isMeant);
  const [only, ...others] = names;
  if (only === undefined) throw badInput('No lane has an account. Lanes with only an API key have no token.');
  if (others.length === 0) return only;
  const several = which === 'only' ? 'There are several lanes' : 'Several lanes have an account';
  throw badInput(`${several}. Choose one with --lane (${names.join(', ')}).`);
}
