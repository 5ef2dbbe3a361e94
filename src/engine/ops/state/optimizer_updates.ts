/**
 * The update of each optimizer as a pure op on one variable: from the variable, its slots, the gradient and the step's
 * scalars to the new variable and slots.
 */
import { apply1, type OpInput } from "../../core/apply.ts";
import { InternalError } from "../../core/errors.ts";
import { toNdArray } from "../../core/convert.ts";
import { type Attrs, defineOp, lookupOp, type OpDef } from "../../core/op.ts";
import { type Expr, scalar as s, type ScalarOp } from "../../core/scalar/expr.ts";
import { mergeShapes } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { asTensor } from "../input.ts";
import { boundExprs } from "../../kernels/pointwise/bound_exprs.ts";
import { pointwiseCpu } from "../../kernels/host/pointwise.ts";

interface UpdateInit {
  /** Names of the slots: same shape as the variable, replaced with it. */
  readonly slots: readonly string[];
  /** Names of the scalars that change from step to step. */
  readonly scalars: readonly string[];
  /** Names of the optimizer's constants. */
  readonly attrs?: readonly string[];
  /** Returns the new variable, then the new slots, from the arguments in the op's order. */
  readonly update: (args: readonly Expr[], attrs: Attrs) => readonly Expr[];
}

/** Defines the op: inputs are `var`, the slots, the scalars, `grad`; outputs the new `var` and slots. */
function defineUpdate(name: string, { slots, scalars, attrs = [], update }: UpdateInit): OpDef {
  const state = ["var", ...slots];
  const inputs = [...state, ...scalars, "grad"];
  const same = [...state.map((_, i) => i), inputs.length - 1];
  const bind = boundExprs(update);
  const expressions = (attrs: Attrs): readonly Expr[] => bind(attrs, inputs.length);
  return defineOp({
    name,
    inputs: inputs.map((i) => `${i}: T`),
    outputs: state.map((i) => `new_${i}: T`),
    attrs: ["T: floating", ...attrs],
    infer: (specs) => {
      scalars.forEach((_, i) => mergeShapes(specs[state.length + i].shape, []));
      const shape = same.map((i) => specs[i].shape).reduce(mergeShapes, null);
      return state.map(() => shape);
    },
    meaning: { kind: "update", exprs: update },
    portable: "parts",
    expand: (tensors, values) => asOps(expressions(values), tensors),
    cpu: (ins, outs, { attrs }) => pointwiseCpu(expressions(attrs), ins, outs),
  });
}

/** TensorFlow ops of the scalar primitives that updates use. */
const OPS: Partial<Record<ScalarOp, string>> = {
  add: "AddV2",
  sub: "Sub",
  mul: "Mul",
  div: "RealDiv",
  neg: "Neg",
  sqrt: "Sqrt",
  abs: "Abs",
  max: "Maximum",
  min: "Minimum",
  pow: "Pow",
  sign: "Sign",
  gt: "Greater",
  select: "SelectV2",
};

/** Builds the expressions in ordinary ops; common parts are computed once. */
export function asOps(exprs: readonly Expr[], tensors: readonly OpInput[]): Tensor[] {
  const dtype = tensors[0].dtype;
  const made = new Map<Expr, OpInput>();
  const visit = (e: Expr): OpInput => {
    if (e.op === "arg") return tensors[e.value!];
    let t = made.get(e);
    if (t !== undefined) return t;
    if (e.op === "const") {
      t = toNdArray(e.value!, { dtype });
    } else {
      const def = lookupOp(OPS[e.op] ?? "");
      if (!def) throw new InternalError(`Cannot expand an optimizer update: no op for "${e.op}"`);
      t = apply1(def, e.args.map(visit));
    }
    made.set(e, t);
    return t;
  };
  return exprs.map((e) => asTensor(visit(e)));
}

export const square = (x: Expr): Expr => s.mul(x, x);
/** `decay · old + (1 - decay) · now`. */
export const blend = (old: Expr, now: Expr, decay: number): Expr =>
  s.add(s.mul(old, decay), s.mul(now, 1 - decay));

/** `var - lr · grad`: what TensorFlow's `ResourceApplyGradientDescent` computes. */
export const ApplyGradientDescent: OpDef = defineUpdate("_ApplyGradientDescent", {
  slots: [],
  scalars: ["lr"],
  update: ([v, lr, g]) => [s.sub(v, s.mul(lr, g))],
});

/** Momentum, plain or Nesterov's: `ResourceApplyMomentum`. */
export const ApplyMomentum: OpDef = defineUpdate("_ApplyMomentum", {
  slots: ["accum"],
  scalars: ["lr"],
  attrs: ["momentum: float", "use_nesterov: bool = false"],
  update: ([v, accum, lr, g], { momentum, use_nesterov }) => {
    const next = s.add(s.mul(accum, momentum), g);
    const step = use_nesterov ? s.add(g, s.mul(next, momentum)) : next;
    return [s.sub(v, s.mul(lr, step)), next];
  },
});

/** `ResourceApplyAdagrad`, with TensorFlow.js's epsilon under the root, or beside it where `outside` is set (`ResourceApplyAdagradV2`). */
export const ApplyAdagrad: OpDef = defineUpdate("_ApplyAdagrad", {
  slots: ["accum"],
  scalars: ["lr"],
  attrs: ["epsilon: float = 0", "outside: bool = false"],
  update: ([v, accum, lr, g], { epsilon, outside }) => {
    const next = s.add(accum, square(g));
    const root = outside
      ? s.add(s.sqrt(next), epsilon)
      : s.sqrt(epsilon === 0 ? next : s.add(next, epsilon));
    return [s.sub(v, s.mul(lr, s.div(g, root))), next];
  },
});

/** `ResourceApplyAdadelta`; with `tfjs` the step is scaled by the mean square from before this gradient, as TensorFlow.js has it. */
export const ApplyAdadelta: OpDef = defineUpdate("_ApplyAdadelta", {
  slots: ["accum", "accum_update"],
  scalars: ["lr"],
  attrs: ["rho: float", "epsilon: float", "tfjs: bool = false"],
  update: ([v, accum, updates, lr, g], { rho, epsilon, tfjs }) => {
    const next = blend(accum, square(g), rho), scale = tfjs ? accum : next;
    const step = s.mul(s.div(s.sqrt(s.add(updates, epsilon)), s.sqrt(s.add(scale, epsilon))), g);
    return [s.sub(v, s.mul(lr, step)), next, blend(updates, square(step), rho)];
  },
});

/** `ResourceApplyRMSProp`: the epsilon under the root. */
export const ApplyRmsProp: OpDef = defineUpdate("_ApplyRMSProp", {
  slots: ["ms", "mom"],
  scalars: ["lr"],
  attrs: ["rho: float", "momentum: float", "epsilon: float"],
  update: ([v, ms, mom, lr, g], { rho, momentum, epsilon }) => {
    const square_ = blend(ms, square(g), rho);
    const step = s.add(s.mul(mom, momentum), s.div(s.mul(lr, g), s.sqrt(s.add(square_, epsilon))));
    return [s.sub(v, step), square_, step];
  },
});

/** `ResourceApplyCenteredRMSProp`. Rounding may make the variance, a difference of means, negative: it is 0 then. */
export const ApplyCenteredRmsProp: OpDef = defineUpdate("_ApplyCenteredRMSProp", {
  slots: ["mg", "ms", "mom"],
  scalars: ["lr"],
  attrs: ["rho: float", "momentum: float", "epsilon: float"],
  update: ([v, mg, ms, mom, lr, g], { rho, momentum, epsilon }) => {
    const square_ = blend(ms, square(g), rho), mean = blend(mg, g, rho);
    const variance = s.max(s.sub(square_, square(mean)), 0);
    const root = s.sqrt(s.add(variance, epsilon));
    const step = s.add(s.mul(mom, momentum), s.div(s.mul(lr, g), root));
    return [s.sub(v, step), mean, square_, step];
  },
});

/** Follow-the-regularized-leader: `ResourceApplyFtrl`, and `ResourceApplyFtrlV2` where `l2_shrinkage` is not 0. */
export const ApplyFtrl: OpDef = defineUpdate("_ApplyFtrl", {
  slots: ["accum", "linear"],
  scalars: ["lr"],
  attrs: ["l1: float", "l2: float", "l2_shrinkage: float = 0", "lr_power: float"],
  update: ([v, accum, linear, lr, g], { l1, l2, l2_shrinkage, lr_power }) => {
    const power = (x: Expr): Expr => lr_power === -0.5 ? s.sqrt(x) : s.pow(x, -lr_power);
    const next = s.add(accum, square(g)), shrunk = s.add(g, s.mul(v, 2 * l2_shrinkage));
    const sigma = s.div(s.sub(power(next), power(accum)), lr);
    const moved = s.sub(s.add(linear, shrunk), s.mul(sigma, v));
    // A value within l1 of zero gives zero.
    const beyond = s.sub(s.max(s.min(moved, l1), -l1), moved);
    return [s.div(beyond, s.add(s.div(power(next), lr), 2 * l2)), next, moved];
  },
});

const ADAM = { slots: ["m", "v"], attrs: ["beta1: float", "beta2: float", "epsilon: float"] };

/**
 * Adam. `alpha` is the learning rate over `1 - beta1^t`; `c2` is `1 / (1 - beta2^t)`. TensorFlow's `ResourceApplyAdam`
 * is the case `alpha = lr · sqrt(1 - beta2^t) / (1 - beta1^t)`, `c2 = 1`.
 */
export const ApplyAdam: OpDef = defineUpdate("_ApplyAdam", {
  ...ADAM,
  scalars: ["alpha", "c2"],
  attrs: [...ADAM.attrs, "use_nesterov: bool = false"],
  update: ([x, m, v, alpha, c2, g], { beta1, beta2, epsilon, use_nesterov }) => {
    const m1 = blend(m, g, beta1), v1 = blend(v, square(g), beta2);
    const first = use_nesterov ? blend(m1, g, beta1) : m1;
    return [s.sub(x, s.div(s.mul(alpha, first), s.add(s.sqrt(s.mul(v1, c2)), epsilon))), m1, v1];
  },
});

/** AdaMax: `alpha` is the learning rate over `1 - beta1^t`. `ResourceApplyAdaMax`. */
export const ApplyAdaMax: OpDef = defineUpdate("_ApplyAdaMax", {
  ...ADAM,
  scalars: ["alpha"],
  update: ([x, m, v, alpha, g], { beta1, beta2, epsilon }) => {
    const m1 = blend(m, g, beta1), v1 = s.max(s.mul(v, beta2), s.abs(g));
    return [s.sub(x, s.mul(alpha, s.div(m1, s.add(v1, epsilon)))), m1, v1];
  },
});

/** AdamW: the variable decays by `decay` (learning rate times weight decay), then Adam as TensorFlow's Keras computes it. */
export const ApplyAdamW: OpDef = defineUpdate("_ApplyAdamW", {
  ...ADAM,
  scalars: ["alpha", "decay"],
  update: ([x, m, v, alpha, decay, g], { beta1, beta2, epsilon }) => {
    const m1 = blend(m, g, beta1), v1 = blend(v, square(g), beta2);
    const kept = s.sub(x, s.mul(x, decay));
    return [s.sub(kept, s.div(s.mul(alpha, m1), s.add(s.sqrt(v1), epsilon))), m1, v1];
  },
});
