/**
 * Reductions along any axes: sum, mean, product, maximum, minimum, of float32 and int32; of an array, or of an
 * expression of several. A further expression may apply to the results.
 */
import { inputOf } from "../../../core/fusion.ts";
import type { Problem } from "../../../core/op.ts";
import { argument, mayFail } from "../../../core/scalar/expr.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { ConcreteSpec } from "../../../core/tensor_spec.ts";
import type { ReduceMeaning } from "../../../core/meaning.ts";
import { axesOf, type ReduceLayout, reduceLayout } from "../../../kernels/reduce/layout.ts";
import { type ReduceTask, reduceTask } from "../../../kernels/reduce/task.ts";
import { roundUp } from "../blocks.ts";
import type { Engine } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import { preparePointwise } from "../pointwise/pointwise.ts";
import { simdPrints } from "../pointwise/print_simd.ts";
import { prepareBoolReduction } from "./bool_reduce.ts";
import { overLines } from "./lines.ts";
import { heldReduction, isHeld } from "./reduce_held.ts";
import { reducerModule } from "./reduce_kernel.ts";
import { ReduceNest } from "./reduce_nest.ts";
import { PART_COLUMNS, partsOf } from "./reduce_parts.ts";
import { type Reducer, REDUCERS } from "./reducer.ts";

/** Least elements of a call, where an expression makes calls small. */
const WORTH_CALL = 64;

/** Prepares a reduction with its fusion; null for unsupported ones. */
export function prepareReduction(
  engine: Engine,
  problem: Problem,
  reduction: ReduceMeaning,
): FastRun | null {
  const task = reduceTask(reduction)(problem);
  if (task === null) return null;
  const { op, prologue, epilogue, dtype, out } = task;
  if (op === "any" || op === "all") {
    return prologue || epilogue ? null : prepareBoolReduction(engine, problem, op);
  }
  const results = prepareResults(engine, task, epilogue !== null);
  if (results === null) return null;
  const inputs = prologue?.buffers.map(inputOf) ?? [0];
  if (!epilogue) {
    const [first] = inputs;
    if (inputs.length === 1) return ([o], ins) => void results(o, [ins[first]]);
    return ([o], ins) => void results(o, inputs.map((i) => ins[i]));
  }
  const operands = epilogue.operands.map(({ dtype, per }): ConcreteSpec => ({
    dtype,
    shape: per === "all" ? [] : out.shape,
  }));
  const own = { dtype, shape: out.shape };
  const finish = preparePointwise(engine, [epilogue.expr], [own, ...operands], out.shape);
  const further = epilogue.operands.map((o) => inputOf(o.buffer));
  return finish && ((outs, ins) => {
    const r = results(0, inputs.map((i) => ins[i]));
    finish(outs, [r, ...further.map((i) => ins[i])]);
  });
}

/** Reduces operands, to `o` or to scratch memory; returns the address of the results. */
type Results = (o: Pointer, operands: readonly Pointer[]) => Pointer;

function prepareResults(engine: Engine, task: ReduceTask, inScratch: boolean): Results | null {
  const { op, dtype, prologue } = task;
  const name = `${op === "mean" ? "sum" : op} ${dtype}`;
  const reducer = REDUCERS[name];
  const expr = prologue?.expr ?? argument(0);
  const operands = prologue?.operands ?? [{ dtype, shape: task.shape }];
  const dtypes = operands.map((o) => o.dtype);
  if (
    !reducer || (op === "mean" && dtype !== "float32") || !simdPrints([expr], dtypes) ||
    mayFail([expr], dtypes)
  ) {
    return null;
  }
  const axes = axesOf(task.axes, task.shape.length);
  const layout = reduceLayout(task.shape, axes, operands.map((o) => o.shape));
  const divisor = op === "mean" ? layout.count : 1;
  if (!prologue && !inScratch) {
    if (layout.count === 1) {
      const bytes = 4 * sizeOf(task.out.shape);
      return (o, [x]) => {
        engine.heap.u8.copyWithin(o, x, x + bytes);
        return o;
      };
    }
    const held = prepareHeld(engine, { name, reducer, divisor }, layout);
    if (held !== null) return held;
  }
  const nest = new ReduceNest({ exprs: [expr], dtypes }, layout, reducer);
  if (prologue && nest.calls > 1 && nest.m * nest.n < WORTH_CALL) return null;
  const size = sizeOf(task.out.shape);
  const module = reducerModule(engine, name, reducer, nest.source);
  const parts = partsOf(engine, nest, reducer);
  const accBytes = reducer.wide ? roundUp(8 * size) : 0;
  const nestBytes = parts?.bytes ?? nest.bytes;
  const bytes = nestBytes + accBytes + (inScratch ? roundUp(4 * size) : 0);
  return (o, x) => {
    const scratch = engine.scratch(bytes);
    const target = inScratch ? scratch + nestBytes + accBytes : o;
    const acc = reducer.wide ? scratch + nestBytes : target;
    if (parts !== null) {
      module.fill(acc, size);
      parts.run(module, x, acc, scratch);
      if (reducer.wide) module.settle(target, acc, size, divisor);
      return target;
    }
    const { top, count } = nest, table = nest.write(engine.heap.i32, scratch);
    if (x.length > 1) module.whole(...x, target, acc, size, divisor, table, top, count);
    else module.whole(x[0], target, acc, size, divisor, table, top, count);
    return target;
  };
}

/** Prepares the kernel for small blocks and few rows of one array; null where it does not fit. */
function prepareHeld(
  engine: Engine,
  { name, reducer, divisor }: { name: string; reducer: Reducer; divisor: number },
  { dims, reduced }: ReduceLayout,
): Results | null {
  const last = dims.length - 1;
  if (last < 1 || last > 2 || reduced[last] || !reduced[last - 1]) return null;
  const [length, inner] = dims.slice(-2), outer = last === 2 ? dims[0] : 1;
  if (!isHeld(length, inner)) return null;
  const run = heldReduction(engine, name, reducer), work = outer * length * inner;
  const over = overLines(engine, { outer, length, inner }, { work: 1, least: PART_COLUMNS });
  return (o, [x]) => {
    if (work < engine.worthSharing) run(x, outer, length, 4 * inner, inner, o, divisor);
    else {
      over(run, (block, column, blocks, width) => {
        const to = o + 4 * (block * inner + column);
        const from = x + 4 * (block * length * inner + column);
        return [from, blocks, length, 4 * inner, width, to, divisor];
      });
    }
    return o;
  };
}
