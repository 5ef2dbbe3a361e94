/**
 * Display in notebooks (`Symbol.for("Jupyter.display")`, which Deno's kernel calls): tables of vectors and matrices,
 * pictures of arrays that are shaped like images, graphs as drawings.
 */
import { shapeText } from "../../engine/core/shape.ts";
import { elementsText, elementText } from "../../engine/core/arrays/format.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { Graph } from "../../engine/graph/graph.ts";
import { encodePng } from "../io/png.ts";
import { EagerTensor } from "../../engine/runtime/eager/tensor.ts";
import { Session } from "../../engine/runtime/session/session.ts";
import { Variable } from "../../engine/runtime/variables/variable.ts";
import { toSvg } from "./draw.ts";
import { graphLine } from "./summary.ts";

/** Texts for a notebook by their media types. */
type Shown = Readonly<Record<string, string>>;

const DISPLAY = Symbol.for("Jupyter.display");

/** Least height and width of an array of one, three or four channels that is shown as a picture. */
const SMALLEST_PICTURE = 8;

/** Operations of a graph beyond which scopes of names are boxes. */
const MOST_OPEN = 40;

/** Rows and columns of a table that are shown at either end. */
const ENDS = 6;

function escaped(text: string): string {
  return text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]!);
}

/** Returns the numbers below `n`, with null for the gap in the middle. */
function cut(n: number): (number | null)[] {
  const all = Array.from({ length: n }, (_, i) => i);
  return n <= 2 * ENDS ? all : [...all.slice(0, ENDS), null, ...all.slice(-ENDS)];
}

function isPicture({ dtype, shape }: NdArray): boolean {
  const [height, width, channels] = shape;
  return shape.length === 3 && [1, 3, 4].includes(channels) &&
    Math.min(height, width) >= SMALLEST_PICTURE && (dtype === "uint8" || dtype === "float32");
}

/** Converts an array to the bytes of a picture: floats go from 0 to 1. */
function pixels(x: NdArray): NdArray {
  if (x.dtype === "uint8") return x;
  const bytes = Uint8Array.from(
    x.data as Float32Array,
    (v) => Math.round(255 * Math.min(1, Math.max(0, v))),
  );
  return new NdArray("uint8", x.shape, bytes);
}

function base64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(""));
}

/** Formats a table: a vector is one row. */
function table(x: NdArray): string {
  const [rows, columns] = x.shape.length === 1 ? [1, x.shape[0]] : x.shape;
  const row = (r: number | null): string => {
    const cells = cut(columns).map((c) =>
      r === null || c === null ? "…" : escaped(elementText(x.at(r * columns + c)))
    );
    return `<tr>${cells.map((text) => `<td>${text}</td>`).join("")}</tr>`;
  };
  const caption = escaped(`${x.dtype}${shapeText(x.shape)}`);
  return `<table><caption>${caption}</caption>${cut(rows).map(row).join("")}</table>`;
}

/** Shows an array in a notebook, beside its plain text. */
function shownArray(x: NdArray, text: string): Shown {
  const plain = { "text/plain": text }, { length } = x.shape;
  if (isPicture(x)) return { ...plain, "image/png": base64(encodePng(pixels(x))) };
  return (length === 1 || length === 2) && x.size > 0 ? { ...plain, "text/html": table(x) } : plain;
}

function showAs<T>({ prototype }: { readonly prototype: T }, show: (x: T) => unknown): void {
  Object.defineProperty(prototype, DISPLAY, {
    value(this: T): unknown {
      return show(this);
    },
    configurable: true,
    writable: true,
  });
}

/** A cell may wait for a GPU, which a console cannot. */
async function shownTensor(x: Tensor): Promise<Shown> {
  if (x.isDisposed) return { "text/plain": consoleText(x) };
  const values = await x.ndarray();
  const { dtype, shape } = values;
  const head = `Tensor(${dtype}${shapeText(shape)})`;
  const text = `${head} ${elementsText(values, head.length + 1)}`;
  return shownArray(values, x instanceof EagerTensor ? text : consoleText(x));
}

/** Returns the text that the console shows. */
function consoleText(x: object): string {
  return (x as Record<symbol, () => string>)[Symbol.for("nodejs.util.inspect.custom")]();
}

function shownGraph(graph: Graph, text: string): Shown {
  const fold = graph.operations.length > MOST_OPEN && "fit";
  return { "text/plain": text, "image/svg+xml": toSvg(graph, { fold }) };
}

showAs(NdArray, (x) => shownArray(x, consoleText(x)));
showAs(EagerTensor, shownTensor);
showAs(Variable, (v) => v.isSymbolic ? { "text/plain": consoleText(v) } : shownTensor(v));
showAs(Graph, (g) => shownGraph(g, graphLine(g)));
showAs(Session, (s) => shownGraph(s.graph, consoleText(s)));
