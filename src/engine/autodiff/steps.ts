/** Steps: applications of ops in the form that backprop reads, the same for tapes and graphs. */
import type { Application, OpInput } from "../core/apply.ts";
import type { Attrs, OpDef } from "../core/op.ts";
import type { ArgDef } from "../core/signature.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Spec } from "../core/tensor_spec.ts";
import { NdArray } from "../core/nd_array.ts";
import { resourceOf } from "../core/graph_node.ts";

/** A value's identity and spec; `id` is 0 for literals. */
export interface StepValue extends Spec {
  readonly id: number;
}

/** One application, with the values that its gradient rule needs. */
export interface Step {
  readonly def: OpDef;
  /** Attributes, defaults filled in. */
  readonly attrs: Attrs;
  readonly inputs: readonly StepValue[];
  readonly outputs: readonly StepValue[];
  /** Kept inputs and outputs by position: `i0`, `o1`. */
  readonly kept: ReadonlyMap<string, OpInput>;
  /** The steps that this one stands for. */
  readonly group?: StepGroup;
}

/** Steps that are differentiated together, by less work than one by one. */
export interface StepGroup {
  /** Returns the steps one by one. */
  steps(): readonly Step[];
  /** Begins the way back, given the gradients of the group's outputs. */
  begin(
    step: Step,
    dys: readonly (Tensor | null)[],
    needs: readonly boolean[],
  ): GroupWalk;
  /** Frees the kept values. */
  dispose(): void;
}

/** The way back through a group, which may pause. */
export interface GroupWalk {
  /** Goes back by a step. False at the end. */
  goOn(): boolean;
  /** Returns the gradients of the group's inputs. */
  gradients(): (Tensor | null)[];
}

/** The argument of a flat input or output. */
interface Position {
  readonly name: string;
  /** Index within a variadic argument; null for others. */
  readonly index: number | null;
  readonly isInput: boolean;
  /** Number among the inputs or outputs. */
  readonly at: number;
  /** Its key in {@linkcode Step.kept}. */
  readonly key: string;
}

/**
 * Positions of ops without variadic arguments, by the ops' numbers: the same for each application. Null for other ops.
 */
const fixed: (readonly Position[] | null)[] = [];

function positionsOf(
  def: OpDef,
  inputs: number,
  outputs: number,
  attrs: Attrs,
): readonly Position[] {
  const known = fixed[def.id];
  if (known) return known;
  const { inputArgs, outputArgs } = def.signature;
  const positions = [
    ...positionsAmong(inputArgs, inputs, attrs, true),
    ...positionsAmong(outputArgs, outputs, attrs, false),
  ];
  if (known === undefined) {
    fixed[def.id] = [...inputArgs, ...outputArgs].some(isVariadic) ? null : positions;
  }
  return positions;
}

function isVariadic({ numberAttr, typeListAttr }: ArgDef): boolean {
  return numberAttr !== undefined || typeListAttr !== undefined;
}

function positionsAmong(
  args: readonly ArgDef[],
  total: number,
  attrs: Attrs,
  isInput: boolean,
): Position[] {
  const positions: Position[] = [];
  for (const arg of args) {
    const variadic = isVariadic(arg);
    const list = arg.typeListAttr === undefined
      ? undefined
      : attrs[arg.typeListAttr] as readonly unknown[] | undefined;
    // Without an attribute for the number there is one variadic argument, which takes the remaining inputs.
    const n = variadic
      ? list?.length ?? attrs[arg.numberAttr ?? ""] as number ?? total - (args.length - 1)
      : 1;
    for (let k = 0; k < n; k++) {
      const at = positions.length, key = `${isInput ? "i" : "o"}${at}`;
      positions.push({ name: arg.name, index: variadic ? k : null, isInput, at, key });
    }
  }
  return positions;
}

/** True where a gradient flows through the step at all. */
export function isDifferentiable({ def, attrs }: Pick<Step, "def" | "attrs">): boolean {
  return def.grad !== null && def.grad?.applies?.(attrs) !== false;
}

/** Returns the saved tensors for a gradient rule: by argument name, `name:k` for variadic ones. */
export function savedByName(step: Step): Record<string, Tensor> {
  const out: Record<string, Tensor> = {};
  const { def, inputs, outputs, attrs, kept } = step;
  for (const { name, index, key } of positionsOf(def, inputs.length, outputs.length, attrs)) {
    const t = kept.get(key);
    // A literal stands in for a tensor: ops take both.
    if (t !== undefined) out[index === null ? name : `${name}:${index}`] = t as Tensor;
  }
  return out;
}

/** A step's inputs and outputs as its op declares them, by their names in {@linkcode Step.kept}. */
export function declared({ def, inputs, outputs, attrs }: Step): Map<string, ArgDef> {
  const { inputArgs, outputArgs } = def.signature;
  const positions = positionsOf(def, inputs.length, outputs.length, attrs);
  return new Map(positions.map(({ name, isInput, key }) => [
    key,
    (isInput ? inputArgs : outputArgs).find((arg) => arg.name === name)!,
  ]));
}

/** Copies a step with handles of its own. */
export function holdStep(step: Step, hold: (t: Tensor) => Tensor): Step {
  const own = (t: OpInput): OpInput => (t instanceof NdArray ? t : hold(t));
  return { ...step, kept: new Map([...step.kept].map(([key, t]) => [key, own(t)])) };
}

/** Makes a step; `keep` makes a handle that keeps a tensor alive. */
export function makeStep(application: Application, keep: (t: Tensor) => Tensor): Step {
  const { def, inputs, outputs, attrs } = application, rule = def.grad;
  const kept = new Map<string, OpInput>();
  const keepAt = (key: string, t: OpInput): void => {
    if (!kept.has(key)) kept.set(key, t instanceof NdArray ? t : keep(t));
  };
  // In a graph keeping costs nothing, and shapes may have to be computed.
  if (outputs[0]?.isSymbolic) {
    inputs.forEach((t, i) => keepAt(`i${i}`, t));
    outputs.forEach((t, i) => kept.set(`o${i}`, t));
  }
  if (rule === undefined) inputs.forEach((t, i) => keepAt(`i${i}`, t));
  else if (rule !== null && rule.saves.length > 0) {
    const { saves } = rule;
    for (const p of positionsOf(def, inputs.length, outputs.length, attrs)) {
      if (!saves.includes(p.name)) continue;
      if (p.isInput) keepAt(p.key, inputs[p.at]);
      else if (rule.reads?.(attrs, p.at) !== false) keepAt(p.key, outputs[p.at]);
    }
  }
  return { def, attrs, inputs: inputs.map(stepValue), outputs: outputs.map(stepValue), kept };
}

/** Describes a value for steps. Handles have their variable's id, which is the same in every graph. */
export function stepValue(t: OpInput): StepValue {
  if (t instanceof NdArray) return { id: 0, dtype: t.dtype, shape: t.shape, value: t };
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

/** Adds the handles of variables to a step's inputs, where it may read them unseen. */
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
