import { z } from 'zod';

/** A list as a script writes it: Lua has no empty list, and writes an empty object instead. */
export const luaList = <Item extends z.ZodType>(item: Item) =>
  z.union([z.array(item), z.object({}).transform((): z.output<Item>[] => [])]);
