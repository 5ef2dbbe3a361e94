/** Functions that compute each element of each tensor by itself: run once for several rows, with the bits that each row has alone. */
import { apply } from "../../core/apply.ts";
import { DTYPES } from "../../core/dtype.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { withScope } from "../../core/scope_context.ts";
import { isConcrete } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { TensorSpec } from "../../core/tensor_spec.ts";
import type { FuncGraph } from "../../graph/func_graph.ts";
import type { Operation } from "../../graph/operation.ts";
import type { DrawCounts } from "../../ops/random/state.ts";
import { ConcreteFunction, liveInputs } from "../functions/concrete_function.ts";
import { tfFunction } from "../functions/function.ts";
import { run } from "../functions/run_body.ts";
import { stackOnHost } from "../run/host_rows.ts";
import type { RunContext } from "../run/run_context.ts";
import { settled, toHost } from "../run/run_value.ts";

/** The device of functions that run on the host. */
const HOST = "/device:CPU:0";

/** Runs a function for rows side by side: of each argument an array with all rows. Rejects where it fails for one of them. */
export type RunStacked = (
  arrays: readonly NdArray[],
  context: RunContext,
  draws: DrawCounts,
) => Promise<NdArray[]>;

/** Joins the arrays of rows; null where their shapes differ. */
export function stackedRows(rows: readonly (readonly NdArray[])[]): NdArray[] | null {
  const arrays = rows[0].map((_, c) => stackOnHost(rows.map((row) => row[c])));
  return arrays.every((a) => a !== null) ? arrays : null;
}

/**
 * Returns the function of rows side by side of a function on the host that has elementwise ops alone, as TensorFlow's map vectorisation does; else
 * null.
 */
export function stackedRun(f: ConcreteFunction): RunStacked | null {
  const { graph } = f, order = elementwiseOps(graph);
  if (order === null) return null;
  let all: ConcreteFunction | undefined;
  return async (arrays, context, draws) => {
    all ??= withScope({ device: HOST }, () => besideEachOther(graph, order, f.name));
    const inputs = liveInputs(all, arrays);
    const results = await settled(run(all, inputs, context, { draws }), inputs, (v) => toHost(v));
    const own = new Set<unknown>();
    // Two results may be one array.
    return results.map((a) => {
      if (own.has(a.data)) return a.copy();
      own.add(a.data);
      return a;
    });
  };
}

/** The operations in order, those for each element apart; null where one is not elementwise, or looks further than its element. */
function elementwiseOps(graph: FuncGraph): readonly Operation[] | null {
  if (graph.effects.length > 0 || graph.resources.length > 0) return null;
  const batched = new Set<Tensor>(graph.inputs);
  const isNumber = ({ dtype, staticShape }: Tensor): boolean =>
    isConcrete(staticShape) && !["string", "handle"].includes(DTYPES[dtype].kind);
  if (graph.inputs.length === 0 || !graph.inputs.every(isNumber)) return null;
  const given = new Set(
    [...graph.inputs, ...graph.captures.map((c) => c.inner)].map((t) => t.operation),
  );
  const order = graph.operations.filter((op) => !given.has(op));
  for (const op of order) {
    const { def: { name, meaning, effects, stateful }, inputs, outputs, controlInputs, device } =
      op;
    if (effects !== "none" || stateful || controlInputs.length > 0 || device !== HOST) return null;
    if (!inputs.some((t) => batched.has(t))) {
      if (!OF_CONSTANTS.has(meaning.kind)) return null;
      continue;
    }
    if (meaning.kind !== "pointwise" && name !== "Identity") return null;
    if (!outputs.every(isNumber)) return null;
    // Rows line up where the tensors of elements have all axes of the result.
    const rank = outputs[0].staticShape!.length;
    const fits = (t: Tensor): boolean => {
      const own = t.staticShape?.length;
      return own !== undefined &&
        (batched.has(t) ? own === rank : !("sums" in meaning && meaning.sums) && own <= rank);
    };
    if (!inputs.every(fits)) return null;
    outputs.forEach((t) => batched.add(t));
  }
  return graph.outputs.every((t) => batched.has(t)) ? order : null;
}

/** Kinds of ops that make what all elements share. */
const OF_CONSTANTS: ReadonlySet<string> = new Set(["constant", "pointwise", "view", "copy"]);

/** Traces operations for elements side by side. */
function besideEachOther(
  graph: FuncGraph,
  order: readonly Operation[],
  name: string,
): ConcreteFunction {
  const body = (...inputs: Tensor[]): Tensor[] => {
    const values = new Map<Tensor, Tensor>(graph.inputs.map((t, i) => [t, inputs[i]]));
    for (const { inner, outer } of graph.captures) values.set(inner, outer as Tensor);
    for (const { def, attrs, inputs, outputs } of order) {
      const results = apply(def, inputs.map((t) => values.get(t) ?? t), attrs);
      outputs.forEach((t, i) => values.set(t, results[i]));
    }
    return graph.outputs.map((t) => values.get(t)!);
  };
  const specs = graph.inputs.map((t) => TensorSpec([null, ...t.staticShape!], t.dtype));
  return new ConcreteFunction(tfFunction(body, { name }).getConcreteFunction(...specs).graph);
}
