/** Pure: the SVG elements and the style of the charts. Scales come from d3-scale. */

/** An element with its attributes and content. Pass texts through `escaped` first. */
export function tag(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  ...inside: readonly string[]
): string {
  const words = Object.entries(attributes).map(([key, value]) => ` ${key}="${tidy(value)}"`);
  const open = `<${name}${words.join('')}`;
  return inside.length === 0 ? `${open}/>` : `${open}>${inside.join('')}</${name}>`;
}

export function text(of: string, x: number, y: number, kind = 'label', anchor = 'start'): string {
  return tag('text', { x, y, class: kind, 'text-anchor': anchor }, escaped(of));
}

export function line(x1: number, y1: number, x2: number, y2: number, kind: string): string {
  return tag('line', { x1, y1, x2, y2, class: kind });
}

export function rectangle(x: number, y: number, width: number, height: number, kind: string): string {
  return tag('rect', { x, y, width: Math.max(0, width), height, class: kind });
}

/** A complete image. `says` is its text for screen readers. */
export function picture(width: number, height: number, says: string, ...inside: string[]): string {
  const frame = {
    xmlns: 'http://www.w3.org/2000/svg',
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: 'img',
    'aria-label': escaped(says),
  };
  return `${tag('svg', frame, tag('style', {}, STYLE), ...inside.map((one) => `\n${one}`))}\n`;
}

/*
 * Follows the light or dark mode of the reader's system. The colours are from the palette of Okabe and Ito, which is safe for
 * colour-blind readers; items that differ in colour also differ in brightness and label.
 */
const STYLE = `
text { font-family: -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", Helvetica, Arial, sans-serif; font-size: 12px; fill: #1f2328; }
.dim { fill: #59636e; font-size: 11px; }
.title { font-weight: 600; font-size: 13px; }
.heading { font-weight: 600; font-size: 15px; }
.own { font-weight: 600; }
.paper { fill: #ffffff; }
.grid { stroke: #d1d9e0; }
.axis { stroke: #59636e; }
.limit { stroke: #1f2328; stroke-width: 1.5; stroke-dasharray: 5 3; }
.good { fill: #0072b2; }
.bad { fill: #e69f00; }
.peer { fill: #9aa4ae; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .dim { fill: #9198a1; }
  .paper { fill: #0d1117; }
  .grid { stroke: #3d444d; }
  .axis { stroke: #9198a1; }
  .limit { stroke: #f0f6fc; }
  .good { fill: #56b4e9; }
  .peer { fill: #6e7681; }
}
`;

export function escaped(plain: string): string {
  return plain.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** Rounds to tenths of a pixel. */
function tidy(value: string | number): string {
  return typeof value === 'number' ? String(Math.round(value * 10) / 10) : value;
}
