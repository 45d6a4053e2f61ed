/** An object with a value for each of these names. */
export function perName<Name extends string, Value>(
  names: readonly Name[],
  each: (name: Name) => Value,
): Record<Name, Value> {
  // That it has just these names is known here, and lost in `fromEntries`.
  return Object.fromEntries(names.map((name) => [name, each(name)])) as Record<Name, Value>;
}
