/** Convolutions: one to three axes, in groups, transposed. */
import { currentInterpreter } from "../../engine/core/apply.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../build/rule.ts";
import { Value } from "../build/value.ts";
import { put1 } from "./raw.ts";
import { elementOf, vectorOf } from "./shapes.ts";
import { type Sliding, slidingOf } from "./window_shape.ts";
import * as tf from "../build/tf.ts";

/** Returns the window's extents: those of the filter. */
function kernelOf(n: NodeCall): readonly number[] {
  return n.attributes.ints("kernel_shape") ?? n.concrete(1).slice(2);
}

/** Inserts a spatial axis of extent 1 before the only one: there are kernels for two. */
function flat({ kernel, strides, dilations, pads }: Sliding): Sliding {
  return kernel.length > 1 ? { kernel, strides, dilations, pads } : {
    kernel: [1, ...kernel],
    strides: [1, ...strides],
    dilations: [1, ...dilations],
    pads: [[0, 0], ...pads],
  };
}

/** Converts a filter `[out, in, …]` to `[…, in, out]`, with a spatial axis before an only one. */
export function filterLast(w: Tensor, axes: number): Tensor {
  const wide = axes === 1 ? tf.expandDims(w, 2) : w, rank = Math.max(axes, 2);
  return tf.transpose(wide, [...Array.from({ length: rank }, (_, i) => i + 2), 1, 0]);
}

/** Returns an input as {@linkcode filterLast} makes it; what levels of a file mean is computed in that order. */
export function filterOf(n: NodeCall, i: number): Tensor {
  const { later } = n.value(i), axes = n.rank(i) - 2;
  if (later === null) return filterLast(n.x(i), axes);
  return currentInterpreter().constant(later.turned(lastOrder(axes)));
}

/** Returns the order of axes that {@linkcode filterLast} makes of a filter; -1 is the spatial axis before an only one. */
export function lastOrder(axes: number): number[] {
  return [...axes === 1 ? [-1] : [], ...Array.from({ length: axes }, (_, k) => k + 2), 1, 0];
}

/** Convolves images with channels last by a filter that {@linkcode filterLast} made. */
export function convolve(x: Tensor, filter: Tensor, given: Sliding, groups: number): Tensor {
  const axes = given.kernel.length, { strides, dilations, pads } = flat(given);
  const images = axes === 1 ? tf.expandDims(x, 1) : x;
  const pairs = [[0, 0], ...pads, [0, 0]] as [number, number][];
  const isPadded = pads.some(([a, b]) => a !== 0 || b !== 0);
  const one = (x: Tensor, filter: Tensor): Tensor => {
    if (axes === 3) {
      const padded = isPadded ? tf.pad(x, pairs) : x;
      return tf.conv3d(padded, filter, [...strides], "valid", "NDHWC", [...dilations]);
    }
    return put1("Conv2D", [x, filter], {
      strides: [1, ...strides, 1],
      dilations: [1, ...dilations, 1],
      padding: isPadded ? "EXPLICIT" : "VALID",
      explicit_paddings: isPadded ? pairs.flat() : [],
      data_format: "NHWC",
    });
  };
  const y = groups === 1 ? one(images, filter) : grouped();
  return axes === 1 ? tf.squeeze(y, 1) : y;

  function grouped(): Tensor {
    const shape = filter.staticShape!, depth = shape.at(-2), out = shape.at(-1);
    if (depth === 1 && axes < 3) {
      const depthwise = tf.reshape(filter, [shape[0]!, shape[1]!, groups, out! / groups]);
      const isEven = strides.every((s) => s === strides[1]);
      // Depthwise kernels need equal strides; with one axis the other stride is unused.
      const steps = isEven ? [...strides] : axes === 1 ? [strides[1], strides[1]] : null;
      if (steps !== null) {
        const padding = isPadded ? pairs : "valid";
        return tf.depthwiseConv2d(images, depthwise, steps, padding, "NHWC", [...dilations]);
      }
    }
    const filters = tf.split(filter, groups, -1);
    return tf.concat(tf.split(images, groups, -1).map((part, i) => one(part, filters[i])), -1);
  }
}

function conv(n: NodeCall): RuleOutput {
  const sliding = slidingOf(n, kernelOf(n)), groups = n.attributes.int("group", 1);
  const { whole } = n.value(0), filter = filterOf(n, 1);
  // Levels by levels: the scale of the images is that of the sums too.
  const y = whole !== null && groups === 1 && n.value(1).later?.isLevels === true
    ? tf.mul(convolve(n.lastOf(whole.numbers), filter, sliding, 1), whole.scale)
    : convolve(n.last(0), filter, sliding, groups);
  return Value.channelsLast(n.has(2) ? tf.add(y, n.x(2)) : y);
}

/** Returns the elements to cut off before and after each axis of the full result; a negative number adds zeros. */
function cropsOf(n: NodeCall, { kernel, strides, dilations, pads }: Sliding): [number, number][] {
  const { attributes } = n, auto = attributes.text("auto_pad", "NOTSET");
  const more = attributes.ints("output_padding") ?? kernel.map(() => 0);
  const wanted = attributes.ints("output_shape")?.slice(-kernel.length);
  return kernel.map((k, i) => {
    const isSame = auto.startsWith("SAME");
    if (wanted === undefined && !isSame) {
      const [before, after] = auto === "VALID" ? [0, 0] : pads[i];
      return [before, after - more[i]];
    }
    const extent = n.dims(0)[i + 2] ?? n.needs("the extents of input 0");
    const natural = strides[i] * (extent - 1) + more[i] + (k - 1) * dilations[i] + 1;
    const surplus = natural - (wanted?.[i] ?? extent * strides[i]);
    if (surplus < 0) return [0, surplus - more[i]];
    // For upper padding the smaller half of the excess is cut off first.
    const half = Math.floor(surplus / 2), before = auto === "SAME_UPPER" ? half : surplus - half;
    return [before, surplus - before - more[i]];
  });
}

function convTranspose(n: NodeCall): RuleOutput {
  return transposed(n, n.attributes.ints("pads"), 2);
}

/** Convolves transposed with pads, which an attribute or an input tells, and the bias at a place. */
function transposed(
  n: NodeCall,
  given: readonly number[] | undefined,
  bias: number,
): RuleOutput {
  const { attributes } = n, kernel = kernelOf(n), axes = kernel.length, ones = kernel.map(() => 1);
  const pads = given ?? new Array<number>(2 * axes).fill(0);
  if (pads.length !== 2 * axes) n.fail(`it has ${pads.length} pads, wanted ${2 * axes}`);
  const sliding: Sliding = {
    kernel,
    strides: attributes.ints("strides") ?? ones,
    dilations: attributes.ints("dilations") ?? ones,
    pads: kernel.map((_, i): [number, number] => [pads[i], pads[i + axes]]),
  };
  const { strides, dilations, kernel: window } = flat(sliding);
  const images = axes === 1 ? tf.expandDims(n.last(0), 1) : n.last(0);
  const reach = (d: number, i: number): number =>
    strides[i] * (d - 1) + (window[i] - 1) * dilations[i] + 1;
  // The full result, before padding cuts it.
  const extent = [n.dims(0)[0], ...axes === 1 ? [1] : [], ...n.dims(0).slice(2)];
  const full = extent.map((d, i) => d === null || i === 0 ? d : reach(d, i - 1));
  const extents = full.includes(null) ? tf.shape(images) : null;
  const sizes = vectorOf([...full, n.concrete(1)[1]], (i) => {
    const extent = elementOf(extents!, i);
    if (i === 0) return extent;
    return tf.add(tf.mul(extent, strides[i - 1]), reach(0, i - 1));
  });
  const attrs = { strides: [1, ...strides, 1], dilations: [1, ...dilations, 1], padding: "VALID" };
  const name = axes === 3 ? "Conv3DBackpropInputV2" : "Conv2DBackpropInput";
  const groups = attributes.int("group", 1);
  const filters = groups === 1 ? [n.x(1)] : tf.split(n.x(1), groups, 0);
  const parts = groups === 1 ? [images] : tf.split(images, groups, -1);
  // The filter [in, out, …] is that of the convolution whose gradient this is.
  const whole = parts.map((part, i) =>
    put1(name, [sizes, filterLast(filters[i], axes), part], attrs)
  );
  let y = cropped(groups === 1 ? whole[0] : tf.concat(whole, -1), [
    ...axes === 1 ? [[0, 0]] : [],
    ...cropsOf(n, sliding),
  ] as [number, number][]);
  if (axes === 1) y = tf.squeeze(y, 1);
  return Value.channelsLast(n.has(bias) ? tf.add(y, n.x(bias)) : y);
}

/** Cuts elements off the spatial axes of images, or adds zeros after them. */
function cropped(x: Tensor, crops: readonly (readonly [number, number])[]): Tensor {
  let y = x;
  if (crops.some(([, after]) => after < 0)) {
    const behind = crops.map(([, after]): [number, number] => [0, Math.max(0, -after)]);
    y = tf.pad(y, [[0, 0], ...behind, [0, 0]]);
  }
  if (crops.every(([before, after]) => before === 0 && after <= 0)) return y;
  const begin = [0, ...crops.map(([before]) => before), 0];
  const end = [0, ...crops.map(([, after]) => Math.min(0, -after)), 0];
  const open = end.reduce((mask, e, i) => e === 0 ? mask | 1 << i : mask, 0);
  return tf.stridedSlice(y, begin, end, begin.map(() => 1), 0, open);
}

export const CONVOLUTIONS: readonly OpEntry[] = [
  op("Conv", 1, conv, { halves: "computed" }),
  op("ConvTranspose", 1, convTranspose, { halves: "computed" }),
  op(
    "ConvTransposeWithDynamicPads",
    1,
    (n) => transposed(n, n.has(2) ? n.wantInts(2) : undefined, 3),
    { domain: "com.microsoft", known: [2] },
  ),
];
