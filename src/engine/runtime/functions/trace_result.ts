/** The result of a traced function: outputs of its graph in the nest that its body returned. */
import { packComponents, takeComponents } from "../../core/composite.ts";
import { describe } from "../../core/convert.ts";
import { dtypeOfArray } from "../../core/dtype.ts";
import { flatten, isNested, isPlainObject, type Nest, setKey } from "../../core/nest.ts";
import { NdArray } from "../../core/nd_array.ts";
import { Tensor } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { isUnread, UnseenGradient } from "../../autodiff/unseen.ts";
import { AssignedVariable } from "../../graph/assigned_variable.ts";
import type { FuncGraph } from "../../graph/func_graph.ts";
import { Operation } from "../../graph/operation.ts";
import { asTensor, toInput } from "../../ops/input.ts";

export interface TraceResult {
  /** The nest, with specs in the places of composite values. */
  readonly structure: unknown;
  /** The output of each component; null for null. */
  readonly outputs: readonly (number | null)[];
  /** True where the result is one output. */
  readonly isOne: boolean;
  /** True where some outputs are gradients of variables that scripts may read without taking them as inputs. */
  readonly mayLack: boolean;
}

/** Packs the result of a call: records of gradients lack variables that no script has read, as in eager code. */
export function packResult(result: TraceResult, outputs: readonly Tensor[]): unknown {
  if (result.isOne) return outputs[result.outputs[0]!];
  const found = result.outputs.map((i) => (i === null ? null : outputs[i]));
  const packed = packComponents(result.structure, found);
  const lacking = new Set<unknown>(result.mayLack ? outputs.filter(isUnread) : []);
  if (lacking.size === 0) return packed;
  const kept = without(packed as Nest<unknown>, lacking), returned = new Set(flatten(kept));
  for (const t of lacking) if (!returned.has(t)) (t as Tensor).dispose();
  return kept;
}

/** Removes these leaves from records; in lists they keep their places. */
function without<T>(nest: Nest<T>, lacking: ReadonlySet<T>): Nest<T> {
  if (Array.isArray(nest)) return nest.map((n) => without(n, lacking));
  if (!isPlainObject(nest)) return nest;
  const out: Record<string, Nest<T>> = {};
  for (const [key, value] of Object.entries(nest as Record<string, Nest<T>>)) {
    if (!lacking.has(value as T)) setKey(out, key, without(value, lacking));
  }
  return out;
}

/** Makes the graph's outputs from the body's result. */
export function collectResult(graph: FuncGraph, result: unknown, name: string): TraceResult {
  const index = new Map<Tensor, number>();
  const leaf = (v: unknown): number | null => {
    if (v === null || v === undefined || v instanceof Operation || v instanceof AssignedVariable) {
      return null;
    }
    const usable = v instanceof Tensor || v instanceof NdArray || dtypeOfArray(v) !== undefined ||
      ["number", "boolean", "string", "bigint"].includes(typeof v);
    if (!usable) {
      throw new TypeError(
        `${name} must return tensors, null, or nests of them: found return value of type ${
          describe(v)
        }, which is not a Tensor`,
      );
    }
    const t = graph.asDefault(() => asTensor(toInput(v as Tensor, "result", name)));
    const inside = graph.inside(t);
    let i = index.get(inside);
    if (i === undefined) {
      index.set(inside, i = graph.outputs.length);
      graph.outputs.push(inside);
    }
    return i;
  };
  const { leaves, structure } = takeComponents(result), outputs = leaves.map(leaf);
  const isOne = leaves.length === 1 && structure === result && !isNested(result) &&
    outputs[0] !== null;
  const mayLack = graph.outputs.some((t) => t.operation.def === UnseenGradient);
  return { structure, outputs, isOne, mayLack };
}
