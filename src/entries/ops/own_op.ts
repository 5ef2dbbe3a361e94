/** User-defined ops: checked where they are defined, and applied like those of the library. */
import { apply } from "../../engine/core/apply.ts";
import { describe } from "../../engine/core/convert.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { type Attrs, defineOp as register, type OpDef, type OpInit } from "../../engine/core/op.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import { toInput } from "../../engine/ops/input.ts";
import {
  definePointwise as registerPointwise,
  type PointwiseInit,
} from "../../engine/ops/pointwise/define_pointwise.ts";
import type { PointwiseExpr } from "../../engine/core/scalar/expr.ts";

/** A namespace and a name: names without a namespace belong to TensorFlow. */
const NAME = /^[A-Za-z][A-Za-z0-9_]*(>[A-Za-z][A-Za-z0-9_]*)+$/;

function checkName(name: unknown): void {
  if (typeof name === "string" && NAME.test(name)) return;
  throw new ValueError(
    `Cannot define op ${
      typeof name === "string" ? JSON.stringify(name) : describe(name)
    }: wanted a namespace and a name, as in "Acme>Mish"`,
  );
}

/**
 * Defines an op: its shape rule, kernels and gradient. It runs eagerly, in graphs and functions on the devices that it
 * has kernels for, and a GraphDef written with `portable: false` keeps it by its name. Missing parts come from
 * `expand`, its meaning in other ops, where it has that. An op whose work is no kernel
 * has `host`: `run` for graphs, which may await, and `eager`. Throws `ValueError` for a name without a namespace, one that
 * is taken, and invalid signatures, `TypeError` where neither a kernel nor an expansion computes it. A WGSL program that does not compile is an
 * `InternalError` with the op's name where its result is first read or used; in functions and sessions the run fails at
 * its node.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { applyOp, defineOp } from "@weft/weft/ops";
 * const Reversal = defineOp({
 *   name: "Acme>Reversal",
 *   inputs: ["x: T"],
 *   outputs: ["y: T"],
 *   attrs: ["T: numeric"],
 *   infer: ([x]) => [x.shape],
 *   cpu: ([x], [y]) => {
 *     const from = x.data as Float32Array, to = y.data as Float32Array;
 *     for (let i = 0; i < x.size; i++) to[i] = from[x.size - 1 - i];
 *   },
 *   grad: { saves: [], vjp: (_, [dy]) => applyOp(Reversal, [dy]) },
 * });
 * console.log(applyOp(Reversal, [[1, 2, 3]])[0].arraySync()); // [3, 2, 1]
 * console.log(tf.grad((x) => applyOp(Reversal, [x])[0].mul([1, 2, 3]).sum())(tf.tensor([0, 0, 0])).arraySync()); // [3, 2, 1]
 * ```
 */
export function defineOp(init: OpInit): OpDef {
  checkName(init?.name);
  if (typeof init.infer !== "function") {
    throw new TypeError(
      `Cannot define op "${init.name}": infer, its shape rule, is ${describe(init.infer)}`,
    );
  }
  const { cpu, gpu = [], expand, host } = init;
  if (cpu === undefined && gpu.length === 0 && expand === undefined && host === undefined) {
    throw new TypeError(
      `Cannot define op "${init.name}": nothing says what it computes, wanted cpu, gpu, expand or host`,
    );
  }
  const def = register({
    // TensorFlow lacks it: a portable GraphDef has its expansion, where there is one.
    portable: init.expand === undefined ? { never: "it is an op of this program's own" } : "parts",
    ...init,
  });
  // Parsed now, so that an error names the definition.
  void [def.signature.attrDefs, def.signature.inputArgs, def.signature.outputArgs];
  return shown(def);
}

/** Gives an op a text for consoles: `<Op 'Acme>Mish' (x: T) → (y: T)>`. */
function shown(def: OpDef): OpDef {
  const { name, inputs, outputs } = def;
  const text = (): string => `<Op '${name}' (${inputs.join(", ")}) → (${outputs.join(", ")})>`;
  for (const key of ["Deno.customInspect", "nodejs.util.inspect.custom"]) {
    Object.defineProperty(def, Symbol.for(key), { value: text });
  }
  return def;
}

/**
 * Defines an op by the expression of one element: kernels for all devices follow from it, passes fuse it with its
 * neighbours, and inputs are broadcast. Throws as {@linkcode defineOp} does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { applyOp, definePointwise, scalar as s } from "@weft/weft/ops";
 * const Mish = definePointwise("Acme>Mish", ([x]) => s.mul(x, s.tanh(s.log1p(s.exp(x)))));
 * const mish = (x: tf.TensorLike): tf.Tensor => applyOp(Mish, [x])[0];
 * console.log(mish([0]).arraySync()); // [0]
 * ```
 */
export function definePointwise(
  name: string,
  expr: PointwiseExpr,
  init: PointwiseInit = {},
): OpDef {
  checkName(name);
  if (typeof expr !== "function") {
    throw new TypeError(
      `Cannot define op "${name}": its expression is ${describe(expr)}, wanted a function`,
    );
  }
  return shown(registerPointwise(name, expr, {
    portable: { never: "it is an op of this program's own" },
    ...init,
  }));
}

/**
 * Applies an op: eagerly, or as a node of the graph that is being built. Returns its outputs. Throws `TypeError` for inputs that are no
 * tensors, `ValueError` for shapes, dtypes and attributes that do not fit its signature.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { applyOp, definePointwise, scalar as s } from "@weft/weft/ops";
 * const Cubed = definePointwise("Acme>Cubed", ([x]) => s.mul(x, s.mul(x, x)));
 * const [y] = applyOp(Cubed, [[1, 2]]);
 * console.log(y.arraySync()); // [1, 8]
 * ```
 */
export function applyOp(
  op: OpDef,
  inputs: readonly TensorLike[],
  attrs: Attrs = {},
): Tensor[] {
  if (typeof op?.signature !== "object") {
    throw new TypeError(`Cannot apply ${describe(op)}: wanted what defineOp() returned`);
  }
  if (!Array.isArray(inputs)) {
    throw new TypeError(
      `Cannot apply "${op.name}": its inputs are ${describe(inputs)}, wanted a list`,
    );
  }
  const given = inputs.map((x, i) =>
    toInput(x, op.signature.inputArgs[i]?.name ?? `inputs[${i}]`, op.name)
  );
  return apply(op, given, attrs);
}
