/** Kernels of wider dtypes for tensors of narrow ones, which are converted before and after them. */
import type { Problem } from "../../core/op.ts";
import { argument, castTo, type Expr } from "../../core/scalar/expr.ts";
import { sizeOf } from "../../core/shape.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { hasHalf, inFloat32 } from "../../kernels/pointwise/half_problem.ts";
import type { Engine } from "./engine.ts";
import type { FastRun } from "./fast.ts";

/** Prepares the kernel of a problem. */
type Prepare = (problem: Problem) => FastRun | null;
/** Prepares the kernel of an expression. */
type Convert = (problem: Problem, expr: Expr) => FastRun | null;

/**
 * Prepares a kernel that `prepare` has for float32, between conversions by `convert`; null where there is none, or no float16. Sums
 * stay in float32, and each result rounds once.
 */
export function prepareInFloat32(
  engine: Engine,
  problem: Problem,
  prepare: Prepare,
  convert: Convert,
): FastRun | null {
  return hasHalf(problem)
    ? prepareWidened(engine, problem, inFloat32(problem), prepare, convert)
    : null;
}

/** Prepares the kernel of a problem in wider dtypes, between conversions. */
export function prepareWidened(
  { heap }: Engine,
  problem: Problem,
  wide: Problem,
  prepare: Prepare,
  convert: Convert,
): FastRun | null {
  const run = prepare(wide);
  if (run === null) return null;
  const conversion = (from: ConcreteSpec, to: ConcreteSpec): FastRun | null =>
    from.dtype === to.dtype ? null : convert(
      { inputs: [from], hosts: [undefined], outputs: [to], attrs: {} },
      castTo(argument(0), to.dtype),
    );
  const widen = problem.inputs.map((x, i) => conversion(x, problem.hosts[i] ? x : wide.inputs[i]));
  const narrow = problem.outputs.map((x, i) => conversion(wide.outputs[i], x));
  const bytes = [
    ...problem.inputs.filter((_, i) => widen[i]),
    ...problem.outputs.filter((_, i) => narrow[i]),
  ].map(({ shape }) => 4 * sizeOf(shape));
  return (outs, ins) => {
    const room = heap.allocAll(bytes);
    try {
      let next = 0;
      const from = ins.map((p, i) => widen[i] ? room[next++] : p);
      widen.forEach((convert, i) => convert?.([from[i]], [ins[i]]));
      const to = outs.map((p, i) => narrow[i] ? room[next++] : p);
      run(to, from);
      narrow.forEach((convert, i) => convert?.([outs[i]], [to[i]]));
    } finally {
      room.forEach((p, i) => heap.free(p, bytes[i]));
    }
  };
}
