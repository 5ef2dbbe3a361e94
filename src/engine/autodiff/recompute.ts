/** recomputeGrad: a function whose intermediate values are computed anew for its gradient, so that none is kept. */
import { type Application, apply, apply1, type Recorder, withRecorders } from "../core/apply.ts";
import { wantFunction } from "../core/arguments.ts";
import { describe } from "../core/convert.ts";
import { isFloating } from "../core/dtype.ts";
import { handleOf, type Resource } from "../core/graph_node.ts";
import { flatten, isNested, type Nest, packAs, refusePromise } from "../core/nest.ts";
import { defineOp, type GradContext, lookupOp, type OpDef } from "../core/op.ts";
import { newTensorId, Tensor } from "../core/tensor.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";
import { dense } from "../ops/array/indexed_slices.ts";
import { identity } from "../ops/array/view.ts";
import { asTensor } from "../ops/input.ts";
import { tapeMemory } from "./step_recorder.ts";
import { GradientTape } from "./tape.ts";

type Backward = (inputs: readonly Tensor[], dys: readonly (Tensor | null)[]) => (Tensor | null)[];

/** Passes values through, with the gradient that `_gradient` computes for `inputs` alone. */
const Recomputed: OpDef = defineOp({
  name: "_Recomputed",
  portable: "parts",
  inputs: ["values: Tvalues", "inputs: Tinputs"],
  outputs: ["outputs: Tvalues"],
  attrs: ["Tvalues: list(type)", "Tinputs: list(type)", "_gradient: func"],
  infer: (specs, { Tvalues }) => specs.slice(0, Tvalues.length).map(({ shape }) => shape),
  expand: (inputs, { Tvalues }) =>
    inputs.slice(0, Tvalues.length).map((x) => identity(asTensor(x))),
  grad: {
    saves: ["inputs"],
    vjp: (saved, dys, ctx: GradContext) => {
      const values = ctx.attrs.Tvalues as readonly string[], inputs: Tensor[] = [];
      while (`inputs:${inputs.length}` in saved) inputs.push(saved[`inputs:${inputs.length}`]);
      return [...values.map(() => null), ...(ctx.attrs._gradient as Backward)(inputs, dys)];
    },
  },
});

/** Passes a value through once another is there: what follows is computed then, and is no common subexpression of before. */
const After: OpDef = defineOp({
  name: "_After",
  portable: "parts",
  inputs: ["x: T", "after: Tafter"],
  outputs: ["y: T"],
  attrs: ["T: type", "Tafter: type"],
  infer: ([x]) => [x.shape],
  expand: ([x]) => [identity(asTensor(x))],
  meaning: { kind: "view" },
  grad: { saves: [], vjp: (_, [dy]) => [dy, null] },
});

/** Notes the tensors from outside that ops read. */
class Reads implements Recorder {
  readonly #made: Set<number>;
  /** Eager tensors from here on are made inside, by whatever: ops, constants, what a gradient function keeps. */
  readonly #start = newTensorId();
  readonly tensors: Map<number, Tensor> = new Map();

  constructor(own: readonly Tensor[]) {
    this.#made = new Set(own.map((t) => t.id));
  }

  record({ inputs, outputs }: Application): void {
    for (const x of inputs) {
      if (!(x instanceof Tensor) || this.#made.has(x.id) || !isFloating(x.dtype)) continue;
      // A graph's placeholder for a captured tensor is made when that is first read.
      if (!x.isSymbolic && x.id > this.#start) continue;
      this.tensors.set(x.id, x);
    }
    for (const y of outputs) this.#made.add(y.id);
  }
}

/**
 * Makes a function of the same results whose gradient calls `f` again, in place of values kept from the first call: a chain of n
 * equal parts, cut into √n such functions, needs memory in proportion to √n. Gradients flow to the arguments, to variables and to tensors
 * that `f` reads from around it; `f` is called with the same arguments, and must give the same results: numbers that it draws without a
 * seed of `tf.random.stateless…` are others then, and the gradient is theirs. Arguments and results are tensors, results in any nest.
 * Follows TensorFlow `tf.recompute_grad`, JAX `checkpoint`. Throws `TypeError` for other arguments.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const w = tf.variable([1, 2]);
 * const layer = tf.recomputeGrad((x: tf.Tensor) => tf.tanh(tf.mul(x, w)));
 * console.log(await tf.grad((x) => tf.sum(layer(layer(x))))(tf.tensor([0, 0])).array()); // [1, 4]
 * ```
 */
export function recomputeGrad<A extends readonly Tensor[], R extends Nest<Tensor>>(
  f: (...args: A) => R,
): (...args: A) => R {
  wantFunction(f, "f", "recomputeGrad");
  const call = f as unknown as (...args: Tensor[]) => R;
  return (...given) => {
    if (!given.every((x) => x instanceof Tensor)) {
      throw new TypeError("The arguments of a function of recomputeGrad must be tensors");
    }
    const args = given.map((x) => x.readValue());
    return tapeMemory().tidy(() => {
      const reads = new Reads(args);
      const { result, variables } = withRecorders([reads], () => {
        using tape = new GradientTape();
        const result = call(...args);
        return { result, variables: tape.watchedVariables() };
      });
      const values = resultsOf(result), outside = [...reads.tensors.values()];
      const inputs = [...args, ...outside, ...variables.map(read)];
      const outputs = apply(Recomputed, [...values, ...inputs], {
        Tvalues: values.map((t) => t.dtype),
        Tinputs: inputs.map((t) => t.dtype),
        _gradient: backward(call, args.length, outside, variables),
      });
      return packAs(result, outputs) as R;
    });
  };
}

function read(resource: Resource): Tensor {
  return apply1(lookupOp("ReadVariableOp")!, [handleOf(resource)!], { dtype: resource.dtype });
}

function resultsOf(result: unknown): Tensor[] {
  refusePromise(
    result,
    () =>
      "Cannot recompute a function that returned a promise: what leads to a gradient is synchronous",
  );
  const values: readonly unknown[] = isNested(result) ? flatten(result as Nest<unknown>) : [result];
  const wrong = values.find((v) => !(v instanceof Tensor));
  if (wrong === undefined) return values as Tensor[];
  throw new TypeError(
    `The f passed in recomputeGrad(f) must return tensors, but it returned ${describe(wrong)}`,
  );
}

/** The gradient of a call for its arguments, the tensors it reads from around it and variables, in this order. */
function backward(
  f: (...args: Tensor[]) => Nest<Tensor>,
  count: number,
  outside: readonly Tensor[],
  variables: readonly Resource[],
): Backward {
  return (inputs, dys) => {
    // Integers have no gradient.
    const places = dys.flatMap((dy, i) => dy === null ? [] : [i]);
    const args = inputs.slice(0, count).map((x) => apply1(After, [x, dys[places[0]]!]));
    using tape = new GradientTape({ watchAccessedVariables: false });
    // A tape knows sources by id, and a resource has its variable's id.
    const sources = [...args, ...outside, ...variables as unknown as Tensor[]];
    tape.watch(sources);
    const values = resultsOf(f(...args));
    const grads = tape.gradient(places.map((i) => values[i]), sources, {
      outputGradients: places.map((i) => dys[i]!),
    });
    return (grads as (Tensor | null)[]).map((g) => g && dense(g));
  };
}
