/**
 * Gradients through values of every dtype: those of integers and booleans are float32, as if they were computed with numbers of float32.
 */
import type { OpInput } from "../core/apply.ts";
import { castArray } from "../core/convert.ts";
import { type DType, isTrainable } from "../core/dtype.ts";
import { lookupOp } from "../core/op.ts";
import { Tensor } from "../core/tensor.ts";
import { cast } from "../ops/array/cast.ts";
import { zerosOfSpec } from "../ops/array/fill_ops.ts";
import { FLOATS, type GradientFlow, gradientFlow } from "./flow.ts";
import { declared, isDifferentiable, type Step } from "./steps.ts";

/** Gradients of integers that the rules of ops do not give. */
export interface NumberRules {
  /** Inputs, by ops, for which the op's rule has no gradient, and which get zeros. */
  readonly flat: Readonly<Record<string, readonly number[]>>;
  /** Ops, by those without a rule whose gradient theirs stands for. */
  readonly standIns: Readonly<Record<string, string>>;
}

/** The flow of gradients through values of every dtype. */
function numberFlow({ flat, standIns }: NumberRules): GradientFlow {
  const gradientOf = (dtype: DType): DType => isTrainable(dtype) ? dtype : "float32";
  return {
    gradientOf,
    standIn: (def) => lookupOp(standIns[def.name] ?? "") ?? def,
    passes: (op) => op.def.name in flat || isDifferentiable(op),
    through: (step, needs, own) => {
      const { def, inputs, kept } = step;
      const found = def.grad === null ? inputs.map(() => null) : own(withFloats(step, needs));
      return found.map((dx, i) => {
        if (dx !== null || !needs[i] || !flat[def.name]?.includes(i)) return dx;
        return zerosOfSpec({ ...inputs[i], dtype: gradientOf(inputs[i].dtype) }, kept.get(`i${i}`));
      });
    },
  };
}

/** The step as it is where the inputs that have gradients are of float32, and all that shares their dtypes with them. */
function withFloats(step: Step, needs: readonly boolean[]): Step {
  const isOther = (at: number): boolean => needs[at] && !isTrainable(step.inputs[at].dtype);
  if (!step.inputs.some((_, at) => isOther(at))) return step;
  const args = declared(step);
  const shared = new Set(
    step.inputs.flatMap((_, at) => isOther(at) ? args.get(`i${at}`)!.typeAttr ?? [] : []),
  );
  const isChanged = (key: string): boolean => {
    const { typeAttr, typeListAttr } = args.get(key)!;
    if (typeAttr !== undefined) return shared.has(typeAttr);
    return typeListAttr !== undefined && key.startsWith("i") && isOther(Number(key.slice(1)));
  };
  const changed = <V extends { dtype: DType }>(side: "i" | "o", values: readonly V[]): V[] =>
    values.map((v, at) => isChanged(`${side}${at}`) ? { ...v, dtype: "float32" } : v);
  const inputs = changed("i", step.inputs), attrs = { ...step.attrs };
  for (const name of shared) attrs[name] = "float32";
  inputs.forEach((input, at) => {
    const list = args.get(`i${at}`)!.typeListAttr;
    if (list === undefined || attrs[list] === undefined || !isChanged(`i${at}`)) return;
    const first = inputs.findIndex((_, k) => args.get(`i${k}`)!.typeListAttr === list);
    attrs[list] = (attrs[list] as DType[]).with(at - first, input.dtype);
  });
  const kept = new Map(
    [...step.kept].map(([key, value]) => [key, isChanged(key) ? toFloats(value) : value]),
  );
  return { ...step, attrs, inputs, outputs: changed("o", step.outputs), kept };
}

function toFloats(x: OpInput): OpInput {
  return x instanceof Tensor ? cast(x, "float32") : castArray(x, "float32");
}

type Fn = (...args: never[]) => unknown;

/** Makes gradient functions such as `grad` let gradients flow through values of every dtype. */
export function followingNumbers(
  rules: NumberRules,
): <F extends Fn, G extends Fn>(f: F, differentiate: (f: F) => G) => G {
  const numbers = numberFlow(rules);
  return <F extends Fn, G extends Fn>(f: F, differentiate: (f: F) => G): G => {
    // Tapes that the function makes itself are of its own flow.
    const inside = typeof f !== "function"
      ? f
      : ((...xs) => gradientFlow.within(FLOATS, () => f(...xs))) as F;
    const gradient = differentiate(inside);
    return ((...args) => gradientFlow.within(numbers, () => gradient(...args))) as G;
  };
}
