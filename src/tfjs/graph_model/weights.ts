/** Weights in TensorFlow.js's files: bytes of many tensors one after the other, some of them quantized. */
import { wantObject } from "../../engine/core/arguments.ts";
import { asDType, DTYPES, type HostData } from "../../engine/core/dtype.ts";
import { DataLossError, UnimplementedError, ValueError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { sizeOf } from "../../engine/core/shape.ts";

/** Quantization of a weight: `value = min + scale * q`, or half precision. */
export interface Quantization {
  /** The stored type. */
  readonly dtype: "uint8" | "uint16" | "float16";
  /** Step between neighbouring values. */
  readonly scale?: number;
  /** Value of 0. */
  readonly min?: number;
}

/** A weight of a manifest. */
export interface WeightSpec {
  /** Name of the constant. */
  readonly name: string;
  /** Shape. */
  readonly shape: readonly number[];
  /** Dtype in the graph. */
  readonly dtype: string;
  /** Quantization, where the stored type differs from the dtype. */
  readonly quantization?: Quantization;
}

/** A sequential reader of bytes in several pieces. */
export class Pieces {
  readonly #pieces: readonly Uint8Array[];
  #piece = 0;
  #at = 0;

  constructor(pieces: readonly Uint8Array[]) {
    this.#pieces = pieces.filter((p) => p.length > 0);
  }

  /**
   * Reads the next bytes, aligned for any element: a view of one piece, or a copy. Throws `DataLossError` where they
   * end too early.
   */
  take(n: number, what: string): Uint8Array<ArrayBuffer> {
    const here = this.#pieces[this.#piece];
    if (
      here !== undefined && here.length - this.#at >= n && (here.byteOffset + this.#at) % 8 === 0
    ) {
      const view = here.subarray(this.#at, this.#at + n) as Uint8Array<ArrayBuffer>;
      this.#skip(n);
      return view;
    }
    // Checked before memory is allocated: a manifest may name any shape.
    if (n > this.#left()) {
      throw new DataLossError(`Cannot read weight ${what}: the files end before its ${n} bytes`);
    }
    const out = new Uint8Array(n);
    for (let done = 0; done < n;) {
      const piece = this.#pieces[this.#piece];
      const part = piece.subarray(this.#at, this.#at + n - done);
      out.set(part, done);
      done += part.length;
      this.#skip(part.length);
    }
    return out;
  }

  #left(): number {
    const rest = this.#pieces.slice(this.#piece).reduce((n, p) => n + p.length, 0);
    return rest - this.#at;
  }

  #skip(n: number): void {
    this.#at += n;
    if (this.#at === this.#pieces[this.#piece]?.length) {
      this.#piece++;
      this.#at = 0;
    }
  }
}

/**
 * Decodes the weights of specs, in their order. Throws `DataLossError` where bytes are missing, `ValueError` for a bad
 * spec.
 */
export function decodeWeights(
  pieces: readonly Uint8Array[],
  specs: readonly WeightSpec[],
): Map<string, NdArray> {
  const bytes = new Pieces(pieces);
  const out = new Map<string, NdArray>();
  for (const spec of specs) {
    wantObject(spec, "specs[]", "decodeWeights", "the spec of a weight");
    if (out.has(spec.name)) {
      throw new ValueError(`Cannot read weights: "${spec.name}" is there twice`);
    }
    out.set(spec.name, decodeWeight(bytes, spec));
  }
  return out;
}

function decodeWeight(bytes: Pieces, spec: WeightSpec): NdArray {
  const { name, shape, quantization } = spec;
  if (!Array.isArray(shape) || shape.some((d) => !(Number.isSafeInteger(d) && d >= 0))) {
    throw new ValueError(`Cannot read weight ${name}: its shape is ${JSON.stringify(shape)}`);
  }
  const dtype = asDType(spec.dtype);
  const size = sizeOf(shape);
  if (dtype === "string") return new NdArray("string", shape, strings(bytes, size, name));
  if (quantization !== undefined) return dequantize(bytes, { ...spec, dtype, quantization });
  const { array, bytes: width } = DTYPES[dtype];
  if (array === undefined) {
    throw new UnimplementedError(`Cannot read weight ${name}: no array here holds ${dtype}`);
  }
  const raw = bytes.take(size * width, name);
  const slots = size * DTYPES[dtype].slots;
  return new NdArray(dtype, shape, new array(raw.buffer, raw.byteOffset, slots) as HostData);
}

/** Reads strings, each its length in 32 bits and its bytes. */
function strings(bytes: Pieces, size: number, name: string): Uint8Array[] {
  const out: Uint8Array[] = [];
  for (let i = 0; i < size; i++) {
    const length = bytes.take(4, name);
    const n = new DataView(length.buffer, length.byteOffset).getUint32(0, true);
    out.push(bytes.take(n, name).slice());
  }
  return out;
}

function dequantize(
  bytes: Pieces,
  { name, shape, dtype, quantization }: {
    readonly name: string;
    readonly shape: readonly number[];
    readonly dtype: "float32" | string;
    readonly quantization: Quantization;
  },
): NdArray {
  if (dtype !== "float32" && dtype !== "int32") {
    throw new ValueError(`Cannot read weight ${name}: ${dtype} is not stored quantized`);
  }
  const size = sizeOf(shape);
  if (quantization.dtype === "float16") {
    const raw = bytes.take(2 * size, name);
    const out = NdArray.zeros(dtype, shape), target = out.data as Float32Array | Int32Array;
    const bits = new Uint16Array(raw.buffer, raw.byteOffset, size);
    const numbers = halves ??= Float32Array.from({ length: 1 << 16 }, (_, b) => halfToNumber(b));
    for (let i = 0; i < size; i++) target[i] = numbers[bits[i]];
    return out;
  }
  if (quantization.dtype !== "uint8" && quantization.dtype !== "uint16") {
    throw new ValueError(
      `Cannot read weight ${name}: it is stored as ${quantization.dtype}, wanted uint8, uint16 or float16`,
    );
  }
  const { scale, min } = quantization;
  if (typeof scale !== "number" || typeof min !== "number") {
    throw new ValueError(`Cannot read weight ${name}: its quantization has no scale and min`);
  }
  const width = quantization.dtype === "uint8" ? 1 : 2;
  const raw = bytes.take(width * size, name);
  const q = width === 1 ? raw : new Uint16Array(raw.buffer, raw.byteOffset, size);
  const out = NdArray.zeros(dtype, shape), target = out.data as Float32Array | Int32Array;
  if (dtype === "int32") {
    for (let i = 0; i < size; i++) {
      target[i] = Math.round(q[i] * scale + min);
    }
  } else for (let i = 0; i < size; i++) target[i] = q[i] * scale + min;
  return out;
}

/** The value of each half-precision number: models have millions of them, and every value many times. */
let halves: Float32Array | undefined;

function halfToNumber(bits: number): number {
  const exponent = bits >> 10 & 31, fraction = bits & 1023, sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}
