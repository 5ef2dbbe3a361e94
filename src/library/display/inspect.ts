/**
 * The texts of tensors, arrays and variables in `console.log` of Deno and Node, in template literals and in
 * `JSON.stringify`.
 */
import type { HostData } from "../../engine/core/dtype.ts";
import { CompositeTensor } from "../../engine/core/composite.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { shapeText } from "../../engine/core/shape.ts";
import { define, showAs, writeAs } from "../../engine/core/arrays/shown.ts";
import { TensorSpecClass } from "../../engine/core/tensor_spec.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { elementsText, valueText, withValues } from "../../engine/core/arrays/format.ts";
import { decodeString } from "../../engine/core/text.ts";
import { isPlainObject } from "../../engine/core/nest.ts";
import { IndexedSlices } from "../../engine/ops/array/indexed_slices.ts";
import { TensorBuffer } from "../../engine/ops/array/tensor_buffer.ts";
import { RaggedArray, SparseArray } from "../../engine/ops/ragged/ragged_array.ts";
import type { RaggedTensor } from "../../engine/ops/ragged/ragged_tensor.ts";
import type { SparseTensor } from "../../engine/ops/ragged/sparse_tensor.ts";
import { EagerTensor } from "../../engine/runtime/eager/tensor.ts";
import { Variable } from "../../engine/runtime/variables/variable.ts";

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

/**
 * Formats a composite value: its spec, and its values where it has some that lie on the host. By what it has and not by
 * its class, of which pages without such values know nothing.
 */
function compositeText(x: CompositeTensor): string {
  const head = x.toString(), parts = x.components as readonly Tensor[];
  if (!hasElements(x) || parts.some((t) => t.isSymbolic)) return head;
  const away = parts.find((t) => t.isDisposed || !t.device.includes("CPU"));
  return `${head} ${away ? valueText(away) : plainText(plainOf(x))}`;
}

/** True for ragged and sparse tensors; the elements of quantised ones are no text. */
function hasElements(x: CompositeTensor): x is RaggedTensor | SparseTensor {
  return "toList" in x || "denseShape" in x;
}

function plainText(value: unknown): string {
  const text = JSON.stringify(jsonOf(value));
  return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text;
}

/** Returns the values of ragged and sparse tensors. */
function plainOf(x: RaggedTensor | SparseTensor | RaggedArray | SparseArray): unknown {
  if ("toList" in x) return x.toList();
  const { indices, values, denseShape } = x;
  const [at, list, dims] = [indices, values, denseShape].map(valuesOnHost);
  return { indices: at, values: list, denseShape: dims };
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
showAs(CompositeTensor, compositeText);
define<CompositeTensor>(CompositeTensor, "toJSON", function () {
  return hasElements(this) ? jsonOf(plainOf(this)) : this.toString();
});
writeAs(RaggedArray, (x) => `RaggedArray(${x.flatValues.dtype}) ${plainText(x.toList())}`);
writeAs(SparseArray, (x) => `SparseArray(${x.values.dtype}) ${plainText(plainOf(x))}`);
for (const shown of [RaggedArray, SparseArray]) {
  define<object>(shown, "toString", function () {
    return `${this}`;
  });
}
addJson(NdArray);
addJson(EagerTensor);
addJson(IndexedSlices);
addJson(Variable as unknown as { prototype: Tensor });
