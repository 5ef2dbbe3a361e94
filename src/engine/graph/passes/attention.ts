/**
 * Attention: products with a softmax between them become one op that never stores the scores, whatever pointwise ops
 * stand between: scales, masks of any broadcast shape, a cap, dropout. Its operands are read where splits, transpositions,
 * reshapes and repetitions of heads left them.
 */
import { AttentionOf } from "../../core/attention.ts";
import { argument, constant, type Expr } from "../../core/scalar/expr.ts";
import { isConcrete, sameShape, type Shape, sizeOf } from "../../core/shape.ts";
import { type IrGraph, type IrNode, type IrValue, isConstant } from "../ir.ts";
import { addedNode, isLoaded } from "./added.ts";
import { formOf, type Mask } from "./attention_form.ts";
import { causalOperand } from "./causal.ts";
import type { Joined } from "./clusters.ts";
import { mayJoin } from "./cse.ts";
import { integersOf } from "./patterns.ts";
import {
  applied,
  isPointwise,
  joined,
  literal,
  type PassTarget,
  usesOf,
} from "./pointwise_nodes.ts";

const ATTENTION = "_FusedAttention";
/** Most inputs beside queries, keys and values, within WebGPU's guaranteed number of buffers. */
const MAX_MASKS = 4;
/** Most nodes from a softmax to its product. */
const MAX_CHAIN = 16;
/** Options of the pass, which tests change. */
export const attentionOptions: {
  /**
   * Least elements of scores that are not stored on the CPU, where separate products are as fast as long as caches hold
   * what is between them.
   */
  leastOnCpu: number;
} = { leastOnCpu: 1 << 22 };

/** Returns the graph with attention ops in place of their parts. */
export function fuseAttention(ir: IrGraph, target: PassTarget): IrGraph {
  if (!isLoaded(ATTENTION)) return ir;
  const { readers, held } = usesOf(ir);
  const taken = new Set<IrNode>();
  const joins: Joined[] = [];
  const isInner = (node: IrNode, members: ReadonlySet<IrNode>): boolean =>
    !taken.has(node) && !held.has(node) && readers.get(node)!.every((r) => members.has(r));
  for (const root of [...ir.nodes].reverse()) {
    if (taken.has(root) || root.outputs.length !== 1) continue;
    const found = isTurn(root) ? new Finder(root, target).found() : null;
    const match = found ?? (isProduct(root) ? new Finder(root, target).found() : null);
    if (match === null) continue;
    const { members, node } = match;
    if (![...members].every((n) => n === root || isInner(n, members))) continue;
    for (const n of members) taken.add(n);
    joins.push({ members, node, outputs: [...root.outputs, ...node.outputs] });
  }
  return joins.length === 0 ? ir : withoutIdle(joined(ir, joins));
}

/** Returns the graph without views that nothing reads any more. */
function withoutIdle(ir: IrGraph): IrGraph {
  const { held } = usesOf(ir), used = new Set(held);
  const nodes = [...ir.nodes].reverse().filter((node) => {
    if (!used.has(node) && node.feed < 0 && (mayJoin(node) || isConstant(node))) return false;
    for (const v of node.inputs) used.add(v.node);
    return true;
  });
  return { ...ir, nodes: nodes.reverse() };
}

function isProduct({ def }: IrNode): boolean {
  return def.name === "BatchMatMulV2";
}

/** True for a transposition that keeps the last axis: the result can be written so. */
function isTurn({ def, inputs }: IrNode): boolean {
  if (def.name !== "Transpose" || !isProduct(inputs[0].node)) return false;
  const perm = integersOf(inputs[1]);
  return perm !== null && perm.at(-1) === perm.length - 1;
}

interface Found {
  readonly members: ReadonlySet<IrNode>;
  readonly node: IrNode;
}

/** Looks for an attention that ends in one node. */
class Finder {
  readonly #root: IrNode;
  readonly #target: PassTarget;
  readonly #members = new Set<IrNode>();
  readonly #masks: Mask[] = [];
  #causal = false;

  constructor(root: IrNode, target: PassTarget) {
    this.#root = root;
    this.#target = target;
  }

  found(): Found | null {
    const root = this.#root, last = isProduct(root) ? root : root.inputs[0].node;
    if (!this.#take(root) || !this.#take(last) || adjointOf(last, 0)) return null;
    const [shares, values] = last.inputs;
    const softmax = this.#core(shares, ({ def }) => def.name === "Softmax");
    if (softmax === null || !this.#take(softmax.node)) return null;
    const [logits] = softmax.node.inputs;
    const product = this.#core(logits, isProduct);
    if (product === null || !this.#take(product.node) || adjointOf(product.node, 0)) return null;
    const steps = [shares, softmax, logits, product, last.outputs[0], ...product.node.inputs];
    const isFloat = [...steps, values].every((v) => v.dtype === "float32" && isConcrete(v.shape));
    const queries = logits.shape?.at(-2), keys = product.shape?.at(-1);
    if (!isFloat || queries == null || keys == null) return null;
    const weights = this.#expression(shares, softmax), all = sizeOf(product.shape as Shape);
    let scores = this.#expression(this.#withoutCausal(logits, product), product);
    if (weights === null || scores === null || all === 0) return null;
    if (this.#target === "CPU" && all < attentionOptions.leastOnCpu) return null;
    let scale = 1;
    const factor = factorOf(scores);
    if (factor !== null) [scores, scale] = [argument(0), factor];
    const form = formOf({
      ...{
        q: product.node.inputs[0],
        k: product.node.inputs[1],
        v: values,
        product,
        logits,
        shares,
        last,
        root,
      },
      ...{ kIsTurned: adjointOf(product.node, 1), vIsTurned: adjointOf(last, 1) },
      ...{ masks: this.#masks, causal: this.#causal, scale },
      scores: scores.op === "arg" ? null : scores,
      weights: weights.op === "arg" ? null : weights,
    });
    if (form === null) return null;
    const node = addedNode(root, ATTENTION, form.inputs, {
      T: "float32",
      Tmasks: form.inputs.slice(3).map((v) => v.dtype),
      form: new AttentionOf(form.form, root.outputs[0].shape as Shape),
    });
    return { members: this.#members, node };
  }

  /** Adds a node to the match; false where it must stay. */
  #take(node: IrNode): boolean {
    if (!mayJoin(node) || node.device !== this.#root.device) return false;
    this.#members.add(node);
    return true;
  }

  /** Returns the value that another is computed from by pointwise ops and views of as many elements. */
  #core(v: IrValue, isCore: (node: IrNode) => boolean, depth = 0): IrValue | null {
    const { node } = v;
    if (depth > MAX_CHAIN || !mayJoin(node) || v.dtype !== "float32" || !isConcrete(v.shape)) {
      return null;
    }
    if (isCore(node)) return v;
    if (!this.#isStep(node)) return null;
    const size = sizeOf(v.shape), last = v.shape.at(-1);
    for (const x of node.inputs) {
      if (!isConcrete(x.shape) || sizeOf(x.shape) !== size || x.shape.at(-1) !== last) continue;
      const core = this.#core(x, isCore, depth + 1);
      if (core !== null) return core;
    }
    return null;
  }

  #isStep(node: IrNode): boolean {
    return node.outputs.length === 1 &&
      (node.def.meaning.kind === "view" || isPointwise(node, this.#target));
  }

  /** Returns the expression of a value over the core (argument 0) and masks; null where it cannot be one. */
  #expression(v: IrValue, core: IrValue): Expr | null {
    const known = new Map<IrValue, Expr>([[core, argument(0)]]), kept = new Map<Expr, Expr>();
    const visit = (v: IrValue, shape: Shape): Expr | null => {
      const have = known.get(v);
      if (have !== undefined) return have;
      const { node } = v;
      let made: Expr | null = null;
      if (this.#core(v, (n) => n === core.node) !== null) {
        if (!this.#take(node)) return null;
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
    return visit(v, v.shape as Shape);
  }

  /** Returns the argument of a mask that is read beside values of a shape. */
  #mask(v: IrValue, shape: Shape): Expr | null {
    const isRead = isConcrete(v.shape) && v.shape.length <= shape.length &&
      v.shape.every((d, i) => d === 1 || d === shape[shape.length - (v.shape as Shape).length + i]);
    if (!isRead || !DTYPES_OF_MASKS.has(v.dtype)) return null;
    let at = this.#masks.findIndex((m) => m.value === v);
    if (at < 0) at = this.#masks.push({ value: v, shape }) - 1;
    if (!sameShape(this.#masks[at].shape, shape)) return null;
    return this.#masks.length > MAX_MASKS ? null : argument(at + 1);
  }

  /** Returns the scores without an outermost constant that hides later keys. */
  #withoutCausal(logits: IrValue, product: IrValue): IrValue {
    const inner = causalOperand(logits);
    if (inner === null || this.#core(inner, (n) => n === product.node) === null) return logits;
    const [n, m] = logits.shape!.slice(-2);
    // The rows of the product are the queries, or several groups of them.
    if (product.shape!.at(-1) !== m || !this.#take(logits.node) || n === null) return logits;
    this.#causal = true;
    return inner;
  }
}

const DTYPES_OF_MASKS: ReadonlySet<string> = new Set(["float32", "int32", "uint32", "bool"]);

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

function constantOf({ op, args, value }: Expr): number | null {
  if (op === "const") return value!;
  return op === "cast" || op === "keep" ? constantOf(args[0]) : null;
}

function adjointOf({ attrs }: IrNode, operand: 0 | 1): boolean {
  return attrs[operand === 0 ? "adj_x" : "adj_y"] === true;
}
