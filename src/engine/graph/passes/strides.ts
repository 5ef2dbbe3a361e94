/**
 * Strided views: where the elements of a value lie in the value that splits, transpositions, reshapes and broadcasts
 * made it from.
 */
import type { NdArray } from "../../core/nd_array.ts";
import { isConcrete, type Shape, sizeOf } from "../../core/shape.ts";
import { type IrNode, type IrValue, isConstant } from "../ir.ts";
import { mayJoin } from "./cse.ts";
import { integersOf } from "./patterns.ts";

/** Extents in the order of elements, and the step along each. They may be finer than the value's shape. */
export interface Strided {
  readonly base: IrValue;
  /** The first element. */
  readonly offset: number;
  readonly axes: readonly Axis[];
  /** The elements are those of the base times this factor. */
  readonly scale: number;
}

export interface Axis {
  readonly dim: number;
  readonly step: number;
}

/** Returns the axes of contiguous elements. */
export function contiguous(shape: Shape): Axis[] {
  return shape.map((dim, i) => ({ dim, step: sizeOf(shape.slice(i + 1)) }));
}

/** Returns the views of a value of known shape, that of its furthest origin first. */
export function viewsOf(v: IrValue, device: string = v.node.device): Strided[] {
  const { node } = v, shape = v.shape as Shape;
  const own: Strided = { base: v, offset: 0, axes: contiguous(shape), scale: 1 };
  if (!mayJoin(node) || node.device !== device || isConstant(node)) return [own];
  const from = originOf(v);
  if (from === null || !isConcrete(from.shape)) return [own];
  const inner = viewsOf(from, device).flatMap((view) => {
    const groups = grouped(view.axes, from.shape as Shape);
    const made = groups && through(v, view, groups);
    return made === null ? [] : [{ ...view, ...made }];
  });
  return [...inner, own];
}

const VIEWS = new Set(["BroadcastTo", "Slice", "SplitV", "Transpose", "Unpack"]);

/** Returns the value that a view shows, perhaps times a number; null for others. */
function originOf({ node, shape }: IrValue): IrValue | null {
  const { name, meaning } = node.def;
  if (factorOf(node) !== null) {
    const [x] = node.inputs.filter((v) => numberOf(v) === null);
    return x?.shape?.length === shape!.length ? x : null;
  }
  if (meaning.kind === "view" && node.outputs.length === 1) return node.inputs[0];
  if (name === "Split") return node.inputs[1];
  return VIEWS.has(name) ? node.inputs[0] : null;
}

/** Returns the number that a node multiplies its other operand by; null for other nodes. */
function factorOf({ def: { name }, inputs, outputs }: IrNode): number | null {
  if (outputs[0]?.dtype !== "float32" || name !== "Mul" && name !== "RealDiv") return null;
  const [x, y] = inputs.map(numberOf), number = name === "Mul" ? x ?? y : y && 1 / y;
  return number !== null && Number.isFinite(number) ? number : null;
}

/** Returns the changes that an op makes to a view, given its axes by those of its shape; null where it is none. */
function through(
  v: IrValue,
  { offset, scale }: Strided,
  groups: Axis[][],
): Partial<Strided> & Pick<Strided, "axes"> | null {
  const { node } = v, { name } = node.def, shape = v.shape as Shape;
  switch (name) {
    case "Transpose": {
      const perm = integersOf(node.inputs[1]);
      return perm && { axes: perm.flatMap((axis) => groups[axis]) };
    }
    case "BroadcastTo": {
      const lead = shape.length - groups.length;
      const axes = shape.flatMap((dim, i): Axis[] => {
        const own = groups[i - lead];
        const extent = own?.reduce((n, a) => n * a.dim, 1);
        return extent === dim ? own : [{ dim, step: 0 }];
      });
      return { axes };
    }
    case "Mul":
    case "RealDiv":
      return { axes: groups.flat(), scale: scale * factorOf(node)! };
    case "Unpack": {
      const axis = node.attrs.axis < 0 ? node.attrs.axis + groups.length : node.attrs.axis;
      const [{ step }, ...more] = groups[axis];
      if (more.length > 0) return null;
      const axes = groups.filter((_, i) => i !== axis).flat();
      return { offset: offset + v.index * step, axes };
    }
    case "Slice":
    case "Split":
    case "SplitV":
      return sliced(v, offset, groups);
    default:
      return { axes: groups.flat() };
  }
}

function sliced(v: IrValue, offset: number, groups: Axis[][]) {
  const begins = beginsOf(v), shape = v.shape as Shape;
  if (begins === null) return null;
  let first = offset;
  const axes = groups.map((own, i): Axis[] | null => {
    const extent = own.reduce((n, a) => n * a.dim, 1);
    if (extent === shape[i]) return own;
    if (own.length !== 1) return null;
    first += begins[i] * own[0].step;
    return [{ dim: shape[i], step: own[0].step }];
  });
  return axes.includes(null) ? null : { offset: first, axes: axes.flat() as Axis[] };
}

/** Returns the first coordinates of a slice; null where they are unknown. */
function beginsOf({ node, index, shape }: IrValue): readonly number[] | null {
  const { name } = node.def;
  if (name === "Slice") return integersOf(node.inputs[1]);
  const axes = integersOf(node.inputs[name === "Split" ? 0 : 2]);
  if (axes?.length !== 1) return null;
  const rank = shape!.length, axis = axes[0] < 0 ? axes[0] + rank : axes[0];
  const before = node.outputs.slice(0, index).map((o) => o.shape?.[axis] ?? NaN);
  const begin = before.reduce((a, b) => a + b, 0);
  return Number.isNaN(begin) ? null : shape!.map((_, i) => i === axis ? begin : 0);
}

/** Returns axes by the extents that they make up; null where an axis belongs to two of them. */
export function grouped(axes: readonly Axis[], extents: readonly number[]): Axis[][] | null {
  const rest = [...axes].reverse(), groups: Axis[][] = [];
  for (const extent of extents) {
    const group: Axis[] = [];
    let left = extent;
    while (left > 1 && rest.length > 0) {
      const { dim, step } = rest.pop()!;
      if (dim === 1) continue;
      if (left % dim === 0) {
        group.push({ dim, step });
        left /= dim;
      } else if (dim % left === 0) {
        group.push({ dim: left, step: step * (dim / left) });
        rest.push({ dim: dim / left, step });
        left = 1;
      } else return null;
    }
    if (left > 1) return null;
    groups.push(merged(group));
  }
  return groups;
}

/** Returns axes with those joined that are walked as one. */
function merged(axes: readonly Axis[]): Axis[] {
  const out: Axis[] = [];
  for (const { dim, step } of axes) {
    const last = out.at(-1);
    if (last && last.step === dim * step) out[out.length - 1] = { dim: last.dim * dim, step };
    else out.push({ dim, step });
  }
  return out.length > 0 ? out : [{ dim: 1, step: 0 }];
}

/** Returns the finest extents by which all lists can be grouped; null where two do not divide each other. */
export function refined(lists: readonly (readonly number[])[]): number[] | null {
  const bounds = new Set<number>();
  for (const list of lists) {
    let size = 1;
    for (let i = list.length - 1; i >= 0; i--) bounds.add(size *= list[i]);
  }
  const sorted = [...bounds].sort((a, b) => a - b), dims: number[] = [];
  let before = 1;
  for (const bound of sorted) {
    if (bound % before !== 0) return null;
    if (bound > before) dims.unshift(bound / before);
    before = bound;
  }
  return dims.length > 0 ? dims : [1];
}

/** Returns the one number of a constant; null for other values. */
function numberOf({ node }: IrValue): number | null {
  if (!isConstant(node)) return null;
  const array = node.attrs.value as NdArray;
  return array.size === 1 ? Number((array.data as ArrayLike<number>)[0]) : null;
}
