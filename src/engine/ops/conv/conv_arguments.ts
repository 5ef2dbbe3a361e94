/** Converts the arguments of convolutions and pooling to TensorFlow's attributes. */
import { apply1, compose, type OpInput } from "../../core/apply.ts";
import type { Attrs, OpDef } from "../../core/op.ts";
import { type PartialShape, shapeText } from "../../core/shape.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import { describe } from "../../core/convert.ts";
import { wrongArgument } from "../../core/arguments.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import { dilatedExtent, spatialAxes } from "../../kernels/conv/geometry.ts";
import { concat } from "../array/join.ts";
import { slice } from "../array/slice.ts";
import { expandDims, shape, squeeze } from "../array/view.ts";
import { asTensor, intVector, shapeOfInput, toIndexInput, toInput } from "../input.ts";

/** Padding: a name, the same number of zeros on every side, or `[before, after]` per axis of the input. */
export type Padding = "valid" | "same" | number | readonly (readonly [number, number])[];
/** Rounding of output extents, for numeric padding. */
export type RoundingMode = "floor" | "round" | "ceil";
/** One number for all spatial axes, or one per axis. */
export type PerAxis = number | readonly number[];

/** The movement of a window over images. */
export interface Sliding {
  /** Steps between places. */
  readonly strides: PerAxis;
  /** Padding. */
  readonly pad: Padding;
  /** `NHWC`, `NCHW`, `NDHWC`, `NCDHW`. */
  readonly dataFormat: string;
  /** Steps between taps. */
  readonly dilations?: PerAxis | undefined;
  /** Rounding of extents. */
  readonly dimRoundingMode?: RoundingMode | undefined;
}

export interface WindowArguments extends Sliding {
  readonly fn: string;
  /** Static shape of the input, batch included. */
  readonly input: PartialShape;
  /** Extents of the window. */
  readonly window: readonly (number | null)[];
}

/** TensorFlow's spatial attributes; a type, not an interface, so that it fits an op's attributes. */
export type WindowAttrs = {
  /** Per axis of the input. */
  readonly strides: number[];
  /** `SAME`, `VALID` or `EXPLICIT`. */
  readonly padding: string;
  /** Two per axis of the input; empty unless explicit. */
  readonly explicit_paddings: number[];
  readonly data_format: string;
  /** Per axis of the input. */
  readonly dilations: number[];
};

/** Returns one number per spatial axis. Throws `ValueError` for another count or values below 1, `TypeError` for what is no list of numbers. */
export function perAxis(value: PerAxis, count: number, fn: string, what: string): number[] {
  if (typeof value !== "number" && !Array.isArray(value)) {
    throw wrongArgument(value, what, fn, `a number or a list of ${count}`);
  }
  const list = typeof value === "number" ? new Array<number>(count).fill(value) : [...value];
  if (list.length === 1 && count > 1) list.push(...new Array<number>(count - 1).fill(list[0]));
  if (list.length !== count || list.some((v) => !Number.isInteger(v) || v < 1)) {
    throw new ValueError(
      `Error in ${fn}: ${what} must be ${count} integers greater than 0, received ${
        shapeText(list)
      }`,
    );
  }
  return list;
}

/** Makes attributes once for each key: ops on small inputs take little longer than this. */
export function attrsByKey<A extends Attrs>(): (key: string, make: () => A) => A {
  const known = new Map<string, A>();
  return (key, make) => {
    let attrs = known.get(key);
    if (attrs === undefined) {
      attrs = make();
      Object.values(attrs).forEach(Object.freeze);
      Object.freeze(attrs);
      if (known.size === MOST_KEYS) known.clear();
      known.set(key, attrs);
    }
    return attrs;
  };
}
const MOST_KEYS = 256;

/**
 * Returns a key for windows with equal numbers along all axes and attributes independent of the input; null for others.
 */
export function windowKey(
  { strides, dilations, pad, dataFormat, dimRoundingMode }: Sliding,
  axes: number,
): string | null {
  const stride = alike(strides, axes), dilation = alike(dilations ?? 1, axes);
  const plain = stride !== null && dilation !== null && typeof pad === "string" &&
    dimRoundingMode === undefined;
  return plain ? `${axes} ${stride} ${dilation} ${pad} ${dataFormat}` : null;
}

/** Returns the common number of all axes; null if there is none. */
export function alike(value: PerAxis, axes: number): number | null {
  if (typeof value === "number") return value;
  if (!Array.isArray(value) || value.length !== axes) return null;
  for (let i = 0; i < axes; i++) if (value[i] !== value[0]) return null;
  return typeof value[0] === "number" ? value[0] : null;
}

const attrsOfWindows = attrsByKey<WindowAttrs>();

/** Converts the arguments. Throws `ValueError` for invalid ones. */
export function windowAttrs(args: WindowArguments): WindowAttrs {
  const key = windowKey(args, args.window.length);
  return key === null ? convert(args) : attrsOfWindows(key, () => convert(args));
}

function convert(args: WindowArguments): WindowAttrs {
  const { fn, input, window, pad, dataFormat, dimRoundingMode } = args;
  const axes = window.length;
  const known = axes === 3 ? ["NDHWC", "NCDHW"] : ["NHWC", "NCHW"];
  if (!known.includes(dataFormat)) {
    throw new ValueError(
      `Error in ${fn}: got dataFormat of ${dataFormat} but wanted ${known.join(" or ")}`,
    );
  }
  const channelsFirst = dataFormat[1] === "C";
  const strides = perAxis(args.strides, axes, fn, "strides");
  const dilations = perAxis(args.dilations ?? 1, axes, fn, "dilations");
  if (strides.some((s) => s !== 1) && dilations.some((d) => d !== 1)) {
    throw new ValueError(
      `Error in ${fn}: either strides or dilations must be 1, received strides ${strides} and dilations ${dilations}`,
    );
  }
  const onAxes = (list: readonly number[]): number[] =>
    channelsFirst ? [1, 1, ...list] : [1, ...list, 1];
  const extents = input && spatialAxes(axes + 2, channelsFirst).map((a) => input[a]);
  const padding = resolvePadding(fn, pad, axes, channelsFirst, dimRoundingMode);
  const out = { strides: onAxes(strides), data_format: dataFormat, dilations: onAxes(dilations) };
  if (typeof padding === "string") return { ...out, padding, explicit_paddings: [] };
  const sides = padding.map(([before, after], i): [number, number] => {
    const size = extents?.[i], filter = window[i];
    if (
      size == null || filter === null || dimRoundingMode === undefined ||
      dimRoundingMode === "floor"
    ) {
      return [before, after];
    }
    const extent = dilatedExtent(filter, dilations[i]);
    const places = Math[dimRoundingMode]((size + before + after - extent) / strides[i]) + 1;
    return [before, Math.max(0, (places - 1) * strides[i] + extent - size - before)];
  });
  if (sides.every(([b, a]) => b === 0 && a === 0)) {
    return { ...out, padding: "VALID", explicit_paddings: [] };
  }
  const all = channelsFirst ? [[0, 0], [0, 0], ...sides] : [[0, 0], ...sides, [0, 0]];
  return { ...out, padding: "EXPLICIT", explicit_paddings: all.flat() };
}

function resolvePadding(
  fn: string,
  pad: Padding,
  axes: number,
  channelsFirst: boolean,
  rounding: RoundingMode | undefined,
): string | [number, number][] {
  if (
    rounding !== undefined && rounding !== null && !["floor", "round", "ceil"].includes(rounding)
  ) {
    throw new ValueError(
      `Error in ${fn}: unknown dimRoundingMode ${rounding}, wanted floor, round or ceil`,
    );
  }
  if (typeof pad === "string") {
    const name = pad.toUpperCase();
    if (name !== "SAME" && name !== "VALID") {
      throw new ValueError(
        `Error in ${fn}: unknown padding "${pad}", wanted "same", "valid", a number or a list`,
      );
    }
    if (rounding !== undefined && rounding !== null) {
      throw new ValueError(
        `Error in ${fn}: pad must be an integer when using dimRoundingMode ${rounding}, received pad ${pad}`,
      );
    }
    return name;
  }
  if (typeof pad !== "number" && !Array.isArray(pad)) {
    throw new TypeError(
      `Error in ${fn}: pad must be "same", "valid", a number or a list, received ${describe(pad)}`,
    );
  }
  const sides: [number, number][] = typeof pad === "number"
    ? Array.from({ length: axes }, () => [pad, pad])
    : explicitSides(fn, pad, axes, channelsFirst);
  for (const n of sides.flat()) {
    if (!Number.isInteger(n) || n < 0) {
      throw new ValueError(
        `Error in ${fn}: pad must be integers of at least 0, received pad ${JSON.stringify(pad)}`,
      );
    }
  }
  return sides;
}

function explicitSides(
  fn: string,
  pad: readonly (readonly [number, number])[],
  axes: number,
  channelsFirst: boolean,
): [number, number][] {
  const spatial = pad.length === axes + 2
    ? spatialAxes(axes + 2, channelsFirst).map((a) => pad[a])
    : pad;
  if (spatial.length !== axes || pad.some((p) => p?.length !== 2)) {
    throw new ValueError(
      `Error in ${fn}: pad must hold [before, after] for each of ${axes + 2} axes, received ${
        JSON.stringify(pad)
      }`,
    );
  }
  return spatial.map(([a, b]) => [a, b]);
}

/** An input with a batch axis, and the function that removes an added one. */
export interface Batched {
  readonly x: OpInput;
  /** Removes an added axis. */
  readonly restore: (y: Tensor) => Tensor;
}

/** Adds the batch axis if the rank is one less than `rank`. Throws `ValueError` for other ranks. */
export function withBatch(x: TensorLike, rank: number, fn: string, arg = "x"): Batched {
  const input = toInput(x, arg, fn);
  const shape = shapeOfInput(input);
  if (shape !== null && shape.length === rank - 1) {
    return { x: expandDims(asTensor(input), 0), restore: (y) => squeeze(y, [0]) };
  }
  if (shape !== null && shape.length !== rank) {
    throw new ValueError(
      `Error in ${fn}: ${arg} must be rank ${rank - 1} or ${rank}, received rank ${shape.length}`,
    );
  }
  return { x: input, restore: (y) => y };
}

/** Applies `op` to the input with a batch axis; an added axis is removed from the result. All of this is one op. */
export function inBatch(
  x: TensorLike,
  rank: number,
  fn: string,
  op: (x: OpInput) => Tensor,
): Tensor {
  if (x instanceof Tensor && x.staticShape?.length === rank) return op(x.asOpInput());
  return compose(() => {
    const { x: input, restore } = withBatch(x, rank, fn);
    return restore(op(input));
  });
}

/** Returns the static extent of an axis counted from the front; null if unknown. */
export function extentOf(x: OpInput, axis: number): number | null {
  const shape = shapeOfInput(x);
  return shape === null ? null : shape[axis < 0 ? axis + shape.length : axis];
}

/** Throws `ValueError` for known, different extents. */
export function checkSame(a: number | null, b: number | null, message: string): void {
  if (a !== null && b !== null && a !== b) {
    throw new ValueError(`${message}, received ${a} and ${b}`);
  }
}

/** Converts a filter. Throws `ValueError` for another rank. */
export function toFilter(filter: TensorLike, rank: number, fn: string, arg = "filter"): OpInput {
  const input = toInput(filter, arg, fn);
  const shape = shapeOfInput(input);
  if (shape !== null && shape.length !== rank) {
    throw new ValueError(
      `Error in ${fn}: ${arg} must be rank ${rank}, received rank ${shape.length}`,
    );
  }
  return input;
}

/** Arguments of a convolution. */
export interface ConvArguments extends Sliding {
  /** Input, with or without batch. */
  readonly x: TensorLike;
  /** Filter. */
  readonly filter: TensorLike;
}

interface ConvInputs extends Batched {
  readonly filter: OpInput;
  readonly attrs: WindowAttrs;
}

/**
 * Returns the inputs and attributes of a convolution on inputs of `rank`. Throws `ValueError` where they do not fit.
 */
export function convArguments(fn: string, rank: 4 | 5, args: ConvArguments): ConvInputs {
  const { x, restore } = withBatch(args.x, rank, fn);
  const filter = toFilter(args.filter, rank, fn);
  const attrs = windowAttrs({
    ...args,
    fn,
    input: shapeOfInput(x),
    window: windowOf(filter, rank),
  });
  checkSame(
    extentOf(x, args.dataFormat[1] === "C" ? 1 : rank - 1),
    extentOf(filter, rank - 2),
    `Error in ${fn}: depth of input must match input depth for filter`,
  );
  return { x, filter, attrs, restore };
}

/** Applies a convolution on inputs of `rank`. Throws `ValueError` where they do not fit. */
export function convolve(op: OpDef, fn: string, rank: 4 | 5, args: ConvArguments): Tensor {
  return inBatch(args.x, rank, fn, (x) => {
    const { filter, attrs } = convArguments(fn, rank, { ...args, x });
    return apply1(op, [x, filter], attrs);
  });
}

interface TransposedArguments extends ConvArguments {
  /** Shape of the result, with or without batch. */
  readonly outputShape: readonly number[] | Tensor;
}

/** Applies a transposed convolution to results of `rank`. Throws `ValueError` where shapes do not fit. */
export function convolveTransposed(
  op: OpDef,
  fn: string,
  rank: 4 | 5,
  args: TransposedArguments,
): Tensor {
  return inBatch(args.x, rank, fn, (x) => {
    const filter = toFilter(args.filter, rank, fn);
    checkSame(
      extentOf(x, rank - 1),
      extentOf(filter, rank - 1),
      `Error in ${fn}: depth of input must match that of filter`,
    );
    const full = fullShape(args.outputShape, { fn, rank, x, filter });
    const attrs = windowAttrs({ ...args, fn, input: full, window: windowOf(filter, rank) });
    const sizes = full === null
      ? toIndexInput(args.outputShape, "outputShape", fn)
      : full[0] === null
      ? concat([slice(shape(asTensor(x)), [0], [1]), intVector(full.slice(1) as number[])])
      : intVector(full as number[]);
    return apply1(op, [sizes, filter, x], attrs);
  });
}

/** Returns the result's shape of a transposed convolution with its batch; null if a tensor holds it. */
function fullShape(
  given: readonly number[] | Tensor,
  { fn, rank, x, filter }: { fn: string; rank: number; x: OpInput; filter: OpInput },
): PartialShape {
  if (!Array.isArray(given)) return null;
  const full: readonly (number | null)[] = given.length === rank - 1
    ? [extentOf(x, 0), ...given]
    : given;
  if (full.length !== rank) {
    throw new ValueError(
      `Error in ${fn}: outputShape must have ${rank - 1} or ${rank} entries, received ${
        shapeText(full)
      }`,
    );
  }
  checkSame(
    full[rank - 1],
    extentOf(filter, rank - 2),
    `Error in ${fn}: depth of outputShape must match that of filter`,
  );
  return full;
}

function windowOf(filter: OpInput, rank: number): (number | null)[] {
  return Array.from({ length: rank - 2 }, (_, axis) => extentOf(filter, axis));
}
