/**
 * Views: shapes are changed as late as possible. Handles and reshapes that change nothing disappear, one reshape replaces
 * several, pointwise and row ops run on a product's rows before these get their axes back, and products read transposed
 * operands and repeated heads where they lie.
 */
import { DTYPES } from "../../core/dtype.ts";
import { NdArray } from "../../core/nd_array.ts";
import { isConcrete, type PartialShape, sameShape, type Shape, sizeOf } from "../../core/shape.ts";
import {
  addOutputLike,
  type IrGraph,
  type IrNode,
  type IrValue,
  isConstant,
  nodeLike,
} from "../ir.ts";
import { addedValue, constantNode } from "./added.ts";
import { beforeCasts } from "./casts.ts";
import { mayJoin } from "./cse.ts";
import { composed, type Turn, unturned } from "./turns.ts";
import { integersOf } from "./patterns.ts";
import {
  isPointwise,
  type PassTarget,
  takesEpilogue,
  type Uses,
  usesOf,
  withoutUnused,
} from "./pointwise_nodes.ts";

/** Returns the graph with fewer changes of shapes. */
export function simplifyViews(ir: IrGraph, target: PassTarget): IrGraph {
  return new Rebuilt(ir, target).graph();
}

/** A graph that is built anew, node by node. */
class Rebuilt {
  readonly #ir: IrGraph;
  readonly #target: PassTarget;
  readonly #uses: Uses;
  readonly #fetched: ReadonlySet<IrValue>;
  readonly #values = new Map<IrValue, IrValue>();
  /** The nodes in place of others, in control edges. */
  readonly #instead = new Map<IrNode, IrNode>();
  readonly #nodes: IrNode[] = [];
  readonly #known = new Set<IrNode>();
  /** Values that are views of others. */
  readonly #bases = new Map<IrValue, IrValue>();
  /** Values that are transpositions of others. */
  readonly #turns = new Map<IrValue, Turn>();
  /** Ops on integers that were made anew for float32. */
  readonly #remade = new Map<IrNode, IrValue>();
  /** Matrices that pointwise ops shall run on. */
  readonly #rows = new Set<IrValue>();
  /** Reshapes by what they show. */
  readonly #views = new Map<IrValue, IrValue[]>();
  readonly #shapes = new Map<string, IrValue>();
  #isChanged = false;

  constructor(ir: IrGraph, target: PassTarget) {
    this.#ir = ir;
    this.#target = target;
    this.#uses = usesOf(ir);
    this.#fetched = new Set(ir.fetches);
  }

  graph(): IrGraph {
    for (const node of this.#ir.nodes) this.#visit(node);
    if (!this.#isChanged) return this.#ir;
    const ir: IrGraph = {
      nodes: this.#nodes,
      fetches: this.#ir.fetches.map((v) => this.#values.get(v)!),
      targets: [...new Set(this.#ir.targets.map((n) => this.#instead.get(n)!))],
    };
    return withoutUnused(ir);
  }

  #visit(node: IrNode): void {
    const inputs = node.inputs.map((v) => this.#values.get(v)!);
    const [out] = node.outputs;
    const made = mayJoin(node) && node.outputs.length === 1 && !isConstant(node)
      ? this.#simplified(node, inputs)
      : null;
    if (made !== null) {
      this.#isChanged = true;
      this.#values.set(out, made);
      this.#instead.set(node, made.node);
      return;
    }
    const controls = node.controls.length === 0
      ? node.controls
      : [...new Set(node.controls.map((c) => this.#instead.get(c)!))].filter((c) => !isConstant(c));
    const stays = inputs.every((v, i) => v === node.inputs[i]) &&
      controls.length === node.controls.length && controls.every((c, i) => c === node.controls[i]);
    const copy = stays ? node : nodeLike(node, inputs, controls);
    for (const v of node.outputs) this.#values.set(v, stays ? v : addOutputLike(copy, v));
    this.#instead.set(node, copy);
    this.#put(copy);
    if (takesEpilogue(copy) && copy.outputs[0].shape?.length === 2) this.#rows.add(copy.outputs[0]);
  }

  #simplified(node: IrNode, inputs: readonly IrValue[]): IrValue | null {
    const [x] = inputs, [out] = node.outputs;
    switch (node.def.name) {
      case "Identity":
      case "StopGradient":
        return this.#isSame(node, x) ? x : null;
      case "BroadcastTo":
        return isConcrete(out.shape) && sameShape(x.shape, out.shape) && this.#isSame(node, x)
          ? x
          : null;
      case "Reshape":
      case "ExpandDims":
      case "Squeeze":
        return this.#view(node, x);
      case "Transpose":
        return this.#transposed(node, inputs);
      case "Cast":
        return beforeCasts(node, x, this.#remake) ?? this.#onOthers(node, inputs);
      case "MatMul":
        return this.#product(node, inputs, ["transpose_a", "transpose_b"]);
      case "BatchMatMulV2":
        return this.#product(node, inputs, ["adj_x", "adj_y"]);
      default:
        return this.#onOthers(node, inputs);
    }
  }

  readonly #remake = (
    like: IrNode,
    inputs: readonly IrValue[],
    attrs: IrNode["attrs"],
  ): IrValue => {
    const [x, axes] = inputs, { shape } = like.outputs[0];
    const perm = like.def.name === "Transpose" ? integersOf(axes) : null;
    const isView = like.def.name !== "Transpose" && like.def.meaning.kind === "view";
    const made = this.#remade.get(like) ??
      (perm !== null && isConcrete(x.shape)
        ? this.#turned(like, x, perm)
        : isView && isConcrete(shape)
        ? this.#reshaped(like, this.#bases.get(x) ?? x, shape)
        : this.#add(like, like.def.name, inputs, attrs));
    this.#remade.set(like, made);
    return made;
  };

  /** Returns the result of an op on what its operands show, as a view or transposition of it. */
  #onOthers(node: IrNode, inputs: readonly IrValue[]): IrValue | null {
    const rows = this.#onRows(node, inputs);
    if (rows !== null || this.#turns.size === 0) return rows;
    const made = unturned(node, inputs, {
      turns: this.#turns,
      isPointwise: isPointwise(node, this.#target),
      reshape: (v, shape) => this.#reshaped(node, this.#bases.get(v) ?? v, shape),
    });
    if (made === null) return null;
    const y = this.#add(node, node.def.name, made.inputs, made.attrs);
    return this.#turned(node, y, made.perm);
  }

  /** True where a value may stand for the result of a node that returns it. */
  #isSame(node: IrNode, x: IrValue): boolean {
    if (node.device !== x.node.device || x.dtype === "resource" || x.dtype === "variant") {
      return false;
    }
    // What is fetched of a feed or a variable is a value of its own.
    return mayJoin(x.node) && !isConstant(x.node) || !this.#fetched.has(node.outputs[0]);
  }

  /** Returns a view of the value that another view shows, or that value. */
  #view(node: IrNode, x: IrValue): IrValue | null {
    const { shape } = node.outputs[0];
    if (!isConcrete(shape)) return null;
    const base = node.device === x.node.device ? this.#bases.get(x) ?? x : x;
    if (sameShape(base.shape, shape) && this.#isSame(node, base)) return base;
    const isNew = this.#views.get(base)?.some((v) => sameShape(v.shape, shape)) !== true;
    if (base === x && isNew && node.def.name !== "Transpose") {
      // It stays, and is known as a view.
      const inputs = node.inputs.map((v, i) => i === 0 ? x : this.#values.get(v)!);
      const copy = nodeLike(node, inputs, node.controls);
      const y = addOutputLike(copy, node.outputs[0]);
      this.#put(copy);
      this.#noteView(y, x);
      return y;
    }
    return this.#reshaped(node, base, shape);
  }

  #noteView(view: IrValue, base: IrValue): void {
    this.#bases.set(view, base);
    const others = this.#views.get(base);
    if (others === undefined) this.#views.set(base, [view]);
    else others.push(view);
  }

  #reshaped(like: IrNode, base: IrValue, shape: Shape): IrValue {
    if (sameShape(base.shape, shape) && like.device === base.node.device) return base;
    const known = this.#views.get(base)?.find((v) => sameShape(v.shape, shape));
    if (known !== undefined && known.node.device === like.device) return known;
    const key = `${shape}@${like.device}`;
    let sizes = this.#shapes.get(key);
    if (sizes === undefined) {
      sizes = constantNode(like, new NdArray("int32", [shape.length], Int32Array.from(shape)));
      this.#shapes.set(key, sizes);
    }
    const y = this.#add(like, "Reshape", [base, sizes]);
    this.#noteView(y, base);
    return y;
  }

  #transposed(node: IrNode, [x, axes]: readonly IrValue[]): IrValue | null {
    const perm = integersOf(axes), { shape } = x;
    if (perm === null || !isConcrete(shape)) return null;
    if (isOrdered(perm, shape)) return this.#view(node, x);
    return this.#turned(node, x, perm);
  }

  /** Returns the transposition of a value. */
  #turned(like: IrNode, x: IrValue, outer: readonly number[]): IrValue {
    const inner = this.#turns.get(x), base = inner?.base ?? x;
    const perm = inner === undefined ? outer : composed(inner.perm, outer);
    if (perm.every((axis, i) => axis === i)) return base;
    const shape = base.shape as Shape;
    if (isOrdered(perm, shape)) {
      return this.#reshaped(like, this.#bases.get(base) ?? base, perm.map((axis) => shape[axis]));
    }
    const axes = constantNode(like, new NdArray("int32", [perm.length], Int32Array.from(perm)));
    const y = this.#add(like, "Transpose", [base, axes], { T: base.dtype });
    this.#turns.set(y, { base, perm });
    return y;
  }

  /** Returns a product that reads an operand before its last two axes were exchanged. */
  #product(
    node: IrNode,
    inputs: readonly IrValue[],
    flags: readonly [string, string],
  ): IrValue | null {
    const attrs: Record<string, unknown> = { ...node.attrs };
    const operands = inputs.map((v, i) => {
      // Exchanged axes of complex batches are conjugated too.
      const isTurned = i < 2 && !(flags[0] === "adj_x" && DTYPES[v.dtype].kind === "complex");
      const before = isTurned ? this.#untransposed(v, node.inputs[i]) : null;
      if (before !== null) attrs[flags[i]] = node.attrs[flags[i]] !== true;
      return before ?? v;
    });
    const heads = node.def.name === "BatchMatMulV2" ? this.#heads(node, operands, attrs) : null;
    if (heads !== null) return heads;
    if (operands.every((v, i) => v === inputs[i])) return null;
    const y = this.#add(node, node.def.name, operands, attrs);
    if (takesEpilogue(y.node) && y.shape?.length === 2) this.#rows.add(y);
    return y;
  }

  /** Returns a value whose last two axes are exchanged in `v`, if it is there or as cheap to make. */
  #untransposed(v: IrValue, old: IrValue): IrValue | null {
    const { node } = v;
    if (node.def.name !== "Transpose" || !mayJoin(node)) return null;
    const perm = integersOf(node.inputs[1]), [x] = node.inputs, rank = perm?.length ?? 0;
    if (perm === null || rank < 2 || x.shape === null) return null;
    const swapped = [...perm.slice(0, -2), perm[rank - 1], perm[rank - 2]];
    if (swapped.every((axis, i) => axis === i)) return x;
    const isOnly = this.#uses.readers.get(old.node)!.length === 1 && !this.#uses.held.has(old.node);
    // Rows are moved faster than single elements.
    if (!isOnly || swapped[rank - 1] !== rank - 1) return null;
    const axes = constantNode(node, new NdArray("int32", [rank], Int32Array.from(swapped)));
    return this.#add(node, "Transpose", [x, axes], node.attrs);
  }

  /** Returns a product with heads that were repeated for groups of queries: the groups become rows instead. */
  #heads(node: IrNode, [x, y]: readonly IrValue[], attrs: IrNode["attrs"]): IrValue | null {
    const wide = this.#bases.get(y), { shape } = node.outputs[0];
    if (
      wide === undefined || wide.node.def.name !== "BroadcastTo" || attrs.adj_x === true ||
      !isConcrete(x.shape) || !isConcrete(y.shape) || !isConcrete(wide.shape) || !isConcrete(shape)
    ) return null;
    const [from] = wide.node.inputs, rank = wide.shape.length;
    if (!isConcrete(from.shape) || rank < 4) return null;
    const outer = wide.shape.slice(0, -3), [groups, ...matrix] = wide.shape.slice(-3);
    const narrow = [...outer, ...matrix];
    const isRepeated = sameShape(from.shape, [...outer, 1, ...matrix]) &&
      sameShape(y.shape, [...outer.slice(0, -1), outer.at(-1)! * groups, ...matrix]) &&
      sameShape(x.shape.slice(0, -2), y.shape.slice(0, -2));
    if (!isRepeated) return null;
    const rows = [...outer, groups * x.shape.at(-2)!, x.shape.at(-1)!];
    const product = this.#add(node, node.def.name, [
      this.#reshaped(node, this.#bases.get(x) ?? x, rows),
      this.#reshaped(node, this.#bases.get(from) ?? from, narrow),
    ], attrs);
    return this.#reshaped(node, product, shape);
  }

  /** Returns the result of an op that runs on a product's rows, as a view. */
  #onRows(node: IrNode, inputs: readonly IrValue[]): IrValue | null {
    const { shape } = node.outputs[0];
    if (!isConcrete(shape) || shape.length === 2 || shape.length === 0 || inputs.length === 0) {
      return null;
    }
    const kind = rowsOf(node, this.#target);
    if (kind === null) return null;
    const full = kind === "reduction" ? inputs[0].shape : shape;
    const rows = inputs.map((v) => this.#rowsOf(v, node, full)).find((v) => v !== null);
    if (!rows || !isConcrete(full)) return null;
    const operands = inputs.map((v, i) =>
      kind === "reduction" && i === 1
        ? constantNode(node, new NdArray("int32", [1], Int32Array.of(1)))
        : this.#operand(node, v, full, rows.shape as Shape)
    );
    if (operands.includes(null)) return null;
    const y = this.#add(node, node.def.name, operands as IrValue[], node.attrs);
    if (!isConcrete(y.shape)) return null;
    this.#rows.add(y);
    return this.#reshaped(node, y, shape);
  }

  /** Returns the matrix of rows that a value shows; null if it is none. */
  #rowsOf(v: IrValue, node: IrNode, full: PartialShape): IrValue | null {
    const base = this.#bases.get(v);
    if (base === undefined || !this.#rows.has(base) || node.device !== base.node.device) {
      return null;
    }
    return sameShape(v.shape, full) && base.shape!.at(-1) === v.shape!.at(-1) ? base : null;
  }

  /** Returns an operand in the shape that it has beside rows; null if it has none. */
  #operand(node: IrNode, v: IrValue, full: Shape, rows: Shape): IrValue | null {
    const { shape } = v;
    if (!isConcrete(shape) || shape.length > full.length) return null;
    const as = (wanted: Shape): IrValue => {
      const base = this.#bases.get(v) ?? v;
      if (sameShape(v.shape, wanted)) return v;
      return sameShape(base.shape, wanted) ? base : this.#reshaped(node, base, wanted);
    };
    if (sizeOf(shape) === 1) return shape.length <= 2 ? v : as([1, 1]);
    if (sameShape(shape, full)) return as(rows);
    const last = shape.at(-1)!, before = shape.slice(0, -1);
    if (last === rows[1] && before.every((d) => d === 1)) return shape.length <= 2 ? v : as([last]);
    return last === 1 && sameShape(before, full.slice(0, -1)) ? as([rows[0], 1]) : null;
  }

  #add(
    like: IrNode,
    name: string,
    inputs: readonly IrValue[],
    attrs: IrNode["attrs"] = { T: inputs[0].dtype },
  ): IrValue {
    const value = addedValue(like, name, inputs, attrs);
    this.#put(value.node);
    return value;
  }

  /** Appends a node, after constants that were made for it. */
  #put(node: IrNode): void {
    for (const v of node.inputs) {
      if (isConstant(v.node) && !this.#known.has(v.node)) this.#put(v.node);
    }
    this.#known.add(node);
    this.#nodes.push(node);
  }
}

/** True where a transposition keeps the order of elements: axes beyond extent 1 stay in order. */
function isOrdered(perm: readonly number[], shape: Shape): boolean {
  const moved = perm.filter((axis) => shape[axis] !== 1);
  return moved.every((axis, i) => i === 0 || moved[i - 1] < axis);
}

/** Tells how an op treats rows: element by element, each row by itself, or as a reduction of each; null for others. */
function rowsOf(node: IrNode, target: PassTarget): "elements" | "rows" | "reduction" | null {
  const { name } = node.def;
  if (name === "_LayerNorm") return "rows";
  if (name === "Mean" || name === "Sum" || name === "Max") {
    const [x, axes] = node.inputs, rank = x.shape?.length ?? 0, list = integersOf(axes);
    const isLast = list?.length === 1 && (list[0] === -1 || list[0] === rank - 1);
    return isLast && node.attrs.keep_dims === true && x.dtype === "float32" ? "reduction" : null;
  }
  return isPointwise(node, target) ? "elements" : null;
}
