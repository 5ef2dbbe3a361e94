/** Rules for ops on images whose filters, boxes or matrices differ between rows, or whose rows count with the images. */
import { apply, apply1, type OpInput } from "../core/apply.ts";
import { lookupOp } from "../core/op.ts";
import { isConcrete } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { transpose } from "../ops/array/move.ts";
import { eye, range } from "../ops/array/ranges.ts";
import { broadcastTo, tile } from "../ops/array/repeat.ts";
import { expandDims, reshape } from "../ops/array/view.ts";
import { patchesOf as cutPatches } from "../ops/conv/patch_slices.ts";
import { intVector } from "../ops/input.ts";
import { matMul } from "../ops/linalg/matmul.ts";
import { add } from "../ops/pointwise/arithmetic.ts";
import { folded, foldedOfShape } from "./rules_common.ts";
import {
  batchedOf,
  foldRows,
  knownInts,
  moveAxis,
  type RowCall,
  rowShape,
  type Rule,
  unfoldRows,
} from "./values.ts";

/** Extents of a row that are all known, or null. */
function extentsOf(value: RowCall["inputs"][number]): number[] | null {
  const known = rowShape(value);
  return known !== null && isConcrete(known) && !known.includes(0) ? [...known] : null;
}

/** The patches that a convolution's filter meets, `[rows, pixels, elements of a patch]`; null where they are no patches. */
function patchesOf(
  call: RowCall,
  image: number,
  [height, width]: readonly number[],
): Tensor | null {
  const { attrs, inputs, rows } = call;
  const { data_format, padding, strides, dilations } = attrs as {
    data_format: string;
    padding: string;
    strides: number[];
    dilations: number[];
  };
  if (data_format !== "NHWC" || padding === "EXPLICIT" || rows.count === null) return null;
  const extents = extentsOf(inputs[image]);
  const x = extents && foldRows(batchedOf(inputs[image], rows), rows);
  if (!x) return null;
  const [, sh, sw] = strides, [, rh, rw] = dilations;
  if (!isConcrete(x.shape)) return null;
  const patches = cutPatches(x, {
    ...{ sizes: [height, width], strides: [sh, sw], rates: [rh, rw], padding },
  });
  return reshape(patches, [rows.count, -1, height * width * extents![3]]);
}

/** A convolution by a filter of each row multiplies the patches of its images. */
const convolved: Rule = (call) => {
  const { inputs: [, filter], rows } = call;
  if (!filter.batched) return folded([0])(call);
  const extents = extentsOf(filter), [to] = call.results;
  const patches = extents && to && isConcrete(to) ? patchesOf(call, 0, extents) : null;
  if (patches === null) return null;
  const [height, width, inner, outer] = extents!;
  const matrices = reshape(batchedOf(filter, rows), [
    rows.count!,
    height * width * inner,
    outer,
  ]);
  return [reshape(matMul(patches, matrices), [rows.count!, ...to as number[]])];
};

/** The gradient of each row's filter: its patches by the slopes of its pixels. */
const filterGradient: Rule = (call) => {
  const { inputs: [, sizes, dy], rows } = call;
  const extents = knownInts(sizes), slopes = extentsOf(dy);
  const patches = extents && slopes ? patchesOf(call, 0, extents) : null;
  if (patches === null) return null;
  const columns = reshape(batchedOf(dy, rows), [rows.count!, -1, slopes![3]]);
  return [reshape(matMul(patches, columns, true), [rows.count!, ...extents!])];
};

/** The gradient of images whose filters differ: what each pixel gives each element of its patch, put back where it was. */
const imageGradient: Rule = (call) => {
  const { attrs, inputs: [sizes, filter, dy], rows } = call, { count } = rows;
  if (!filter.batched) return foldedOfShape([2])(call);
  const to = knownInts(sizes), extents = extentsOf(filter), slopes = extentsOf(dy);
  const [, sh, sw] = attrs.strides as number[];
  if (to === null || extents === null || slopes === null || count === null || sh !== sw) {
    return null;
  }
  if (attrs.data_format !== "NHWC" || attrs.padding === "EXPLICIT" || to[3] !== extents[2]) {
    return null;
  }
  const [height, width, inner, outer] = extents, taps = height * width;
  const byChannel = transpose(filter.all as Tensor, [0, 3, 1, 2, 4]);
  const matrices = reshape(byChannel, [count, inner * taps, outer]);
  const columns = reshape(batchedOf(dy, rows), [count, -1, outer]);
  const patches = reshape(matMul(columns, matrices, false, true), [
    count * slopes[0],
    ...slopes.slice(1, 3),
    inner * taps,
  ]);
  const places = broadcastTo(
    reshape(eye(taps, taps, undefined, patches.dtype), [
      height,
      width,
      1,
      taps,
    ]),
    [height, width, inner, taps],
  );
  const all = intVector([count * to[0], ...to.slice(1)]);
  const { strides, padding, dilations, data_format } = attrs;
  const dx = apply1(lookupOp("DepthwiseConv2dNativeBackpropInput")!, [all, places, patches], {
    strides,
    padding,
    dilations,
    data_format,
  });
  return [reshape(dx, [count, ...to])];
};

/** The rows of a tensor beside its channels, axis `at` of a row. */
function besideChannels(x: Tensor, at: number): Tensor {
  const moved = moveAxis(x, 0, at), known = moved.staticShape! as number[];
  return reshape(moved, [...known.slice(0, at), known[at] * known[at + 1], ...known.slice(at + 2)]);
}

/** Undoes {@linkcode besideChannels}. */
function fromChannels(x: Tensor, at: number, count: number): Tensor {
  const known = x.staticShape! as number[];
  const cut = reshape(x, [...known.slice(0, at), count, known[at] / count, ...known.slice(at + 1)]);
  return moveAxis(cut, at, 0);
}

/** Depthwise ops have a filter for each channel: those of all rows are more channels. `sizes` is an input of extents. */
function depthwise({ images, filter, sizes, gives = "image" }: {
  readonly images: readonly number[];
  readonly filter?: number;
  readonly sizes?: number;
  readonly gives?: "image" | "filter";
}): Rule {
  const channels = gives === "image" ? 3 : 2;
  return (call) => {
    const { def, attrs, inputs, rows } = call, { count } = rows;
    if (count === null || attrs.padding === "EXPLICIT") return null;
    if ((attrs.data_format ?? "NHWC") !== "NHWC") return null;
    if (inputs.some((v, i) => i !== sizes && extentsOf(v) === null)) return null;
    const given = inputs.map((v, i): OpInput | null => {
      if (images.includes(i)) return besideChannels(batchedOf(v, rows), 3);
      if (i === filter) return besideChannels(batchedOf(v, rows), 2);
      return knownInts(v) &&
        intVector(knownInts(v)!.map((d, axis) => axis === channels ? d * count : d));
    });
    if (given.includes(null)) return null;
    return [fromChannels(apply1(def, given as OpInput[], attrs), channels, count)];
  };
}

/** Takes the rows as more images if they share the filter, else as that rule says. */
function sharing(filter: number, shared: Rule, own: Rule): Rule {
  return (call) => (call.inputs[filter].batched ? own : shared)(call);
}

/** The images of a row that its boxes are cut from, counted over all rows. */
function ownersOf(call: RowCall, k: number, images: number): Tensor {
  const owners = batchedOf(call.inputs[k], call.rows);
  const first = range(0, call.rows.count! * images, images, "int32");
  return reshape(add(owners, expandDims(first, 1)), [-1]);
}

/** Crops: the boxes of a row name its own images. `places` are those of images and boxes, `owners` of the boxes' images. */
function cropped(
  { places, owners, images }: {
    places: readonly number[];
    owners: number;
    images: { input: number } | { sizes: number };
  },
): Rule {
  return (call) => {
    const { def, attrs, inputs, results, rows } = call, { count } = rows;
    if (count === null || inputs.some((v, i) => v.batched && i !== owners && !places.includes(i))) {
      return null;
    }
    const sizes = "sizes" in images ? knownInts(inputs[images.sizes]) : null;
    const n = "sizes" in images ? sizes?.[0] : rowShape(inputs[images.input])?.[0];
    if (n == null) return null;
    const given = inputs.map((v, i): OpInput | null => {
      if (i === owners) return ownersOf(call, owners, n);
      if (places.includes(i)) return foldRows(batchedOf(v, rows), rows);
      return sizes !== null && "sizes" in images && i === images.sizes
        ? intVector([n * count, ...sizes.slice(1)])
        : v.all;
    });
    if (given.includes(null)) return null;
    const first = results[0]?.[0] ?? null;
    return [unfoldRows(apply1(def, given as OpInput[], attrs), first, rows)];
  };
}

/** Images of all rows moved by the matrices that each row has, one or one for each image. */
function warped(matrices: number): Rule {
  return (call) => {
    const { inputs, rows } = call, known = rowShape(inputs[matrices]);
    if (inputs[matrices].batched || known?.[0] === 1) return folded([0])(call);
    if (known === null || rows.count === null) return null;
    const all = tile(inputs[matrices].all, [rows.count, 1]);
    return folded([0])({
      ...call,
      inputs: inputs.map((v, i) => i === matrices ? { all, batched: false } : v),
    });
  };
}

/** Ops between blocks and the batch take the rows as their last axis, which they keep. */
const blocks: Rule = ({ def, attrs, inputs: [x, ...rest] }) => {
  const known = rowShape(x);
  if (known === null || rest.some((v) => v.batched)) return null;
  const last = known.length;
  const [y] = apply(def, [moveAxis(x.all as Tensor, 0, last), ...rest.map((v) => v.all)], attrs);
  return y.staticShape === null ? null : [moveAxis(y, last, 0)];
};

/** Pixels counted from the beginning of each image are the same with more images before it. */
const pooledPlaces: Rule = (call) =>
  call.attrs.include_batch_in_index === true ? null : folded([0])(call);

/** The rows become more images, which have the places of one draw; without a seed each row has its own. */
const fractional: Rule = ({ def, attrs, inputs: [x], results: [to], rows }) => {
  const all = attrs.deterministic ? foldRows(batchedOf(x, rows), rows) : null;
  if (all === null) return null;
  const [y, ...places] = apply(def, [all], attrs);
  const ofRows = places.map((p) => batchedOf({ all: p, batched: false }, rows));
  return [unfoldRows(y, to?.[0] ?? null, rows), ...ofRows];
};

/** Rules by op. */
export const IMAGE_RULES: Readonly<Record<string, Rule>> = {
  FractionalMaxPool: fractional,
  FractionalAvgPool: fractional,
  FractionalMaxPoolGrad: folded([0, 1, 2]),
  FractionalAvgPoolGrad: foldedOfShape([1]),
  _FractionalWinners: folded([0, 1]),
  _FractionalMeans: folded([0]),
  Conv2D: convolved,
  Conv2DBackpropInput: imageGradient,
  Conv2DBackpropFilter: filterGradient,
  DepthwiseConv2dNative: sharing(1, folded([0]), depthwise({ images: [0], filter: 1 })),
  DepthwiseConv2dNativeBackpropInput: sharing(
    1,
    foldedOfShape([2]),
    depthwise({ images: [2], filter: 1, sizes: 0 }),
  ),
  DepthwiseConv2dNativeBackpropFilter: depthwise({
    images: [0, 2],
    sizes: 1,
    gives: "filter",
  }),
  Dilation2D: sharing(1, folded([0]), depthwise({ images: [0], filter: 1 })),
  Dilation2DBackpropInput: depthwise({ images: [0, 2], filter: 1 }),
  Dilation2DBackpropFilter: depthwise({ images: [0, 2], filter: 1, gives: "filter" }),
  CropAndResize: cropped({ places: [0, 1], owners: 2, images: { input: 0 } }),
  CropAndResizeGradImage: cropped({ places: [0, 1], owners: 2, images: { sizes: 3 } }),
  CropAndResizeGradBoxes: cropped({ places: [0, 1, 2], owners: 3, images: { input: 1 } }),
  ImageProjectiveTransformV3: warped(1),
  SpaceToBatchND: blocks,
  BatchToSpaceND: blocks,
  MaxPoolWithArgmax: pooledPlaces,
};
