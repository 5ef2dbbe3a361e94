/**
 * Samples: inputs and attributes that an op is checked with. Values are drawn from a fixed sequence, so a failure
 * repeats.
 */
import { type DType, DTYPES, isBigInt, makeData } from "../../engine/core/dtype.ts";
import { NdArray, setElement } from "../../engine/core/nd_array.ts";
import type { Attrs } from "../../engine/core/op.ts";
import { type Shape, sizeOf } from "../../engine/core/shape.ts";

/** Description of one input's drawn values. */
export interface SampleValues {
  /** Dimensions. */
  readonly shape: Shape;
  /** Least value. Default -2. */
  readonly low?: number;
  /** Greatest value. Default 2. */
  readonly high?: number;
  /** Fixed dtype. Absent: the input takes each dtype that the sample is checked with. */
  readonly dtype?: DType;
  /** True: no two values are equal, and neighbours are far apart; for ops that compare. */
  readonly distinct?: boolean;
  /** True: whole numbers, also in floating dtypes. */
  readonly whole?: boolean;
  /** Fixed values instead of drawn ones: repeated to fill the shape. */
  readonly values?: readonly number[];
}

/** An input of a sample: drawn values, or a literal. */
export type SampleInput = SampleValues | NdArray;

/** Computes the wanted outputs from the inputs, in plain loops. Floating inputs arrive as float64. */
export type Reference = (inputs: readonly NdArray[], attrs: Attrs) => readonly NdArray[];

/** One application of an op to check. */
export interface OpSample {
  /** Inputs in the op's order. */
  readonly inputs: readonly SampleInput[];
  /** Attributes; dtypes that follow from inputs may be left out. */
  readonly attrs?: Attrs;
  /** Name in messages. Default: the inputs' shapes and the attributes. */
  readonly title?: string;
  /** Dtypes of inputs without one of their own. Default: all the signature allows. */
  readonly dtypes?: readonly DType[];
  /** Computes the wanted outputs. Default: the op's expansion, else its CPU kernel in float64. */
  readonly reference?: Reference;
  /** False: integer dtypes differ from float64 by design (integer division, wrapping). Default true. */
  readonly integersFollowFloats?: boolean;
  /** False: gradients are not compared with differences (kinks, discrete steps). Default true. */
  readonly gradient?: boolean;
  /** Dtypes whose gradients are checked. Default: the first that carries gradients, and complex64. */
  readonly gradientDTypes?: readonly DType[];
  /**
   * Numbers of the inputs whose gradients are checked. Default: all of floating or complex dtype that are not read on
   * the host.
   */
  readonly wrt?: readonly number[];
  /** False: gradients of gradients are not checked. Default true. */
  readonly secondOrder?: boolean;
  /** Tolerated difference on the CPU, in units in the last place of the output dtype. */
  readonly ulps?: number;
  /** Tolerated difference on the GPU, likewise. */
  readonly gpuUlps?: number;
  /** Absolute difference tolerated on the GPU, for functions that WGSL bounds absolutely. */
  readonly gpuAbsolute?: number;
  /** Names of checks to leave out, each with the reason. */
  readonly skip?: Readonly<Record<string, string>>;
}

/** Makes the inputs of a sample for one dtype. */
export function drawInputs(sample: OpSample, dtype: DType): NdArray[] {
  return sample.inputs.map((input, i) =>
    input instanceof NdArray ? input : drawValues(input, input.dtype ?? dtype, i + 1)
  );
}

/** True where an input of the sample takes the dtype under check. */
export function hasFreeInput(sample: OpSample): boolean {
  return sample.inputs.some(isFree);
}

/** True for an input that takes the dtype under check. */
export function isFree(input: SampleInput): boolean {
  return !(input instanceof NdArray) && input.dtype === undefined;
}

/** Draws one array. Equal arguments give equal values. */
export function drawValues(spec: SampleValues, dtype: DType, seed: number): NdArray {
  const { shape, low = -2, high = 2, distinct = false, values } = spec;
  const size = sizeOf(shape);
  const { kind, slots } = DTYPES[dtype];
  const next = uniform(seed * 7919 + size);
  const order = distinct ? shuffled(size * slots, next) : [];
  const whole = spec.whole === true || kind === "int" || kind === "uint";
  const least = kind === "uint" ? Math.max(0, low) : low;
  const number = (slot: number): number => {
    if (values) {
      const value = values[slot % values.length];
      return kind === "uint" ? Math.abs(value) : value;
    }
    if (distinct && whole) return Math.fround(Math.ceil(least) + order[slot]);
    if (distinct) {
      const step = (high - least) / Math.max(1, size * slots);
      return Math.fround(least + (order[slot] + 0.5) * step);
    }
    const u = least + (high - least) * next();
    return whole ? Math.round(u) : Math.fround(u);
  };
  const array = new NdArray(dtype, [...shape], makeData(dtype, size));
  for (let i = 0; i < size; i++) {
    if (kind === "complex") setElement(array, i, [number(2 * i), number(2 * i + 1)]);
    else if (kind === "bool") setElement(array, i, values ? number(i) !== 0 : next() < 0.5);
    else if (kind === "string") {
      setElement(array, i, new TextEncoder().encode(`w${Math.floor(next() * 1000)}`));
    } else setElement(array, i, isBigInt(dtype) ? BigInt(Math.round(number(i))) : number(i));
  }
  return array;
}

/** Returns a generator of reproducible numbers in [0, 1). */
export function uniform(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffled(n: number, next: () => number): number[] {
  const order = Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = Math.floor(next() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** Formats a sample for messages. */
export function sampleTitle(sample: OpSample): string {
  if (sample.title !== undefined) return sample.title;
  const inputs = sample.inputs.map((i) => {
    if (!(i instanceof NdArray)) return `${i.dtype ?? ""}[${i.shape}]`;
    return i.size <= 8
      ? JSON.stringify(i.toArray(), (_, v) => (typeof v === "bigint" ? String(v) : v))
      : `${i.dtype}[${i.shape}]`;
  });
  const attrs = Object.entries(sample.attrs ?? {}).map(([k, v]) =>
    `${k}=${Array.isArray(v) ? `[${v}]` : String(v)}`
  );
  return [inputs.join(" "), ...attrs].join(" ");
}
