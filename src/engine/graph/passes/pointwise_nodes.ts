/** Common parts of the passes that join pointwise ops: the eligible nodes, their expressions, and the joined node. */
import { type DType, DTYPES } from "../../core/dtype.ts";
import { fusionOf } from "../../core/fusion.ts";
import type { MeaningKind, MeaningOf, SumsMeaning } from "../../core/meaning.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { Attrs, OpDef } from "../../core/op.ts";
import {
  argument,
  castTo,
  constant,
  type Expr,
  keep,
  mayFail,
  type ScalarOp,
  substitute,
} from "../../core/scalar/expr.ts";
import { type IrGraph, type IrNode, type IrValue, isConstant } from "../ir.ts";
import { addedNode } from "./added.ts";
import { type Joined, joinNodes } from "./clusters.ts";
import { mayJoin } from "./cse.ts";

/** The device of most of a plan's nodes. */
export type PassTarget = "CPU" | "GPU";

/** WebGPU's guaranteed number of storage buffers. */
export const MAX_BUFFERS = 8;
/**
 * Maximum work per element, in units of {@linkcode workOf}, of joined ops. Measured on chains of 400 and 800 ops: the
 * first call costs the same for bounds up to 300 and grows faster than the work beyond, as registers run out (on
 * llvmpipe 2.4 s at 400, 6.2 s at 800, 12.6 s at 1600); light ops run as fast from 150 on.
 */
export const MAX_WORK = 200;

/** Maximum readers that each compute the same value. */
const MAX_COPIES = 4;
/** Maximum work per element that is repeated rather than stored and loaded. */
const CHEAP = 4;

/** True where this many readers may each compute the node themselves. */
export function mayBeCopied(node: IrNode, copies: number): boolean {
  return copies <= MAX_COPIES && workOfNode(node) <= CHEAP;
}

/** True for a pure op whose outputs are expressions of few inputs, in dtypes that every printer supports. */
export function isPointwise(node: IrNode, target: PassTarget): boolean {
  return node.def.meaning.kind === "pointwise" && node.inputs.length < MAX_BUFFERS &&
    mayJoin(node) && node.inputs.every(isSimple) && node.outputs.every(isSimple) &&
    !expressionsOf(node).complex && !(target === "CPU" && mayThrow(node));
}

/** True for an op that becomes part of a pointwise kernel: beside {@linkcode isPointwise} one of complex64 on a GPU. */
export function isElementwise(node: IrNode, target: PassTarget): boolean {
  const fits = (v: IrValue): boolean => isSimple(v) || v.dtype === "complex64";
  return isPointwise(node, target) ||
    target === "GPU" && !node.device.includes("CPU") && node.def.meaning.kind === "pointwise" &&
      node.inputs.length < MAX_BUFFERS && mayJoin(node) && node.inputs.every(fits) &&
      node.outputs.every(fits);
}

/** True where an element may fail on the CPU: the node stays alone, so that the error names it. */
function mayThrow(node: IrNode): boolean {
  const dtypes = node.inputs.map((v) => v.dtype);
  // Numbers in place of arguments make fewer expressions fail, not more.
  const { exprs } = expressionsOf(node);
  if (!mayFail(exprs, dtypes)) return false;
  const args = node.inputs.map((v, i) => literal(v) ?? argument(i));
  return mayFail(exprs.map((e) => substitute(e, args)), dtypes);
}

function isSimple({ dtype }: IrValue): boolean {
  return dtype === "float32" || dtype === "float16" || dtype === "int32" || dtype === "uint32" ||
    dtype === "bool";
}

/** Rounds a result as a stored one: float16 rounds between ops. */
function betweenOps(e: Expr, dtype: DType): Expr {
  const isRounded = dtype !== "float16" || (e.op === "cast" && e.dtype === "float16");
  return isRounded ? e : castTo(castTo(e, "float32"), "float16");
}

/** Expressions of a pointwise node. */
interface Expressions {
  readonly def: OpDef;
  readonly count: number;
  /** One over the node's inputs for each of its outputs. */
  readonly exprs: readonly Expr[];
  readonly work: number;
  /** True where numbers on the way are complex. */
  readonly complex: boolean;
}

/** True where numbers become complex: conjugates of real ones stay real. */
function hasComplex(exprs: readonly Expr[]): boolean {
  const seen = new Set(exprs);
  for (const { op, dtype, args } of seen) {
    if (op === "complex" || dtype === "complex64") return true;
    for (const x of args) seen.add(x);
  }
  return false;
}

/** Expressions by the attributes of nodes, which copies of a node share. */
const expressions = new WeakMap<Attrs, Expressions>();

function expressionsOf({ def, attrs, inputs }: IrNode): Expressions {
  let found = expressions.get(attrs);
  if (found === undefined || found.def !== def || found.count !== inputs.length) {
    const { exprs: make } = def.meaning as MeaningOf<"pointwise">;
    const exprs = make(inputs.map((_, i) => argument(i)), attrs);
    const own = { exprs, work: workOf(exprs), complex: hasComplex(exprs) };
    expressions.set(attrs, found = { def, count: inputs.length, ...own });
  }
  return found;
}

/** Primitives that take one or two instructions. */
const LIGHT: ReadonlySet<ScalarOp> = new Set<ScalarOp>([
  ...["arg", "const", "cast", "add", "sub", "mul", "neg", "abs", "min", "max"] as const,
  ...["lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "select"] as const,
]);

/** Estimates the instructions of expressions per element. */
function workOf(exprs: readonly Expr[]): number {
  const seen = new Set<Expr>();
  const visit = (e: Expr): number => {
    if (seen.has(e)) return 0;
    seen.add(e);
    const own = e.args.length === 0 || e.op === "keep" ? 0 : LIGHT.has(e.op) ? 1 : 10;
    return e.args.reduce((n, a) => n + visit(a), own);
  };
  return exprs.reduce((n, e) => n + visit(e), 0);
}

/** Returns {@linkcode workOf} a pointwise node. */
export function workOfNode(node: IrNode): number {
  return expressionsOf(node).work;
}

/** Kinds of sums of products. */
const SUMS: ReadonlySet<MeaningKind> = new Set(["product", "quantised product", "convolution"]);

/** True for a product that may get an expression over each of its sums. */
export function takesEpilogue({ def: { meaning }, attrs }: IrNode): boolean {
  // With channels first, a bias is no row of the result.
  return SUMS.has(meaning.kind) && (meaning as SumsMeaning).fuses === true &&
    fusionOf(attrs) === undefined &&
    !String(attrs.data_format ?? "").startsWith("NC");
}

/** True for a reduction without fused ops. */
export function isReduction({ def, attrs }: IrNode): boolean {
  return def.meaning.kind === "reduce" && fusionOf(attrs) === undefined;
}

/** Returns a rank-0 constant as an expression, if every printer gives it the same value. */
export function literal(v: IrValue): Expr | null {
  if (!isConstant(v.node)) return null;
  const array = v.node.attrs.value as NdArray;
  const isKnown = v.dtype === "float32" || v.dtype === "float16" || v.dtype === "int32";
  if (array.shape.length > 0 || !isKnown) return null;
  const value = (array.data as Float32Array)[0];
  if (!Number.isFinite(value) || (v.dtype === "int32" && Math.abs(value) > 2 ** 23)) return null;
  return castTo(constant(value), v.dtype);
}

/** Returns the inputs that stay inputs: small constants become part of the expression. */
export function outside(node: IrNode): IrValue[] {
  return node.inputs.filter((v) => literal(v) === null);
}

/** Returns the outer inputs of several nodes together. */
export function inputsOf(members: ReadonlySet<IrNode>): Set<IrValue> {
  return new Set([...members].flatMap(outside).filter((v) => !members.has(v.node)));
}

/** Primitives that drivers rearrange algebraically. */
const ALGEBRA: ReadonlySet<ScalarOp> = new Set<ScalarOp>(["add", "sub", "mul", "div"]);
/** Primitives that choose, or change a bit: drivers do not rearrange sums and products of their results. */
const CHOICES: ReadonlySet<ScalarOp> = new Set<ScalarOp>([
  ...["arg", "keep", "min", "max", "abs", "sign"] as const,
]);

/** The maximum of a number and itself is that number. */
function isChoice({ op, args }: Expr): boolean {
  return CHOICES.has(op) && (args.length < 2 || args[0] !== args[1]);
}

/**
 * Returns a pointwise node's expressions over operands that are opaque to its arithmetic, as arrays are to a kernel. An
 * opaque value is made once: pass one `known` for all nodes of a kernel.
 */
export function applied(
  node: IrNode,
  operands: readonly Expr[],
  known: Map<Expr, Expr> = new Map(),
): Expr[] {
  const { exprs } = expressionsOf(node), alone = binaryOf(exprs);
  const kept = operands.map((e, i) => {
    const { kind } = DTYPES[node.inputs[i].dtype];
    if (kind !== "float" && kind !== "complex") return e;
    if (operands.indexOf(e) < i) return keep(e, true);
    if (isChoice(e) || alone && isOpaque(alone, e, operands[1 - i])) return e;
    let one = known.get(e);
    if (!one) known.set(e, one = keep(e));
    return one;
  });
  const memo = new Map<Expr, Expr>();
  return exprs.map((e) => substitute(e, operands, memo, { at: ALGEBRA, by: kept }));
}

/** Returns the primitive of two operands that an expression is. */
function binaryOf([{ op, args }, ...more]: readonly Expr[]): ScalarOp | null {
  const [x, y] = args, isBinary = args.length === 2 && x.op === "arg" && y.op === "arg";
  return more.length === 0 && isBinary && x.value !== y.value ? op : null;
}

/** Returns the number that an expression is, else null. */
function numberOf({ op, args, value }: Expr): number | null {
  return op === "const" ? value! : op === "cast" ? numberOf(args[0]) : null;
}

/**
 * True where drivers do not rearrange an operand with another: a number in a sum or product, except a zero, which they
 * drop or propagate; a sum to be multiplied, except by a number, which they distribute.
 */
function isOpaque(op: ScalarOp, e: Expr, other: Expr): boolean {
  if (op === "div" || numberOf(other) !== null) return false;
  const number = numberOf(e);
  if (number !== null) return number !== 0;
  return op === "mul" && (e.op === "add" || e.op === "sub");
}

/** Makes the node that computes `outputs`, values of `members`, from their outer inputs. */
export function fusedNode(members: ReadonlySet<IrNode>, outputs: readonly IrValue[]): IrNode {
  const inputs = [...inputsOf(members)];
  const exprs = new Map<IrValue, Expr>(inputs.map((v, i) => [v, argument(i)]));
  const kept = new Map<Expr, Expr>();
  const exprOf = (v: IrValue): Expr => {
    const known = exprs.get(v);
    if (known) return known;
    const number = literal(v);
    if (number) {
      exprs.set(v, number);
      return number;
    }
    const own = applied(v.node, v.node.inputs.map(exprOf), kept);
    v.node.outputs.forEach((w, i) => exprs.set(w, betweenOps(own[i], w.dtype)));
    return exprs.get(v)!;
  };
  return addedNode(outputs.at(-1)!.node, "_FusedPointwise", inputs, {
    Tin: inputs.map((v) => v.dtype),
    Tout: outputs.map((v) => v.dtype),
    exprs: outputs.map(exprOf),
  });
}

/** The uses of a graph's nodes. */
export interface Uses {
  /** Readers of each node's values. */
  readonly readers: ReadonlyMap<IrNode, readonly IrNode[]>;
  /** Nodes with results that are fetched, or with other nodes waiting for them. */
  readonly held: ReadonlySet<IrNode>;
}

/** Uses of graphs: most passes return the graph that they get. */
const uses = new WeakMap<IrGraph, Uses>();

/** Finds the uses of a graph's nodes. */
export function usesOf(ir: IrGraph): Uses {
  let found = uses.get(ir);
  if (found === undefined) uses.set(ir, found = findUses(ir));
  return found;
}

function findUses(ir: IrGraph): Uses {
  const readers = new Map<IrNode, IrNode[]>(), held = new Set<IrNode>(ir.targets);
  for (const node of ir.nodes) {
    readers.set(node, []);
    for (const v of node.inputs) readers.get(v.node)!.push(node);
    for (const c of node.controls) held.add(c);
  }
  for (const v of ir.fetches) held.add(v.node);
  return { readers, held };
}

/** Returns the graph without pure nodes that nothing reads. */
export function withoutUnused(ir: IrGraph): IrGraph {
  const { held } = usesOf(ir), used = new Set(held);
  const nodes = [...ir.nodes].reverse().filter((node) => {
    if (!used.has(node) && node.feed < 0 && (mayJoin(node) || isConstant(node))) return false;
    for (const v of node.inputs) used.add(v.node);
    return true;
  });
  return { ...ir, nodes: nodes.reverse() };
}

/** Returns the graph with clusters replaced, and without unused constants. */
export function joined(ir: IrGraph, joins: readonly Joined[]): IrGraph {
  if (joins.length === 0) return ir;
  const made = joinNodes(ir, joins), found = findUses(made), { readers, held } = found;
  const isUsed = (n: IrNode): boolean => held.has(n) || readers.get(n)!.length > 0;
  const without = { ...made, nodes: made.nodes.filter((n) => !isConstant(n) || isUsed(n)) };
  // Those of nodes that are left out are in the way of nothing.
  uses.set(without, found);
  return without;
}
