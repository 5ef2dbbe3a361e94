/**
 * Steps: applications of ops in the form that backprop reads, the same for tapes and graphs.
 */
import type { Application, OpInput } from "../core/apply.ts";
import type { ArgDef, Attrs, OpDef } from "../core/op.ts";
import { Tensor } from "../core/tensor.ts";
import type { Spec } from "../core/tensor_spec.ts";
import { NdArray } from "../core/nd_array.ts";
import { resourceOf } from "../core/graph_node.ts";

/** A value's name and spec; `id` is 0 for literals. */
export interface StepValue extends Spec {
  /** Tensor id. */
  readonly id: number;
}

/** One application, with what its gradient rule needs kept alive. */
export interface Step {
  /** The op. */
  readonly def: OpDef;
  /** Attributes, defaults filled in. */
  readonly attrs: Attrs;
  /** Inputs. */
  readonly inputs: readonly StepValue[];
  /** Outputs. */
  readonly outputs: readonly StepValue[];
  /** Kept inputs and outputs by position: `i0`, `o1`. */
  readonly kept: ReadonlyMap<string, OpInput>;
}

/** Names of what a step must keep: positions of the values its gradient rule reads. */
export function keptPositions(def: OpDef, inputs: number, outputs: number, attrs: Attrs): string[] {
  const rule = def.grad;
  if (rule === null) return [];
  if (rule === undefined) return Array.from({ length: inputs }, (_, i) => `i${i}`);
  const out: string[] = [];
  forEachPosition(def, inputs, outputs, attrs, (name, position) => {
    if (rule.saves.includes(name)) out.push(position);
  });
  return out;
}

/** Calls `visit(argument name, position, index within a variadic argument)` for each flat input and output. */
export function forEachPosition(
  def: OpDef,
  inputs: number,
  outputs: number,
  attrs: Attrs,
  visit: (name: string, position: string, index: number | null) => void,
): void {
  const walk = (args: readonly ArgDef[], total: number, prefix: string): void => {
    let flat = 0;
    for (const arg of args) {
      const variadic = arg.numberAttr !== undefined || arg.typeListAttr !== undefined;
      const list = arg.typeListAttr === undefined
        ? undefined
        : attrs[arg.typeListAttr] as readonly unknown[] | undefined;
      // Where the attributes do not say, there is one variadic argument and it takes what the others leave.
      const n = variadic
        ? list?.length ?? attrs[arg.numberAttr ?? ""] as number ?? total - (args.length - 1)
        : 1;
      for (let k = 0; k < n; k++) visit(arg.name, `${prefix}${flat++}`, variadic ? k : null);
    }
  };
  walk(def.signature.inputArgs, inputs, "i");
  walk(def.signature.outputArgs, outputs, "o");
}

/** What the gradient rule gets: by argument name, `name:k` for variadic ones. */
export function savedByName(step: Step): Record<string, Tensor> {
  const out: Record<string, Tensor> = {};
  forEachPosition(
    step.def,
    step.inputs.length,
    step.outputs.length,
    step.attrs,
    (name, position, index) => {
      const t = step.kept.get(position);
      // A literal stands in for a tensor: ops take both.
      if (t !== undefined) out[index === null ? name : `${name}:${index}`] = t as Tensor;
    },
  );
  return out;
}

/** Makes a step; `keep` says how a tensor is kept alive. */
export function makeStep(application: Application, keep: (t: Tensor) => Tensor): Step {
  const { def, inputs, outputs } = application;
  const kept = new Map<string, OpInput>();
  // In a graph keeping costs nothing, and shapes may have to be asked for.
  if (outputs[0]?.isSymbolic) {
    inputs.forEach((t, i) => kept.set(`i${i}`, t instanceof NdArray ? t : keep(t)));
    outputs.forEach((t, i) => kept.set(`o${i}`, t));
  }
  for (const position of keptPositions(def, inputs.length, outputs.length, application.attrs)) {
    const t = position[0] === "i"
      ? inputs[Number(position.slice(1))]
      : outputs[Number(position.slice(1))];
    if (!kept.has(position)) kept.set(position, t instanceof NdArray ? t : keep(t));
  }
  return {
    def,
    attrs: application.attrs,
    inputs: inputs.map(stepValue),
    outputs: outputs.map(stepValue),
    kept,
  };
}

/** A value as steps know it. Handles go by their variable's id, which is the same in every graph. */
export function stepValue(t: OpInput): StepValue {
  if (!(t instanceof Tensor)) return { id: 0, dtype: t.dtype, shape: t.shape, value: t };
  const value = t.isSymbolic && t.op.def.meaning.kind === "constant"
    ? t.op.attrs.value as NdArray
    : undefined;
  return { id: resourceOf(t)?.id ?? t.id, dtype: t.dtype, shape: t.staticShape, value };
}

/** True where an op may read variables that are not among its inputs, as the body of a script does. */
export function mayCapture(
  { def, attrs }: { readonly def: OpDef; readonly attrs: Attrs },
): boolean {
  const captures = def.grad?.captures;
  return typeof captures === "function" ? captures(attrs) : captures === true;
}

/** The step with the handles of variables as further inputs, where it may read them unseen. */
export function withVariables(step: Step, variables: readonly Tensor[]): Step {
  if (variables.length === 0 || !mayCapture(step)) return step;
  const known = new Set(step.inputs.map((i) => i.id));
  const unseen = variables.filter((v) => !known.has(stepValue(v).id));
  if (unseen.length === 0) return step;
  const kept = new Map(step.kept);
  unseen.forEach((v, k) => kept.set(`i${step.inputs.length + k}`, v));
  return {
    ...step,
    attrs: { ...step.attrs, Tin: [...step.attrs.Tin, ...unseen.map((v) => v.dtype)] },
    inputs: [...step.inputs, ...unseen.map(stepValue)],
    kept,
  };
}
