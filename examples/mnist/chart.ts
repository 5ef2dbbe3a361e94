// A small writer of line charts as SVG: panels one above the other that share their horizontal axis.

/** A point: horizontal and vertical value. */
export type Point = readonly [number, number];

/** One line. */
export interface Series {
  /** Its name in the legend. */
  readonly name: string;
  /** Its points, from left to right. */
  readonly points: readonly Point[];
  /** Its colour. */
  readonly color: string;
  /** True: small and pale, for what lies behind another line. Default false. */
  readonly faint?: boolean;
  /** True: a dot at each point. Default false. */
  readonly dots?: boolean;
}

/** A diagram with its own vertical axis. */
export interface Panel {
  /** Says what the vertical axis shows. */
  readonly title: string;
  /** The lines, the first one at the back. */
  readonly series: readonly Series[];
  /** True: equal steps are equal factors. Values must be positive. Default false. */
  readonly logarithmic?: boolean;
  /** Writes a value. Default: few digits. */
  readonly format?: (value: number) => string;
  /** Values the axis must not go beyond. */
  readonly limits?: readonly [number, number];
}

/** A chart. */
export interface Chart {
  /** Headline. */
  readonly title: string;
  /** Under the headline. */
  readonly subtitle?: string;
  /** Says what the horizontal axis shows. */
  readonly horizontal: string;
  /** Diagrams, from the top. */
  readonly panels: readonly Panel[];
}

const WIDTH = 760, PANEL_HEIGHT = 190, GAP = 56;
const MARGIN = { top: 92, right: 88, bottom: 52, left: 66 };
const INK = "#1f2933", QUIET = "#69757f", GRID = "#e3e7ea";

/** From values to pixels along one axis, and the values to mark. */
interface Axis {
  readonly place: (value: number) => number;
  readonly ticks: readonly number[];
}

/** The chart as the text of an SVG file. Throws `RangeError` where there is nothing to draw. */
export function drawChart({ title, subtitle, horizontal, panels }: Chart): string {
  const all = panels.flatMap((p) => p.series.flatMap((s) => s.points));
  if (all.length === 0) throw new RangeError("Cannot draw a chart: no series has a point");
  const right = WIDTH - MARGIN.right;
  const xs = all.map(([x]) => x);
  const x = linearAxis([Math.min(...xs), Math.max(...xs)], [MARGIN.left, right], 8, false);
  const bottom = (i: number) => MARGIN.top + i * (PANEL_HEIGHT + GAP) + PANEL_HEIGHT;
  const last = bottom(panels.length - 1);
  const height = last + MARGIN.bottom;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="${INK}">`,
    `<rect width="${WIDTH}" height="${height}" fill="white"/>`,
    text(MARGIN.left, 28, title, `font-size="17" font-weight="600"`),
    subtitle ? text(MARGIN.left, 47, subtitle, `fill="${QUIET}"`) : "",
    ...panels.map((panel, i) => drawPanel(panel, x, bottom(i))),
    ...x.ticks.map((t) =>
      text(x.place(t), last + 18, short(t), `text-anchor="middle" fill="${QUIET}"`)
    ),
    text((MARGIN.left + right) / 2, last + 38, horizontal, `text-anchor="middle" fill="${QUIET}"`),
    "</svg>",
  ];
  return parts.filter((part) => part !== "").join("\n") + "\n";
}

function drawPanel(
  { title, series, logarithmic, format = short, limits }: Panel,
  x: Axis,
  bottom: number,
): string {
  const top = bottom - PANEL_HEIGHT, left = MARGIN.left, right = WIDTH - MARGIN.right;
  const values = series.flatMap((s) => s.points.map(([, y]) => y));
  const extent: [number, number] = [Math.min(...values), Math.max(...values)];
  const y = logarithmic
    ? logarithmicAxis(extent, [bottom, top])
    : linearAxis(extent, [bottom, top], 5, true, limits);
  const lines = [
    text(left, top - 10, title, `font-weight="600"`),
    legend(series, right, top - 10),
    ...y.ticks.map((t) =>
      `<path d="M${left} ${round(y.place(t))}H${right}" stroke="${GRID}"/>` +
      text(left - 8, y.place(t) + 4, format(t), `text-anchor="end" fill="${QUIET}"`)
    ),
    `<path d="M${left} ${bottom}H${right}" stroke="${QUIET}"/>`,
    ...x.ticks.map((t) => `<path d="M${round(x.place(t))} ${bottom}v4" stroke="${QUIET}"/>`),
    ...series.map((s) => drawSeries(s, x, y, format)),
  ];
  return `<g>\n${lines.join("\n")}\n</g>`;
}

function drawSeries(
  { points, color, faint, dots }: Series,
  x: Axis,
  y: Axis,
  format: (v: number) => string,
): string {
  if (points.length === 0) return "";
  const at = points.map(([a, b]): Point => [round(x.place(a)), round(y.place(b))]);
  const line = `<polyline points="${
    at.map((p) => p.join()).join(" ")
  }" fill="none" stroke="${color}" stroke-width="${faint ? 1 : 2}" stroke-linejoin="round"${
    faint ? ` opacity="0.35"` : ""
  }/>`;
  if (faint) return line;
  const marks = dots
    ? at.map(([a, b]) => `<circle cx="${a}" cy="${b}" r="3" fill="${color}"/>`).join("")
    : "";
  const [endX, endY] = at[at.length - 1];
  const end = text(
    endX + 8,
    endY + 4,
    format(points[points.length - 1][1]),
    `fill="${color}" font-weight="600"`,
  );
  return line + marks + end;
}

/** Names of the lines, from the right; the width of the text is a guess. */
function legend(series: readonly Series[], right: number, y: number): string {
  let x = right;
  return [...series].reverse().map(({ name, color, faint }) => {
    x -= name.length * 6.3;
    const label = text(x, y, name, `fill="${QUIET}"`);
    x -= 24;
    const opacity = faint ? ` opacity="0.35"` : "";
    const sample = `<path d="M${round(x)} ${
      y - 4
    }h18" stroke="${color}" stroke-width="2"${opacity}/>`;
    x -= 14;
    return label + sample;
  }).join("");
}

/** An axis of equal steps of 1, 2 or 5 times a power of ten; `wide` lets it go on to the next mark. */
function linearAxis(
  [low, high]: readonly [number, number],
  [from, to]: readonly [number, number],
  count: number,
  wide: boolean,
  limits: readonly [number, number] = [-Infinity, Infinity],
): Axis {
  const span = high > low ? high - low : Math.abs(high) || 1;
  const power = 10 ** Math.floor(Math.log10(span / count));
  const step = power * ([1, 2, 5].find((n) => power * n * count >= span) ?? 10);
  const first = Math.floor(low / step + 1e-9) * step, last = Math.ceil(high / step - 1e-9) * step;
  const start = wide ? Math.max(first, limits[0]) : low;
  const end = wide
    ? Math.min(last === first ? first + step : last, limits[1])
    : Math.max(high, low + span * 1e-9);
  const ticks: number[] = [];
  for (let k = Math.ceil(start / step - 1e-9); k * step <= end + step * 1e-9; k++) {
    ticks.push(k * step);
  }
  return { place: (v) => from + (v - start) / (end - start) * (to - from), ticks };
}

/** An axis of equal factors, with marks at 1, 2 and 5 times the powers of ten, or at the powers alone where there are many. */
function logarithmicAxis(
  [low, high]: readonly [number, number],
  [from, to]: readonly [number, number],
): Axis {
  const start = Math.log10(low) - 0.05, end = Math.log10(Math.max(high, low * 1.01)) + 0.05;
  const factors = end - start > 2.5 ? [1] : [1, 2, 5];
  const ticks: number[] = [];
  for (let e = Math.floor(start); e <= Math.ceil(end); e++) {
    for (const f of factors) {
      const t = Math.log10(f) + e;
      if (t >= start && t <= end) ticks.push(f * 10 ** e);
    }
  }
  return { place: (v) => from + (Math.log10(v) - start) / (end - start) * (to - from), ticks };
}

/** A number in few digits, with thousands apart. */
function short(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 6 });
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function text(x: number, y: number, content: string, attributes = ""): string {
  const escaped = content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escaped}</text>`;
}
