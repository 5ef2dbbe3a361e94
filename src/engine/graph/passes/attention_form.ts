/** The places of an attention's operands, from the views that led to them. */
import type { AttentionForm, MaskPlace, RowPlace } from "../../core/attention.ts";
import type { Expr } from "../../core/scalar/expr.ts";
import type { Shape } from "../../core/shape.ts";
import type { IrNode, IrValue } from "../ir.ts";
import { integersOf } from "./patterns.ts";
import { type Axis, contiguous, grouped, refined, type Strided, viewsOf } from "./strides.ts";

/** Other depths have no kernel: separate ops are better. */
const MAX_DEPTH = 128;

/** A mask, where it enters, and the shape there. */
export interface Mask {
  readonly value: IrValue;
  readonly shape: Shape;
}

/** The parts of an attention. */
export interface Parts {
  readonly q: IrValue;
  readonly k: IrValue;
  readonly v: IrValue;
  readonly kIsTurned: boolean;
  readonly vIsTurned: boolean;
  readonly product: IrValue;
  readonly logits: IrValue;
  readonly shares: IrValue;
  readonly last: IrNode;
  readonly root: IrNode;
  readonly masks: readonly Mask[];
  readonly causal: boolean;
  readonly scale: number;
  readonly scores: Expr | null;
  readonly weights: Expr | null;
}

/** Axes of rows, then those of the elements of a row. */
export interface Rows {
  readonly base: IrValue;
  readonly offset: number;
  readonly rows: readonly Axis[];
  /** Step from a row of the matrix to the next, for keys and values. */
  readonly time: number;
  /** True for matrices of keys or values, which all queries of a head share. */
  readonly isMatrix?: boolean;
  readonly scale: number;
}

/** A mask's rows, and the step from a key to the next. */
interface MaskRows extends Rows {
  readonly column: number;
}

/** Returns the form and its inputs; null where operands do not lie as kernels read them. */
export function formOf(parts: Parts): { form: AttentionForm; inputs: IrValue[] } | null {
  const operands = operandsOf(parts), { product, logits, shares, last, root } = parts;
  if (operands === null || last.outputs[0].shape!.at(-1) !== operands.depth) return null;
  const { query, key, value, masks } = operands, result = resultOf(root, last.outputs[0]);
  const placed = placesOf({
    all: [query, key, value, result, ...masks],
    lists: [product, logits, shares, last.outputs[0]].map(rowsOf),
    causal: parts.causal ? logits.shape!.at(-2)! : null,
  });
  if (placed === null) return null;
  const form = attentionOf(parts, operands, placed);
  return { form, inputs: [query.base, key.base, value.base, ...masks.map((m) => m.base)] };
}

/** Queries, keys, values and masks where they lie. */
export interface Operands {
  readonly depth: number;
  readonly query: Rows;
  readonly key: Rows;
  readonly value: Rows;
  readonly masks: readonly MaskRows[];
}

const rowsOf = (x: IrValue): Shape => x.shape!.slice(0, -1) as Shape;

/** Returns the operands; null where kernels cannot read them. `weighted` has the rows of the product with the values. */
export function operandsOf(
  parts: Omit<Parts, "last" | "root" | "logits" | "shares"> & { readonly last: IrNode },
): Operands | null {
  const { q, k, v, product, last } = parts, depth = q.shape!.at(-1)!;
  if (depth % 4 !== 0 || depth > MAX_DEPTH) return null;
  const query = queriesOf(q, rowsOf(product), depth);
  const key = matricesOf(viewsOf(k), k, rowsOf(product), [parts.kIsTurned, depth]);
  const value = valuesOf(v, rowsOf(last.outputs[0]), [!parts.vIsTurned, depth]);
  const masks = parts.masks.map(maskOf);
  return !query || !key || !value || masks.includes(null)
    ? null
    : { depth, query, key, value, masks: masks as MaskRows[] };
}

/** Returns the matrices of values, which no factor may have changed. */
export function valuesOf(v: IrValue, rows: Shape, way: readonly [boolean, number]): Rows | null {
  return matricesOf(viewsOf(v).filter(({ scale }) => scale === 1), v, rows, way);
}

/** The loops around rows, and where each operand's rows lie in them. */
export interface Placed {
  readonly outer: AttentionForm["outer"];
  readonly queries: number;
  readonly places: readonly RowPlace[];
}

interface Wanted {
  /** The operands; the second and the third are keys and values. */
  readonly all: readonly Rows[];
  /** Extents of rows that loops must divide. */
  readonly lists: readonly Shape[];
  /** Number of queries whose order counts; null where none does. */
  readonly causal: number | null;
}

/** Returns loops in which all operands have places; null where there are none. */
export function placesOf({ all, lists, causal }: Wanted): Placed | null {
  const dims = refined([...lists, ...all.map(({ rows }) => rows.map((a) => a.dim))]);
  if (dims === null) return null;
  const steps = all.map(({ rows }) => {
    const groups = grouped(rows, dims);
    return groups?.every((g) => g.length === 1) ? groups.map(([{ step }]) => step) : null;
  });
  if (steps.includes(null)) return null;
  const axes = collapsed(dims, steps as number[][]);
  const at = axes.dims.length - 1, isShared = axes.steps[1][at] === 0 && axes.steps[2][at] === 0;
  // Keys and values must not differ between queries.
  const hasQueries = isShared && (causal === null || axes.dims[at] === causal);
  if (causal !== null && !hasQueries) return null;
  const outerDims = hasQueries ? axes.dims.slice(0, -1) : axes.dims;
  if (outerDims.length > 3) return null;
  const lead = new Array<number>(3 - outerDims.length);
  const places = all.map(({ offset, time, isMatrix }, i) => ({
    base: offset,
    outer: [...lead.fill(0), ...axes.steps[i].slice(0, outerDims.length)],
    row: isMatrix ? time : hasQueries ? axes.steps[i][at] : 0,
  }));
  return {
    outer: [...lead.fill(1), ...outerDims] as unknown as AttentionForm["outer"],
    queries: hasQueries ? axes.dims[at] : 1,
    places,
  };
}

/** Returns the form of placed queries, keys, values, result and masks. */
export function attentionOf(
  { product, causal, scale, scores, weights }: Pick<
    Parts,
    "product" | "causal" | "scale" | "scores" | "weights"
  >,
  { depth, query, key, masks }: Operands,
  { outer, queries, places }: Placed,
): AttentionForm {
  return {
    ...{ outer, queries, keys: product.shape!.at(-1)!, depth },
    ...{ scale: scale * query.scale * key.scale, causal },
    ...{ query: places[0], key: places[1], value: places[2], result: places[3] },
    masks: masks.map(({ column }, i): MaskPlace => ({ ...places[4 + i], column })),
    ...{ scores, weights },
  };
}

/** Returns dims and steps with axes joined that all operands walk as one; the last axis stays where it is. */
function collapsed(
  dims: readonly number[],
  steps: readonly (readonly number[])[],
): { readonly dims: number[]; readonly steps: number[][] } {
  const out: number[] = [], list: number[][] = steps.map(() => []);
  dims.forEach((dim, i) => {
    if (dim === 1) return;
    const last = out.length - 1, isLast = i === dims.length - 1;
    const joins = last >= 0 && !isLast && steps.every((s, n) => list[n][last] === s[i] * dim);
    if (joins) {
      out[last] *= dim;
      list.forEach((l, n) => l[last] = steps[n][i]);
    } else {
      out.push(dim);
      list.forEach((l, n) => l.push(steps[n][i]));
    }
  });
  if (out.length === 0) return { dims: [1], steps: steps.map(() => [0]) };
  return { dims: out, steps: list };
}

/** True for a view that kernels read four elements at a time. */
function isAligned({ offset }: Strided, rows: readonly Axis[], time: number): boolean {
  return [offset, time, ...rows.map(({ step }) => step)].every((n) => n % 4 === 0);
}

/** Returns the rows of queries, each a row of the product. */
export function queriesOf(q: IrValue, rows: Shape, depth: number): Rows | null {
  for (const view of viewsOf(q)) {
    const groups = grouped(view.axes, q.shape as Shape);
    const own = groups && broadcast(groups.slice(0, -1), rows);
    if (!own || !isRow(groups!.at(-1)!, depth) || !isAligned(view, own, 0)) continue;
    return { base: view.base, offset: view.offset, rows: own, time: 0, scale: view.scale };
  }
  return null;
}

/** Returns the matrices of keys or values; `isRows`: their rows are the keys, else their columns. */
export function matricesOf(
  views: readonly Strided[],
  x: IrValue,
  rows: Shape,
  [isRows, depth]: readonly [boolean, number],
): Rows | null {
  for (const view of views) {
    const groups = grouped(view.axes, x.shape as Shape);
    if (groups === null || groups.length < 2) continue;
    const [time, row] = isRows ? groups.slice(-2) : groups.slice(-2).reverse();
    const outer = broadcast(groups.slice(0, -2), rows.slice(0, -1));
    if (!outer || !isRow(row, depth) || time.length !== 1) continue;
    const own = [...outer, { dim: rows.at(-1)!, step: 0 }], [{ dim, step }] = time;
    const next = dim === 1 ? 0 : step;
    if (isAligned(view, own, next)) {
      const { base, offset, scale } = view;
      return { base, offset, rows: own, time: next, isMatrix: true, scale };
    }
  }
  return null;
}

function isRow(group: readonly Axis[], depth: number): boolean {
  return group.length === 1 && group[0].dim === depth && group[0].step === 1;
}

/** Returns axes repeated to extents, which may have more axes before them. */
function broadcast(groups: readonly (readonly Axis[])[], extents: Shape): Axis[] | null {
  const lead = extents.length - groups.length;
  if (lead < 0) return null;
  const axes = extents.map((dim, i): readonly Axis[] | null => {
    const own = groups[i - lead], extent = own?.reduce((n, a) => n * a.dim, 1) ?? 1;
    return extent === dim && own ? own : extent === 1 ? [{ dim, step: 0 }] : null;
  });
  return axes.includes(null) ? null : axes.flat() as Axis[];
}

/** Returns the rows of the result, which the root may have turned. */
export function resultOf(root: IrNode, out: IrValue): Rows {
  return { base: out, offset: 0, rows: axesOf(root, out).slice(0, -1), time: 0, scale: 1 };
}

/** Returns the rows of a result `[batch, time, heads, depth]` in the order of scores. */
export function ofHeads(base: IrValue): Rows {
  const [batch, time, heads] = contiguous(base.shape as Shape);
  return { base, offset: 0, rows: [batch, heads, time], time: 0, scale: 1 };
}

/** Returns the rows of a contiguous result beside scores. */
export function ofRows(logits: IrValue, depth: number): Rows {
  const axes = contiguous([...logits.shape!.slice(0, -1), depth] as Shape);
  return { base: logits, offset: 0, rows: axes.slice(0, -1), time: 0, scale: 1 };
}

/**
 * Returns the rows of a product's result that has a row for each key, summed over so many rows of scores; null where the root leaves no
 * neighbouring elements in a row. With `isTurned` the product's rows are its columns.
 */
export function sumsOf(root: IrNode, out: IrValue, count: number, isTurned: boolean): Rows | null {
  const axes = axesOf(root, out),
    [time, row] = isTurned ? [axes.at(-1)!, axes.at(-2)!] : axes.slice(-2);
  const rows = [...axes.slice(0, -2), { dim: count, step: 0 }];
  if (row.step !== 1) return null;
  return { base: out, offset: 0, rows, time: time.step, isMatrix: true, scale: 1 };
}

/** Returns where the axes of a value lie in that of a root, which may have turned it. */
function axesOf(root: IrNode, out: IrValue): Axis[] {
  const axes = contiguous(root.outputs[0].shape as Shape);
  if (root === out.node) return axes;
  return integersOf(root.inputs[1])!.reduce<Axis[]>((list, axis, i) => {
    list[axis] = axes[i];
    return list;
  }, []);
}

function maskOf({ value, shape }: Mask): MaskRows | null {
  for (const view of viewsOf(value)) {
    const groups = grouped(view.axes, value.shape as Shape);
    const own = groups && broadcast(groups.slice(0, -1), shape.slice(0, -1));
    const [column, ...more] = groups?.at(-1) ?? [{ dim: 1, step: 0 }];
    if (!own || more.length > 0 || view.scale !== 1) continue;
    const step = column.dim === 1 ? 0 : column.step;
    return { base: view.base, offset: view.offset, rows: own, time: 0, scale: 1, column: step };
  }
  return null;
}

/** True where keys or values differ along an axis that their gradient is summed over. */
export function isUneven(
  outer: readonly number[],
  sums: readonly number[],
  operands: readonly (readonly number[])[],
): boolean {
  return outer.some((n, i) => n > 1 && sums[i] === 0 && operands.some((o) => o[i] !== 0));
}

/** Returns the number of places along axes with steps: rows that take others' place as queries of one key leave parts unwritten. */
export function countAlong(outer: readonly number[], steps: readonly number[]): number {
  return outer.reduce((count, n, i) => steps[i] === 0 ? count : count * n, 1);
}
