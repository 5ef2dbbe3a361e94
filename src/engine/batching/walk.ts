/** Runs the ops of a traced body for all rows at once, in the interpreter that is current: eager code or a graph. */
import { apply, type OpInput } from "../core/apply.ts";
import { handleOf, type Resource } from "../core/graph_node.ts";
import { NdArray } from "../core/nd_array.ts";
import { isConcrete } from "../core/shape.ts";
import { argOfInput } from "../core/op.ts";
import type { Tensor } from "../core/tensor.ts";
import type { FuncGraph } from "../graph/func_graph.ts";
import type { Operation, SymbolicTensor } from "../graph/operation.ts";
import { range } from "../ops/array/ranges.ts";
import { reshape, stopGradient } from "../ops/array/view.ts";
import { asTensor } from "../ops/input.ts";
import { throughFloat32 } from "../ops/through_float32.ts";
import { trace } from "../runtime/control/branch.ts";
import { mapFn } from "../runtime/control/functional_ops.ts";
import { device } from "../runtime/devices/devices.ts";
import { callBatched } from "../script/batch.ts";
import { isBatchable } from "../script/run_numpy_style.ts";
import { acts } from "./differing.ts";
import { eachRow } from "./each_row.ts";
import { SHAPE_RULES } from "./rules_arrays.ts";
import { CONTROL_RULES } from "./rules_control.ts";
import { ruleOf } from "./rules.ts";
import { batchedOf, type Rows, rowShape, type RowValue } from "./values.ts";

/** Output of the warnings, and the ops they have named, for tests. */
export const loopWarning: { write: (text: string) => void; readonly named: Set<string> } = {
  write: (text) => console.warn(text),
  named: new Set(),
};

/** Runs the body of a function for all rows. `inputs` are the values of its arguments, `captured` of what it captures. */
export function runRows(
  graph: FuncGraph,
  inputs: readonly RowValue[],
  captured: readonly RowValue[],
  rows: Rows,
  outputs: readonly SymbolicTensor[] = graph.outputs,
): RowValue[] {
  const values = new Map<number, RowValue>();
  graph.inputs.forEach((t, i) => values.set(t.id, inputs[i]));
  graph.captures.forEach(({ inner }, i) => values.set(inner.id, captured[i]));
  const valueOf = (t: Tensor): RowValue => values.get(t.id) ?? { all: t, batched: false };
  for (const op of neededOps(graph, outputs)) {
    if (op.outputs.some((t) => values.has(t.id))) continue;
    const given = op.inputs.map(valueOf);
    // The user's line is in the traced row; the stack here has no room for it.
    const results = op.asSite(() =>
      device(op.device === "" ? null : op.device, () => runOp(op, given, rows))
    );
    results.forEach((value, i) => values.set(op.outputs[i].id, value));
  }
  return outputs.map(valueOf);
}

/** Returns the operations that outputs and effects need, in the order of the program. */
function neededOps(graph: FuncGraph, outputs: readonly SymbolicTensor[]): Operation[] {
  const needed = new Set<Operation>();
  const waiting: Operation[] = [...outputs.map((t) => t.operation), ...graph.effects];
  for (let op = waiting.pop(); op !== undefined; op = waiting.pop()) {
    if (op.graph !== graph || needed.has(op)) continue;
    needed.add(op);
    for (const t of op.inputs) if (t.isSymbolic) waiting.push((t as SymbolicTensor).operation);
    waiting.push(...op.controlInputs as Operation[]);
  }
  return [...needed].sort((a, b) => a.index - b.index);
}

function runOp(op: Operation, inputs: readonly RowValue[], rows: Rows): RowValue[] {
  const { def, attrs } = op;
  if (def.meaning.kind === "constant") {
    return [{ all: attrs.value as NdArray, batched: false }];
  }
  if (def.name === "VarHandleOp") return [same(handleOf(attrs._resource as Resource)!)];
  const control = CONTROL_RULES[def.name];
  if (control !== undefined) return control({ op, inputs, rows, run: runRows, loop: inLoop });
  const isBatched = inputs.some((v) => v.batched);
  if (!isBatched && !acts(op)) return apply(def, inputs.map((v) => v.all), attrs).map(same);
  if (Object.hasOwn(SHAPE_RULES, def.name)) {
    return [same(SHAPE_RULES[def.name](inputs[0], attrs.out_type))];
  }
  const results = op.outputs.map((t) => t.staticShape);
  const rule = ruleOf(def);
  const outputs = isBatched && isBatchable(attrs)
    ? callBatched(op, inputs.map((v) => asTensor(v.all)), inputs.map((v) => v.batched))
    : rule?.({ def, attrs, inputs, results, rows }) ?? inParts(op, inputs, rows) ??
      (acts(op) ? null : eachRow(op, inputs, rows)) ?? inLoop(op, inputs, rows);
  return outputs.map((all) => ({ all, batched: true }));
}

function same(all: Tensor): RowValue {
  return { all, batched: false };
}

/** Runs what an op without a rule is made of for all rows; null where it is not made of others, or acts. */
function inParts(op: Operation, inputs: readonly RowValue[], rows: Rows): Tensor[] | null {
  const { def, attrs } = op;
  // An expansion may read extents, which are those of a row.
  const known = inputs.map(rowShape);
  if (def.expand === undefined || acts(op) || !known.every(isConcrete)) return null;
  if (def.grad?.isEstimate) return null;
  const { hostInputs = [], signature } = def;
  const isRead = (i: number) =>
    hostInputs.includes(signature.inputArgs[argOfInput(def, i, inputs.length)].name);
  if (inputs.some((v, i) => isRead(i) && !(v.all instanceof NdArray))) return null;
  const batched = inputs.filter((v) => v.batched);
  const specs = inputs.flatMap((v, i) =>
    v.batched ? [{ dtype: v.all.dtype, shape: known[i] }] : []
  );
  const { f: { graph } } = trace(
    (...given) => {
      const left = [...given];
      const all = inputs.map((v): OpInput => v.batched ? left.shift()! : v.all);
      // An op without a gradient has none in parts either.
      const own = def.grad === null
        ? all.map((x) => x instanceof NdArray ? x : stopGradient(x))
        : all;
      const dtypes = op.outputs.map((t) => t.dtype);
      return [...throughFloat32(def, own, attrs, dtypes) ?? def.expand!(own, attrs)];
    },
    specs,
    def.name,
  );
  const captured = graph.captures.map(({ outer }) => same(outer));
  return runRows(graph, batched, captured, rows).map((v) => batchedOf(v, rows));
}

/** Runs an op for each row by itself. A warning names it once, unless it has effects and so must run so. */
function inLoop(op: Operation, inputs: readonly RowValue[], rows: Rows): Tensor[] {
  const { def, attrs } = op;
  if (!acts(op) && !loopWarning.named.has(def.name)) {
    loopWarning.named.add(def.name);
    loopWarning.write(
      `vmap has no rule for ${def.name}: node '${op.name}' runs in a loop over the rows`,
    );
  }
  const count = rows.count ?? reshape(rows.vector, []);
  const batched = inputs.filter((v) => v.batched).map((v) => v.all as Tensor);
  const elems = batched.length > 0 ? batched : [range(0, count as number, 1, "int32")];
  return mapFn((given: Tensor[]) => {
    const left = [...given];
    const own = inputs.map((v): OpInput => v.batched ? left.shift()! : v.all);
    // A tape is of no use: gradients of such a body run in a loop as a whole.
    const results = apply(def, own, attrs).filter((t) => t.dtype !== "variant");
    return results.length === 0 ? given : results;
  }, elems).slice(0, op.outputs.length);
}
