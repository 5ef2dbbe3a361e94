/** The ops behind joining and splitting: ConcatV2, Pack, Unpack, Split, SplitV. */
import type { RowParts } from "../../core/meaning.ts";
import { apply, apply1, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp, type GradContext, lookupOp, type OpDef, type Problem } from "../../core/op.ts";
import {
  compatible,
  mergeShapes,
  normalizeAxis,
  type PartialShape,
  shapeText,
} from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { joinCpu, rowParts, splitCpu } from "../../kernels/host/join.ts";
import { hostInts, knownInts, literalInts, withAxis } from "./view.ts";
import { castInput, intScalar, toIndexInput, toInput } from "../input.ts";

/**
 * Returns the meaning and host kernel of an op that joins its inputs, or splits input `from`, along an axis. Parts
 * without that axis are one slice each.
 */
function exchangeKernels(
  way: "join" | "split",
  axisOf: (problem: Problem) => number,
  from = 0,
): Required<Pick<OpDef, "meaning" | "cpu">> {
  const partsOf = (problem: Problem): RowParts => {
    const { inputs, hosts, outputs } = problem, joins = way === "join";
    const { shape } = joins ? outputs[0] : inputs[from];
    const axis = normalizeAxis(axisOf(problem), shape.length);
    const parts = joins ? inputs.filter((_, i) => hosts[i] === undefined) : outputs;
    const extents = parts.map((p) => (p.shape.length < shape.length ? 1 : p.shape[axis]));
    return rowParts(shape, axis, extents);
  };
  return {
    meaning: { kind: "exchange", way, from, partsOf },
    cpu: (ins, outs, problem) => {
      const parts = partsOf(problem);
      if (way === "join") joinCpu(ins.slice(0, parts.widths.length), outs[0], parts);
      else splitCpu(ins[from], outs, parts);
    },
  };
}

const ConcatV2 = defineOp({
  name: "ConcatV2",
  inputs: ["values: N * T", "axis: Tidx"],
  outputs: ["output: T"],
  attrs: ["N: int >= 2", "T: type", "Tidx: index = int32"],
  hostInputs: ["axis"],
  infer: (specs, { N }) => [
    concatShape(specs.slice(0, N).map((s) => s.shape), knownInts(specs[N])?.[0]),
  ],
  grad: {
    saves: ["axis"],
    vjp: ({ axis }, [dy], ctx) => [...concatGrad(dy, axis, ctx), null],
  },
  ...exchangeKernels("join", ({ hosts }) => hostInts(hosts.at(-1)!)[0]),
});

function concatShape(shapes: readonly PartialShape[], axis: number | undefined): PartialShape {
  const known = shapes.find((s) => s !== null);
  if (!known) return null;
  if (axis === undefined) return known.map(() => null);
  const a = normalizeAxis(axis, known.length);
  let merged: PartialShape = known.map(() => null);
  let extent: number | null = 0;
  for (const s of shapes) {
    if (s === null) {
      extent = null;
      continue;
    }
    const rest: PartialShape = s.map((d, i) => (i === a ? null : d));
    if (s.length !== known.length || !compatible(rest, merged)) {
      throw new ValueError(
        `Cannot concatenate shapes ${
          shapes.map(shapeText).join(", ")
        } along axis ${a}: they must be equal elsewhere`,
      );
    }
    merged = mergeShapes(merged, rest);
    extent = extent === null || s[a] === null ? null : extent + s[a];
  }
  return merged!.map((d, i) => (i === a ? extent : d));
}

/** Splits into parts of the inputs' extents, which may be known only at run time. */
function concatGrad(dy: Tensor, axis: Tensor, ctx: GradContext): readonly Tensor[] {
  const parts = ctx.inputs.slice(0, -1), known = literalInts(axis)?.[0];
  const rank = parts.find((s) => s.shape !== null)?.shape?.length;
  if (known !== undefined && rank !== undefined) {
    const a = normalizeAxis(known, rank);
    const extents = parts.map((s) => s.shape?.[a] ?? null);
    if (extents.every((e) => e !== null)) return splitInto(dy, extents, intScalar(a));
  }
  const shapes = parts.map((_, i) => toInput(ctx.shapeOf(i), "shape", "concat"));
  const ndims = apply1(lookupOp("Size")!, [shapes[0]]);
  const dim = apply1(lookupOp("FloorMod")!, [castInput(axis, "int32"), ndims]);
  const extents = shapes.map((shape) => apply1(lookupOp("GatherV2")!, [shape, dim, intScalar(0)]));
  return apply(SplitV, [dy, packed(extents, 0), dim], { num_split: parts.length });
}

const Pack = defineOp({
  name: "Pack",
  inputs: ["values: N * T"],
  outputs: ["output: T"],
  attrs: ["N: int >= 1", "T: type", "axis: int = 0"],
  infer: (specs, { axis }) => {
    const shape = specs.reduce((a: PartialShape, s) => mergeShapes(a, s.shape), null);
    return [shape && withAxis(shape, axis, specs.length)];
  },
  grad: { saves: [], vjp: (_, [dy], { attrs, inputs }) => unpacked(dy, inputs.length, attrs.axis) },
  ...exchangeKernels("join", ({ attrs }) => attrs.axis),
});

const Unpack = defineOp({
  name: "Unpack",
  inputs: ["value: T"],
  outputs: ["output: num * T"],
  attrs: ["num: int >= 0", "T: type", "axis: int = 0"],
  infer: ([{ shape }], { num, axis }) => {
    if (shape === null) return new Array(num).fill(null);
    const a = normalizeAxis(axis, shape.length);
    if (shape[a] !== null && shape[a] !== num) {
      throw new ValueError(
        `Cannot unstack ${shapeText(shape)} along axis ${a} into ${num} tensors: it has ${
          shape[a]
        }`,
      );
    }
    return new Array(num).fill(shape.filter((_, i) => i !== a));
  },
  grad: { saves: [], vjp: (_, dys, { attrs }) => [packed(dys, attrs.axis)] },
  ...exchangeKernels("split", ({ attrs }) => attrs.axis),
});

function unknownLike(shape: PartialShape): PartialShape {
  return shape && shape.map(() => null);
}

/** Returns the shapes of parts along an axis; `extentsOf` returns their extents. */
function partShapes(
  shape: PartialShape,
  dim: Spec,
  count: number,
  extentsOf: (extent: number | null) => (number | null)[],
): PartialShape[] {
  const axis = knownInts(dim)?.[0];
  if (shape === null || axis === undefined) return new Array(count).fill(unknownLike(shape));
  const a = normalizeAxis(axis, shape.length);
  return extentsOf(shape[a]).map((e) => shape.map((d, i) => (i === a ? e : d)));
}

const Split = defineOp({
  name: "Split",
  inputs: ["split_dim: int32", "value: T"],
  outputs: ["output: num_split * T"],
  attrs: ["num_split: int >= 1", "T: type"],
  hostInputs: ["split_dim"],
  infer: ([dim, { shape }], { num_split }) =>
    partShapes(shape, dim, num_split, (d) => {
      if (d !== null && d % num_split !== 0) {
        throw new ValueError(
          `Number of splits must evenly divide the axis: received ${d} elements and ${num_split} splits`,
        );
      }
      return new Array(num_split).fill(d && d / num_split);
    }),
  grad: { saves: ["split_dim"], vjp: ({ split_dim }, dys) => [null, joined(dys, split_dim)] },
  ...exchangeKernels("split", ({ hosts }) => hostInts(hosts[0]!)[0], 1),
});

const SplitV = defineOp({
  name: "SplitV",
  inputs: ["value: T", "size_splits: Tlen", "split_dim: int32"],
  outputs: ["output: num_split * T"],
  attrs: ["num_split: int >= 1", "T: type", "Tlen: index = int32"],
  hostInputs: ["size_splits", "split_dim"],
  infer: ([{ shape }, sizes, dim], { num_split }) =>
    partShapes(shape, dim, num_split, (d) => {
      const known = knownInts(sizes);
      return known ? splitExtents(known, d) : new Array(num_split).fill(null);
    }),
  grad: {
    saves: ["split_dim"],
    vjp: ({ split_dim }, dys) => [joined(dys, split_dim), null, null],
  },
  ...exchangeKernels("split", ({ hosts }) => hostInts(hosts[2]!)[0]),
});

/** Returns the sizes, with one -1 replaced by the rest. */
function splitExtents(sizes: readonly number[], extent: number | null): (number | null)[] {
  const wild = sizes.indexOf(-1);
  if (wild !== sizes.lastIndexOf(-1)) {
    throw new ValueError(
      `Cannot split into sizes ${sizes.join(", ")}: there should be only one negative value`,
    );
  }
  const sum = sizes.reduce((n, s) => n + (s === -1 ? 0 : s), 0);
  if (extent !== null && (wild < 0 ? sum !== extent : sum > extent)) {
    throw new ValueError(
      `Cannot split ${extent} elements into sizes ${sizes.join(", ")}: the sum of sizes must match`,
    );
  }
  return sizes.map((s) => (s === -1 ? (extent === null ? null : extent - sum) : s));
}

/** Joins along an axis; a single part stays as it is. */
function joined(parts: readonly Tensor[], axis: OpInput): Tensor {
  return parts.length === 1 ? parts[0] : concatenated(parts, axis);
}

/** Joins two or more parts along an axis. */
export function concatenated(parts: readonly OpInput[], axis: OpInput): Tensor {
  return apply1(ConcatV2, [...parts, axis]);
}

/** Joins along a new axis. */
export function packed(parts: readonly OpInput[], axis: number): Tensor {
  return apply1(Pack, parts, { axis });
}

/** Splits an axis of extent `num`. */
export function unpacked(x: OpInput, num: number, axis: number): Tensor[] {
  return num === 0 ? [] : apply(Unpack, [x], { num, axis });
}

/** Splits into equal parts. */
export function splitEqually(x: OpInput, parts: number, axis: OpInput): Tensor[] {
  return apply(Split, [axis, x], { num_split: parts });
}

/** Splits into parts of these sizes. */
export function splitInto(x: OpInput, sizes: readonly number[], axis: OpInput): Tensor[] {
  return apply(SplitV, [x, toIndexInput(sizes, "numOrSizes", "split"), axis], {
    num_split: sizes.length,
  });
}
