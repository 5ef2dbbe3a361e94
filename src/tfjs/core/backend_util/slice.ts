/** `tf.slice_util`: slices, and slices with strides and masks. */
import { assert } from "../util/checks.ts";
import type { ShapeInfo } from "./gather.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

/** A slice with strides, its masks applied. */
export interface SliceInfo {
  /** Shape before axes are removed and inserted. */
  finalShapeSparse: number[];
  /** Shape of the result. */
  finalShape: number[];
  /** True where the slice is the whole tensor. */
  isIdentity: boolean;
  /** True where only the first axis is cut. */
  sliceDim0: boolean;
  /** True where all strides are 1. */
  isSimpleSlice: boolean;
  /** First index along each axis of the input. */
  begin: number[];
  /** Index after the last. */
  end: number[];
  /** Steps. */
  strides: number[];
}

/** Throws unless a block lies within a tensor. */
export function assertParamsValid(
  input: Pick<ShapeInfo, "shape">,
  begin: readonly number[],
  size: readonly number[],
): void {
  const { shape } = input, rank = shape.length;
  for (const [name, { length }] of [["begin", begin], ["size", size]] as const) {
    assert(rank === length, () => `Cannot slice [${shape}]: ${name} has ${length} numbers`);
  }
  shape.forEach((extent, axis) => {
    const last = begin[axis] + size[axis];
    assert(
      last <= extent,
      () => `Cannot slice [${shape}]: along axis ${axis} the block ends at ${last}`,
    );
  });
}

/** Returns the axes whose bits are set. */
export function maskToAxes(mask: number): number[] {
  const axes: number[] = [];
  for (let axis = 0; mask > 0; axis++, mask = Math.floor(mask / 2)) if (mask & 1) axes.push(axis);
  return axes;
}
/** Returns the number of indices between begin and end along each axis. */
export function computeOutShape(
  begin: readonly number[],
  end: readonly number[],
  strides: readonly number[],
): number[] {
  return begin.map((b, axis) => Math.ceil((end[axis] - b) / strides[axis]));
}

/** Replaces an ellipsis in a list by `count` values. */
function elided(list: readonly number[], at: number, count: number, value: number): number[] {
  return [...list.slice(0, at), ...new Array(count).fill(value), ...list.slice(at + 1)];
}

/** Returns strides with 1 for the axes that an ellipsis covers. */
export function stridesWithElidedDims(
  strides: readonly number[],
  ellipsisInsertionIndex: number,
  numElidedAxes: number,
  inputShape: readonly number[],
): number[] {
  const out = numElidedAxes === 0
    ? [...strides]
    : elided(strides, ellipsisInsertionIndex, numElidedAxes, 1);
  while (out.length < inputShape.length) out.push(1);
  return out.slice(0, Math.max(strides.length, inputShape.length));
}

/** Returns the position in the given lists of an axis of the input. */
function unnormalized(insertion: number, elidedAxes: number, axis: number): number {
  return axis <= insertion ? axis : axis - (elidedAxes - 1);
}

/** Returns first indices with 0 for the axes that an ellipsis covers or a mask names. */
export function startIndicesWithElidedDims(
  beginMask: number,
  ellipsisInsertionIndex: number,
  numElidedAxes: number,
  originalBegin: readonly number[],
  inputShape: readonly number[],
): number[] {
  return inputShape.map((extent, axis) => {
    const isElided = axis >= ellipsisInsertionIndex &&
      axis < ellipsisInsertionIndex + numElidedAxes;
    if (isElided) return 0;
    const from = unnormalized(ellipsisInsertionIndex, numElidedAxes, axis);
    if (from >= originalBegin.length || beginMask & 1 << from) return 0;
    return within(originalBegin[from], extent, 0, extent);
  });
}

/** Returns last indices with the extent for the axes that an ellipsis covers or a mask names. */
export function stopIndicesWithElidedDims(
  endMask: number,
  ellipsisInsertionIndex: number,
  numElidedAxes: number,
  originalEnd: readonly number[],
  inputShape: readonly number[],
): number[] {
  return inputShape.map((extent, axis) => {
    const isElided = axis >= ellipsisInsertionIndex &&
      axis < ellipsisInsertionIndex + numElidedAxes;
    if (isElided) return extent;
    const from = unnormalized(ellipsisInsertionIndex, numElidedAxes, axis);
    if (from >= originalEnd.length || endMask & 1 << from) return extent;
    return within(originalEnd[from], extent, 0, extent);
  });
}

function within(index: number, extent: number, low: number, high: number): number {
  const from = index < 0 ? index + extent : index;
  return Math.max(low, Math.min(from, high));
}

/** Returns begin, end and strides of every axis, with an ellipsis expanded. */
export function getNormalizedAxes(
  inputShape: readonly number[],
  ellipsisAxes: readonly number[],
  numInterpolatedAxes: number,
  begin: readonly number[],
  end: readonly number[],
  strides: readonly number[],
  beginMask: number,
  endMask: number,
  ellipsisMask: number,
): { begin: number[]; end: number[]; strides: number[] } {
  if (ellipsisAxes.length > 0 && numInterpolatedAxes > 0) {
    const [at] = ellipsisAxes, count = numInterpolatedAxes + 1;
    return {
      begin: startIndicesWithElidedDims(beginMask, at, count, begin, inputShape),
      end: stopIndicesWithElidedDims(endMask, at, count, end, inputShape),
      strides: stridesWithElidedDims(strides, at, count, inputShape),
    };
  }
  const all = <T>(f: (axis: number) => T) => inputShape.map((_, axis) => f(axis));
  return {
    begin: all((a) => startForAxis(beginMask, begin, strides, inputShape, a, ellipsisMask)),
    end: all((a) => stopForAxis(endMask, end, strides, inputShape, a, ellipsisMask)),
    strides: all((a) => stridesForAxis(strides, a, ellipsisMask)),
  };
}

/** Returns the step along an axis; 1 for an ellipsis. */
export function stridesForAxis(
  strides: readonly number[],
  axis: number,
  ellipsisMask: number,
): number {
  const stride = strides[axis];
  return ellipsisMask & 1 << axis || stride === undefined || stride === null ? 1 : stride;
}

/** Returns the first index along an axis, clamped to the tensor. */
export function startForAxis(
  beginMask: number,
  startIndices: readonly number[],
  strides: readonly number[],
  inputShape: readonly number[],
  axis: number,
  ellipsisMask: number,
): number {
  const start = startIndices[axis], extent = inputShape[axis];
  const isFree = (beginMask | ellipsisMask) & 1 << axis || start === undefined || start === null;
  const isForward = (strides[axis] || 1) > 0;
  if (isFree) return isForward ? 0 : extent - 1;
  return within(start, extent, 0, extent - 1);
}

/** Returns the index after the last along an axis, clamped to the tensor. */
export function stopForAxis(
  endMask: number,
  stopIndices: readonly number[],
  strides: readonly number[],
  inputShape: readonly number[],
  axis: number,
  ellipsisMask: number,
): number {
  const stop = stopIndices[axis], extent = inputShape[axis];
  const isFree = (endMask | ellipsisMask) & 1 << axis || stop === undefined || stop === null;
  const isForward = (strides[axis] || 1) > 0;
  if (isFree) return isForward ? extent : -1;
  return isForward ? within(stop, extent, 0, extent) : within(stop, extent, -1, extent - 1);
}

/** True where a block is contiguous in memory. */
export function isSliceContinous(
  shape: readonly number[],
  begin: readonly number[],
  size: readonly number[],
): boolean {
  const first = size.findIndex((n) => n > 1);
  const from = first < 0 ? size.length : first;
  return size.every((n, axis) => axis <= from || begin[axis] <= 0 && n === shape[axis]);
}
/** Returns the flat index of a block's first element. */
export function computeFlatOffset(begin: readonly number[], strides: readonly number[]): number {
  return begin.reduce((sum, b, axis) => sum + b * (strides[axis] ?? 1), 0);
}

/** Returns begin and size of a block for each axis; a size of -1 goes to the end. Throws for other negative ones. */
export function parseSliceParams(
  x: Pick<ShapeInfo, "shape">,
  begin: number | readonly number[],
  size?: number | readonly number[] | null,
): number[][] {
  const rank = x.shape.length;
  const fill = (
    list: readonly number[],
    value: number,
  ) => [...list, ...new Array(Math.max(0, rank - list.length)).fill(value)];
  const from = fill([begin].flat(), 0);
  assert(from.every((b) => b !== -1), "Cannot slice: begin may not be -1");
  const given = size === undefined || size === null ? [] : fill([size].flat(), -1);
  const sizes = x.shape.map((extent, axis) => {
    const n = given[axis] ?? -1;
    assert(n >= -1, () => `Cannot slice: size ${n} along axis ${axis}, negative ones must be -1`);
    return n === -1 ? extent - from[axis] : n;
  });
  return [from, sizes];
}

/**
 * Computes a slice with strides: masks and an ellipsis applied as TensorFlow does. Throws for a stride of 0 and for two
 * ellipses.
 */
export function sliceInfo(
  xShape: readonly number[],
  begin: readonly number[],
  end: readonly number[],
  strides: readonly number[] | null | undefined,
  beginMask: number,
  endMask: number,
  ellipsisMask: number,
  newAxisMask: number,
  shrinkAxisMask: number,
): SliceInfo {
  const steps = strides ?? begin.map(() => 1);
  if (maskToAxes(ellipsisMask).length > 1) {
    throw new Error("Cannot slice: at most one ellipsis is allowed");
  }
  const out: SliceInfo = {
    finalShapeSparse: [],
    finalShape: [],
    isIdentity: true,
    sliceDim0: true,
    isSimpleSlice: true,
    begin: [],
    end: [],
    strides: [],
  };
  const newAxes = (from: number) =>
    begin.filter((_, i) => i >= from && newAxisMask & 1 << i).length;
  const has = (mask: number, i: number) => (mask & 1 << i) !== 0;
  /** Takes an axis of the input; `i` is its place in the lists, null where an ellipsis covers it. */
  const take = (i: number | null): void => {
    const axis = out.begin.length, extent = xShape[axis];
    if (extent === undefined) {
      throw Error(
        `Cannot slice axis ${axis} of [${xShape}]: it has ${xShape.length} axes`,
      );
    }
    const step = i === null ? 1 : steps[i];
    if (step === 0) throw Error(`strides[${i}] must be non-zero`);
    const isShrunk = i !== null && has(shrinkAxisMask, i);
    if (isShrunk && step <= 0) throw Error("Cannot take one index with a negative stride");
    const [low, high] = step > 0 ? [0, extent] : [-1, extent - 1];
    let from = step > 0 ? 0 : extent - 1, to = step > 0 ? extent : -1;
    if (isShrunk) {
      from = begin[i!] < 0 ? begin[i!] + extent : begin[i!];
      to = from + 1;
      if (from < 0 || from >= extent) {
        throw Error(`slice index ${begin[i!]} of dimension ${axis} out of bounds`);
      }
    } else if (i !== null) {
      if (!has(beginMask, i)) from = within(begin[i], extent, low, high);
      if (!has(endMask, i)) to = within(end[i], extent, low, high);
    }
    const length = Math.max(0, Math.ceil((to - from) / step));
    out.begin.push(from);
    out.end.push(to);
    out.strides.push(step);
    out.isSimpleSlice &&= step === 1;
    const isWhole = step === 1 && from === 0 && to === extent;
    out.isIdentity &&= isWhole;
    out.sliceDim0 &&= axis === 0 && step === 1 || isWhole;
    out.finalShapeSparse.push(length);
    if (!isShrunk) out.finalShape.push(length);
  };
  const ellipsisAt = maskToAxes(ellipsisMask)[0] ?? begin.length;
  const count = Math.max(begin.length, ellipsisAt + 1);
  for (let i = 0; i < count; i++) {
    if (i === ellipsisAt) {
      const after = Math.max(0, begin.length - i - 1) - newAxes(i + 1);
      while (out.begin.length < xShape.length - after) take(null);
    } else if (has(newAxisMask, i)) {
      out.finalShape.push(1);
      out.finalShapeSparse.push(1);
    } else take(i);
  }
  return out;
}
