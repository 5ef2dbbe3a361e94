/** Convolutions: one to three axes, in groups, transposed. */
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NodeCall } from "../build/node_call.ts";
import { op, type OpEntry, type RuleOutput } from "../build/rule.ts";
import { Value } from "../build/value.ts";
import { put1 } from "./raw.ts";
import { elementOf, vectorOf } from "./shapes.ts";
import { type Sliding, slidingOf } from "./window_shape.ts";
import * as tf from "../../../mod.ts";

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
function filterLast(w: Tensor, axes: number): Tensor {
  const wide = axes === 1 ? tf.expandDims(w, 2) : w, rank = Math.max(axes, 2);
  return tf.transpose(wide, [...Array.from({ length: rank }, (_, i) => i + 2), 1, 0]);
}

/** Convolves images with channels last by a filter in ONNX's form. */
export function convolve(x: Tensor, w: Tensor, given: Sliding, groups: number): Tensor {
  const axes = given.kernel.length, { strides, dilations, pads } = flat(given);
  const images = axes === 1 ? tf.expandDims(x, 1) : x, filter = filterLast(w, axes);
  const pairs = [[0, 0], ...pads, [0, 0]] as [number, number][];
  const isPadded = pads.some(([a, b]) => a !== 0 || b !== 0);
  const one = (x: Tensor, filter: Tensor): Tensor => {
    if (axes === 3) {
      const padded = isPadded ? tf.pad(x, pairs) : x;
      return tf.conv3d(padded, filter, [...strides], "valid", "NDHWC", [...dilations]);
    }
    return tf.conv2d(x, filter, [...strides], isPadded ? pairs : "valid", "NHWC", [...dilations]);
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
  const sliding = slidingOf(n, kernelOf(n));
  const y = convolve(n.last(0), n.x(1), sliding, n.attributes.int("group", 1));
  return Value.channelsLast(n.has(2) ? tf.add(y, n.x(2)) : y);
}

/** Returns the padding of a transposed convolution, and its result's extents; null for unknown ones. */
function transposedOutput(
  n: NodeCall,
  sliding: Sliding,
): { readonly extents: (number | null)[]; readonly before: number[] } {
  const { attributes } = n, { kernel, strides, dilations, pads } = sliding;
  const more = attributes.ints("output_padding") ?? kernel.map(() => 0);
  const auto = attributes.text("auto_pad", "NOTSET");
  const wanted = attributes.ints("output_shape")?.slice(-kernel.length);
  const dims = n.dims(0).slice(2), before: number[] = [];
  const extents = kernel.map((k, i) => {
    const extent = dims[i], span = (k - 1) * dilations[i] + 1;
    const natural = extent === null ? null : strides[i] * (extent - 1) + more[i] + span;
    const target = wanted?.[i] ??
      (auto.startsWith("SAME") ? extent === null ? null : extent * strides[i] : undefined);
    if (target === undefined) {
      const [a, b] = auto === "VALID" ? [0, 0] : pads[i];
      before.push(a);
      return natural === null ? null : natural - a - b;
    }
    // For upper padding the smaller half of the excess is cut off first.
    const surplus = Math.max(0, (natural ?? n.needs("the extents of input 0")) - target!);
    const half = Math.floor(surplus / 2);
    before.push(auto === "SAME_UPPER" ? half : surplus - half);
    return target;
  });
  return { extents, before };
}

function convTranspose(n: NodeCall): RuleOutput {
  const { attributes } = n, groups = attributes.int("group", 1), axes = n.rank(0) - 2;
  const kernel = kernelOf(n), ones = kernel.map(() => 1);
  const strides = attributes.ints("strides") ?? ones,
    dilations = attributes.ints("dilations") ?? ones;
  const flatPads = attributes.ints("pads") ?? new Array<number>(2 * axes).fill(0);
  const pads = kernel.map((_, i): [number, number] => [flatPads[i], flatPads[i + axes]]);
  const sliding = { kernel, strides, dilations, pads };
  const { extents, before } = transposedOutput(n, sliding);
  if (extents.includes(null)) n.needs("the extents of input 0");
  const channels = n.concrete(1)[1];
  const x = n.last(0), wide = flat(sliding);
  const images = axes === 1 ? tf.expandDims(x, 1) : x;
  const inner = axes === 1 ? [1, ...n.concrete(0).slice(2)] : n.dims(0).slice(2) as number[];
  // All that the windows reach; padding then cuts it off.
  const full = inner.map((d, i) =>
    wide.strides[i] * (d - 1) + (wide.kernel[i] - 1) * wide.dilations[i] + 1
  );
  const batch = n.dims(0)[0];
  const sizes = (depth: number) =>
    vectorOf([batch, ...full, depth], () => elementOf(tf.shape(images), 0));
  const attrs = {
    strides: [1, ...wide.strides, 1],
    dilations: [1, ...wide.dilations, 1],
    padding: "VALID",
  };
  const one = (x: Tensor, w: Tensor): Tensor => {
    // [in, out, …] as [out, in, …], the channels of the images last.
    const filter = filterLast(w, axes);
    return put1(axes === 3 ? "Conv3DBackpropInputV2" : "Conv2DBackpropInput", [
      sizes(channels),
      filter,
      x,
    ], attrs);
  };
  const filters = groups === 1 ? [n.x(1)] : tf.split(n.x(1), groups, 0);
  const parts = groups === 1 ? [images] : tf.split(images, groups, -1);
  const whole = parts.map((part, i) => one(part, filters[i]));
  let y = whole.length === 1 ? whole[0] : tf.concat(whole, -1);
  const offset = axes === 1 ? [0, ...before] : before, out = axes === 1 ? [1, ...extents] : extents;
  const short = out.map((d, i) => Math.max(0, offset[i] + d! - full[i]));
  if (short.some((d) => d > 0)) {
    y = tf.pad(y, [[0, 0], ...short.map((d): [number, number] => [0, d]), [0, 0]]);
  }
  if (out.some((d, i) => d !== full[i] + short[i])) {
    y = tf.slice(y, [0, ...offset, 0], [-1, ...out as number[], -1]);
  }
  if (axes === 1) y = tf.squeeze(y, 1);
  return Value.channelsLast(n.has(2) ? tf.add(y, n.x(2)) : y);
}

export const CONVOLUTIONS: readonly OpEntry[] = [
  op("Conv", 1, conv),
  op("ConvTranspose", 1, convTranspose),
];
