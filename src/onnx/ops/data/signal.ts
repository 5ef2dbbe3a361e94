/** Fourier transforms and windows of signals. */
import type { DType } from "../../../engine/core/dtype.ts";
import { NdArray } from "../../../engine/core/nd_array.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { op, type OpEntry, type Rule } from "../../build/rule.ts";
import { dtypeOfNumber } from "../../file/types.ts";
import { lastAxis, permuted } from "../indexing.ts";
import { put1, to } from "../raw.ts";
import * as tf from "../../build/tf.ts";

/** Takes element `i` of the last axis, and drops it. */
function partOf(x: Tensor, i: number): Tensor {
  const rank = x.staticShape!.length, zeros = new Array<number>(rank - 1).fill(0);
  return tf.squeeze(tf.slice(x, [...zeros, i], [...zeros.map(() => -1), 1]), -1);
}

function partsOf(x: Tensor): Tensor {
  return tf.stack([tf.real(x), tf.imag(x)], -1);
}

/** Cuts the last axis to `length`, or pads it with zeros. */
function sized(x: Tensor, length: number, extent: number): Tensor {
  if (length === extent) return x;
  const rank = x.staticShape!.length, rest = new Array<number>(rank - 1).fill(0);
  if (length < extent) return tf.slice(x, [...rest, 0], [...rest.map(() => -1), length]);
  return tf.pad(x, [...rest.map((): [number, number] => [0, 0]), [0, length - extent]]);
}

/** Dtypes of Fourier transforms: there are none of halves. */
function wide(x: Tensor): Tensor {
  return x.dtype === "float64" ? x : to(x, "float32");
}

function dft(n: NodeCall): Tensor {
  const { attributes } = n, rank = n.rank(0), dtype = n.dtype(0);
  const given = n.version < 20 ? attributes.int("axis", 1) : n.has(2) ? n.wantInts(2)[0] : -2;
  const axis = given < 0 ? given + rank : given, isReal = n.dims(0)[rank - 1] === 1;
  if (axis < 0 || axis >= rank - 1) n.fail(`its axis is ${given}, for an input of rank ${rank}`);
  const isHalf = attributes.flag("onesided"), isBack = attributes.flag("inverse");
  const extent = n.dims(0)[axis] ?? n.needs(`the extent of axis ${axis} of input 0`);
  const perm = lastAxis(rank - 1, axis);
  const back = (y: Tensor): Tensor => permuted(y, inverse(perm));
  const toHalf = isHalf && isBack;
  const length = n.has(1) ? n.wantInts(1)[0] : toHalf ? 2 * (extent - 1) : extent;
  const bins = toHalf ? Math.floor(length / 2) + 1 : length;
  const real = (x: Tensor): Tensor => sized(permuted(x, perm), bins, extent);
  const x = wide(n.x(0));
  const sizes = (): Tensor => tf.tensor1d([length], "int32");
  if (toHalf) {
    const full = tf.complex(
      real(partOf(x, 0)),
      isReal ? tf.zerosLike(real(partOf(x, 0))) : real(partOf(x, 1)),
    );
    return to(tf.expandDims(back(put1("IRFFT", [full, sizes()])), -1), dtype);
  }
  const first = real(partOf(x, 0));
  if (isHalf) {
    if (!isReal) n.fail("a one-sided transform needs real numbers");
    const y = put1("RFFT", [first, sizes()]);
    return to(tf.stack([back(tf.real(y)), back(tf.imag(y))], -1), dtype);
  }
  const whole = tf.complex(first, isReal ? tf.zerosLike(first) : real(partOf(x, 1)));
  const y = isBack ? tf.ifft(whole) : tf.fft(whole);
  return to(tf.stack([back(tf.real(y)), back(tf.imag(y))], -1), dtype);
}

/** Transforms the last axes of real numbers to half a spectrum, or back to an even number of them. */
function halfTransform(n: NodeCall, isBack: boolean): Tensor {
  const { attributes } = n, axes = attributes.int("signal_ndim", 1), dtype = n.dtype(0);
  const rank = n.rank(0) - (isBack ? 1 : 0);
  if (!attributes.flag("onesided", true)) n.lacks("a transform of both sides");
  if (attributes.flag("normalized")) n.lacks("a normalized transform");
  if (!(axes >= 1 && axes <= rank)) n.fail(`signal_ndim is ${axes}, for ${rank} axes`);
  const extent = n.dims(0)[rank - 1] ?? n.needs(`the extent of axis ${rank - 1} of input 0`);
  const x = wide(n.x(0)), sizes = tf.tensor1d([isBack ? 2 * (extent - 1) : extent], "int32");
  // The axes before are transformed as they are, one by one.
  const along = (z: Tensor, axis: number): Tensor => {
    const perm = lastAxis(rank, axis), moved = permuted(z, perm);
    return permuted(isBack ? tf.ifft(moved) : tf.fft(moved), inverse(perm));
  };
  const others = Array.from({ length: axes - 1 }, (_, i) => rank - 2 - i);
  if (isBack) {
    if (n.dims(0)[rank] !== 2) n.fail("its last axis has no real and imaginary parts");
    const z = others.reduce(along, tf.complex(partOf(x, 0), partOf(x, 1)));
    return to(put1("IRFFT", [z, sizes]), dtype);
  }
  return to(partsOf(others.reduce(along, put1("RFFT", [x, sizes]))), dtype);
}

function inverse(perm: readonly number[] | null): number[] | null {
  if (perm === null) return null;
  const order: number[] = [];
  perm.forEach((p, i) => order[p] = i);
  return order;
}

function stft(n: NodeCall): Tensor {
  const step = n.wantInts(1)[0], shape = n.dims(0), dtype = n.dtype(0);
  const isReal = shape.length === 2 || shape[2] === 1;
  const length = n.has(3)
    ? n.wantInts(3)[0]
    : (n.has(2) ? n.dims(2)[0] : shape[1]) ?? n.needs("the length of its frames");
  const isHalf = n.attributes.flag("onesided", true);
  const source = wide(n.x(0)), x = shape.length === 2 ? tf.expandDims(source, 2) : source;
  const window = n.has(2) ? to(n.x(2), source.dtype) : null;
  const framed = (part: Tensor): Tensor => {
    const frames = tf.frame(part, length, step);
    return window === null ? frames : tf.mul(frames, window);
  };
  if (isHalf) {
    if (!isReal) n.fail("a one-sided transform needs real numbers");
    const y = put1("RFFT", [framed(partOf(x, 0)), tf.tensor1d([length], "int32")]);
    return to(partsOf(y), dtype);
  }
  const real = framed(partOf(x, 0));
  const imag = isReal ? tf.zerosLike(real) : framed(partOf(x, 1));
  return to(partsOf(tf.fft(tf.complex(real, imag))), dtype);
}

/** Makes the rule of a window: a sum of cosines of whole numbers of turns, with these weights. */
function windowOf(weights: readonly number[]): Rule {
  return (n) => {
    const dtype = dtypeOfNumber(n.attributes.int("output_datatype", 1));
    const exact: DType = dtype === "float64" ? "float64" : "float32";
    const count = tf.reshape(n.index(0), []), isPeriodic = n.attributes.flag("periodic", true);
    const turns = tf.cast(isPeriodic ? count : tf.sub(count, 1), exact);
    const size = n.ints(0)?.[0];
    const at = tf.cast(tf.range(0, size ?? count, 1, "int32"), exact);
    const angle = tf.div(tf.mul(at, tf.cast(tf.scalar(2 * Math.PI, "float64"), exact)), turns);
    const terms = weights.map((w, k) => {
      const weight = tf.cast(tf.scalar(w, "float64"), exact);
      if (k === 0) return weight;
      const times = tf.cast(tf.scalar(k, "int32"), exact);
      return tf.mul(tf.cos(tf.mul(angle, times)), weight);
    });
    return to(terms.reduceRight((sum, term) => tf.add(sum, term)), dtype);
  };
}

/** Makes the weights that sum bins of a spectrum to bands of the mel scale: triangles of height 1. */
function melWeights(n: NodeCall): Tensor {
  const [bands, length, rate, low, high] = [0, 1, 2, 3, 4].map((i) => n.wantNumbers(i)[0]);
  const bins = Math.floor(length / 2) + 1, out = new Float64Array(bins * bands);
  const mel = (hertz: number): number => 2595 * Math.log10(1 + hertz / 700);
  const step = (mel(high) - mel(low)) / (bands + 2);
  const edges = Array.from({ length: bands + 2 }, (_, i) => {
    const hertz = 700 * (10 ** ((mel(low) + i * step) / 2595) - 1);
    return Math.floor((length + 1) * hertz / rate);
  });
  if (edges[0] < 0 || edges[bands + 1] >= bins) n.fail(`its edges are not within ${bins} bins`);
  for (let band = 0; band < bands; band++) {
    const [left, centre, right] = edges.slice(band, band + 3);
    for (let bin = left; bin < right; bin++) {
      const isRise = bin < centre;
      out[bin * bands + band] = isRise
        ? (bin - left) / (centre - left)
        : (right - bin) / (right - centre);
    }
    out[centre * bands + band] = 1;
  }
  const weights = tf.tensor(new NdArray("float64", [bins, bands], out));
  return to(weights, dtypeOfNumber(n.attributes.int("output_datatype", 1)));
}

export const SIGNAL: readonly OpEntry[] = [
  op("BlackmanWindow", 17, windowOf([0.42, -0.5, 0.08]), { grows: true }),
  op("DFT", 17, dft, { known: [1, 2] }),
  op("HammingWindow", 17, windowOf([25 / 46, -21 / 46]), { grows: true }),
  op("HannWindow", 17, windowOf([0.5, -0.5]), { grows: true }),
  op("Irfft", 1, (n) => halfTransform(n, true), { domain: "com.microsoft" }),
  op("MelWeightMatrix", 17, melWeights, { known: [0, 1, 2, 3, 4], grows: true }),
  op("Rfft", 1, (n) => halfTransform(n, false), { domain: "com.microsoft" }),
  op("STFT", 17, stft, { known: [1, 3] }),
];
