/**
 * Parts of an optimizer's step that are pointwise: each turns an update into another one, and may keep slots. A chain of
 * them is one op, whose expression is that of its parts in turn.
 */
import { UnimplementedError } from "../../core/errors.ts";
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import { type Expr, scalar as s } from "../../core/scalar/expr.ts";
import { mergeShapes } from "../../core/shape.ts";
import { boundExprs } from "../../kernels/pointwise/bound_exprs.ts";
import { pointwiseCpu } from "../../kernels/host/pointwise.ts";
import { asOps, blend, square } from "./optimizer_updates.ts";

/** Settings of a part. */
export type PartOptions = Readonly<Record<string, number | boolean>>;

/** An element's values when a part is reached. */
interface PartValues {
  /** The update so far, which begins as the gradient. */
  readonly update: Expr;
  /** The variable: the new one after `add`. */
  readonly variable: Expr;
  /** The variable before the step. */
  readonly before: Expr;
  readonly slots: readonly Expr[];
  readonly scalars: readonly Expr[];
}

interface PointwisePart {
  /** Number of slots. Default 0. */
  readonly slots?: number;
  /** Number of scalars that change from step to step. Default 0. */
  readonly scalars?: number;
  /** True where it changes the variable and not the update. */
  readonly ofVariable?: true;
  /** The new update or variable, then the new slots. */
  readonly exprs: (values: PartValues, options: PartOptions) => readonly Expr[];
}

/** The parts by name. */
const PARTS: Readonly<Record<string, PointwisePart>> = {
  /** The end of a chain: the update is added to the variable. */
  add: { ofVariable: true, exprs: ({ update, variable }) => [s.add(variable, update)] },
  scale: { exprs: ({ update }, { factor }) => [s.mul(update, factor as number)] },
  /** Minus the learning rate, which is the scalar. */
  rate: { scalars: 1, exprs: ({ update, scalars: [rate] }) => [s.neg(s.mul(rate, update))] },
  schedule: { scalars: 1, exprs: ({ update, scalars: [factor] }) => [s.mul(factor, update)] },
  clip: {
    exprs: ({ update }, { limit }) => [s.min(s.max(update, -(limit as number)), limit as number)],
  },
  decay: {
    exprs: ({ update, variable }, { weight }) => [s.add(update, s.mul(variable, weight as number))],
  },
  sign: { exprs: ({ update }) => [s.sign(update)] },
  trace: {
    slots: 1,
    exprs: ({ update, slots: [trace] }, { decay, nesterov }) => {
      const next = s.add(s.mul(trace, decay as number), update);
      return [nesterov ? s.add(update, s.mul(next, decay as number)) : next, next];
    },
  },
  /** Scalars: one over what the two means have gathered of their weight. */
  adam: {
    slots: 2,
    scalars: 2,
    exprs: ({ update, slots: [m, v], scalars: [c1, c2] }, options) => {
      const { beta1, beta2, epsilon } = options as Readonly<Record<string, number>>;
      const m1 = blend(m, update, beta1), v1 = blend(v, square(update), beta2);
      return [s.div(s.mul(m1, c1), s.add(s.sqrt(s.mul(v1, c2)), epsilon)), m1, v1];
    },
  },
  lion: {
    slots: 1,
    exprs: ({ update, slots: [m] }, { beta1, beta2 }) => [
      s.sign(blend(m, update, beta1 as number)),
      blend(m, update, beta2 as number),
    ],
  },
  rms: {
    slots: 1,
    exprs: ({ update, slots: [v] }, { decay, epsilon }) => {
      const next = blend(v, square(update), decay as number);
      return [s.div(update, s.sqrt(s.add(next, epsilon as number))), next];
    },
  },
  /** The slot is the way from the slow weights. The scalar is positive in the steps that move these. */
  lookahead: {
    slots: 1,
    scalars: 1,
    ofVariable: true,
    exprs: ({ variable, before, slots: [ahead], scalars: [moves] }, { size }) => {
      const way = s.add(ahead, s.sub(variable, before)), now = s.gt(moves, 0);
      const back = s.sub(variable, s.mul(way, 1 - (size as number)));
      return [s.select(now, back, variable), s.select(now, s.mul(way, 0), way)];
    },
  },
};

/** Names and settings of the parts in turn, as the attribute holds them. */
export type PartList = readonly (readonly [name: string, options: PartOptions])[];

const parsed = new Map<string, PartList>();
function partsOf(text: string): PartList {
  let list = parsed.get(text);
  if (!list) parsed.set(text, list = JSON.parse(text) as PartList);
  return list;
}

function partOf(name: string): PointwisePart {
  const part = PARTS[name];
  if (part) return part;
  throw new UnimplementedError(`Cannot transform updates: there is no part '${name}'`);
}

function exprsOf(args: readonly Expr[], { n, parts }: Attrs): readonly Expr[] {
  let slot = 1, scalar = n as number;
  const list = partsOf(parts as string), last = args[args.length - 1], made: Expr[] = [];
  const isChanged = list[0][0] !== "add" && partOf(list[0][0]).ofVariable === true;
  const before = isChanged ? last : args[0];
  let variable = args[0], update = last, isVariable = false;
  for (const [name, options] of list) {
    const part = partOf(name);
    const { slots = 0, scalars = 0, ofVariable = false } = part;
    const [result, ...next] = part.exprs({
      update,
      variable,
      before,
      slots: args.slice(slot, slot += slots),
      scalars: args.slice(scalar, scalar += scalars),
    }, options);
    if (ofVariable) variable = result;
    else update = result;
    isVariable ||= ofVariable;
    made.push(...next);
  }
  return [isVariable ? variable : update, ...made];
}

const bind = boundExprs(exprsOf);

/**
 * A chain of parts on one variable. Inputs are the variable, the slots of all parts, their scalars and the gradient, or the variable's
 * value before the step where that has changed it already; results the new variable, or the update where no part makes a variable of it,
 * and the new slots.
 */
export const ApplyTransforms: OpDef = defineOp({
  name: "_ApplyTransforms",
  inputs: ["state: n * T", "scalars: m * T", "grad: T"],
  outputs: ["new_state: n * T"],
  attrs: ["T: floating", "n: int >= 1", "m: int >= 0", "parts: string"],
  infer: (specs, { n }) => {
    specs.slice(n, -1).forEach((spec) => mergeShapes(spec.shape, []));
    const same = [...specs.slice(0, n), specs[specs.length - 1]];
    const shape = same.map((spec) => spec.shape).reduce(mergeShapes, null);
    return specs.slice(0, n).map(() => shape);
  },
  meaning: { kind: "update", exprs: exprsOf },
  portable: "parts",
  expand: (tensors, attrs) => asOps(bind(attrs, tensors.length), tensors),
  cpu: (ins, outs, { attrs }) => pointwiseCpu(bind(attrs, ins.length), ins, outs),
});
