/**
 * Transpositions that wait: an op on transposed operands runs on them as they were, and its result is transposed. Two
 * transpositions that meet become one, or none.
 */
import { NdArray } from "../../core/nd_array.ts";
import type { Attrs } from "../../core/op.ts";
import { isConcrete, sameShape, type Shape } from "../../core/shape.ts";
import type { IrNode, IrValue } from "../ir.ts";
import { constantNode } from "./added.ts";
import { integersOf } from "./patterns.ts";

/** A value as the transposition of another. */
export interface Turn {
  readonly base: IrValue;
  readonly perm: readonly number[];
}

/** The inputs and attributes of an op before its operands were transposed. */
export interface Unturned {
  readonly inputs: readonly IrValue[];
  readonly attrs: Attrs;
  /** The transposition of its result. */
  readonly perm: readonly number[];
}

/** Makes a view of a value. */
type Reshape = (v: IrValue, shape: Shape) => IrValue;

/** Returns the transposition that two make, the inner first. */
export function composed(inner: readonly number[], outer: readonly number[]): number[] {
  return outer.map((axis) => inner[axis]);
}

/** Brings a list for the result's axes to the base's. */
function atBase<T>(list: readonly T[], perm: readonly number[]): T[] {
  const out = [...list];
  perm.forEach((axis, i) => out[axis] = list[i]);
  return out;
}

/** Returns an op before its transposed operands; null if it does not fit. `isPointwise`: it works element by element. */
export function unturned(
  node: IrNode,
  inputs: readonly IrValue[],
  { turns, isPointwise, reshape }: {
    readonly turns: ReadonlyMap<IrValue, Turn>;
    readonly isPointwise: boolean;
    readonly reshape: Reshape;
  },
): Unturned | null {
  const [out] = node.outputs, turn = inputs.map((v) => turns.get(v)).find((t) => t !== undefined);
  if (turn === undefined || !isConcrete(out.shape)) return null;
  const { perm } = turn;
  const alike = (v: IrValue): IrValue | null => {
    const own = turns.get(v);
    return own !== undefined && own.perm.join() === perm.join() ? own.base : null;
  };
  if (isPointwise) return pointwise(out.shape, inputs, { perm, alike, reshape }, node.attrs);
  const [x, ...others] = inputs, base = alike(x);
  const known = others.map(integersOf);
  if (base === null) return null;
  const ints = (i: number, list: readonly number[], shape: Shape): IrValue => {
    const { dtype } = others[i], data = Int32Array.from(list);
    return constantNode(node, new NdArray(dtype as "int32", shape, data));
  };
  switch (node.def.name) {
    case "ConcatV2": {
      const parts = inputs.slice(0, -1).map(alike), axis = known.at(-1);
      if (parts.includes(null) || axis?.length !== 1) return null;
      const at = perm[axis[0] < 0 ? axis[0] + perm.length : axis[0]];
      return {
        inputs: [...parts as IrValue[], ints(others.length - 1, [at], [])],
        attrs: node.attrs,
        perm,
      };
    }
    case "Pad":
    case "PadV2":
    case "MirrorPad": {
      const [pads] = known;
      if (pads === null || pads === undefined) return null;
      const pairs = perm.map((_, i) => [pads[2 * i], pads[2 * i + 1]]);
      const moved = ints(0, atBase(pairs, perm).flat(), [perm.length, 2]);
      return { inputs: [base, moved, ...others.slice(1)], attrs: node.attrs, perm };
    }
    case "Slice": {
      const [begin, size] = known;
      if (!begin || !size) return null;
      const lists = [begin, size].map((list, i) => ints(i, atBase(list, perm), [perm.length]));
      return { inputs: [base, ...lists], attrs: node.attrs, perm };
    }
    case "StridedSlice":
      return stridedSlice(node, base, known, { perm, ints });
    case "Mean":
    case "Sum":
    case "Max":
    case "Min": {
      const [axes] = known;
      if (!axes || node.attrs.keep_dims !== true) return null;
      const at = axes.map((a) => perm[a < 0 ? a + perm.length : a]);
      return { inputs: [base, ints(0, at, [at.length])], attrs: node.attrs, perm };
    }
    default:
      return null;
  }
}

function pointwise(
  shape: Shape,
  inputs: readonly IrValue[],
  { perm, alike, reshape }: {
    readonly perm: readonly number[];
    readonly alike: (v: IrValue) => IrValue | null;
    readonly reshape: Reshape;
  },
  attrs: Attrs,
): Unturned | null {
  const operands = inputs.map((v) => {
    const own = v.shape;
    if (!isConcrete(own)) return null;
    if (own.length === 0) return v;
    const base = alike(v);
    if (base !== null) return sameShape(own, shape) ? base : null;
    const wide = [...new Array<number>(shape.length - own.length).fill(1), ...own];
    // With one extent above 1 its elements keep their order.
    return wide.filter((d) => d !== 1).length < 2 ? reshape(v, atBase(wide, perm)) : null;
  });
  return operands.includes(null) ? null : { inputs: operands as IrValue[], attrs, perm };
}

function stridedSlice(
  node: IrNode,
  base: IrValue,
  [begin, end, strides]: readonly (readonly number[] | null)[],
  { perm, ints }: {
    readonly perm: readonly number[];
    readonly ints: (i: number, list: readonly number[], shape: Shape) => IrValue;
  },
): Unturned | null {
  const { attrs } = node, rank = perm.length;
  const isPlain = ["ellipsis_mask", "new_axis_mask", "shrink_axis_mask"].every((m) => !attrs[m]);
  if (!begin || !end || !strides || !isPlain || begin.length !== rank) return null;
  const lists = [begin, end, strides].map((list, i) => ints(i, atBase(list, perm), [rank]));
  const mask = (name: string): number =>
    perm.reduce((bits, axis, i) => Number(attrs[name]) & 1 << i ? bits | 1 << axis : bits, 0);
  return {
    inputs: [base, ...lists],
    attrs: { ...attrs, begin_mask: mask("begin_mask"), end_mask: mask("end_mask") },
    perm,
  };
}
