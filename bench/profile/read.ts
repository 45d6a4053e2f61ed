/** Pure: parses a CPU profile of V8 (`node --cpu-prof`) into a tree of times. */
import { z } from 'zod';
import { ownerOf } from './owners.js';

const profileShape = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ functionName: z.string(), url: z.string(), lineNumber: z.number() }),
      children: z.array(z.number()).default([]),
    }),
  ),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});

/** A function in its call stack; times in µs. */
export interface Frame {
  readonly name: string;
  readonly owner: string;
  /** Time in the function itself. */
  own: number;
  /** Time in the function and its callees. */
  total: number;
  readonly calls: Frame[];
}

/** The tree without idle time. Throws a ZodError if the input is not a profile. */
export function readProfile(json: string): Frame {
  const { nodes, samples, timeDeltas } = profileShape.parse(JSON.parse(json));
  const spent = new Map<number, number>();
  for (const [at, id] of samples.entries()) {
    spent.set(id, (spent.get(id) ?? 0) + Math.max(0, timeDeltas[at + 1] ?? 0));
  }
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const frameOf = (id: number): Frame => {
    const node = byId.get(id);
    if (node === undefined) throw new TypeError(`the profile has no node ${id}`);
    const { functionName, url } = node.callFrame;
    const owner = ownerOf({ functionName, url });
    const calls = node.children.map(frameOf).filter(({ owner: of, total }) => of !== 'idle' && total > 0);
    const own = owner === 'idle' ? 0 : (spent.get(id) ?? 0);
    const total = calls.reduce((sum, call) => sum + call.total, own);
    return { name: functionName || '(anonymous)', owner, own, total, calls };
  };
  const [root] = nodes;
  if (root === undefined) throw new TypeError('the profile is empty');
  return frameOf(root.id);
}

/** The time in each owner's functions, without callees, largest first. */
export function byOwner(root: Frame): [owner: string, microseconds: number][] {
  const sums = new Map<string, number>();
  const add = (frame: Frame): void => {
    sums.set(frame.owner, (sums.get(frame.owner) ?? 0) + frame.own);
    for (const call of frame.calls) add(call);
  };
  add(root);
  return [...sums].filter(([, time]) => time > 0).sort(([, a], [, b]) => b - a);
}
