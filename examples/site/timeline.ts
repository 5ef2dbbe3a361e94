/** The timeline of a run: what host and GPU did when, a table by nodes, and the texts of kernels. */
/// <reference lib="dom" />

import type { ShownSpan, Timeline } from "./messages.ts";
import { svgElement } from "./page.ts";
import { ancestors, type NodeRow, nodeRows } from "./timeline_rows.ts";

const ROW = 20, LABEL = 64, AXIS = 18;

/** Pixels of a character of a mark. */
const MARK = 7;

/** Pixels that a picture may be wide. */
const WIDEST = 60_000;

/** Nodes in the table. */
const MOST_ROWS = 60;

/** A row of bars. */
interface Lane {
  readonly label: string;
  readonly bars: ShownSpan[];
}

/** Lanes: on the host by depth, then what is awaited, then the GPU. */
function lanesOf(spans: readonly ShownSpan[]): Lane[] {
  const host: Lane[] = [], awaited: Lane[] = [], gpu: Lane[] = [];
  const put = (lanes: Lane[], label: string, at: number, span: ShownSpan): void => {
    (lanes[at] ??= { label: at === 0 ? label : "", bars: [] }).bars.push(span);
  };
  for (const span of spans) {
    if (span.track === "gpu") put(gpu, "GPU", 0, span);
    else if (span.track === "host") put(host, "host", ancestors(span, spans).length, span);
  }
  const waits = spans.filter(({ track }) => track === "awaited").sort((a, b) => a.start - b.start);
  for (const span of waits) {
    const free = awaited.findIndex(({ bars }) => bars.at(-1)!.end <= span.start);
    put(awaited, "awaited", free < 0 ? awaited.length : free, span);
  }
  return [...host, ...awaited, ...gpu];
}

/** A time with its unit. */
function timeText(ms: number): string {
  return ms < 1
    ? `${(ms * 1000).toFixed(0)} µs`
    : ms < 1000
    ? `${ms.toFixed(1)} ms`
    : `${(ms / 1000).toFixed(2)} s`;
}

function bytesText(bytes: number): string {
  return bytes < 1000
    ? `${bytes} B`
    : bytes < 1e6
    ? `${(bytes / 1e3).toFixed(1)} kB`
    : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Bars of a lane that can be told apart: of those that begin on one pixel, the longest of each kind. */
function apart(bars: readonly ShownSpan[], perMs: number): ShownSpan[] {
  const seen = new Map<string, ShownSpan>();
  for (const span of bars) {
    const key = `${span.category} ${Math.floor(span.start * perMs)}`, other = seen.get(key);
    if (!other || span.end - span.start > other.end - other.start) seen.set(key, span);
  }
  return [...seen.values()];
}

/** A step of an axis that leaves some 100 pixels between marks. */
function markStep(pixelsPerMs: number): number {
  const wanted = 100 / pixelsPerMs, power = 10 ** Math.floor(Math.log10(wanted));
  return power * ([1, 2, 5, 10].find((n) => n * power >= wanted) ?? 10);
}

function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** A name that may be broken where its words begin: before capitals, and behind slashes and underscores. */
function brokenName(name: string): (Node | string)[] {
  const words = name.split(/(?<=[a-z\d])(?=[A-Z])|(?<=[/_ .])(?=.)|(?=\()/);
  return words.flatMap((word, i) => i === 0 ? [word] : [document.createElement("wbr"), word]);
}

/** Shows timelines in an element of the page. */
export class TimelineView {
  readonly #scroll = element("div", { className: "scroll", tabIndex: 0 });
  readonly #about = element("p", { className: "quiet", textContent: "" });
  readonly #code = element("pre", { className: "output code", hidden: true, tabIndex: 0 });
  readonly #table = element("div", { className: "scroll" });
  readonly #folded: HTMLDetailsElement | null;
  #timeline: Timeline = { spans: [], isCut: false, kernels: [] };
  /** True while the picture shows this timeline. */
  #drawn = true;
  #scale = 1;

  constructor(host: HTMLElement) {
    this.#scroll.setAttribute("role", "region");
    this.#scroll.setAttribute("aria-label", "Timeline");
    const zoom = (label: string, by: number) =>
      element("button", { textContent: label, onclick: () => this.#zoom(this.#scale * by) });
    this.#folded = host.closest("details");
    this.#folded?.addEventListener("toggle", () => this.#drawn || this.#draw());
    host.append(
      element("div", { className: "bar" }, zoom("Closer", 4), zoom("Farther", 1 / 4), this.#about),
      this.#scroll,
      this.#code,
      this.#table,
    );
  }

  /** Shows a run. */
  show(timeline: Timeline): void {
    this.#timeline = timeline;
    this.#scale = 1;
    this.#code.hidden = true;
    const { length } = timeline.spans;
    this.#about.textContent = length === 0
      ? "Nothing was noted"
      : timeline.isCut
      ? `The first ${length.toLocaleString()} spans; choose one`
      : `${length.toLocaleString()} spans; choose one`;
    this.#drawn = false;
    this.#draw();
  }

  get #end(): number {
    return this.#timeline.spans.reduce((most, { end }) => Math.max(most, end), 1e-3);
  }

  /** Width of the whole, in pixels. */
  get #width(): number {
    const fits = Math.max(240, this.#scroll.clientWidth - LABEL - 8);
    return Math.min(WIDEST, fits * this.#scale);
  }

  #zoom(scale: number, middle?: number): void {
    const { scrollLeft, clientWidth } = this.#scroll;
    const at = middle ?? (scrollLeft + clientWidth / 2 - LABEL) / this.#width;
    this.#scale = Math.max(1, Math.min(scale, WIDEST / 240));
    this.#draw();
    this.#scroll.scrollLeft = at * this.#width + LABEL - clientWidth / 2;
  }

  #draw(): void {
    // A folded timeline has no width to draw in, and is not visible.
    if (this.#folded?.open === false) return;
    if (!this.#drawn) this.#showTable();
    this.#drawn = true;
    const lanes = lanesOf(this.#timeline.spans), perMs = this.#width / this.#end;
    const width = LABEL + this.#width + 8, height = AXIS + lanes.length * ROW;
    const svg = svgElement("svg", { width, height, class: "timeline" });
    const step = markStep(perMs);
    for (let t = 0; t <= this.#end; t += step) {
      const x = LABEL + t * perMs;
      svg.append(svgElement("line", { x1: x, x2: x, y1: AXIS, y2: height }));
      const text = timeText(t), fits = x + 2 + MARK * text.length <= width;
      // The last one may have no room behind its line.
      const place = fits ? { x: x + 2 } : { x: x - 2, "text-anchor": "end" };
      const mark = svgElement("text", { ...place, y: 12 });
      mark.textContent = text;
      svg.append(mark);
    }
    lanes.forEach(({ label, bars }, i) => {
      const y = AXIS + i * ROW;
      const name = svgElement("text", { x: 2, y: y + 14 });
      name.textContent = label;
      svg.append(name, ...apart(bars, perMs).map((span) => this.#bar(span, y, perMs)));
    });
    this.#scroll.replaceChildren(...(lanes.length > 0 ? [svg] : []));
  }

  #bar(span: ShownSpan, y: number, perMs: number): SVGElement {
    const x = LABEL + span.start * perMs, width = Math.max(1, (span.end - span.start) * perMs);
    const bar = svgElement("g", { class: span.track === "gpu" ? "gpu" : span.category });
    bar.append(svgElement("rect", { x, y: y + 1, width, height: ROW - 2 }));
    if (width > 40) {
      const text = svgElement("text", { x: x + 3, y: y + 14 });
      text.textContent = span.name.slice(0, Math.floor((width - 6) / 6.5));
      bar.append(text);
    }
    bar.addEventListener("click", () => this.#choose(span));
    bar.addEventListener("pointerenter", () => {
      const title = svgElement("title", {});
      title.textContent = this.#aboutOf(span);
      bar.append(title);
    }, { once: true });
    return bar;
  }

  #aboutOf({ name, category, start, end, op, bytes }: ShownSpan): string {
    const parts = [
      `${category} ${name}${op && op !== name ? ` (${op})` : ""}`,
      `${timeText(end - start)} from ${timeText(Math.max(0, start))} on`,
      ...(bytes === undefined ? [] : [bytesText(bytes)]),
    ];
    return parts.join(", ");
  }

  #choose(span: ShownSpan): void {
    this.#about.textContent = this.#aboutOf(span);
    const { spans } = this.#timeline;
    const names = spans.filter((s) => s === span || ancestors(s, spans).includes(span))
      .filter(({ category }) => category === "dispatch" && span.category !== "run")
      .map(({ name }) => name);
    this.#showCode(names);
  }

  #showCode(names: readonly string[]): void {
    const kernels = this.#timeline.kernels.filter(({ name }) => names.includes(name));
    this.#code.hidden = kernels.length === 0;
    this.#code.textContent = kernels.flatMap(({ name, codes }) =>
      codes.map((code, i) =>
        `// ${name}${codes.length > 1 ? `, ${i + 1} of ${codes.length}` : ""}\n${code}`
      )
    ).join("\n\n");
    this.#code.scrollTop = 0;
  }

  #showTable(): void {
    const rows = nodeRows(this.#timeline.spans);
    const heads = ["Node", "Runs", "Host", "GPU", "Bytes"].map((text) =>
      element("th", { textContent: text, scope: "col" })
    );
    const body = rows.slice(0, MOST_ROWS).map((row) => this.#tableRow(row));
    this.#table.replaceChildren(
      ...(rows.length > 0
        ? [element(
          "table",
          {},
          element("thead", {}, element("tr", {}, ...heads)),
          element("tbody", {}, ...body),
        )]
        : []),
    );
  }

  #tableRow({ span, runs, host, gpu, bytes }: NodeRow): HTMLTableRowElement {
    const { op, name } = span;
    const choose = element("button", {
      className: "link",
      onclick: () => {
        const { start, end } = span;
        const wanted = this.#end / Math.max(1e-6, end - start) / 8;
        this.#zoom(Math.max(this.#scale, wanted), (start + end) / 2 / this.#end);
        this.#choose(span);
      },
    }, ...brokenName(op && op !== name ? `${name} (${op})` : name));
    const cells = [
      String(runs),
      timeText(host),
      gpu === null ? "–" : timeText(gpu),
      bytes === 0 ? "–" : bytesText(bytes),
    ];
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, choose),
      ...cells.map((textContent) => element("td", { textContent })),
    );
  }
}
