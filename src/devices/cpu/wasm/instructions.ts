/**
 * WebAssembly instructions as functions of typed values: `f32x4.add(a, b)` joins two `Value<"f32x4">` into one, and TypeScript
 * refuses a sum of unlike ones. A number stands for a constant.
 */
import { unsigned } from "./bytes.ts";
import type {
  Arithmetic,
  Basic,
  Binary,
  Bits,
  Comparisons,
  F32,
  F32x4,
  F64,
  F64x2,
  FloatVector,
  I16x8,
  I32,
  I32x4,
  I64x2,
  I8x16,
  Lanes,
  Load,
  Loads,
  Shift,
  Unary,
} from "./instruction_types.ts";
import {
  type Code,
  constant,
  lift,
  type ScalarType,
  Value,
  type ValueType,
  type VectorType,
} from "./value.ts";

/** Opcodes above 0xff are of the vector page, 0xfd. */
function opcode(op: number): Code {
  return op > 0xff ? [0xfd, unsigned(op - SIMD)] : [op];
}
const SIMD = 0x1000;
const SHUFFLE = 13;

function unary<T extends ValueType, R extends ValueType>(from: T, op: number, to: R): Unary<T, R> {
  return (a) => new Value(to, [lift(from, a).code, opcode(op)]);
}
function binary<T extends ValueType, R extends ValueType>(
  from: T,
  op: number,
  to: R,
): Binary<T, R> {
  return (a, b) => new Value(to, [lift(from, a).code, lift(from, b).code, opcode(op)]);
}
function shift<T extends ValueType>(type: T, op: number): Shift<T> {
  return (a, count) => new Value(type, [lift(type, a).code, lift("i32", count).code, opcode(op)]);
}
/** `align` is the exponent of the natural alignment, which engines take as a hint only. */
function load<T extends ValueType>(type: T, op: number, align: number): Load<T> {
  return (address, offset = 0) => {
    return new Value(type, [lift("i32", address).code, opcode(op), align, unsigned(offset)]);
  };
}
/** `a + b`, leaving out additions of 0 and folding constants: addresses are full of them. */
const addI32: Binary<"i32"> = (a, b) => {
  const x = lift("i32", a), y = lift("i32", b);
  if (x.constant === 0) return y;
  if (y.constant === 0) return x;
  if (x.constant !== undefined && y.constant !== undefined) {
    return constant("i32", x.constant + y.constant);
  }
  return new Value("i32", [x.code, y.code, 0x6a]);
};
const mulI32: Binary<"i32"> = (a, b) => {
  const x = lift("i32", a), y = lift("i32", b);
  if (x.constant === 1) return y;
  if (y.constant === 1) return x;
  if (x.constant !== undefined && y.constant !== undefined) {
    return constant("i32", Math.imul(x.constant, y.constant));
  }
  return new Value("i32", [x.code, y.code, 0x6c]);
};

function basic<T extends ValueType>(type: T): Basic<T> {
  return { const: (value) => constant(type, value) };
}
/** Sum, difference and product, from their opcodes. */
function arithmetic<T extends ValueType>(
  type: T,
  add: number,
  sub: number,
  mul: number,
): Arithmetic<T> {
  return {
    ...basic(type),
    add: binary(type, add, type),
    sub: binary(type, sub, type),
    mul: binary(type, mul, type),
  };
}
/** The six comparisons, from their opcodes. */
function comparisons<T extends ValueType, M extends ValueType>(
  type: T,
  mask: M,
  [eq, ne, lt, gt, le, ge]: readonly number[],
): Comparisons<T, M> {
  const of = (op: number): Binary<T, M> => binary(type, op, mask);
  return { eq: of(eq), ne: of(ne), lt: of(lt), gt: of(gt), le: of(le), ge: of(ge) };
}
function bits<T extends VectorType>(type: T): Bits<T> {
  return {
    and: binary(type, SIMD + 78, type),
    andNot: binary(type, SIMD + 79, type),
    or: binary(type, SIMD + 80, type),
    xor: binary(type, SIMD + 81, type),
    select: (yes, no, mask) =>
      new Value(type, [lift(type, yes).code, lift(type, no).code, mask.code, opcode(SIMD + 82)]),
    ofBits: (a) => new Value(type, a.code),
  };
}
/** Lane access, from the opcodes of splat, extract_lane and replace_lane. */
function lanes<T extends VectorType, S extends ScalarType>(
  type: T,
  scalar: S,
  ops: readonly number[],
): Lanes<T, S> {
  return {
    splat: unary(scalar, ops[0], type),
    lane: (a, lane) => new Value(scalar, [a.code, opcode(ops[1]), lane]),
    withLane: (a, lane, x) => new Value(type, [a.code, lift(scalar, x).code, opcode(ops[2]), lane]),
  };
}
function loads<T extends VectorType>(type: T): Loads<T> {
  return {
    load: load(type, SIMD + 0, 2),
    loadSplat: load(type, SIMD + 9, 2),
    loadFirst: load(type, SIMD + 92, 2),
    loadPair: load(type, SIMD + 93, 2),
    shuffle: (a, b, order) => {
      const bytes = order.flatMap((l) => [4 * l, 4 * l + 1, 4 * l + 2, 4 * l + 3]);
      return new Value(type, [a.code, b.code, opcode(SIMD + SHUFFLE), bytes]);
    },
  };
}
/** Both float vectors have their instructions in the same order, at different places. */
function floats<T extends VectorType, S extends ScalarType, M extends VectorType>(
  type: T,
  scalar: S,
  mask: M,
  at: {
    compare: number;
    arithmetic: number;
    lanes: readonly number[];
    round: readonly number[];
    madd: number;
  },
): FloatVector<T, S, M> {
  const one = (op: number): Unary<T> => unary(type, op, type);
  const two = (op: number): Binary<T> => binary(type, op, type);
  const a = SIMD + at.arithmetic;
  return {
    ...arithmetic(type, a + 4, a + 5, a + 6),
    ...comparisons(type, mask, [0, 1, 2, 3, 4, 5].map((i) => SIMD + at.compare + i)),
    ...bits(type),
    ...lanes(type, scalar, at.lanes),
    abs: one(a),
    neg: one(a + 1),
    sqrt: one(a + 3),
    div: two(a + 7),
    min: two(a + 8),
    max: two(a + 9),
    pmin: two(a + 10),
    pmax: two(a + 11),
    ceil: one(SIMD + at.round[0]),
    floor: one(SIMD + at.round[1]),
    trunc: one(SIMD + at.round[2]),
    nearest: one(SIMD + at.round[3]),
    relaxedMadd: (x, y, z) =>
      new Value(type, [
        lift(type, x).code,
        lift(type, y).code,
        lift(type, z).code,
        opcode(SIMD + at.madd),
      ]),
  };
}

/** Instructions on i32. Sums and products of constants are folded: addresses are full of them. */
export const i32: I32 = {
  ...basic("i32"),
  ...comparisons("i32", "i32", [0x46, 0x47, 0x48, 0x4a, 0x4c, 0x4e]),
  add: addI32,
  sub: binary("i32", 0x6b, "i32"),
  mul: mulI32,
  load: load("i32", 0x28, 2),
  load8u: load("i32", 0x2d, 0),
  eqz: unary("i32", 0x45, "i32"),
  ltU: binary("i32", 0x49, "i32"),
  gtU: binary("i32", 0x4b, "i32"),
  geU: binary("i32", 0x4f, "i32"),
  div: binary("i32", 0x6d, "i32"),
  divU: binary("i32", 0x6e, "i32"),
  rem: binary("i32", 0x6f, "i32"),
  remU: binary("i32", 0x70, "i32"),
  and: binary("i32", 0x71, "i32"),
  or: binary("i32", 0x72, "i32"),
  xor: binary("i32", 0x73, "i32"),
  shl: binary("i32", 0x74, "i32"),
  shr: binary("i32", 0x75, "i32"),
  shrU: binary("i32", 0x76, "i32"),
  rotl: binary("i32", 0x77, "i32"),
  ctz: unary("i32", 0x68, "i32"),
  ofF32Bits: unary("f32", 0xbc, "i32"),
  ofF64: unary("f64", 0xaa, "i32"),
  anyTrue: unary("i32x4", SIMD + 83, "i32"),
  allTrue: unary("i32x4", SIMD + 163, "i32"),
  allBytesTrue: unary("i8x16", SIMD + 99, "i32"),
  bitmask: unary("i32x4", SIMD + 164, "i32"),
};

/** Instructions on f32. */
export const f32: F32 = {
  ...arithmetic("f32", 0x92, 0x93, 0x94),
  ...comparisons("f32", "i32", [0x5b, 0x5c, 0x5d, 0x5e, 0x5f, 0x60]),
  load: load("f32", 0x2a, 2),
  div: binary("f32", 0x95, "f32"),
  abs: unary("f32", 0x8b, "f32"),
  neg: unary("f32", 0x8c, "f32"),
  floor: unary("f32", 0x8e, "f32"),
  sqrt: unary("f32", 0x91, "f32"),
  min: binary("f32", 0x96, "f32"),
  max: binary("f32", 0x97, "f32"),
  ofI32: unary("i32", 0xb2, "f32"),
  ofF64: unary("f64", 0xb6, "f32"),
  ofBits: unary("i32", 0xbe, "f32"),
};

/** Instructions on f64. */
export const f64: F64 = {
  ...arithmetic("f64", 0xa0, 0xa1, 0xa2),
  ...comparisons("f64", "i32", [0x61, 0x62, 0x63, 0x64, 0x65, 0x66]),
  load: load("f64", 0x2b, 3),
  div: binary("f64", 0xa3, "f64"),
  floor: unary("f64", 0x9c, "f64"),
  ofF32: unary("f32", 0xbb, "f64"),
  ofI32: unary("i32", 0xb7, "f64"),
};

/** Instructions on four f32. */
export const f32x4: F32x4 = {
  ...floats("f32x4", "f32", "i32x4", {
    compare: 65,
    arithmetic: 224,
    lanes: [SIMD + 19, SIMD + 31, SIMD + 32],
    round: [103, 104, 105, 106],
    madd: 0x105,
  }),
  ...loads("f32x4"),
  ofI32: unary("i32x4", SIMD + 250, "f32x4"),
  ofU32: unary("i32x4", SIMD + 251, "f32x4"),
  ofF64: unary("f64x2", SIMD + 94, "f32x4"),
};

/** Instructions on two f64. */
export const f64x2: F64x2 = {
  ...floats("f64x2", "f64", "i64x2", {
    compare: 71,
    arithmetic: 236,
    lanes: [SIMD + 20, SIMD + 33, SIMD + 34],
    round: [116, 117, 122, 148],
    madd: 0x107,
  }),
  load: load("f64x2", SIMD + 0, 3),
  ofF32: unary("f32x4", SIMD + 95, "f64x2"),
  ofI32: unary("i32x4", SIMD + 254, "f64x2"),
  ofU32: unary("i32x4", SIMD + 255, "f64x2"),
};

/** Instructions on four i32. */
export const i32x4: I32x4 = {
  ...arithmetic("i32x4", SIMD + 174, SIMD + 177, SIMD + 181),
  ...comparisons("i32x4", "i32x4", [55, 56, 57, 59, 61, 63].map((op) => SIMD + op)),
  ...bits("i32x4"),
  ...lanes("i32x4", "i32", [SIMD + 17, SIMD + 27, SIMD + 28]),
  ...loads("i32x4"),
  ltU: binary("i32x4", SIMD + 58, "i32x4"),
  gtU: binary("i32x4", SIMD + 60, "i32x4"),
  leU: binary("i32x4", SIMD + 62, "i32x4"),
  geU: binary("i32x4", SIMD + 64, "i32x4"),
  not: unary("i32x4", SIMD + 77, "i32x4"),
  abs: unary("i32x4", SIMD + 160, "i32x4"),
  neg: unary("i32x4", SIMD + 161, "i32x4"),
  shl: shift("i32x4", SIMD + 171),
  shr: shift("i32x4", SIMD + 172),
  shrU: shift("i32x4", SIMD + 173),
  min: binary("i32x4", SIMD + 182, "i32x4"),
  minU: binary("i32x4", SIMD + 183, "i32x4"),
  max: binary("i32x4", SIMD + 184, "i32x4"),
  maxU: binary("i32x4", SIMD + 185, "i32x4"),
  ofF32: unary("f32x4", SIMD + 248, "i32x4"),
  ofF32U: unary("f32x4", SIMD + 249, "i32x4"),
  ofF64: unary("f64x2", SIMD + 252, "i32x4"),
  ofF64U: unary("f64x2", SIMD + 253, "i32x4"),
  ofLowU16: unary("i16x8", SIMD + 169, "i32x4"),
  ofHighU16: unary("i16x8", SIMD + 170, "i32x4"),
};

/** Instructions on two i64. */
export const i64x2: I64x2 = {
  ...basic("i64x2"),
  ...bits("i64x2"),
  shl: shift("i64x2", SIMD + 203),
  shr: shift("i64x2", SIMD + 204),
  shrU: shift("i64x2", SIMD + 205),
  add: binary("i64x2", SIMD + 206, "i64x2"),
  sub: binary("i64x2", SIMD + 209, "i64x2"),
  mulLowU32: binary("i32x4", SIMD + 222, "i64x2"),
  mulHighU32: binary("i32x4", SIMD + 223, "i64x2"),
};

/** Instructions on eight i16. */
export const i16x8: I16x8 = {
  ...bits("i16x8"),
  ofLowU8: unary("i8x16", SIMD + 137, "i16x8"),
  ofHighU8: unary("i8x16", SIMD + 138, "i16x8"),
  narrow: binary("i32x4", SIMD + 133, "i16x8"),
};

/** Instructions on sixteen bytes. */
export const i8x16: I8x16 = {
  ...basic("i8x16"),
  ...bits("i8x16"),
  load: load("i8x16", SIMD + 0, 0),
  loadSplat: load("i8x16", SIMD + 7, 0),
  loadFour: load("i8x16", SIMD + 92, 0),
  splat: unary("i32", SIMD + 15, "i8x16"),
  ltU: binary("i8x16", SIMD + 38, "i8x16"),
  minU: binary("i8x16", SIMD + 119, "i8x16"),
  maxU: binary("i8x16", SIMD + 121, "i8x16"),
  narrow: binary("i16x8", SIMD + 101, "i8x16"),
  swizzle: binary("i8x16", SIMD + 14, "i8x16"),
  shuffle: (a, b, lanes) => new Value("i8x16", [a.code, b.code, opcode(SIMD + SHUFFLE), lanes]),
};
