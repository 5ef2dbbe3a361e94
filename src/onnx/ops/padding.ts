/** Padding and cropping, and blocks of images as channels. */
import { NdArray } from "../../engine/core/nd_array.ts";
import { normalizeAxis } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../build/rule.ts";
import { Value } from "../build/value.ts";
import { like, to } from "./raw.ts";
import * as tf from "../build/tf.ts";

type Pairs = [before: number, after: number][];

/** Returns the padding of each axis; negative numbers crop. Undefined if only known at run time. */
function padsOf(n: NodeCall): Pairs | undefined {
  const rank = n.rank(0), { attributes } = n;
  const flat = n.has(1) ? n.ints(1) : attributes.ints("pads") ?? attributes.ints("paddings");
  if (flat === undefined) return n.has(1) ? undefined : n.fail("it has no pads");
  const axes = n.has(3) ? n.wantInts(3).map((a) => normalizeAxis(a, rank)) : null;
  const pairs: Pairs = Array.from({ length: rank }, () => [0, 0]);
  const count = flat.length / 2;
  for (let i = 0; i < count; i++) pairs[axes?.[i] ?? i] = [flat[i], flat[i + count]];
  return pairs;
}

/** Crops a tensor by its negative pads. */
function cropped(x: Tensor, pairs: Pairs, n: NodeCall): Tensor {
  if (pairs.every(([a, b]) => a >= 0 && b >= 0)) return x;
  const begin = pairs.map(([a]) => Math.max(0, -a));
  const isOpen = pairs.every(([, b]) => b >= 0);
  const sizes = isOpen
    ? begin.map(() => -1)
    : n.concrete(0).map((d, i) => d - begin[i] - Math.max(0, -pairs[i][1]));
  return tf.slice(x, begin, sizes);
}

function pad(n: NodeCall): RuleOutput {
  const mode = n.attributes.text("mode", "constant"), pairs = padsOf(n);
  const value = !n.has(1)
    ? like(n.x(0), n.attributes.float("value", 0))
    : n.has(2) && n.shape(2)?.[0] !== 0
    ? tf.reshape(n.x(2), [])
    : undefined;
  if (pairs === undefined) {
    if (mode !== "constant" || n.has(3)) n.needs("the elements of input 1");
    return tf.pad(n.x(0), tf.transpose(tf.reshape(n.index(1), [2, -1])), value ?? 0);
  }
  const isPlain = pairs.every(([a, b]) => a >= 0 && b >= 0);
  if (isPlain && mode === "constant" && n.value(0).last !== null) {
    const [batch, channels, ...spatial] = pairs;
    return Value.channelsLast(tf.pad(n.last(0), [batch, ...spatial, channels], value ?? 0));
  }
  const x = n.x(0), inner = cropped(x, pairs, n);
  const around = pairs.map(([a, b]): [number, number] => [Math.max(0, a), Math.max(0, b)]);
  if (around.every(([a, b]) => a + b === 0)) return tf.identity(inner);
  if (mode === "constant") return tf.pad(inner, around, value ?? 0);
  const extents = inner.staticShape ?? [];
  const fits = around.every(([a, b], i) =>
    a + b === 0 || Math.max(a, b) < (extents[i] ?? Infinity)
  );
  if (mode === "reflect" && fits) return tf.mirrorPad(inner, around, "reflect");
  return around.reduce((t, [before, after], axis) => {
    if (before + after === 0) return t;
    const extent = extents[axis] ?? n.needs(`the extent of axis ${axis} of input 0`);
    return tf.gather(t, outside(mode, extent, before, after), axis);
  }, inner);
}

/** Returns the source of each place, also beyond the ends. */
function outside(mode: string, extent: number, before: number, after: number): NdArray {
  const at = (i: number): number => {
    if (mode === "edge") return Math.min(extent - 1, Math.max(0, i));
    if (mode === "wrap") return ((i % extent) + extent) % extent;
    const period = Math.max(1, 2 * (extent - 1)), k = ((i % period) + period) % period;
    return k < extent ? k : period - k;
  };
  const places = Int32Array.from({ length: before + extent + after }, (_, i) => at(i - before));
  return new NdArray("int32", [places.length], places);
}

/** Crops and pads to a shape, half of it on either side. */
function centerCropPad(n: NodeCall): Tensor {
  const dims = n.concrete(0), wanted = n.wantInts(1), begin = dims.map(() => 0), sizes = [...dims];
  const axes = n.attributes.ints("axes")?.map((a) => normalizeAxis(a, dims.length)) ??
    dims.map((_, i) => i);
  const pairs: Pairs = dims.map(() => [0, 0]);
  axes.forEach((axis, i) => {
    const more = wanted[i] - dims[axis];
    if (more >= 0) pairs[axis] = [Math.floor(more / 2), more - Math.floor(more / 2)];
    else {
      begin[axis] = Math.floor(-more / 2);
      sizes[axis] = wanted[i];
    }
  });
  return tf.pad(tf.slice(n.x(0), begin, sizes), pairs);
}

/** Moves channels to blocks of points. */
function depthToSpace(n: NodeCall): Tensor {
  const [batch, channels, height, width] = n.dims(0), b = n.attributes.int("blocksize", 1);
  const isColumn = n.attributes.text("mode", "DCR") === "CRD";
  const depth = (channels ?? n.needs("its channels")) / (b * b);
  const [h, w] = [height ?? n.needs("its height"), width ?? n.needs("its width")];
  const rows = batch ?? -1;
  const parts = isColumn
    ? tf.transpose(tf.reshape(n.x(0), [rows, depth, b, b, h, w]), [0, 1, 4, 2, 5, 3])
    : tf.transpose(tf.reshape(n.x(0), [rows, b, b, depth, h, w]), [0, 3, 4, 1, 5, 2]);
  return tf.reshape(parts, [rows, depth, h * b, w * b]);
}

/** Moves blocks of points to channels. */
function spaceToDepth(n: NodeCall): Tensor {
  const [batch, channels, height, width] = n.dims(0), b = n.attributes.int("blocksize", 1);
  const isColumn = n.attributes.text("mode", "DCR") === "CRD", rows = batch ?? -1;
  const [c, h, w] = [channels, height, width].map((d) => d ?? n.needs("the shape of input 0"));
  const parts = tf.reshape(n.x(0), [rows, c, h / b, b, w / b, b]);
  return tf.reshape(
    tf.transpose(parts, isColumn ? [0, 1, 3, 5, 2, 4] : [0, 3, 5, 1, 2, 4]),
    [rows, c * b * b, h / b, w / b],
  );
}

/** Writes rows into a cache from a place on, which may wrap around its end. */
function tensorScatter(n: NodeCall): Tensor {
  const dims = n.concrete(0), axis = n.axis("axis", -2, dims.length), count = n.concrete(1)[axis];
  const isRound = n.attributes.text("mode", "linear") === "circular", extent = dims[axis];
  const from = n.has(2) ? n.index(2) : tf.zeros([dims[0]], "int32");
  // The new row of each place of the cache; none beyond them.
  const at = tf.sub(tf.expandDims(tf.range(0, extent, 1, "int32"), 0), tf.expandDims(from, 1));
  const row = isRound ? tf.mod(at, extent) : at;
  const isNew = tf.logicalAnd(tf.greaterEqual(row, 0), tf.less(row, count));
  const perm = [0, axis, ...dims.map((_, i) => i).filter((i) => i !== 0 && i !== axis)];
  const back = perm.map((_, i) => perm.indexOf(i));
  const update = tf.transpose(n.x(1), perm), cache = tf.transpose(n.x(0), perm);
  const taken = tf.gather(update, to(tf.where(isNew, row, tf.zerosLike(row)), "int32"), 1, 1);
  const mask = tf.reshape(isNew, [dims[0], extent, ...dims.slice(2).map(() => 1)]);
  return tf.transpose(tf.where(mask, taken, cache), back);
}

/** Ops that pad, crop and rearrange. */
export const PADDING: readonly OpEntry[] = [
  op("CenterCropPad", 18, centerCropPad, { known: [1] }),
  op("DepthToSpace", 1, depthToSpace, { halves: "moved" }),
  op("Pad", 1, pad, { known: [1, 2, 3], grows: true, halves: "moved" }),
  op("Pad", 1, pad, { domain: "com.microsoft", known: [1, 2], grows: true, halves: "moved" }),
  op("SpaceToDepth", 1, spaceToDepth, { halves: "moved" }),
  op("TensorScatter", 24, tensorScatter),
];
