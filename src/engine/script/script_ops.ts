/** The script ops: PyFunc, PyFuncStateless, EagerPyFunc. Their kernel is the user's function. */
import { TypeError } from "../core/throwing/builtin_errors.ts";
import { describe } from "../core/convert.ts";
import { type DType, isTrainable } from "../core/dtype.ts";
import { type Attrs, defineOp, type GradRule, type OpDef, type OpInit } from "../core/op.ts";
import { compatible, type PartialShape } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import type { Spec } from "../core/tensor_spec.ts";
import { ValueError } from "../core/errors.ts";
import { withScope } from "../core/scope_context.ts";
import { withLongStacks } from "../core/throwing/user_stack.ts";
import { checkedGradient, gradientBeside, gradientRefusal } from "../autodiff/checked_gradient.ts";
import { asTensor } from "../ops/input.ts";
import { tapeGradient } from "../runtime/functions/run_tape.ts";
import { findScriptOf } from "./imported.ts";
import { readsAtOnce } from "./read_at_once.ts";
import { runEagerStyle } from "./run_eager_style.ts";
import { isBatchable, runEagerly, runNumpyStyle } from "./run_numpy_style.ts";
import { mapVjpError } from "./script_errors.ts";
import { batchOfOne, onlyRow, rowSpecs } from "./batch.ts";
import { outputShapes, type Script, scriptName } from "./script.ts";

const ATTRS = [
  "token: string",
  "Tin: list(type)",
  "Tout: list(type)",
  "_script: script = null",
  "_output_shapes: list(shape) = null",
];

/** Returns the static shapes: the script's, else those carried by a GraphDef. */
function inferShapes(inputs: readonly Spec[], attrs: Attrs): PartialShape[] {
  const script = attrs._script as Script | null;
  if (script && attrs._batched) {
    const { rows, specs } = rowSpecs(inputs);
    return outputShapes(script, specs).map((s) => s && [rows, ...s]);
  }
  if (script) return outputShapes(script, inputs);
  return (attrs._output_shapes as PartialShape[] | null) ?? (attrs.Tout as DType[]).map(() => null);
}

const vjpRule = (op: string): GradRule => ({
  saves: ["input", "output"],
  applies: (attrs) => findScriptOf(attrs)?.vjp !== undefined,
  cut: (attrs) => {
    const script = findScriptOf(attrs);
    if (script === null || script.vjp !== undefined) return null;
    const name = scriptName(script);
    return {
      text: `PyFunc '${name}' has no vjp: give one, use pyFunction, or stopGradient`,
      key: script.func,
      strict: script.strictGradients === true,
    };
  },
  vjp: (saved, dys, ctx) => {
    const script = findScriptOf(ctx.attrs)!;
    const name = scriptName(script), isAlone = script.vectorized && !ctx.attrs._batched;
    const whole = (t: Tensor): Tensor => isAlone ? batchOfOne(t) : t;
    const call = {
      inputs: ctx.inputs.map((_, k) => whole(asTensor(saved[`input:${k}`]))),
      outputs: ctx.outputs.map((_, k) => whole(asTensor(saved[`output:${k}`]))),
    };
    let given: ReturnType<NonNullable<Script["vjp"]>>;
    try {
      given = withLongStacks(() =>
        withScope({ within: `the vjp of '${name}'` }, () => {
          const found = script.vjp!(call, ...dys.map(whole));
          const here = (g: unknown): unknown =>
            g instanceof Tensor ? gradientBeside(g, call.outputs[0]) : g;
          return (Array.isArray(found) ? found.map(here) : here(found)) as typeof found;
        })
      );
    } catch (error) {
      const source = call.outputs[0]?.isSymbolic ? call.outputs[0].op : undefined;
      throw mapVjpError(error, name, { op, node: source?.name, source });
    }
    const grads = given === null || given instanceof Tensor ? [given] : given;
    if (!Array.isArray(grads)) {
      throw new TypeError(
        `vjp of ${name} returned ${
          describe(grads)
        }, wanted a tensor or null for each of ${ctx.inputs.length} inputs`,
      );
    }
    if (grads.length !== ctx.inputs.length) {
      throw new ValueError(
        `vjp of ${name} returned ${grads.length} gradients, wanted one for each of ${ctx.inputs.length} inputs`,
      );
    }
    return grads.map((g: unknown, i) => {
      const { dtype, shape: own } = ctx.inputs[i], shape = own && isAlone ? [1, ...own] : own;
      if (!isTrainable(dtype) || g === null || g === undefined) return null;
      const texts = [
        `vjp of ${name} returned `,
        ` as the gradient of input ${i}, which is `,
      ] as const;
      if (!(g instanceof Tensor) || g.dtype !== dtype || !compatible(shape, g.staticShape)) {
        const given = g instanceof Tensor ? { dtype: g.dtype, shape: g.staticShape } : describe(g);
        throw new ValueError(gradientRefusal(texts, given, { dtype, shape }));
      }
      return checkedGradient(isAlone ? onlyRow(g) : g, { ctx, input: i, texts });
    });
  },
});

const numpyStyle = (name: string, effects?: Pick<OpInit, "effects" | "stateful">): OpDef =>
  defineOp({
    name,
    inputs: ["input: Tin"],
    outputs: ["output: Tout"],
    attrs: ATTRS,
    hostInputs: ["input"],
    infer: inferShapes,
    grad: vjpRule(name),
    host: { run: runNumpyStyle, eager: runEagerly(name), isBatchable },
    ...effects,
  });

/** Numpy-style body with effects. */
export const PyFunc: OpDef = numpyStyle("PyFunc", { effects: "ordered", stateful: true });

/** Numpy-style body that is a pure function: may be folded, merged and dropped. */
export const PyFuncStateless: OpDef = numpyStyle("PyFuncStateless");

/** Eager-style body. Its last, hidden output is the call's tape, which the gradient takes along a graph edge. */
export const EagerPyFunc: OpDef = defineOp({
  name: "EagerPyFunc",
  inputs: ["input: Tin"],
  outputs: ["output: Tout", "tape: variant"],
  attrs: [...ATTRS, "is_async: bool = false"],
  infer: (inputs, attrs) => [...inferShapes(inputs, attrs), []],
  grad: {
    captures: true,
    saves: ["input", "tape"],
    vjp: (saved, dys, ctx) => {
      const inputs = ctx.inputs.map((_, k) => saved[`input:${k}`]);
      const strict = (ctx.attrs._script as Script | null)?.strictGradients;
      return tapeGradient(saved.tape, inputs, dys, ctx, { strict });
    },
  },
  effects: "ordered",
  stateful: true,
  host: {
    run: runEagerStyle,
    local: true,
    isBatchable,
    readsAtOnce: (attrs) => {
      const script = findScriptOf(attrs);
      return script !== null && readsAtOnce(script);
    },
  },
});
