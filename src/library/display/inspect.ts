/**
 * The texts of tensors, arrays, variables, operations, graphs, sessions, datasets and functions in `console.log` of
 * Deno and Node, in template literals and in `JSON.stringify`.
 */
import type { HostData } from "../../engine/core/dtype.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { shapeText } from "../../engine/core/shape.ts";
import { define, nameAs, showAs, writeAs } from "../../engine/core/arrays/shown.ts";
import { TensorSpecClass } from "../../engine/core/tensor_spec.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { elementsText, valueText, withValues } from "../../engine/core/arrays/format.ts";
import { decodeString } from "../../engine/core/text.ts";
import { Graph } from "../../engine/graph/graph.ts";
import { Operation, SymbolicTensor } from "../../engine/graph/operation.ts";
import { isPlainObject } from "../../engine/core/nest.ts";
import { IndexedSlices } from "../../engine/ops/array/indexed_slices.ts";
import { QuantizedTensor } from "../../engine/ops/quantised/quantized_tensor.ts";
import { TensorBuffer } from "../../engine/ops/array/tensor_buffer.ts";
import { RaggedArray } from "../../engine/ops/ragged/ragged_array.ts";
import { RaggedTensor } from "../../engine/ops/ragged/ragged_tensor.ts";
import { SparseArray, SparseTensor } from "../../engine/ops/ragged/sparse_tensor.ts";
import { Session } from "../../engine/runtime/session/session.ts";
import { EagerTensor } from "../../engine/runtime/eager/tensor.ts";
import { Variable } from "../../engine/runtime/variables/variable.ts";
import { graphLine } from "./summary.ts";

/** Formats elements behind a head, the rows of a matrix below each other. */
function beside(head: string, x: NdArray): string {
  return `${head} ${elementsText(x, head.length + 1)}`;
}

function arrayText(x: NdArray): string {
  return beside(`NdArray(${x.dtype}${shapeText(x.shape)})`, x);
}

function tensorText(x: Tensor): string {
  return withValues(`Tensor(${x.dtype}${shapeText(x.staticShape)})`, x);
}

function slicesText(g: IndexedSlices): string {
  const head = g.toString();
  if (g.isSymbolic || g.isDisposed) return `${head}${g.isDisposed ? " disposed" : ""}`;
  return `${head} at ${valueText(g.indices)}: ${valueText(g.values)}`;
}

/** Longest text of the values of a composite value. */
const MOST_TEXT = 1000;

/** Formats a composite value: its spec, and its values where all of its parts are on the host. */
function compositeText(x: RaggedTensor | SparseTensor): string {
  const head = x.toString();
  if (x.components.some((t) => t.isSymbolic)) return head;
  const away = x.components.find((t) => t.isDisposed || !t.device.includes("CPU"));
  return `${head} ${away ? valueText(away) : plainText(plainOf(x))}`;
}

function plainText(value: unknown): string {
  const text = JSON.stringify(jsonOf(value));
  return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text;
}

/** Returns the values of ragged and sparse tensors. */
function plainOf(x: RaggedTensor | SparseTensor | RaggedArray | SparseArray): unknown {
  if (x instanceof RaggedTensor || x instanceof RaggedArray) return x.toList();
  const { indices, values, denseShape } = x;
  const [at, list, dims] = [indices, values, denseShape].map(valuesOnHost);
  return { indices: at, values: list, denseShape: dims };
}

function operationText(op: Operation): string {
  const list = (ts: readonly SymbolicTensor[]): string => ts.map((t) => t.name).join(", ");
  const outputs = op.outputs.map((t) => `${t.name} ${t.dtype}${shapeText(t.staticShape)}`);
  return [
    `<tf.Operation '${op.name}' type=${op.type}${op.device && ` device=${op.device}`}>`,
    ...(op.inputs.length > 0 ? [`  inputs: ${list(op.inputs)}`] : []),
    ...(outputs.length > 0 ? [`  outputs: ${outputs.join(", ")}`] : []),
  ].join("\n");
}

/** Converts values in nested lists for JSON: 64-bit integers and bytes become text. */
function jsonOf(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Uint8Array) return decodeString(value);
  if (isPlainObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, jsonOf(v)]));
  }
  return Array.isArray(value) ? value.map(jsonOf) : value;
}

function valuesOnHost(x: NdArray | Tensor): unknown {
  return x instanceof NdArray ? x.toArray() : x.ndarraySync().toArray();
}

function addJson<T extends NdArray | Tensor>(shown: { readonly prototype: T }): void {
  define(shown, "toJSON", function () {
    return jsonOf(valuesOnHost(this));
  });
}

// As with NumPy's str(), template literals hold the elements of an array alone.
showAs(NdArray, arrayText);
showAs(TensorSpecClass, (spec) => {
  const name = spec.name === undefined ? "" : ` '${spec.name}'`;
  return `TensorSpec(${spec}${name})`;
});
showAs(TensorBuffer, (buffer) => {
  const { dtype, shape, values } = buffer;
  return beside(String(buffer), new NdArray(dtype, shape, values as HostData));
});
writeAs(EagerTensor, tensorText);
writeAs(IndexedSlices, slicesText);
writeAs(Variable, (v) => v.toString());
for (const shown of [RaggedTensor, SparseTensor] as { prototype: RaggedTensor | SparseTensor }[]) {
  showAs(shown, compositeText);
  define(shown, "toJSON", function () {
    return jsonOf(plainOf(this));
  });
}
writeAs(RaggedArray, (x) => `RaggedArray(${x.flatValues.dtype}) ${plainText(x.toList())}`);
writeAs(SparseArray, (x) => `SparseArray(${x.values.dtype}) ${plainText(plainOf(x))}`);
for (const shown of [RaggedArray, SparseArray]) {
  define<object>(shown, "toString", function () {
    return `${this}`;
  });
}
nameAs(SymbolicTensor, (x) => x.toString());
nameAs(QuantizedTensor, (x) => x.toString());
nameAs(Operation, operationText);
nameAs(Graph, graphLine);
nameAs(Session, ({ graph }) => `<tf.Session of ${graphLine(graph)}>`);
for (const shown of [Graph, Session]) {
  define<object>(shown, "toString", function () {
    return `${this}`;
  });
}
addJson(NdArray);
addJson(EagerTensor);
addJson(IndexedSlices);
addJson(Variable as unknown as { prototype: Tensor });
