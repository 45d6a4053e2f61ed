/** `12,345`. */
export function grouped(count: number): string {
  return count.toLocaleString('en');
}

/** `1 recipient`, `12,345 recipients`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}
