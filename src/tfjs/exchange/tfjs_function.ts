/** tfjsFunction: a function of TensorFlow.js tensors as a differentiable op. */
import * as tfjs from "@tensorflow/tfjs-core";
import { announce, currentRecorders } from "../../engine/core/apply.ts";
import { describe } from "../../engine/core/convert.ts";
import { DTYPES } from "../../engine/core/dtype.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { LookupError, UnimplementedError } from "../../engine/core/errors.ts";
import { flatten, mapNest, type Nest, packAs } from "../../engine/core/nest.ts";
import { defineOp, type GradContext, type OpDef } from "../../engine/core/op.ts";
import { Tensor } from "../../engine/core/tensor.ts";
import { asTensor } from "../../engine/ops/input.ts";
import type { ScriptInput } from "../../engine/script/body_types.ts";
import type { ScriptResult } from "../../engine/script/numpy_function.ts";
import { pyFunction, type PyFunctionOptions } from "../../engine/script/py_function.ts";
import { checkCallable, type ScriptFunction } from "../../engine/script/script.ts";
import type { Tout } from "../../engine/script/tout.ts";
import { fromTfjs, toTfjs } from "./exchange.ts";
import type { TfjsTensor } from "./shared_backend.ts";

/** A function of tensors of TensorFlow.js, in flat lists. */
type FlatFunction = (inputs: readonly TfjsTensor[]) => TfjsTensor[];

/**
 * A call of a TensorFlow.js function. Its gradient is such a call too, so any order works that TensorFlow.js supports.
 */
const TfjsCall: OpDef = defineOp({
  name: "_TfjsCall",
  inputs: ["input: Tin"],
  outputs: ["output: Tout"],
  attrs: ["Tin: list(type)", "Tout: list(type)", "_function: func"],
  infer: (_, attrs) => (attrs.Tout as unknown[]).map(() => null),
  grad: {
    saves: ["input"],
    partial: true,
    vjp: (saved, dys, ctx) => {
      const inputs = ctx.inputs.map((_, k) => asTensor(saved[`input:${k}`]));
      return differentiate(ctx.attrs._function as FlatFunction, inputs, dys, ctx);
    },
  },
  host: {},
});

/** Calls the function now, and records it on tapes. */
function callTfjs(func: FlatFunction, inputs: readonly Tensor[]): Tensor[] {
  let outputs: Tensor[] = [];
  // All tensors of TensorFlow.js are disposed at the end of tidy; shared memory has an owner here.
  tfjs.tidy(() => {
    outputs = func(inputs.map((x) => toTfjs(x))).map((t) => fromTfjs(t));
  });
  const [Tin, Tout] = [inputs, outputs].map((list) => list.map((t) => t.dtype));
  const attrs = { Tin, Tout, _function: func };
  announce({ def: TfjsCall, inputs, outputs, attrs }, currentRecorders());
  return outputs;
}

/** Gradients of the inputs that need one. */
function differentiate(
  func: FlatFunction,
  inputs: readonly Tensor[],
  dys: readonly (Tensor | null)[],
  { needs }: GradContext,
): (Tensor | null)[] {
  const isFloat = (t: Tensor): boolean => DTYPES[t.dtype].kind === "float";
  const wanted = inputs.flatMap((x, i) => (needs[i] && isFloat(x) ? [i] : []));
  const given = dys.flatMap((dy, k) => (dy === null ? [] : [k]));
  const complex = [...inputs.filter((_, i) => needs[i]), ...given.map((k) => dys[k]!)]
    .find((t) => DTYPES[t.dtype].kind === "complex");
  if (complex) {
    throw new UnimplementedError(
      `Cannot differentiate a function of TensorFlow.js through ${complex}: TensorFlow.js differentiates float32 only`,
    );
  }
  if (wanted.length === 0 || given.length === 0) return inputs.map(() => null);
  const vjp = vectorJacobian(func, inputs.length, wanted, given);
  const found = callTfjs(vjp, [...inputs, ...given.map((k) => dys[k]!)]);
  const grads: (Tensor | null)[] = inputs.map(() => null);
  wanted.forEach((i, k) => grads[i] = found[k]);
  return grads;
}

/** Computes the gradients of `func`'s inputs that `wanted` lists from gradients of its outputs that `given` lists. */
function vectorJacobian(
  func: FlatFunction,
  inputs: number,
  wanted: readonly number[],
  given: readonly number[],
): FlatFunction {
  return (args) => {
    const xs = args.slice(0, inputs), dys = args.slice(inputs);
    const sources = wanted.map((i) => xs[i]);
    const forward = (): TfjsTensor => {
      const ys = func(xs);
      if (given.length === 1) return ys[given[0]];
      const products = given.map((k, j) => tfjs.sum(tfjs.mul(ys[k], dys[j])));
      return products.reduce((a, b) => tfjs.add(a, b));
    };
    const dy = given.length === 1 ? dys[0] : undefined;
    const grads = tfjsGradients(forward, sources, dy);
    return sources.map((x, k) => grads[k] ?? tfjs.zerosLike(x));
  };
}

/** Computes gradients by the tape of TensorFlow.js; undefined for a source that the result does not depend on. */
function tfjsGradients(
  forward: () => TfjsTensor,
  sources: TfjsTensor[],
  dy: TfjsTensor | undefined,
): (TfjsTensor | undefined)[] {
  try {
    return tfjs.engine().gradients(forward, sources, dy, true).grads;
  } catch (cause) {
    const kernel = /gradient function not found for (\w+)/.exec(String(cause))?.[1];
    if (kernel === undefined) throw cause;
    throw new LookupError(
      `Cannot differentiate a function of TensorFlow.js: no gradient is registered for its kernel ${kernel}; importing "@tensorflow/tfjs" registers those there are`,
      { cause },
    );
  }
}

/**
 * Runs a function of TensorFlow.js as a differentiable op. `func(...args, ctx)` gets tensors of TensorFlow.js in the
 * nest of `inp` and synchronously returns such tensors (or plain values) as `Tout` declares; it runs on the current
 * backend of TensorFlow.js, without copies where `shareDevice` was called. Works eagerly and in graphs, as
 * `tf.pyFunction` does. The gradient is that of TensorFlow.js, of any order it supports: it calls `func` again, which
 * must be a pure function, and flows to float32 inputs only, not to variables of TensorFlow.js. Tensors that `func`
 * makes are disposed. To register gradients, import "@tensorflow/tfjs". Throws as `tf.pyFunction` does,
 * `UnimplementedError` for gradients through complex tensors, and `LookupError` in a gradient for kernels without a
 * gradient in TensorFlow.js.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { tfjsFunction } from "@weft/weft/tfjs";
 * import * as tfjs from "@tensorflow/tfjs-core";
 * import "@tensorflow/tfjs-backend-cpu";
 * const y = tfjsFunction((x: tfjs.Tensor) => tfjs.square(x), [tf.tensor([1, -3])], "float32");
 * console.log(y.arraySync()); // [1, 9]
 * ```
 */
export function tfjsFunction<const T extends Tout>(
  func: ScriptFunction,
  inp: readonly ScriptInput[],
  Tout: T,
  options: PyFunctionOptions = {},
): ScriptResult<T> {
  checkCallable(func);
  return pyFunction(bodyOf(func), inp, Tout, options);
}

/** Wraps the function as a body of `tf.pyFunction`. */
function bodyOf(func: ScriptFunction): ScriptFunction {
  return (...all) => {
    const args = all.slice(0, -1) as Nest<Tensor>[], ctx = all.at(-1);
    let result: Nest<unknown> = null;
    const flat: FlatFunction = (inputs) => {
      result = func(...packAs(args, inputs) as readonly unknown[], ctx) as Nest<unknown>;
      return tensorsIn(result);
    };
    const outputs = callTfjs(flat, flatten(args));
    let k = 0;
    return mapNest((leaf) => (leaf instanceof tfjs.Tensor ? outputs[k++] : leaf), result);
  };
}

/**
 * Collects the tensors of a result. Throws `TypeError` for a promise, as a tape of TensorFlow.js does not wait, and for
 * a tensor of Weft, which looks like one of TensorFlow.js and is on no tape of its own.
 */
function tensorsIn(result: unknown): TfjsTensor[] {
  const refused = (what: unknown, why: string): TypeError =>
    new TypeError(
      `Cannot run a function of TensorFlow.js that returns ${what}: it must return ${why}`,
    );
  if (result instanceof Promise) throw refused(describe(result), "tensors at once");
  const leaves = flatten(result);
  const ours = leaves.find((v) => v instanceof Tensor);
  if (ours !== undefined) {
    const why = "tensors of TensorFlow.js; what ops of Weft compute belongs into tf.pyFunction";
    throw refused(ours, why);
  }
  return leaves.filter((v) => v instanceof tfjs.Tensor);
}
