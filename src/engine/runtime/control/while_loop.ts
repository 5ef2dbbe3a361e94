/**
 * whileLoop: an op that repeats a function while a condition holds. Its gradient is the tape of the call, which is one
 * of its outputs.
 */
import { currentInterpreter } from "../../core/apply.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { optionCheck, wantList } from "../../core/arguments.ts";
import { compatible, type PartialShape, shapeText } from "../../core/shape.ts";
import { newTensorId, Tensor, type TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import { withScope } from "../../core/scope_context.ts";
import { stopGradient } from "../../ops/array/view.ts";
import { asTensor, intScalar } from "../../ops/input.ts";
import { add } from "../../ops/pointwise/arithmetic.ts";
import { less } from "../../ops/pointwise/compare.ts";
import { logicalAnd } from "../../ops/pointwise/logical.ts";
import { applyControl, resultTensor, tapeGrad, trace } from "./branch.ts";
import { conditionForTapeOnly, forTapeOnly, tapeOnlyCallOf } from "./tape_only.ts";
import { hostStateOfWhile } from "./host_state.ts";
import {
  type LoopLeaf,
  LoopNest,
  type LoopVariable,
  type LoopVariables,
  type ShapeInvariant,
} from "./loop_variables.ts";
import { TensorArray } from "./tensor_array.ts";
import { runWhile } from "./while_run.ts";
import { currentRun } from "../run/run_context.ts";
import { EagerTensor, tidy, tidyBut } from "../eager/tensor.ts";

function loopOp(name: string): OpDef {
  return defineOp({
    name,
    inputs: ["input: Tin"],
    outputs: ["output: Tout", "tape: variant"],
    attrs: [
      "Tin: list(type)",
      "Tout: list(type)",
      "cond: func",
      "body: func",
      "output_shapes: list(shape)",
    ],
    infer: (_, { output_shapes }) => [...(output_shapes as PartialShape[]), []],
    grad: tapeGrad,
    host: {
      run: runWhile,
      hostInputs: (attrs) => hostStateOfWhile(attrs).inputs,
      tapeOnly: (attrs) => {
        const cond = conditionForTapeOnly(attrs.cond);
        const next = Array.from({ length: attrs.output_shapes.length }, (_, i) => i);
        const body = forTapeOnly(attrs.body, { next, kept: cond.reads });
        return tapeOnlyCallOf(attrs, { cond, body });
      },
    },
  });
}

/** Repeats a function while a condition holds. Inputs: the loop variables, then the captures of the functions. */
export const While: OpDef = loopOp("While");
/** {@linkcode While} for functions without effects. */
export const StatelessWhile: OpDef = loopOp("StatelessWhile");

/** Options of {@linkcode whileLoop}. */
export interface WhileOptions {
  /** Maximum number of iterations. */
  readonly maximumIterations?: number;
  /** Shapes that hold in every iteration, in the nest of the variables; null dimensions may vary. */
  readonly shapeInvariants?: readonly ShapeInvariant[];
  /** Lets gradients flow through the loop. Default true. */
  readonly backProp?: boolean;
  /** Name of the operation. */
  readonly name?: string;
  /** Accepted for TensorFlow's sake: ignored. */
  readonly parallelIterations?: number;
  /** Accepted for TensorFlow's sake: ignored. */
  readonly swapMemory?: boolean;
}

const checkOptions = optionCheck<WhileOptions>("whileLoop", {
  maximumIterations: true,
  shapeInvariants: true,
  backProp: true,
  name: true,
  parallelIterations: true,
  swapMemory: true,
});

/**
 * Repeats `body` on the loop variables while `condition` is true. Each variable is a tensor, a `TensorArray`, or a nest
 * of them, which the functions get and `body` returns. In eager mode it is a plain loop that frees the intermediate
 * tensors. TensorFlow op `While`. Throws `ValueError` where a variable's nest, or its shape without a shape invariant,
 * changes between iterations, and `TypeError` where its dtype does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const power = tf.function((x: tf.Tensor) =>
 *   tf.whileLoop((i) => tf.less(i, 3), (i, y) => [tf.add(i, 1), tf.mul(y, x)], [tf.scalar(0), tf.onesLike(x)])[1]
 * );
 * console.log(power(tf.scalar(2)).item()); // 8
 * ```
 */
export function whileLoop<const V extends readonly unknown[]>(
  condition: (...vars: LoopVariables<V>) => TensorLike,
  body: (...vars: LoopVariables<V>) => readonly LoopVariable[] | LoopVariable,
  vars: V,
  options: WhileOptions = {},
): LoopVariables<V> {
  for (const [name, fn] of [["cond", condition], ["body", body]]) {
    if (typeof fn !== "function") throw new TypeError(`'${name}' must be callable`);
  }
  checkOptions(options);
  wantList(vars, "vars", "whileLoop");
  if (vars.length === 0) throw new ValueError("No loop variables provided to whileLoop");
  const { maximumIterations: limit = -1 } = options;
  const functionsOf = (nest: LoopNest<V>) => ({
    test: (...leaves: LoopLeaf[]): Tensor => predicate(condition(...nest.pack(leaves))),
    next: (...leaves: LoopLeaf[]): LoopLeaf[] => nest.leavesOf(body(...nest.pack(leaves))),
  });
  const isCut = options.backProp === false;
  const ended = (results: readonly LoopLeaf[]): LoopLeaf[] => results.map(isCut ? cut : (t) => t);
  if (!currentInterpreter().symbolic) {
    const first = newTensorId();
    let nest: LoopNest<V>;
    const leaves = leaving(() => {
      nest = new LoopNest(vars);
      nest.invariants(options.shapeInvariants);
      const { test, next } = functionsOf(nest);
      return ended(loopEagerly(test, next, nest.start, { limit, first }));
    });
    return nest!.pack(leaves);
  }
  const nest = new LoopNest(vars), { test, next } = functionsOf(nest);
  const invariants = nest.invariants(options.shapeInvariants);
  const build = (): Tensor[] => {
    const first = firstTensors(nest.start, next), start = first.map((v) => v.tensor);
    const loop: Loop = {
      test,
      next: (...ts) => next(...ts).map((leaf) => resultTensor(leaf, "body", "whileLoop")),
      start,
      shapes: invariants.map((given, i) =>
        given === undefined ? nest.shapeOf(i, first[i].shape) : given
      ),
    };
    return limit < 0 ? addLoop(loop) : addLoop(counted(loop, limit)).slice(1);
  };
  return nest.pack(ended(withScope({ opName: options.name ?? null }, build)));
}

function cut(leaf: LoopLeaf): LoopLeaf {
  if (leaf instanceof Tensor) return stopGradient(leaf);
  return leaf.hasFlow ? TensorArray.fromFlow(stopGradient(leaf.flow), leaf) : leaf;
}

/** The initial tensor of a loop variable, and its known shape in all iterations. */
interface First {
  readonly tensor: Tensor;
  readonly shape: PartialShape;
}

/** Returns the initial tensors of a loop. The element shape of an empty TensorArray is found from its body. */
function firstTensors(
  start: readonly LoopLeaf[],
  next: (...leaves: LoopLeaf[]) => LoopLeaf[],
): First[] {
  const given = (tensor: Tensor): First => ({ tensor, shape: tensor.staticShape });
  if (start.every((leaf) => leaf instanceof Tensor)) return start.map(given);
  const specs = start.map((leaf) => ({
    dtype: leaf.dtype,
    shape: leaf instanceof Tensor ? leaf.staticShape : null,
  }));
  const { f } = trace(
    (...args) => next(...start.map((leaf, i) => leaf instanceof Tensor ? args[i] : leaf)),
    specs,
    "while_body",
  );
  return start.map((leaf, i) => {
    if (leaf instanceof Tensor) return given(leaf);
    const shape = f.outputs[i].staticShape?.slice(1);
    const tensor = shape ? leaf.ofZeros(shape).flow : leaf.flow;
    return { tensor, shape: tensor.staticShape && [tensor.staticShape[0], ...shape ?? []] };
  });
}

/** A loop over plain tensors. */
interface Loop {
  readonly test: (...vars: Tensor[]) => Tensor;
  readonly next: (...vars: Tensor[]) => Tensor[];
  readonly start: readonly Tensor[];
  readonly shapes: readonly PartialShape[];
}

/** Adds a counter as the first variable: TensorFlow limits the number of iterations so. */
function counted({ test, next, start, shapes }: Loop, limit: number): Loop {
  return {
    test: (count, ...vars) => logicalAnd(less(count, limit), test(...vars)),
    next: (count, ...vars) => [add(count, 1), ...next(...vars)],
    start: [asTensor(intScalar(0)), ...start],
    shapes: [[], ...shapes],
  };
}

function addLoop({ test, next, start, shapes }: Loop): Tensor[] {
  const specs = start.map((t, i) => ({ dtype: t.dtype, shape: shapes[i] }));
  start.forEach((t, i) => {
    if (!compatible(t.staticShape, shapes[i])) {
      throw new ValueError(
        `The shape invariant specified for ${t.name} is not compatible with the initial shape of the loop variable. It enters the loop with shape ${
          shapeText(t.staticShape)
        }, but the specified shape invariant is ${shapeText(shapes[i])}`,
      );
    }
  });
  const c = trace(test, specs, "while_cond");
  const b = trace(next, specs, "while_body");
  checkLoop(b.f.outputs, start, shapes);
  const effects = c.f.graph.stateful || b.f.graph.stateful;
  return applyControl(effects ? While : StatelessWhile, start, {
    functions: { cond: c.f, body: b.f },
    attrs: { output_shapes: shapes },
  });
}

function predicate(value: TensorLike): Tensor {
  const t = resultTensor(value, "condition", "whileLoop");
  if ((t.staticShape?.length ?? 0) === 0) return t;
  throw new ValueError(
    `The condition of whileLoop must be a scalar: received shape ${shapeText(t.staticShape)}`,
  );
}

function loopEagerly(
  test: (...leaves: LoopLeaf[]) => Tensor,
  next: (...leaves: LoopLeaf[]) => LoopLeaf[],
  start: readonly LoopLeaf[],
  { limit, first }: {
    readonly limit: number;
    /** Newer tensors belong to the loop. */
    readonly first: number;
  },
): LoopLeaf[] {
  const run = currentRun();
  return leaving(() => {
    let vars = [...start];
    for (let i = 0; i !== limit && tidy(() => test(...vars).scalar()); i++) {
      run?.tick();
      const before = vars;
      vars = leaving(() => next(...before));
      for (const leaf of before) {
        const t = leaf instanceof TensorArray ? leaf.stacked : leaf;
        if (!(t instanceof EagerTensor) || t.id < first || t.kept) continue;
        if (!isCarried(t, vars)) t.dispose();
      }
    }
    return vars;
  });
}

/** Runs a part of an eager loop and frees its tensors, except the variables that it returns. */
function leaving(fn: () => LoopLeaf[]): LoopLeaf[] {
  return tidyBut(fn, (leaves) => ({ has: (t) => isCarried(t, leaves) }));
}

/** True for a loop variable, and for the elements of a TensorArray among them. */
function isCarried(t: Tensor, vars: readonly LoopLeaf[]): boolean {
  return vars.some((v) => v === t || v instanceof TensorArray && v.holds(t));
}

function checkLoop(
  results: readonly Tensor[],
  start: readonly Tensor[],
  shapes: readonly PartialShape[],
): void {
  results.forEach((r, i) => {
    if (r.dtype !== start[i].dtype) {
      throw new TypeError(
        `Loop variable ${i} enters the loop with type ${
          start[i].dtype
        }, but has type ${r.dtype} after one iteration`,
      );
    }
    const want = shapes[i], have = r.staticShape;
    const varies = have === null || have.length !== want?.length ||
      want.some((d, k) => d !== null && have[k] !== d);
    if (want !== null && varies) {
      throw new ValueError(
        `Input tensor '${start[i]}' enters the loop with shape ${shapeText(want)}, but has shape ${
          shapeText(have)
        } after one iteration. To allow the shape to vary across iterations, use the \`shape_invariants\` argument`,
      );
    }
  });
}
