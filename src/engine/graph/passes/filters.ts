/**
 * Filters: constants that scale and shift the channels of a convolution or product, as batch normalization at
 * inference, are merged into its filter and one bias. Only in graphs read from files, since results change by rounding.
 * Follows TensorFlow's Grappler (`MulConvPushDown`, `FusedBatchNorm` folding).
 */
import { levelsBehind } from "../../core/arrays/level_matrix.ts";
import { NdArray } from "../../core/nd_array.ts";
import { type IrGraph, type IrNode, type IrValue, isConstant } from "../ir.ts";
import { addedNode, addedValue, constantNode, isLoaded } from "./added.ts";
import { type Joined, joinNodes } from "./clusters.ts";
import { mayJoin } from "./cse.ts";
import { joined, usesOf } from "./pointwise_nodes.ts";

/** A normal float32 has at least this magnitude. */
const LEAST = 2 ** -126;

/** The layout of a product's channels in its filter and its result. */
interface Channels {
  readonly filter: NdArray;
  readonly count: number;
  /** Elements of the filter from one channel to the next. */
  readonly step: number;
  /** The axis of the result. */
  readonly axis: number;
  readonly rank: number;
}

/** `y = scale * x + offset` for each channel. */
interface Affine {
  readonly scale: Float64Array;
  readonly offset: Float64Array;
}

/** Returns the graph with constant scales and offsets of channels merged into the filters before them. */
export function foldIntoFilters(given: IrGraph): IrGraph {
  const ir = withPlainNorms(given);
  const products = ir.nodes.flatMap((product) => {
    const channels = product.source.isFromFile ? channelsOf(product) : null;
    return channels === null ? [] : [{ product, channels }];
  });
  if (products.length === 0) return ir;
  const { readers, held } = usesOf(ir);
  const joins: Joined[] = [];
  for (const { product, channels } of products) {
    const members = [product];
    let all: Affine | null = null, scales = false;
    for (let last = product;;) {
      const [next, ...more] = readers.get(last)!;
      if (next === undefined || more.length > 0 || held.has(last)) break;
      const step = affineOf(next, last.outputs[0], channels);
      if (step === null || isQuantised(next, readers.get(next)!)) break;
      scales ||= step.scale.some((v) => v !== 1);
      all = all === null ? step : after(all, step);
      members.push(last = next);
    }
    const root = members.at(-1)!;
    const node = all !== null && scales ? folded(product, root, channels, all) : null;
    if (node !== null) joins.push({ members, node, outputs: root.outputs });
  }
  return joined(ir, joins);
}

/** True for the division before a rounding: in the filter it would move levels, and spare nothing. */
function isQuantised({ def }: IrNode, readers: readonly IrNode[]): boolean {
  return def.name === "RealDiv" && readers.some((r) => r.def.name === "Round");
}

/** Returns the channels of a product with a constant filter; null for other nodes. */
function channelsOf(node: IrNode): Channels | null {
  const { def, attrs, inputs, outputs } = node;
  if (!isPlain(node) || outputs[0].dtype !== "float32") return null;
  const rank = outputs[0].shape?.length;
  const filter = inputs.length > 1 ? arrayOf(inputs[1]) : null;
  // Levels stay as they are: scaled, they would be numbers.
  if (filter === null || rank === undefined || levelsBehind(filter) !== undefined) return null;
  const axis = String(attrs.data_format ?? "").startsWith("NC") ? 1 : rank - 1;
  const { shape } = filter, last = shape[shape.length - 1], before = shape[shape.length - 2];
  const of = (count: number, step = 1): Channels => ({ filter, count, step, axis, rank });
  switch (def.name) {
    case "Conv2D":
    case "Conv3D":
      return of(last);
    case "DepthwiseConv2dNative":
      return of(before * last);
    case "Conv2DBackpropInput":
      return of(before, last);
    case "MatMul":
      return attrs.transpose_b ? of(before, last) : of(last);
    default:
      return null;
  }
}

/** True for a pure node with one output. */
function isPlain(node: IrNode): boolean {
  return mayJoin(node) && node.outputs.length === 1;
}

function arrayOf({ node, dtype }: IrValue): NdArray | null {
  return isConstant(node) && dtype === "float32" ? node.attrs.value as NdArray : null;
}

/** Returns the affine map of a node on the channels of `x`; null if it is none. */
function affineOf(node: IrNode, x: IrValue, channels: Channels): Affine | null {
  if (!isPlain(node) || node.device !== x.node.device) return null;
  const [a, b] = node.inputs;
  const vector = (v: IrValue): Float64Array | null => alongChannels(v, channels);
  const plain = (fill: number): Float64Array => new Float64Array(channels.count).fill(fill);
  const scaled = (scale: Float64Array | null) => scale && { scale, offset: plain(0) };
  const shifted = (offset: Float64Array | null, by = 1) => offset && { scale: plain(by), offset };
  const other = a === x ? b : a;
  switch (node.def.name) {
    case "Identity":
      return scaled(plain(1));
    case "Mul":
      return a === b ? null : scaled(vector(other));
    case "AddV2":
    case "Add":
      return a === b ? null : shifted(vector(other));
    case "Sub":
      if (a === b) return null;
      return a === x ? shifted(vector(b)?.map((v) => -v) ?? null) : shifted(vector(a), -1);
    case "RealDiv":
    case "Div":
      return a === x && b !== x ? scaled(vector(b)?.map((v) => 1 / v) ?? null) : null;
    case "_BatchNorm": {
      if (a !== x) return null;
      const [mean, variance, offset, gamma] = node.inputs.slice(1).map(vector);
      if (!mean || !variance || !offset || !gamma) return null;
      const { epsilon } = node.attrs;
      const scale = gamma.map((g, i) => g / Math.sqrt(variance[i] + Number(epsilon)));
      return { scale, offset: offset.map((o, i) => o - mean[i] * scale[i]) };
    }
    default:
      return null;
  }
}

/** Returns a constant's number for each channel; null for another value, or one that varies along another axis. */
function alongChannels(v: IrValue, { count, axis, rank }: Channels): Float64Array | null {
  const array = arrayOf(v);
  if (array === null || array.shape.length > rank) return null;
  const from = rank - array.shape.length;
  if (!array.shape.every((d, i) => d === 1 || d === count && from + i === axis)) return null;
  const data = array.data as Float32Array;
  return Float64Array.from({ length: count }, (_, i) => data[data.length === 1 ? 0 : i]);
}

function after(first: Affine, then: Affine): Affine {
  return {
    scale: first.scale.map((s, i) => s * then.scale[i]),
    offset: first.offset.map((o, i) => o * then.scale[i] + then.offset[i]),
  };
}

/** Returns the product with its filter scaled, and a bias after it if needed; null if float32 cannot hold them. */
function folded(
  product: IrNode,
  root: IrNode,
  channels: Channels,
  { scale, offset }: Affine,
): IrNode | null {
  const bias = Float32Array.from(offset);
  const filter = bias.every(Number.isFinite) ? scaledFilter(channels, scale) : null;
  if (filter === null) return null;
  const inputs = product.inputs.map((v, i) => (i === 1 ? constantNode(product, filter) : v));
  const like = { ...root, source: product.source };
  if (bias.every((v) => v === 0)) return addedNode(like, product.def.name, inputs, product.attrs);
  const { axis, rank, count } = channels;
  const shape = axis === rank - 1 ? [count] : [count, ...new Array<number>(rank - 2).fill(1)];
  const y = addedValue(product, product.def.name, inputs, product.attrs);
  const shift = constantNode(root, new NdArray("float32", shape, bias));
  return addedNode(like, "AddV2", [y, shift], { T: "float32" });
}

/** Scaled filters by their sources: several plans need the same. */
const made = new WeakMap<NdArray, { readonly scale: Float64Array; readonly filter: NdArray }[]>();

/** Returns the filter with each channel scaled; null if numbers are lost: not finite, or all of a channel subnormal. */
function scaledFilter(channels: Channels, scale: Float64Array): NdArray | null {
  const { filter, count, step } = channels;
  const known = made.get(filter)?.find((m) => m.scale.every((v, i) => v === scale[i]));
  if (known) return known.filter;
  const from = filter.data as Float32Array, to = new Float32Array(from.length);
  // NaN where an element is not finite. There are millions of them: little is done for each.
  let zero = 0;
  const put = (at: number, by: number): void => {
    const v = Math.fround(from[at] * by);
    to[at] = v;
    zero += v * 0;
  };
  for (let at = 0; at < to.length; at += count * step) {
    if (step === 1) {
      for (let channel = 0; channel < count; channel++) put(at + channel, scale[channel]);
    } else {
      for (let channel = 0; channel < count; channel++) {
        const first = at + channel * step, by = scale[channel];
        for (let i = first; i < first + step; i++) put(i, by);
      }
    }
  }
  if (zero !== 0) return null;
  for (let channel = 0; channel < count; channel++) {
    if (scale[channel] !== 0 && isLost(from, to, channel * step, count * step, step)) return null;
  }
  const result = new NdArray("float32", filter.shape, to);
  const list = made.get(filter) ?? [];
  made.set(filter, [...list, { scale, filter: result }]);
  return result;
}

const BATCH_NORM = "_BatchNorm";

/** True where a channel has numbers, and all are subnormal once they are scaled: `size` elements in each `stride` from `first` on. */
function isLost(
  from: Float32Array,
  to: Float32Array,
  first: number,
  stride: number,
  size: number,
): boolean {
  let isUsed = false;
  for (let at = first; at < to.length; at += stride) {
    for (let i = at; i < at + size; i++) {
      if (Math.abs(to[i]) >= LEAST) return false;
      isUsed ||= from[i] !== 0;
    }
  }
  return isUsed;
}

/**
 * Replaces inference batch normalization by a pointwise op, which can be fused, where the further outputs are unused.
 */
function withPlainNorms(ir: IrGraph): IrGraph {
  const norms = ir.nodes.filter(({ def, attrs, outputs }) =>
    def.name === "FusedBatchNormV3" && attrs.is_training === false && attrs.T === "float32" &&
    outputs[0].shape !== null
  );
  if (norms.length === 0 || !isLoaded(BATCH_NORM)) return ir;
  const read = new Set([...ir.fetches, ...ir.nodes.flatMap((n) => n.inputs)]);
  const joins = norms.filter((n) => !n.outputs.slice(1).some((v) => read.has(v))).map((node) => {
    const [x, scale, offset, mean, variance] = node.inputs;
    const isLast = !String(node.attrs.data_format).startsWith("NC");
    const axes = x.shape!.length - 1;
    const operands = [mean, variance, offset, scale].map((v) =>
      isLast ? v : beforeAxes(node, v, axes - 1)
    );
    const { epsilon } = node.attrs;
    return {
      members: [node],
      node: addedNode(node, BATCH_NORM, [x, ...operands], { T: "float32", epsilon }),
      outputs: node.outputs.slice(0, 1),
    };
  });
  return joinNodes(ir, joins);
}

/** Adds trailing axes to a vector. */
function beforeAxes(like: IrNode, v: IrValue, axes: number): IrValue {
  const ones = new Array<number>(axes).fill(1), array = arrayOf(v);
  if (array !== null) {
    return constantNode(like, new NdArray("float32", [array.size, ...ones], array.data));
  }
  const shape = new NdArray("int32", [axes + 1], Int32Array.from([-1, ...ones]));
  return addedValue(like, "Reshape", [v, constantNode(like, shape)]);
}
