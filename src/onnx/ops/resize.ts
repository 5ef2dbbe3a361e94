/** Resizing: each axis by itself, with places and weights computed while building. */
import { NdArray } from "../../engine/core/nd_array.ts";
import { normalizeAxis } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../build/rule.ts";
import { Value } from "../build/value.ts";
import { lastAxis, permuted } from "./indexing.ts";
import { isFloat, to } from "./raw.ts";
import { elementOf, vectorOf } from "./shapes.ts";
import * as tf from "../build/tf.ts";

interface AxisPlan {
  readonly axis: number;
  /** The extent before. */
  readonly from: number;
  /** The extent after. */
  readonly to: number;
  /** Its scale, given or from the extents. */
  readonly scale: number;
  /** The resized part of the axis, from 0 to 1. */
  readonly roi: readonly [number, number];
  /** True for a given scale, false for a given extent. */
  readonly isScaled: boolean;
}

/** Interpolation of elements. */
interface Mixing {
  readonly mode: string;
  readonly place: string;
  readonly nearest: string;
  readonly cubic: number;
  readonly excludesOutside: boolean;
  readonly antialias: boolean;
}

/** Returns the input coordinate of an element of the result. */
function placeIn({ from, to, scale, roi, isScaled }: AxisPlan, mode: string, i: number): number {
  switch (mode) {
    case "asymmetric":
      return i / scale;
    case "align_corners": {
      const length = isScaled ? from * scale : to;
      return length === 1 || to === 1 ? 0 : i * (from - 1) / (length - 1);
    }
    case "pytorch_half_pixel":
      return to > 1 ? (i + 0.5) / scale - 0.5 : 0;
    case "half_pixel_symmetric": {
      const adjusted = isScaled ? to / (from * scale) : 1;
      return from / 2 * (1 - adjusted) + (i + 0.5) / scale - 0.5;
    }
    case "tf_crop_and_resize":
      return to > 1
        ? roi[0] * (from - 1) + i * (roi[1] - roi[0]) * (from - 1) / (to - 1)
        : (roi[0] + roi[1]) * (from - 1) / 2;
    default:
      return (i + 0.5) / scale - 0.5;
  }
}

function nearestTo(place: number, mode: string): number {
  const low = Math.floor(place);
  if (mode === "floor") return low;
  if (mode === "ceil") return Math.ceil(place);
  const part = place - low;
  return part > 0.5 || part === 0.5 && mode === "round_prefer_ceil" ? low + 1 : low;
}

/** Returns weights of the elements around a place `ratio` after one of them, from `first` before it on. */
function weightsAt(ratio: number, scale: number, { mode, cubic: a, antialias }: Mixing): {
  readonly first: number;
  readonly weights: number[];
} {
  const reach = mode === "linear" ? 1 : 2, s = antialias ? Math.min(1, scale) : 1;
  const first = Math.floor(-reach / s) + 1;
  const curve = (x: number): number => {
    const d = Math.abs(x);
    if (mode === "linear") return Math.max(0, 1 - d);
    if (d <= 1) return (a + 2) * d ** 3 - (a + 3) * d ** 2 + 1;
    return d < 2 ? a * d ** 3 - 5 * a * d ** 2 + 8 * a * d - 4 * a : 0;
  };
  const weights = Array.from({ length: 2 - 2 * first }, (_, k) => curve((first + k - ratio) * s));
  const sum = weights.reduce((x, y) => x + y, 0);
  return { first, weights: weights.map((w) => w / sum) };
}

/** Returns the matrix that resizes an axis: a column for each element of the result. */
function mixingMatrix(plan: AxisPlan, mixing: Mixing): NdArray {
  const { from, to } = plan, out = new Float32Array(from * to);
  for (let i = 0; i < to; i++) {
    const place = placeIn(plan, mixing.place, i), low = Math.floor(place);
    const { first, weights } = weightsAt(place - low, plan.scale, mixing);
    const inside = weights.map((w, k) => {
      const at = low + first + k;
      return mixing.excludesOutside && (at < 0 || at >= from) ? 0 : w;
    });
    const sum = mixing.excludesOutside ? inside.reduce((a, b) => a + b, 0) : 1;
    inside.forEach((w, k) => {
      const at = Math.min(from - 1, Math.max(0, low + first + k));
      out[at * to + i] += w / sum;
    });
  }
  return new NdArray("float32", [from, to], out);
}

/** Returns the nearest place for each element of the result. */
function nearestPlaces(plan: AxisPlan, mixing: Mixing): NdArray {
  const at = Int32Array.from(
    { length: plan.to },
    (_, i) =>
      Math.min(
        plan.from - 1,
        Math.max(0, nearestTo(placeIn(plan, mixing.place, i), mixing.nearest)),
      ),
  );
  return new NdArray("int32", [plan.to], at);
}

/** Returns the plan of each axis; null for unknown extents. */
function plansOf(n: NodeCall): AxisPlan[] | null {
  const { attributes } = n, rank = n.rank(0), dims = n.dims(0), isOld = n.version < 11;
  const axes = attributes.ints("axes")?.map((a) => normalizeAxis(a, rank)) ??
    Array.from({ length: rank }, (_, i) => i);
  const scales = isOld
    ? attributes.floats("scales") ?? n.wantNumbers(1)
    : n.has(2) && n.shape(2)?.[0] !== 0
    ? n.wantNumbers(2)
    : undefined;
  const sizes = scales === undefined ? n.ints(3) : undefined;
  const roi = !isOld && n.has(1) && n.shape(1)?.[0] !== 0 ? n.wantNumbers(1) : null;
  if (scales === undefined && sizes === undefined) return null;
  if (axes.some((axis, i) => dims[axis] === null && scales?.[i] !== 1)) return null;
  const policy = attributes.text("keep_aspect_ratio_policy", "stretch");
  const ratios = sizes?.map((size, i) => size / dims[axes[i]]!);
  const common = ratios &&
    (policy === "not_larger"
      ? Math.min(...ratios)
      : policy === "not_smaller"
      ? Math.max(...ratios)
      : undefined);
  return axes.flatMap((axis, i) => {
    const from = dims[axis];
    if (from === null) return [];
    const scale = scales?.[i] ?? common ?? ratios![i];
    // Halves are rounded up.
    const to = scales !== undefined
      ? Math.floor(from * scale + 1e-6)
      : common === undefined
      ? sizes![i]
      : Math.floor(from * common + 0.5);
    const part: [number, number] = roi === null ? [0, 1] : [roi[i], roi[i + axes.length]];
    return [{ axis, from, to, scale, roi: part, isScaled: scales !== undefined }];
  });
}

function mixingOf(n: NodeCall): Mixing {
  const { attributes } = n, isOld = n.version < 11;
  return {
    mode: attributes.text("mode", "nearest"),
    place: isOld ? "asymmetric" : attributes.text("coordinate_transformation_mode", "half_pixel"),
    nearest: isOld ? "floor" : attributes.text("nearest_mode", "round_prefer_floor"),
    cubic: attributes.float("cubic_coeff_a", -0.75),
    excludesOutside: attributes.flag("exclude_outside"),
    antialias: attributes.flag("antialias"),
  };
}

function resizeAxis(x: Tensor, plan: AxisPlan, mixing: Mixing): Tensor {
  if (mixing.mode === "nearest") return tf.gather(x, nearestPlaces(plan, mixing), plan.axis);
  const perm = lastAxis(x.staticShape!.length, plan.axis);
  return permuted(tf.tensordot(permuted(x, perm), mixingMatrix(plan, mixing), 1), perm);
}

/** Resizes images with TensorFlow's ops, if that is the same; else null. */
function asImages(n: NodeCall, plans: readonly AxisPlan[], mixing: Mixing): RuleOutput | null {
  const { mode, place, antialias } = mixing, moved = plans.filter(({ from, to }) => from !== to);
  if (n.rank(0) !== 4 || mode !== "linear" || antialias || !isFloat(n.dtype(0))) return null;
  if (moved.some(({ axis }) => axis < 2) || moved.length === 0) return null;
  const isExact = plans.every(({ from, to, scale }) => Math.abs(from * scale - to) < 1e-6);
  const isAligned = place === "align_corners",
    isHalf = place === "half_pixel" || place === "pytorch_half_pixel";
  if (!isExact || !isAligned && !isHalf && place !== "asymmetric") return null;
  if (place === "pytorch_half_pixel" && moved.some(({ to }) => to === 1)) return null;
  const extents = [2, 3].map((axis) => plans.find((p) => p.axis === axis)?.to ?? n.dims(0)[axis]);
  if (extents.includes(null)) return null;
  return Value.channelsLast(
    tf.resizeBilinear(n.last(0), extents as number[], isAligned, isHalf),
  );
}

/** True where TensorFlow's resizing does the same for all extents. */
function isOpenly(
  { mode, place, nearest, antialias }: Mixing,
  scales: readonly number[] | undefined,
): boolean {
  if (antialias) return false;
  if (mode === "linear") return ["half_pixel", "align_corners", "asymmetric"].includes(place);
  if (mode !== "nearest") return false;
  if (place === "asymmetric") return nearest === "floor";
  return place === "half_pixel" && nearest.startsWith("round") &&
    scales?.every((s) => Number.isInteger(s)) === true;
}

/** Resizes images with extents known only at run time. */
function asOpenImages(n: NodeCall, mixing: Mixing): RuleOutput {
  const { attributes } = n, { mode, place } = mixing;
  const scales = n.version < 11
    ? attributes.floats("scales") ?? n.wantNumbers(1)
    : n.has(2) && n.shape(2)?.[0] !== 0
    ? n.wantNumbers(2)
    : undefined;
  const axes = attributes.ints("axes"), first = axes === undefined ? 2 : 0;
  const isPlain = n.rank(0) === 4 && isOpenly(mixing, scales) &&
    (axes === undefined || axes.join() === "2,3") &&
    attributes.text("keep_aspect_ratio_policy", "stretch") === "stretch" &&
    (scales === undefined ||
      scales.length === first + 2 && scales.slice(0, first).every((s) => s === 1));
  if (!isPlain) n.needs("the shape of input 0");
  const x = n.last(0);
  let size: Tensor;
  if (scales !== undefined) {
    const extents = tf.cast(tf.slice(tf.shape(x), [1], [2]), "float32");
    const grown = tf.mul(extents, tf.tensor1d(scales.slice(first)));
    size = tf.cast(tf.floor(tf.add(grown, 1e-4)), "int32");
  } else {
    const entries = n.entries(3) ?? new Array<null>(first + 2).fill(null);
    size = vectorOf(entries.slice(first), (i) => elementOf(n.index(3), i + first));
  }
  const isHalf = place === "half_pixel";
  const resize = mode === "linear" ? tf.resizeBilinear : tf.resizeNearestNeighbor;
  return Value.channelsLast(resize(x, size, place === "align_corners", isHalf));
}

function resize(n: NodeCall): RuleOutput {
  const mixing = mixingOf(n), plans = plansOf(n);
  if (plans === null) return asOpenImages(n, mixing);
  const image = asImages(n, plans, mixing);
  if (image !== null) return image;
  const source = n.x(0);
  const x = mixing.mode === "nearest" || source.dtype === "float32"
    ? source
    : to(source, "float32");
  const isCrop = mixing.place === "tf_crop_and_resize";
  // A scale that changes no extent may still move elements.
  const work = plans.filter((p) =>
    p.scale !== 1 || p.from !== p.to || isCrop && p.roi.join() !== "0,1"
  );
  let y = work.reduce((t, plan) => resizeAxis(t, plan, mixing), tf.identity(x));
  if (isCrop) y = outsideOf(n, y, plans);
  return to(y, source.dtype);
}

/** Elements of the result beyond the input are a given number. */
function outsideOf(n: NodeCall, y: Tensor, plans: readonly AxisPlan[]): Tensor {
  const value = n.attributes.float("extrapolation_value", 0), rank = y.staticShape!.length;
  return plans.reduce((t, plan) => {
    const beyond = Array.from({ length: plan.to }, (_, i) => {
      const place = placeIn(plan, "tf_crop_and_resize", i);
      return Number(place < 0 || place > plan.from - 1);
    });
    if (!beyond.includes(1)) return t;
    const shape = new Array<number>(rank).fill(1);
    shape[plan.axis] = plan.to;
    const mask = new NdArray("bool", shape, Uint8Array.from(beyond));
    return tf.where(tf.tensor(mask), tf.scalar(value, "float32"), t);
  }, to(y, "float32"));
}

export const RESIZE: readonly OpEntry[] = [
  op("Resize", 10, resize, { known: [1, 2, 3], grows: true, halves: "computed" }),
  op("Upsample", 7, resize, { known: [1], grows: true }),
];
