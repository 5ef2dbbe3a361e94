/** Formats of floats: their digits and range, and codes of those for which JavaScript has no typed array. */

/** Conversion between numbers and the bits that an array holds in their place. */
export interface FloatCode {
  decode(bits: number): number;
  /** Returns the bits of the nearest number, ties to even. */
  encode(value: number): number;
}

/** A format of floats. */
export interface FloatFormat {
  /** Binary digits behind the leading one: numbers at 1 are `2 ** -fraction` apart. */
  readonly fraction: number;
  /** The least normal number. */
  readonly least: number;
  /** The greatest finite number. */
  readonly greatest: number;
  /** Code of the array's elements; null where they are numbers. */
  readonly code: FloatCode | null;
}

const f32 = new Float32Array(1);
const u32 = new Uint32Array(f32.buffer);

export const FLOAT64: FloatFormat = {
  fraction: 52,
  least: 2 ** -1022,
  greatest: Number.MAX_VALUE,
  code: null,
};
export const FLOAT32: FloatFormat = {
  fraction: 23,
  least: 2 ** -126,
  greatest: 3.4028234663852886e38,
  code: null,
};
export const FLOAT16: FloatFormat = { fraction: 10, least: 2 ** -14, greatest: 65504, code: null };
export const BFLOAT16: FloatFormat = {
  fraction: 7,
  least: 2 ** -126,
  greatest: 3.3895313892515355e38,
  code: {
    decode(bits) {
      u32[0] = bits << 16;
      return f32[0];
    },
    encode(value) {
      f32[0] = value;
      const bits = u32[0];
      // JavaScript does not define the bits of NaN.
      if (Number.isNaN(value)) return 0x7fc0;
      return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
    },
  },
};
