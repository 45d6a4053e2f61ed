/** Pure: a processor profile of V8, as `node --cpu-prof` writes it, as a tree of times. */
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

/** A function within those that called it; times in µs. */
export interface Frame {
  readonly name: string;
  readonly owner: string;
  /** In the function itself. */
  own: number;
  /** In it and in what it called. */
  total: number;
  readonly calls: Frame[];
}

/** The tree, without what was idle. Throws a ZodError for what is no profile. */
export function readProfile(json: string): Frame {
  const { nodes, samples, timeDeltas } = profileShape.parse(JSON.parse(json));
  const spent = new Map<number, number>();
  for (const [at, id] of samples.entries()) {
    spent.set(id, (spent.get(id) ?? 0) + Math.max(0, timeDeltas[at + 1] ?? 0));
  }
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const frameOf = (id: number): Frame => {
    const node = byId.get(id);
    if (node === undefined) throw new TypeError(`the profile names a node ${id} that it does not have`);
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

/** Time of each owner's functions themselves, the most first. */
export function byOwner(root: Frame): [owner: string, microseconds: number][] {
  const sums = new Map<string, number>();
  const add = (frame: Frame): void => {
    sums.set(frame.owner, (sums.get(frame.owner) ?? 0) + frame.own);
    for (const call of frame.calls) add(call);
  };
  add(root);
  return [...sums].filter(([, time]) => time > 0).sort(([, a], [, b]) => b - a);
}
