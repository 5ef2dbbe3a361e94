/** Shapes of what a body would give: a loop without turns has no results that could be asked. */
import { effectsOf } from "../../graph/effect_order.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { type Attrs, inferOutputs } from "../../core/op.ts";
import {
  compatible,
  isConcrete,
  mergeShapes,
  type PartialShape,
  relaxShapes,
  sizeOf,
} from "../../core/shape.ts";
import { constantValue, type Operation, type SymbolicTensor } from "../../graph/operation.ts";
import { answerOf } from "../../ops/array/view.ts";
import type { ConcreteFunction } from "../functions/concrete_function.ts";
import { computeNow } from "../plan/compute_now.ts";
import type { Branch } from "./branch.ts";

/** Facts of a value that is not there: its shape, and small values that follow from shapes. */
export interface Foreseen {
  readonly shape: PartialShape;
  readonly value?: NdArray | undefined;
}

/** Larger values say nothing of shapes. */
const MOST_VALUES = 1024;

/**
 * Infers the results of a body from its inputs, arguments first, then captures. What the ops of the body cannot tell stays as it was
 * traced.
 */
export function foresee(
  { graph, outputs }: ConcreteFunction,
  inputs: readonly Foreseen[],
): Foreseen[] {
  const known = new Map<SymbolicTensor, Foreseen>();
  const of = (t: SymbolicTensor): Foreseen =>
    known.get(t) ?? { shape: t.staticShape, value: constantValue(t) };
  const feeds = [...graph.inputs, ...graph.captures.map(({ inner }) => inner)];
  feeds.forEach((t, i) => inputs[i]?.shape && known.set(t, inputs[i]));
  for (const op of graph.operations) {
    if (op.inputs.length === 0) continue;
    const given = op.inputs.map(of);
    try {
      const shapes = shapesOf(op, given), values = valuesOf(op, given, shapes);
      op.outputs.forEach((t, i) => {
        const shape = values?.[i].shape ?? shapes[i];
        if (!compatible(shape, t.staticShape)) return;
        known.set(t, { shape: mergeShapes(shape, t.staticShape), value: values?.[i] });
      });
    } catch {
      // The op would refuse these shapes if it ran.
    }
  }
  return outputs.map(of);
}

function shapesOf(op: Operation, given: readonly Foreseen[]): PartialShape[] {
  const specs = op.inputs.map((t, i) => ({ dtype: t.dtype, ...given[i] }));
  const attrs = { ...op.attrs, ...functionsOf(op, given) };
  return inferOutputs(op.def, specs, attrs).outputs.map(({ shape }) => shape);
}

/** Computes small results that follow from shapes; null for others. */
function valuesOf(
  { def, attrs, outputs }: Operation,
  given: readonly Foreseen[],
  shapes: readonly PartialShape[],
): readonly NdArray[] | null {
  const [{ shape }] = given, answer = isConcrete(shape) && answerOf(def, outputs[0].dtype, shape);
  if (answer) return [answer];
  if (def.stateful || def.host || effectsOf({ def, attrs }) !== "none") return null;
  const values = given.flatMap(({ value }) => value ?? []);
  if (values.length < given.length) return null;
  // Lengths may follow from the values, as those of ranges do.
  const sizes = [...values.map((v) => v.size), ...shapes.map((s) => isConcrete(s) ? sizeOf(s) : 0)];
  return sizes.some((n) => n > MOST_VALUES) ? null : computeNow({ def, attrs }, values);
}

/** The functions of an op, with the results that these inputs of the op would give them. */
function functionsOf(op: Operation, inputs: readonly Foreseen[]): Attrs {
  const { attrs } = op;
  if (attrs.f?.graph !== undefined) return { f: outputsOf(foresee(attrs.f, inputs)) };
  const given = inputs.slice(inputs.length - (attrs.Tin?.length ?? 0));
  const captured = ({ from }: Branch): Foreseen[] => from.map((i) => given[i]);
  if (attrs.then_branch?.from !== undefined) {
    const [then_branch, else_branch] = [attrs.then_branch as Branch, attrs.else_branch as Branch]
      .map((b) => ({ f: outputsOf(foresee(b.f, captured(b))) }));
    return { then_branch, else_branch };
  }
  const body = attrs.body as Branch | undefined;
  if (body?.from === undefined) return {};
  if (attrs.output_shapes !== undefined) {
    const state = statesOf(body, given.slice(0, attrs.output_shapes.length), captured(body));
    return { output_shapes: state.map((s) => s.shape) };
  }
  const count = attrs.elems + attrs.states, args = given.slice(0, count);
  const rows = args.map((g, i) => i < attrs.elems ? { shape: g.shape && g.shape.slice(1) } : g);
  return { body: { f: outputsOf(foresee(body.f, [...rows, ...captured(body)])) } };
}

const outputsOf = (results: readonly Foreseen[]) => ({
  outputs: results.map(({ shape }) => ({ staticShape: shape })),
});

/** Shapes that a loop's state has in each turn. */
function statesOf(
  body: Branch,
  start: readonly Foreseen[],
  captured: readonly Foreseen[],
): Foreseen[] {
  // Extents that change are unknown after the second turn, a rank that does after the first.
  let state: Foreseen[] = start.map(({ shape }) => ({ shape }));
  for (let turn = 0; turn < 3; turn++) {
    const next = foresee(body.f, [...state, ...captured]);
    state = state.map(({ shape }, i) => ({ shape: relaxShapes(shape, next[i].shape) }));
  }
  return state;
}
