/** The places of an attention's operands, from the views that led to them. */
import type { AttentionForm, MaskPlace } from "../../core/attention.ts";
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
interface Rows {
  readonly base: IrValue;
  readonly offset: number;
  readonly rows: readonly Axis[];
  /** Step from a row of the matrix to the next, for keys and values. */
  readonly time: number;
  readonly scale: number;
}

/** Returns the form and its inputs; null where operands do not lie as kernels read them. */
export function formOf(parts: Parts): { form: AttentionForm; inputs: IrValue[] } | null {
  const { q, k, v, product, logits, shares, last, root } = parts;
  const depth = q.shape!.at(-1)!, keys = product.shape!.at(-1)!, out = last.outputs[0];
  if (depth % 4 !== 0 || depth > MAX_DEPTH || out.shape!.at(-1) !== depth) return null;
  const rowsOf = (x: IrValue): Shape => x.shape!.slice(0, -1) as Shape;
  const query = queriesOf(q, rowsOf(product), depth);
  const key = matricesOf(viewsOf(k), k, rowsOf(product), [parts.kIsTurned, depth]);
  const ofValues = viewsOf(v).filter(({ scale }) => scale === 1);
  const value = matricesOf(ofValues, v, rowsOf(out), [!parts.vIsTurned, depth]);
  const result = resultOf(root, out);
  const masks = parts.masks.map(maskOf);
  if (!query || !key || !value || !result || masks.includes(null)) return null;
  const all = [query, key, value, result, ...masks as (Rows & { column: number })[]];
  const lists = [product, logits, shares, out].map(rowsOf);
  const dims = refined([...lists, ...all.map(({ rows }) => rows.map((a) => a.dim))]);
  if (dims === null) return null;
  const steps = all.map(({ rows }) => {
    const groups = grouped(rows, dims);
    return groups?.every((g) => g.length === 1) ? groups.map(([{ step }]) => step) : null;
  });
  if (steps.includes(null)) return null;
  const axes = collapsed(dims, steps as number[][]);
  const at = axes.dims.length - 1, isShared = axes.steps[1][at] === 0 && axes.steps[2][at] === 0;
  const count = logits.shape!.at(-2)!;
  // Keys and values must not differ between queries.
  const hasQueries = isShared && (!parts.causal || axes.dims[at] === count);
  if (parts.causal && !hasQueries) return null;
  const outerDims = hasQueries ? axes.dims.slice(0, -1) : axes.dims;
  if (outerDims.length > 3) return null;
  const lead = new Array<number>(3 - outerDims.length);
  const place = ({ offset, time }: Rows, i: number) => ({
    base: offset,
    outer: [...lead.fill(0), ...axes.steps[i].slice(0, outerDims.length)],
    row: i === 1 || i === 2 ? time : hasQueries ? axes.steps[i][at] : 0,
  });
  const [queryAt, keyAt, valueAt, resultAt] = all.slice(0, 4).map(place);
  const form: AttentionForm = {
    outer: [...lead.fill(1), ...outerDims] as unknown as AttentionForm["outer"],
    ...{ queries: hasQueries ? axes.dims[at] : 1, keys, depth },
    ...{ scale: parts.scale * query.scale * key.scale, causal: parts.causal },
    ...{ query: queryAt, key: keyAt, value: valueAt, result: resultAt },
    masks: masks.map((m, i): MaskPlace => ({ ...place(m!, 4 + i), column: m!.column })),
    ...{ scores: parts.scores, weights: parts.weights },
  };
  return { form, inputs: [query.base, key.base, value.base, ...masks.map((m) => m!.base)] };
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
  return [offset, time, ...rows.map((a) => a.dim === 1 ? 0 : a.step)].every((n) => n % 4 === 0);
}

/** Returns the rows of queries, each a row of the product. */
function queriesOf(q: IrValue, rows: Shape, depth: number): Rows | null {
  for (const view of viewsOf(q)) {
    const groups = grouped(view.axes, q.shape as Shape);
    const own = groups && broadcast(groups.slice(0, -1), rows);
    if (!own || !isRow(groups!.at(-1)!, depth) || !isAligned(view, own, 0)) continue;
    return { base: view.base, offset: view.offset, rows: own, time: 0, scale: view.scale };
  }
  return null;
}

/** Returns the matrices of keys or values; `isRows`: their rows are the keys, else their columns. */
function matricesOf(
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
      return { base: view.base, offset: view.offset, rows: own, time: next, scale: view.scale };
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
function resultOf(root: IrNode, out: IrValue): Rows | null {
  const shape = root.outputs[0].shape as Shape, axes = contiguous(shape);
  const rows = root === out.node
    ? axes.slice(0, -1)
    : integersOf(root.inputs[1])!.slice(0, -1).reduce<Axis[]>((list, axis, i) => {
      list[axis] = axes[i];
      return list;
    }, []);
  return { base: out, offset: 0, rows, time: 0, scale: 1 };
}

function maskOf({ value, shape }: Mask): Rows & { readonly column: number } | null {
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
