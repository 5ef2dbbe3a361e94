/**
 * WebAssembly instructions as functions of typed values: `f32x4.add(a, b)` joins two `Value<"f32x4">` into one, and
 * TypeScript rejects a sum of unlike ones. A number stands for a constant.
 */
import {
  type Bits,
  type Comparisons,
  comparisons,
  type Floats,
  floats,
  type Instructions,
  type Lanes,
  lanes,
  type Load,
  load,
  type Loads,
  loads,
  type Numbers,
  numbers,
  SHUFFLE,
  vectors,
} from "./instruction_kinds.ts";
import { constant, lift, type Operand, Value } from "./value.ts";

const I32 = {
  eqz: ["own", 0x45],
  ltU: ["own", "own", 0x49],
  gtU: ["own", "own", 0x4b],
  geU: ["own", "own", 0x4f],
  /** Zero bits below the lowest one. */
  ctz: ["own", 0x68],
  sub: ["own", "own", 0x6b],
  div: ["own", "own", 0x6d],
  divU: ["own", "own", 0x6e],
  rem: ["own", "own", 0x6f],
  and: ["own", "own", 0x71],
  or: ["own", "own", 0x72],
  xor: ["own", "own", 0x73],
  shl: ["own", "own", 0x74],
  shr: ["own", "own", 0x75],
  shrU: ["own", "own", 0x76],
  /** Truncates; traps where the number does not fit. */
  ofF64: ["f64", 0xaa],
  /** 1 where any bit is set. */
  anyTrue: ["i32x4", 0xfd053],
  /** 1 where no byte is 0. */
  allBytesTrue: ["i8x16", 0xfd063],
  /** 1 where no lane is 0. */
  allTrue: ["i32x4", 0xfd0a3],
  /** The top bits of the lanes. */
  bitmask: ["i32x4", 0xfd0a4],
} as const;
/** Makes a sum or a product. Neutral operands and constants are folded: addresses are full of them. */
function folded(op: number, neutral: number, fold: (a: number, b: number) => number): Folded {
  return (a, b) => {
    const x = lift("i32", a), y = lift("i32", b);
    if (x.constant === neutral) return y;
    if (y.constant === neutral) return x;
    if (x.constant !== undefined && y.constant !== undefined) {
      return constant("i32", fold(x.constant, y.constant));
    }
    return new Value("i32", [x.code, y.code, op]);
  };
}
type Folded = (a: Operand<"i32">, b: Operand<"i32">) => Value<"i32">;
export const i32: Numbers<"i32"> & Instructions<"i32", typeof I32> & {
  readonly add: Folded;
  readonly mul: Folded;
  readonly load8u: Load<"i32">;
  readonly load8s: Load<"i32">;
  readonly load16s: Load<"i32">;
  readonly load16u: Load<"i32">;
} = {
  ...numbers("i32", I32, { compare: [0x46, 0x47, 0x48, 0x4a, 0x4c, 0x4e], load: [0x28, 2] }),
  add: folded(0x6a, 0, (a, b) => a + b),
  mul: folded(0x6c, 1, Math.imul),
  load8u: load("i32", 0x2d, 0),
  load8s: load("i32", 0x2c, 0),
  load16s: load("i32", 0x2e, 1),
  load16u: load("i32", 0x2f, 1),
};

const F32 = {
  add: ["own", "own", 0x92],
  ofF64: ["f64", 0xb6],
} as const;
export const f32: Numbers<"f32"> & Instructions<"f32", typeof F32> = numbers("f32", F32, {
  compare: [0x5b, 0x5c, 0x5d, 0x5e, 0x5f, 0x60],
  load: [0x2a, 2],
});

const F64 = {
  floor: ["own", 0x9c],
  add: ["own", "own", 0xa0],
  sub: ["own", "own", 0xa1],
  mul: ["own", "own", 0xa2],
  div: ["own", "own", 0xa3],
  ofI32: ["i32", 0xb7],
  ofF32: ["f32", 0xbb],
} as const;
export const f64: Numbers<"f64"> & Instructions<"f64", typeof F64> = numbers("f64", F64, {
  compare: [0x61, 0x62, 0x63, 0x64, 0x65, 0x66],
  load: [0x2b, 3],
});

const F32X4 = {
  /** Two f64 rounded into the low lanes; the high lanes are 0. */
  ofF64: ["f64x2", 0xfd05e],
  ceil: ["own", 0xfd067],
  floor: ["own", 0xfd068],
  trunc: ["own", 0xfd069],
  /** To the nearest integer, ties to even. */
  nearest: ["own", 0xfd06a],
  ofI32: ["i32x4", 0xfd0fa],
  ofU32: ["i32x4", 0xfd0fb],
} as const;
export const f32x4:
  & Floats<"f32x4">
  & Comparisons<"f32x4", "i32x4">
  & Lanes<"f32x4", "f32">
  & Loads<"f32x4">
  & Instructions<"f32x4", typeof F32X4> = {
    ...floats("f32x4", F32X4, { abs: 0xfd0e0, madd: 0xfd105 }),
    ...comparisons("f32x4", "i32x4", [0xfd041, 0xfd042, 0xfd043, 0xfd044, 0xfd045, 0xfd046]),
    ...lanes("f32x4", "f32", [0xfd013, 0xfd01f, 0xfd020]),
    ...loads("f32x4"),
  };

const F64X2 = {
  /** The low lanes of four f32. */
  ofF32: ["f32x4", 0xfd05f],
  /** The low lanes of four i32. */
  ofI32: ["i32x4", 0xfd0fe],
  ofU32: ["i32x4", 0xfd0ff],
  floor: ["own", 0xfd075],
  trunc: ["own", 0xfd07a],
  /** To the nearest integer, ties to even. */
  nearest: ["own", 0xfd094],
} as const;
export const f64x2:
  & Floats<"f64x2">
  & Comparisons<"f64x2", "i64x2">
  & Lanes<"f64x2", "f64">
  & Instructions<"f64x2", typeof F64X2>
  & { readonly load: Load<"f64x2">; readonly loadSplat: Load<"f64x2"> } = {
    ...floats("f64x2", F64X2, { abs: 0xfd0ec, madd: 0xfd107 }),
    ...comparisons("f64x2", "i64x2", [0xfd047, 0xfd048, 0xfd049, 0xfd04a, 0xfd04b, 0xfd04c]),
    ...lanes("f64x2", "f64", [0xfd014, 0xfd021, 0xfd022]),
    load: load("f64x2", 0xfd000, 3),
    loadSplat: load("f64x2", 0xfd00a, 3),
  };

const I32X4 = {
  ltU: ["own", "own", 0xfd03a],
  gtU: ["own", "own", 0xfd03c],
  leU: ["own", "own", 0xfd03e],
  geU: ["own", "own", 0xfd040],
  not: ["own", 0xfd04d],
  abs: ["own", 0xfd0a0],
  neg: ["own", 0xfd0a1],
  /** The low four of eight i16, with their signs. */
  ofLow16: ["i16x8", 0xfd0a7],
  /** The high four of eight i16, with their signs. */
  ofHigh16: ["i16x8", 0xfd0a8],
  /** The low four of eight unsigned i16. */
  ofLowU16: ["i16x8", 0xfd0a9],
  /** The high four of eight unsigned i16. */
  ofHighU16: ["i16x8", 0xfd0aa],
  shl: ["own", "i32", 0xfd0ab],
  shr: ["own", "i32", 0xfd0ac],
  shrU: ["own", "i32", 0xfd0ad],
  add: ["own", "own", 0xfd0ae],
  sub: ["own", "own", 0xfd0b1],
  mul: ["own", "own", 0xfd0b5],
  min: ["own", "own", 0xfd0b6],
  minU: ["own", "own", 0xfd0b7],
  max: ["own", "own", 0xfd0b8],
  maxU: ["own", "own", 0xfd0b9],
  /** Sums of the products of neighbours among eight i16. */
  dot: ["i16x8", "i16x8", 0xfd0ba],
  /** Truncates and saturates; NaN becomes 0. */
  ofF32: ["f32x4", 0xfd0f8],
  /** Two f64, truncated and saturated into the low lanes. */
  ofF64: ["f64x2", 0xfd0fc],
  ofF64U: ["f64x2", 0xfd0fd],
} as const;
export const i32x4:
  & Bits<"i32x4">
  & Comparisons<"i32x4", "i32x4">
  & Lanes<"i32x4", "i32">
  & Loads<"i32x4">
  & Instructions<"i32x4", typeof I32X4>
  & {
    /** Loads four i16, with their signs. */
    readonly loadHalves: Load<"i32x4">;
    /** Adds the products of four neighbours among signed bytes `a` and bytes `b`, whose highest bits mean what the machine chooses. */
    readonly relaxedDot: (
      a: Value<"i8x16">,
      b: Value<"i8x16">,
      sum: Value<"i32x4">,
    ) => Value<"i32x4">;
  } = {
    ...vectors("i32x4", I32X4),
    ...comparisons("i32x4", "i32x4", [0xfd037, 0xfd038, 0xfd039, 0xfd03b, 0xfd03d, 0xfd03f]),
    ...lanes("i32x4", "i32", [0xfd011, 0xfd01b, 0xfd01c]),
    ...loads("i32x4"),
    loadHalves: load("i32x4", 0xfd003, 1),
    relaxedDot: (a, b, sum) => new Value("i32x4", [a.code, b.code, sum.code, [0xfd, 0x93, 0x02]]),
  };

const I64X2 = {
  shl: ["own", "i32", 0xfd0cb],
  shrU: ["own", "i32", 0xfd0cd],
  add: ["own", "own", 0xfd0ce],
  sub: ["own", "own", 0xfd0d1],
} as const;
export const i64x2: Bits<"i64x2"> & Instructions<"i64x2", typeof I64X2> = vectors("i64x2", I64X2);

const I16X8 = {
  gt: ["own", "own", 0xfd031],
  max: ["own", "own", 0xfd098],
  shrU: ["own", "i32", 0xfd08d],
  /** Two vectors of i32 lanes, saturated. */
  narrow: ["i32x4", "i32x4", 0xfd085],
  /** The same to unsigned lanes. */
  narrowU: ["i32x4", "i32x4", 0xfd086],
  ofLowU8: ["i8x16", 0xfd089],
  ofHighU8: ["i8x16", 0xfd08a],
} as const;
/** Instructions on eight i16: the step between bytes and words. */
export const i16x8: Bits<"i16x8"> & Instructions<"i16x8", typeof I16X8> & {
  readonly load: Load<"i16x8">;
} = { ...vectors("i16x8", I16X8), load: load("i16x8", 0xfd000, 1) };

const I8X16 = {
  /** The lanes of the first that the second names. */
  swizzle: ["own", "own", 0xfd00e],
  splat: ["i32", 0xfd00f],
  ltU: ["own", "own", 0xfd026],
  /** Two vectors of i16 lanes, saturated. */
  narrow: ["i16x8", "i16x8", 0xfd065],
  /** The same to unsigned lanes. */
  narrowU: ["i16x8", "i16x8", 0xfd066],
  minU: ["own", "own", 0xfd077],
  maxU: ["own", "own", 0xfd079],
} as const;
export const i8x16: Bits<"i8x16"> & Instructions<"i8x16", typeof I8X16> & {
  readonly load: Load<"i8x16">;
  readonly loadSplat: Load<"i8x16">;
  /** Four bytes of memory in the low lanes, zeros in the others. */
  readonly loadFour: Load<"i8x16">;
  /** Sixteen lanes of two vectors, 0–15 from `a` and 16–31 from `b`. */
  readonly shuffle: (
    a: Value<"i8x16">,
    b: Value<"i8x16">,
    lanes: readonly number[],
  ) => Value<"i8x16">;
} = {
  ...vectors("i8x16", I8X16),
  load: load("i8x16", 0xfd000, 0),
  loadSplat: load("i8x16", 0xfd007, 0),
  loadFour: load("i8x16", 0xfd05c, 0),
  shuffle: (a, b, lanes) => new Value("i8x16", [a.code, b.code, SHUFFLE, lanes]),
};
