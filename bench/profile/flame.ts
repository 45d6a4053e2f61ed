/** Pure: a flame graph. Each box is a function; its width is the time in it and its callees, and its caller is adjacent. */
import { escaped, picture, rectangle, tag, text } from '../chart/svg.js';
import type { Frame } from './read.js';

const WIDTH = 1200;
const ROW = 17;
const MARGIN = 10;
const TOP = 62;
/** Narrower boxes are not drawn. */
const LEAST = 1.2;
const LETTER = 6.3;

/** Colours of Okabe and Ito, one per group of owners. */
const FAMILIES: readonly (readonly [name: string, of: RegExp, colour: string])[] = [
  ['volley', /^volley/, '#0072b2'],
  [
    'got and its packages',
    /^(got|@sindresorhus|responselike|cacheable|form-data|p-|decompress|mimic|get-stream|keyv)/,
    '#e69f00',
  ],
  ['node', /^node/, '#009e73'],
  ['ioredis, BullMQ', /^(ioredis|redis-|bullmq|msgpackr|@ioredis|denque|standard-as)/, '#cc79a7'],
  ['garbage collector', /^garbage/, '#d55e00'],
  ['outside JavaScript', /^(outside|built)/, '#999999'],
];
const OTHER = ['other packages', '#f0e442'] as const;

/** `requests` is the number sent during the profile; times are shown per request. */
export function flameGraph(root: Frame, heading: string, requests: number): string {
  const boxes: string[] = [];
  let deepest = 0;
  const scale = (WIDTH - 2 * MARGIN) / root.total;
  const draw = (frame: Frame, from: number, depth: number): void => {
    const width = frame.total * scale;
    if (width < LEAST) return;
    deepest = Math.max(deepest, depth);
    boxes.push(box(frame, MARGIN + from * scale, depth, width));
    let at = from;
    for (const call of frame.calls.toSorted((a, b) => b.total - a.total)) {
      draw(call, at, depth + 1);
      at += call.total;
    }
  };
  draw(root, 0, 0);
  const height = TOP + (deepest + 1) * ROW + MARGIN;
  return picture(
    WIDTH,
    height,
    heading,
    tag(
      'style',
      {},
      '.box { stroke: #ffffff; stroke-width: 0.5; } text.in { font-size: 11px; fill: #ffffff; } text.dark { fill: #1f2328; }',
    ),
    rectangle(0, 0, WIDTH, height, 'paper'),
    text(heading, MARGIN, 22, 'heading'),
    ...legend(),
    ...boxes,
  );

  function box(frame: Frame, x: number, depth: number, width: number): string {
    const y = TOP + depth * ROW;
    const [, colour] = familyOf(frame.owner);
    const room = Math.floor((width - 6) / LETTER);
    const each = (frame.total / requests).toFixed(1);
    const isLight = colour === '#e69f00' || colour === OTHER[1] || colour === '#999999';
    return tag(
      'g',
      {},
      tag('title', {}, escaped(`${frame.name} (${frame.owner}): ${each} µs per request`)),
      tag('rect', { x, y, width, height: ROW - 1, fill: colour, class: 'box' }),
      room < 3 ? '' : text(frame.name.slice(0, room), x + 3, y + 12, isLight ? 'in dark' : 'in'),
    );
  }
}

function familyOf(owner: string): readonly [name: string, colour: string] {
  const family = FAMILIES.find(([, of]) => of.test(owner));
  return family === undefined ? OTHER : [family[0], family[2]];
}

function legend(): string[] {
  const all = [...FAMILIES.map(([name, , colour]) => [name, colour] as const), OTHER];
  let x = MARGIN;
  return all.map(([name, colour]) => {
    const at = x;
    x += 32 + name.length * LETTER;
    return tag('rect', { x: at, y: 36, width: 12, height: 12, fill: colour }) + text(name, at + 17, 46);
  });
}
