/** `print`: values on the console, now or at each run of a graph. TensorFlow op `PrintV2`. */
import { apply1, type OpInput } from "../../engine/core/apply.ts";
import type { CompositeTensor } from "../../engine/core/composite.ts";
import { describe } from "../../engine/core/convert.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { isPlainObject } from "../../engine/core/nest.ts";
import { defineOp, type OpDef } from "../../engine/core/op.ts";
import { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
import { currentGraph } from "../../engine/graph/current_graph.ts";
import type { Operation } from "../../engine/graph/operation.ts";
import { shapeOfInput, toInput } from "../../engine/ops/input.ts";
import { RaggedTensor } from "../../engine/ops/ragged/ragged_tensor.ts";
import { SparseTensor } from "../../engine/ops/ragged/sparse_tensor.ts";
import { laterOr, print as printNow } from "../../engine/ops/host/print.ts";
import { addToGraph } from "./in_graph.ts";
import { filled, StringFormat, summaryText } from "../../engine/ops/text/format.ts";

/** A printable value: tensors, ragged and sparse ones too, and plain values, in any nest. */
export type Printable = TensorLike | CompositeTensor | null | undefined | readonly Printable[] | {
  readonly [key: string]: Printable;
};

/** Options of {@linkcode print}, after the values. */
export interface PrintOptions {
  /** Number of elements to show at either end of each axis. -1 shows all. Default 3. */
  readonly summarize?: number;
  /** Text between two values. Default a space. */
  readonly sep?: string;
  /** Text after the last value. Default a new line, which the console begins anyway. */
  readonly end?: string;
  /** The stream. Default `"stdout"`, which is `console.log`. */
  readonly outputStream?: "stdout" | "stderr" | "log(info)" | "log(warning)" | "log(error)";
  /** Node name. */
  readonly name?: string;
}

const OPTIONS: Readonly<Record<keyof PrintOptions, true>> = {
  summarize: true,
  sep: true,
  end: true,
  outputStream: true,
  name: true,
};
const PLACEHOLDER = "{}";

/** TensorFlow's op that writes a string at each run. */
const PrintV2: OpDef = defineOp({
  name: "PrintV2",
  inputs: ["input: string"],
  outputs: [],
  attrs: ['output_stream: string = "stderr"', 'end: string = "\\n"'],
  hostInputs: ["input"],
  infer: () => [],
  grad: null,
  effects: "ordered",
  stateful: true,
  host: {
    run: ({ inputs: [text], attrs: { output_stream, end } }) => {
      write(summaryText(text as NdArray, -1), output_stream, end);
      return [];
    },
  },
  outside: "output",
});

/** Writes a line, whose end the console adds. */
function write(text: string, stream: string, end: string): void {
  const line = text + (end.endsWith("\n") ? end.slice(0, -1) : end);
  switch (stream) {
    case "stderr":
    case "log(error)":
      return console.error(line);
    case "log(warning)":
      return console.warn(line);
    case "log(info)":
      return console.info(line);
    default:
      return console.log(line);
  }
}

/**
 * Writes values to the console: in a graph at each run, in order with its other effects; eagerly at once. Tensors are
 * written as TensorFlow's `tf.print` does, `summarize` elements at either end of each axis: `[0 1 2 ... 7 8 9]`. Lists
 * and objects keep their nesting, and options come last. In a graph it returns the operation, which a session runs
 * where it is fetched or another depends on it; functions run it by themselves.
 *
 * A single eager tensor, alone or with a boolean for `verbose`, is laid out as TensorFlow.js does: its elements in columns, with
 * `verbose` also its dtype, rank and shape. Where the runtime reads GPU memory only asynchronously eager texts come later.
 * Throws `TypeError` for what is no value, `ValueError` for a `summarize` below -1.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const step = tf.function((x: tf.Tensor) => {
 *   const loss = tf.sum(tf.square(x));
 *   tf.print("loss:", loss, x, { summarize: 2 });
 *   return loss;
 * });
 * const y = step(tf.tensor([1, 2, 3, 4, 5])) as tf.Tensor; // loss: 55 [1 2 ... 4 5]
 * console.log(y.item()); // 55
 * ```
 */
export function print(x: TensorLike, verbose?: boolean): Operation | undefined;
/** Several values, in any nest, then options. */
export function print(...values: (Printable | PrintOptions)[]): Operation | undefined;
export function print(...given: unknown[]): Operation | undefined {
  const graph = currentGraph();
  const [x, verbose] = given;
  const isPlain = given.length === 1 || (given.length === 2 && typeof verbose === "boolean");
  const isOutside = !graph && x instanceof Tensor && x.isSymbolic;
  if (isPlain && (isOutside || (!graph && (x instanceof Tensor || isOneArray(x))))) {
    printNow(x as TensorLike, verbose === true);
    return undefined;
  }
  const last = given.at(-1);
  const hasOptions = given.length > 1 && isOptions(last);
  const { summarize = 3, sep = " ", end = "\n", outputStream = "stdout", name }: PrintOptions =
    hasOptions ? last : {};
  if (!Number.isInteger(summarize) || summarize < -1) {
    throw new ValueError(
      `Cannot print with summarize = ${summarize}: wanted a whole number, or -1 for all`,
    );
  }
  const inputs: OpInput[] = [];
  const values = hasOptions ? given.slice(0, -1) : given;
  const texts = values.map((v) => templateOf(v, inputs, false));
  // Picks a placeholder that no text contains.
  let placeholder = PLACEHOLDER;
  const isTaken = (mark: string): boolean => texts.some((t) => t.some((p) => p?.includes(mark)));
  while (isTaken(placeholder) || sep.includes(placeholder)) placeholder = `{${placeholder}}`;
  // A single text stands as it is, others have quotes.
  const isText = values.length === 1 && texts[0].length === 1 && texts[0][0] === null &&
    inputs[0].dtype === "string" && shapeOfInput(inputs[0])?.length === 0;
  const template = texts.map((t) => t.map((p) => p ?? placeholder).join("")).join(sep);
  if (graph) {
    const attrs = { T: inputs.map((i) => i.dtype), template, placeholder, summarize };
    const text = isText ? inputs[0] : apply1(StringFormat, inputs, attrs);
    return addToGraph(PrintV2, [text], { attrs: { output_stream: outputStream, end }, name });
  }
  laterOr(
    inputs,
    (arrays) => {
      const text = isText
        ? summaryText(arrays[0], -1)
        : filled(template, placeholder, arrays, summarize);
      write(text, outputStream, end);
    },
  );
  return undefined;
}

function isOneArray(x: unknown): boolean {
  return x instanceof NdArray || ArrayBuffer.isView(x) || typeof x === "number" ||
    (Array.isArray(x) && isNumbers(x));
}

function isNumbers(x: unknown): boolean {
  return Array.isArray(x) ? x.length > 0 && x.every(isNumbers) : typeof x === "number";
}

function isOptions(x: unknown): x is PrintOptions {
  return isPlainObject(x) && Object.keys(x).length > 0 && Object.keys(x).every((k) => k in OPTIONS);
}

/** Returns texts, and null for each tensor among them, in Python's notation of nests. */
function templateOf(v: unknown, inputs: OpInput[], nested: boolean): (string | null)[] {
  if (v === null || v === undefined) return [String(v)];
  if (typeof v === "string") return [nested ? `'${v}'` : v];
  if (typeof v === "number" || typeof v === "boolean" || typeof v === "bigint") return [String(v)];
  const listed = (list: readonly (string | null)[][]): (string | null)[] =>
    list.flatMap((t, i) => (i === 0 ? t : [", ", ...t]));
  if (Array.isArray(v) && !isNumbers(v)) {
    return ["[", ...listed(v.map((e) => templateOf(e, inputs, true))), "]"];
  }
  if (isPlainObject(v) && !("shape" in v && "data" in v)) {
    const entries = Object.entries(v).map(([k, e]) => [`'${k}': `, ...templateOf(e, inputs, true)]);
    return ["{", ...listed(entries), "}"];
  }
  if (v instanceof SparseTensor) {
    inputs.push(...v.components as OpInput[]);
    return ["SparseTensor(indices=", null, ", values=", null, ", shape=", null, ")"];
  }
  if (v instanceof RaggedTensor) {
    inputs.push(...v.components as OpInput[]);
    const splits = v.nestedRowSplits.flatMap(() => [", rowSplits=", null]);
    return ["RaggedTensor(values=", null, ...splits, ")"];
  }
  if (typeof v === "function" || typeof v === "symbol") {
    throw new TypeError(`Cannot print ${describe(v)}: wanted tensors, values, lists and objects`);
  }
  inputs.push(toInput(v as TensorLike, "x", "print"));
  return [null];
}
