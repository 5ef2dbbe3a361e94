/** The parts of an attention as passes find them: nodes that become part of it, the masks that it reads, and its expressions. */
import { argument, castTo, constant, type Expr, exprType } from "../../core/scalar/expr.ts";
import type { DType } from "../../core/dtype.ts";
import { isConcrete, sameShape, type Shape, sizeOf } from "../../core/shape.ts";
import type { IrNode, IrValue } from "../ir.ts";
import type { Mask } from "./attention_form.ts";
import { causalOperand, seenOperand } from "./causal.ts";
import { mayJoin } from "./cse.ts";
import { integersOf } from "./patterns.ts";
import { applied, isPointwise, literal, type PassTarget } from "./pointwise_nodes.ts";

/** Most nodes from a softmax to its product. */
const MAX_CHAIN = 16;
const DTYPES_OF_MASKS: ReadonlySet<string> = new Set(["float32", "int32", "uint32", "bool"]);

/** Returns the dtype in which a mask is read. */
const dtypeOf = ({ value: { dtype } }: Mask): DType => dtype === "float16" ? "float32" : dtype;

/** True for a product of matrices. */
export function isProduct({ def }: IrNode): boolean {
  return def.name === "BatchMatMulV2";
}

/** True where a product reads an operand's columns as rows. */
export function adjointOf({ attrs }: IrNode, operand: 0 | 1): boolean {
  return attrs[operand === 0 ? "adj_x" : "adj_y"] === true;
}

/** True for a transposition that keeps the last axis: the result can be written so. */
export function isTurn({ def, inputs }: IrNode): boolean {
  if (def.name !== "Transpose") return false;
  const perm = integersOf(inputs[1]);
  return perm !== null && perm.at(-1) === perm.length - 1;
}

/** Options of a match. */
export interface MatchOptions {
  readonly target: PassTarget;
  /** The device of all its nodes. */
  readonly device: string;
  /** Most inputs beside queries, keys and values. */
  readonly mostMasks: number;
  /** True: float16 may stand beside float32, as what is computed in float32. */
  readonly halves?: boolean;
}

/** An attention that is being found. */
export class Match {
  readonly members: Set<IrNode> = new Set();
  readonly masks: Mask[] = [];
  readonly #options: MatchOptions;
  #causal = false;

  constructor(options: MatchOptions) {
    this.#options = options;
  }

  /** True where later keys were hidden by a constant. */
  get causal(): boolean {
    return this.#causal;
  }

  /** Adds a node to the match; false where it must stay. */
  take(node: IrNode): boolean {
    if (!mayJoin(node) || node.device !== this.#options.device) return false;
    this.members.add(node);
    return true;
  }

  /** Returns the value that another is computed from by pointwise ops and views of as many elements. */
  core(v: IrValue, isCore: (node: IrNode) => boolean, depth = 0): IrValue | null {
    const { node } = v;
    if (depth > MAX_CHAIN || !mayJoin(node) || !this.isFloat(v) || !isConcrete(v.shape)) {
      return null;
    }
    if (isCore(node)) return v;
    if (!this.isStep(node)) return null;
    const size = sizeOf(v.shape), last = v.shape.at(-1);
    for (const x of node.inputs) {
      if (!isConcrete(x.shape) || sizeOf(x.shape) !== size || x.shape.at(-1) !== last) continue;
      const core = this.core(x, isCore, depth + 1);
      if (core !== null) return core;
    }
    return null;
  }

  /** True for numbers that the attention computes with. */
  isFloat({ dtype }: IrValue): boolean {
    return dtype === "float32" || dtype === "float16" && this.#options.halves === true;
  }

  /** True for a node that may stand between products and a softmax. */
  isStep(node: IrNode): boolean {
    return node.outputs.length === 1 &&
      (node.def.meaning.kind === "view" || isPointwise(node, this.#options.target));
  }

  /** Returns the expression of a value over cores, which have expressions, and masks; null where it cannot be one. */
  expression(v: IrValue, cores: ReadonlyMap<IrValue, Expr>): Expr | null {
    const known = new Map(cores), kept = new Map<Expr, Expr>();
    const ends = new Set([...cores.keys()].map(({ node }) => node));
    const visit = (v: IrValue, shape: Shape): Expr | null => {
      const have = known.get(v);
      if (have !== undefined) return have;
      const { node } = v;
      let made: Expr | null = null;
      if (this.core(v, (n) => ends.has(n)) !== null) {
        if (!this.take(node)) return null;
        const seen = this.#causal ? seenOperand(v) : null;
        if (seen !== null) return visit(seen, v.shape as Shape);
        const inner = node.inputs.map((x, i) =>
          node.def.meaning.kind === "view" && i > 0 ? constant(0) : visit(x, v.shape as Shape)
        );
        if (inner.includes(null)) return null;
        made = node.def.meaning.kind === "view"
          ? inner[0]
          : applied(node, inner as Expr[], kept)[v.index];
      } else made = literal(v) ?? this.#mask(v, shape);
      if (made !== null) known.set(v, made);
      return made;
    };
    const made = visit(v, v.shape as Shape);
    return made && this.#options.halves ? this.#widened(made) : made;
  }

  /** Returns an expression in float32 in place of float16. */
  #widened(e: Expr): Expr {
    // Cores stand before the masks and behind the most that there may be.
    const dtypes = new Array<DType>(this.#options.mostMasks + 2).fill("float32");
    this.masks.forEach((mask, i) => dtypes[i + 1] = dtypeOf(mask));
    const memo = new Map<Expr, Expr>();
    const visit = (e: Expr): Expr => {
      const known = memo.get(e);
      if (known !== undefined) return known;
      const args = e.args.map(visit), isHalf = e.op === "cast" && e.dtype === "float16";
      const isIdle = (isHalf || e.dtype === "float32" && e.op === "cast") &&
        exprType(args[0], dtypes) === "float32";
      const made = isIdle ? args[0] : isHalf ? castTo(args[0], "float32") : { ...e, args };
      memo.set(e, made);
      return made;
    };
    return visit(e);
  }

  /** Returns the argument of a mask that is read beside values of a shape. */
  #mask(v: IrValue, shape: Shape): Expr | null {
    const isRead = isConcrete(v.shape) && v.shape.length <= shape.length &&
      v.shape.every((d, i) => d === 1 || d === shape[shape.length - (v.shape as Shape).length + i]);
    if (!isRead || !DTYPES_OF_MASKS.has(v.dtype) && !this.isFloat(v)) return null;
    let at = this.masks.findIndex((m) => m.value === v);
    if (at < 0) at = this.masks.push({ value: v, shape }) - 1;
    if (!sameShape(this.masks[at].shape, shape)) return null;
    return this.masks.length > this.#options.mostMasks ? null : argument(at + 1);
  }

  /** Returns the scores without an outermost constant that hides later keys. */
  withoutCausal(logits: IrValue, product: IrValue): IrValue {
    const inner = causalOperand(logits);
    if (inner === null || this.core(inner, (n) => n === product.node) === null) return logits;
    // The rows of the product are the queries, or several groups of them.
    if (product.shape!.at(-1) !== logits.shape!.at(-1) || !this.take(logits.node)) return logits;
    this.#causal = true;
    return inner;
  }
}

/** The operand of a softmax. */
export interface Scores {
  readonly product: IrValue;
  readonly scale: number;
  /** Of the scaled product (argument 0) and the masks; null: that product. */
  readonly expr: Expr | null;
}

/** Returns the scores of logits, and takes their nodes; null where they come from no product. */
export function scoresOf(match: Match, logits: IrValue): Scores | null {
  const product = match.core(logits, isProduct);
  if (product === null || !match.take(product.node) || adjointOf(product.node, 0)) return null;
  const inner = match.withoutCausal(logits, product);
  const expr = match.expression(inner, new Map([[product, argument(0)]]));
  if (expr === null) return null;
  const factor = factorOf(expr);
  if (factor !== null) return { product, scale: factor, expr: null };
  return { product, scale: 1, expr };
}

/** Returns the factor by which an expression multiplies argument 0, if it does nothing else. */
function factorOf(e: Expr): number | null {
  if (e.op === "keep") return factorOf(e.args[0]);
  if (e.op === "arg" && e.value === 0) return 1;
  if (e.op !== "mul" && e.op !== "div") return null;
  const [x, y] = e.args.map(constantOf), inner = x === null ? e.args[0] : e.args[1];
  const number = x ?? y;
  if (number === null || e.op === "div" && x !== null || (x !== null && y !== null)) return null;
  const rest = factorOf(inner);
  return rest === null ? null : e.op === "mul" ? rest * number : rest / number;
}

/** Returns the number that an expression is; null for others. */
export function constantOf({ op, args, value }: Expr): number | null {
  if (op === "const") return value!;
  return op === "cast" || op === "keep" ? constantOf(args[0]) : null;
}

/** True for `[batch, time, heads, depth]` that becomes `[batch, heads, time, depth]`. */
export function isHeadsFirst({ def, inputs }: IrNode): boolean {
  return def.name === "Transpose" && integersOf(inputs[1])?.join() === "0,2,1,3";
}
