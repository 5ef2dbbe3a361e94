/** cond: an op that runs one of two functions. Its gradient is the tape of the call, which is one of its outputs. */
import { currentInterpreter } from "../../core/apply.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import type { HostResults } from "../../core/contract/host_op.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { Nest } from "../../core/nest.ts";
import { type CompositeTensor, kindText } from "../../core/composite.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import { relaxShapes, shapeText } from "../../core/shape.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import { asTensor, shapeOfInput, toInput } from "../../ops/input.ts";
import {
  applyControl,
  type Branch,
  branchesCapture,
  packResults,
  rowsPicked,
  runBranch,
  scalarOf,
  trace,
} from "./branch.ts";
import { ControlCall } from "./control_call.ts";
import type { RunCall } from "../run/run_context.ts";
import { forTapeOnly, tapeOnlyCallOf } from "./tape_only.ts";
import { tapeGradient, withoutFirst } from "../functions/run_tape.ts";
import type { TensorArray } from "./tensor_array.ts";

function branchOp(name: string): OpDef {
  return defineOp({
    name,
    inputs: ["cond: bool", "input: Tin"],
    outputs: ["output: Tout", "tape: variant"],
    attrs: [
      "Tcond: type = bool",
      "Tin: list(type)",
      "Tout: list(type)",
      "then_branch: func",
      "else_branch: func",
    ],
    hostInputs: ["cond"],
    infer: (_, { then_branch, else_branch }) => [
      ...(then_branch as Branch).f.outputs.map((t, i) =>
        relaxShapes(t.staticShape, (else_branch as Branch).f.outputs[i].staticShape)
      ),
      [],
    ],
    grad: {
      captures: branchesCapture,
      saves: ["input", "tape"],
      vjp: (saved, dys, ctx) => {
        const rest = withoutFirst(ctx);
        const inputs = rest.inputs.map((_, k) => saved[`input:${k}`]);
        const { then_branch, else_branch } = ctx.attrs as Record<string, Branch>;
        const rows = rowsPicked([then_branch, else_branch]);
        return [null, ...tapeGradient(saved.tape, inputs, dys, rest, { rows })];
      },
    },
    host: {
      run: runIf,
      tapeOnly: (attrs) => {
        const then_branch = forTapeOnly(attrs.then_branch);
        const else_branch = forTapeOnly(attrs.else_branch);
        return tapeOnlyCallOf(attrs, { then_branch, else_branch }, 1);
      },
    },
  });
}

/** Runs one of two functions. Inputs: the predicate, then the captures of both. */
export const If: OpDef = branchOp("If");
/** {@linkcode If} for functions without effects. */
export const StatelessIf: OpDef = branchOp("StatelessIf");

/**
 * Runs `thenFn` where `pred` is true, else `elseFn`; both must return the same nest of tensors of the same dtypes.
 * In eager mode one of them simply runs; a variable that it returns is the value that it has then. TensorFlow op `If`. Throws
 * `TypeError` where the results differ.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const f = tf.function((x: tf.Tensor) => tf.cond(tf.greater(x, 0), () => x, () => tf.neg(x)));
 * console.log((f(tf.scalar(-3)) as tf.Tensor).item()); // 3
 * ```
 */
export function cond<T extends Nest<Tensor | TensorArray | CompositeTensor>>(
  pred: TensorLike,
  thenFn: () => T,
  elseFn: () => T,
): T {
  for (const f of [thenFn, elseFn]) {
    if (typeof f !== "function") {
      throw new TypeError("true_fn and false_fn arguments to tf.cond must be callable");
    }
  }
  const p = toInput(pred, "pred", "cond", { dtype: pred instanceof Tensor ? undefined : "bool" });
  const shape = shapeOfInput(p);
  if (shape !== null && shape.length > 0) {
    throw new ValueError(
      `Cannot branch on pred of shape ${
        shapeText(shape)
      } in cond: wanted a scalar; where() chooses element by element`,
    );
  }
  if (!currentInterpreter().symbolic) return runBranch(scalarOf(p) ? thenFn : elseFn);
  const a = trace(thenFn, [], "cond_true"), b = trace(elseFn, [], "cond_false");
  const texts = [a, b].map((t) => kindText(t.structure) + t.f.outputs.map((o) => o.dtype).join());
  if (texts[0] !== texts[1]) {
    throw new TypeError(
      `true_fn and false_fn arguments to tf.cond must have the same number, type, and overall structure of return values: received ${
        texts[0]
      } and ${texts[1]}`,
    );
  }
  const effects = a.f.graph.stateful || b.f.graph.stateful;
  const functions = { then_branch: a.f, else_branch: b.f };
  const outputs = applyControl(effects ? If : StatelessIf, [asTensor(p)], { functions, apart: 1 });
  return packResults(a, outputs) as T;
}

function runIf(call: RunCall): HostResults | Promise<HostResults> {
  const control = new ControlCall(call, call.inputs.slice(1));
  const taken = (call.inputs[0] as NdArray).item();
  return control.settle(() =>
    control.run(taken ? call.attrs.then_branch : call.attrs.else_branch, [], {
      reads: "last of all",
    })
  );
}
