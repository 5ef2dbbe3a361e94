/** Fourier transforms by ONNX's DFT, whose last axis has the two parts of a complex number. */
import { complexOf } from "../complex.ts";
import { concat, extents, reshape, slice, squeeze, unsqueeze } from "../helpers.ts";
import type { NodeWriter } from "../node_writer.ts";
import type { Ref } from "../ref.ts";
import type { WriteRules } from "../rule.ts";

/** Transforms a matrix of rows; `im` is null for real ones. Returns both parts. */
function transform(
  n: NodeWriter,
  re: Ref,
  im: Ref | null,
  { inverse = false, onesided = false } = {},
): [Ref, Ref] {
  const pair = [re, ...im === null ? [] : [im]].map((x) => unsqueeze(n, x, [2]));
  const x = concat(n, pair, 2), hasInput = n.target.opset >= 20;
  const y = n.node("DFT", hasInput ? [x, null, n.scalar(1, "int64")] : [x], {
    ...(hasInput ? {} : { axis: 1n }),
    ...(inverse && { inverse: 1n }),
    ...(onesided && { onesided: 1n }),
  }, { operands: [0] });
  const part = (k: number): Ref =>
    squeeze(n, slice(n, y, { begin: [k], end: [k + 1], axes: [2] }), [2]);
  return [part(0), part(1)];
}

/** Makes a matrix of the rows of a value, cropped or padded with zeros to a length: DFT takes a batch. */
function rowsOf(n: NodeWriter, x: Ref, length: number | null): Ref {
  const rank = n.rank(x);
  const flat = rank === 2
    ? x
    : reshape(n, x, concat(n, [n.int64s([-1]), extents(n, x, rank - 1)], 0));
  return length === null ? flat : fitted(n, flat, length, x.shape![rank - 1]);
}

function fitted(n: NodeWriter, rows: Ref, length: number, extent: number | null): Ref {
  if (extent === length) return rows;
  const missing = length - (extent ?? 0);
  const padded = missing <= 0
    ? rows
    : n.node("Pad", [rows, n.int64s([0, 0, 0, missing])], {}, { operands: [0] });
  if (missing > 0 && extent !== null) return padded;
  return slice(n, padded, { begin: [0], end: [length], axes: [1] });
}

/** Gives rows the leading axes of a value. */
function likeRows(n: NodeWriter, rows: Ref, x: Ref, length: Ref): Ref {
  const rank = n.rank(x);
  if (rank === 2) return rows;
  return reshape(n, rows, rank === 1 ? length : concat(n, [extents(n, x, 0, rank - 1), length], 0));
}

function whole(inverse: boolean): (n: NodeWriter) => Ref {
  return (n) => {
    const [x] = n.xs[0].parts!, length = extents(n, x, n.rank(x) - 1);
    const [re, im] = n.xs[0].parts!.map((part) => rowsOf(n, part, null));
    const [a, b] = transform(n, re, im, { inverse });
    return complexOf(n, likeRows(n, a, x, length), likeRows(n, b, x, length));
  };
}

function lengthOf(n: NodeWriter): number {
  return n.ints(1, "the length of its rows")[0];
}

function half(n: NodeWriter): Ref {
  const [x] = n.xs, size = lengthOf(n), bins = n.int64s([(size >> 1) + 1]);
  const [re, im] = transform(n, rowsOf(n, x, size), null, { onesided: true });
  return complexOf(n, likeRows(n, re, x, bins), likeRows(n, im, x, bins));
}

/** The bins beyond the half are conjugates of those before it; of the inverse the real part is wanted. */
function realOf(n: NodeWriter): Ref {
  const size = lengthOf(n), bins = (size >> 1) + 1, { parts } = n.xs[0];
  const [re, im] = parts!.map((x) => rowsOf(n, x, bins));
  const rest = (x: Ref): Ref =>
    slice(n, x, { begin: [size - bins], end: [0], axes: [1], steps: [-1] });
  const all = size > bins
    ? [concat(n, [re, rest(re)], 1), concat(n, [im, n.node("Neg", [rest(im)])], 1)]
    : [re, im];
  const [y] = transform(n, all[0], all[1], { inverse: true });
  return likeRows(n, y, parts![0], n.int64s([size]));
}

export const SPECTRAL: WriteRules = {
  FFT: whole(false),
  IFFT: whole(true),
  IRFFT: realOf,
  RFFT: half,
};
