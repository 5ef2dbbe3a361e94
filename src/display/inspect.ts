/**
 * What `console.log` shows of tensors, arrays, variables, operations, graphs, sessions, datasets and functions, in Deno and Node, and
 * what `JSON.stringify` writes of values.
 */
import { NdArray } from "../core/nd_array.ts";
import { shapeText } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { elementsText } from "../core/format.ts";
import { decodeString } from "../core/text.ts";
import { Dataset } from "../data/dataset.ts";
import { Graph } from "../graph/graph.ts";
import { Operation, SymbolicTensor } from "../graph/operation.ts";
import { IndexedSlices } from "../ops/array/indexed_slices.ts";
import { Session } from "../runtime/session/session.ts";
import { EagerTensor } from "../runtime/eager/tensor.ts";
import { Variable } from "../runtime/variables/variable.ts";
import { graphLine } from "./summary.ts";

/** How Deno and Node ask an object for its text. */
const ASKED = [Symbol.for("Deno.customInspect"), Symbol.for("nodejs.util.inspect.custom")];

/** Lets a class say what `console.log` shows. Subclasses may say something else. */
function showAs<T>({ prototype }: { readonly prototype: T }, text: (x: T) => string): void {
  for (const symbol of ASKED) {
    Object.defineProperty(prototype, symbol, {
      value(this: T): string {
        return text(this);
      },
      configurable: true,
      writable: true,
    });
  }
}

function arrayText(x: NdArray): string {
  return `NdArray(${x.dtype}${shapeText(x.shape)}) ${elementsText(x)}`;
}

/** Values of a tensor of the host, or why there are none to show: nothing is read back from a GPU to be printed. */
function valueText(x: Tensor): string {
  if (x.isDisposed) return "disposed";
  if (!x.device.includes("CPU")) return `on ${x.device.replace(/^.*(?=\/device:)/, "")}`;
  return elementsText(x.ndarraySync());
}

function tensorText(x: Tensor): string {
  return `Tensor(${x.dtype}${shapeText(x.staticShape)}) ${valueText(x)}`;
}

function slicesText(g: IndexedSlices): string {
  if (g.isSymbolic || g.isDisposed) return `${g}${g.isDisposed ? " disposed" : ""}`;
  return `${g} at ${valueText(g.indices)}: ${valueText(g.values)}`;
}

function variableText(v: Variable): string {
  const { initialized } = v as { readonly initialized?: boolean };
  const head = `<tf.Variable '${v.name}' ${v.dtype}${shapeText(v.staticShape)}>`;
  return initialized === false ? `${head} not initialized` : `${head} ${valueText(v)}`;
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

/** Plain values in nested lists, as JSON can hold them: 64-bit integers and bytes as text. */
function jsonOf(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Uint8Array) return decodeString(value);
  return Array.isArray(value) ? value.map(jsonOf) : value;
}

function valuesOnHost(x: NdArray | Tensor): unknown {
  return x instanceof NdArray ? x.toArray() : x.ndarraySync().toArray();
}

function addJson<T extends NdArray | Tensor>({ prototype }: { readonly prototype: T }): void {
  Object.defineProperty(prototype, "toJSON", {
    value(this: T): unknown {
      return jsonOf(valuesOnHost(this));
    },
    configurable: true,
    writable: true,
  });
}

showAs(NdArray, arrayText);
showAs(EagerTensor, tensorText);
showAs(IndexedSlices, slicesText);
showAs(SymbolicTensor, (x) => x.toString());
showAs(Variable, variableText);
showAs(Operation, operationText);
showAs(Graph, graphLine);
showAs(Session, ({ graph }) => `<tf.Session of ${graphLine(graph)}>`);
showAs(Dataset as { prototype: Dataset<unknown> }, (d) => d.toString());
for (const shown of [Graph, Session]) {
  // What template literals write.
  Object.defineProperty(shown.prototype, "toString", {
    value(this: Record<symbol, () => string>): string {
      return this[ASKED[0]]();
    },
    configurable: true,
    writable: true,
  });
}
addJson(NdArray);
addJson(EagerTensor);
addJson(IndexedSlices);
addJson(Variable as unknown as { prototype: Tensor });
