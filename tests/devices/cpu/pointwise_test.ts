/** Vector code of scalar expressions: against JavaScript's Math in float64, and against the plain loops. */

import { assert, assertEquals, fail } from "@std/assert";
import { type DType, DTYPES } from "../../../src/engine/core/dtype.ts";
import { NdArray } from "../../../src/engine/core/nd_array.ts";
import {
  argument,
  castTo,
  type Expr,
  exprType,
  scalar as s,
} from "../../../src/engine/core/scalar/expr.ts";
import { JS_HELPERS } from "../../../src/engine/core/scalar/js.ts";
import { sizeOf } from "../../../src/engine/core/shape.ts";
import type { Engine } from "../../../src/engine/devices/cpu/engine.ts";
import { preparePointwise } from "../../../src/engine/devices/cpu/pointwise/pointwise.ts";
import { pointwiseCpu } from "../../../src/engine/kernels/host/pointwise.ts";
import { ENGINES, put, randomSource, take, ulps } from "./engines.ts";

type Fn = (...x: number[]) => number;
const FLOAT: Record<string, { fn: Fn; range?: readonly [number, number]; ulps?: number }> = {
  exp: { fn: Math.exp, range: [-110, 95], ulps: 2 },
  log: { fn: Math.log, range: [0, 3], ulps: 2 },
  tanh: { fn: Math.tanh, range: [-12, 12], ulps: 2 },
  erf: { fn: JS_HELPERS.erf as Fn, range: [-5, 5], ulps: 2 },
  expm1: { fn: Math.expm1, range: [-2, 2], ulps: 2 },
  log1p: { fn: Math.log1p, range: [-1, 2], ulps: 1 },
  sin: { fn: Math.sin, range: [-100, 100], ulps: 1 },
  cos: { fn: Math.cos, range: [-100, 100], ulps: 1 },
  tan: { fn: Math.tan, range: [-100, 100], ulps: 1 },
  asin: { fn: Math.asin, range: [-1, 1], ulps: 1 },
  acos: { fn: Math.acos, range: [-1, 1], ulps: 1 },
  atan: { fn: Math.atan, range: [-5, 5], ulps: 2 },
  sinh: { fn: Math.sinh, range: [-5, 5], ulps: 1 },
  cosh: { fn: Math.cosh, range: [-5, 5], ulps: 1 },
  asinh: { fn: Math.asinh, range: [-5, 5], ulps: 1 },
  acosh: { fn: Math.acosh, range: [1, 5], ulps: 1 },
  atanh: { fn: Math.atanh, range: [-1, 1], ulps: 1 },
  rsqrt: { fn: (x) => 1 / Math.sqrt(x), ulps: 1 },
  sqrt: { fn: Math.sqrt },
  floor: { fn: Math.floor, range: [-10, 10] },
  ceil: { fn: Math.ceil, range: [-10, 10] },
  trunc: { fn: Math.trunc, range: [-10, 10] },
  round: { fn: JS_HELPERS.roundEven as Fn, range: [-10, 10] },
  sign: { fn: Math.sign },
  abs: { fn: Math.abs },
  neg: { fn: (x) => -x },
  add: { fn: (x, y) => x + y },
  sub: { fn: (x, y) => x - y },
  mul: { fn: (x, y) => x * y },
  div: { fn: (x, y) => x / y },
  min: { fn: Math.min },
  max: { fn: Math.max },
  // C and TensorFlow, not JavaScript: powers of 1 are 1, and of -1 where the exponent is infinite.
  pow: {
    fn: (x, y) => x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : Math.pow(x, y),
    range: [0, 10],
    ulps: 1,
  },
  atan2: { fn: Math.atan2, range: [-3, 3], ulps: 2 },
  truncmod: { fn: (x, y) => x % y, range: [-10, 10] },
  floormod: { fn: JS_HELPERS.floorMod as Fn, range: [-10, 10] },
};

const SPECIAL = [
  0,
  -0,
  1,
  -1,
  Infinity,
  -Infinity,
  NaN,
  1e-45,
  -1e-45,
  2 ** -126,
  3.4e38,
  -3.4e38,
  0.5,
  -0.5,
  2,
  -2,
  3,
  -3,
  1e-10,
  -1e-10,
  88.5,
  89.5,
  -87.5,
  -103.5,
  -104.5,
  1e10,
  2 ** 30,
  7.5,
  -7.5,
  1.5,
];

const builders = s as unknown as Record<string, (...x: Expr[]) => Expr>;

/** Runs expressions on blocks; returns what the outputs hold. */
function run(
  engine: Engine,
  exprs: readonly Expr[],
  ins: readonly NdArray[],
  outs: readonly NdArray[],
): ArrayLike<number>[] {
  const kernel = preparePointwise(engine, exprs, ins, outs[0].shape);
  assert(kernel !== null, "no vector code");
  const i = ins.map((a) => put(engine, a)), o = outs.map((a) => put(engine, a));
  kernel(o, i);
  const results = o.map((p, k) => take(engine, p, outs[k]));
  [...ins, ...outs].forEach((a, k) =>
    engine.heap.free([...i, ...o][k], a.data.length * DTYPES[a.dtype].bytes)
  );
  return results;
}

for (const [name, engine] of ENGINES) {
  Deno.test(`float functions are Math's within two units in the last place: ${name}`, () => {
    const random = randomSource(7);
    for (const [op, { fn, range, ulps: allowed = 0 }] of Object.entries(FLOAT)) {
      const sets: Float32Array[][] = [];
      const arity = builders[op].length;
      const make = (next: () => number): Float32Array[] =>
        Array.from({ length: arity }, () => new Float32Array(4096).map(next));
      const cell = new Int32Array(1), float = new Float32Array(cell.buffer);
      sets.push(make(() => (cell[0] = random() * 2 ** 32, float[0])));
      if (range) sets.push(make(() => range[0] + (range[1] - range[0]) * random()));
      const pairs = SPECIAL.flatMap((x) => (arity === 1 ? [[x]] : SPECIAL.map((y) => [x, y])));
      sets.push(Array.from({ length: arity }, (_, k) => new Float32Array(pairs.map((p) => p[k]))));
      for (const data of sets) {
        const ins = data.map((d) => new NdArray("float32", [d.length], d));
        const [got] = run(engine, [builders[op](...ins.map((_, k) => argument(k)))], ins, [
          NdArray.zeros("float32", ins[0].shape),
        ]);
        for (let i = 0; i < got.length; i++) {
          const args = data.map((d) => d[i]);
          const want = Math.fround(fn(...args));
          const same = allowed === 0 ? Object.is(got[i], want) : ulps(got[i], want) <= allowed;
          if (!same) fail(`${op}(${args}): received ${got[i]}, wanted ${want}`);
        }
      }
    }
  });

  Deno.test(`integer and boolean functions are exact: ${name}`, () => {
    const random = randomSource(11);
    const edge = [0, 1, -1, 2, -2, 7, -7, 2147483647, -2147483648, 31, 33];
    const pairs = edge.flatMap((x) => edge.map((y) => [x, y]));
    for (let i = 0; i < 300; i++) {
      pairs.push([random() * 2 ** 32 | 0, (random() * 2 ** (i % 32)) | 0]);
    }
    const binary = [
      "add",
      "sub",
      "mul",
      "div",
      "floordiv",
      "floormod",
      "truncmod",
      "min",
      "max",
      "lt",
      "le",
      "gt",
      "ge",
      "eq",
      "ne",
      "bitand",
      "bitor",
      "bitxor",
      "shl",
      "shr",
    ];
    const unary = ["neg", "abs", "sign", "bitnot", "floor", "isnan", "isfinite"];
    for (const dtype of ["int32", "uint32", "bool"] as const) {
      const column = (k: number): NdArray => {
        const array = NdArray.zeros(dtype, [pairs.length]);
        pairs.forEach((p, i) => (array.data as Int32Array)[i] = dtype === "bool" ? p[k] & 1 : p[k]);
        return array;
      };
      const ops = dtype === "bool"
        ? ["and", "or", "xor", "min", "max", "lt", "le", "gt", "ge", "eq", "ne", "not"]
        : [...binary, ...unary];
      for (const op of ops) {
        const one = unary.includes(op) || op === "not";
        // There is no quotient by zero: tests/ops/integer_division_test.ts.
        const divisor = column(1), divides = /div|mod/.test(op);
        if (divides) (divisor.data as Int32Array).forEach((v, i, d) => d[i] = v || 5);
        compareWithLoops(engine, [
          builders[op](...[argument(0), argument(1)].slice(0, one ? 1 : 2)),
        ], one ? [column(0)] : [column(0), divisor]);
      }
    }
  });

  Deno.test(`casts and choices mean what the plain loops mean: ${name}`, () => {
    const x = new NdArray("float32", [7], new Float32Array([1.5, -1.5, NaN, 3e9, -3e9, 0, -0]));
    const i = new NdArray("int32", [7], new Int32Array([1, -1, 0, 2147483647, 16777217, 5, 6]));
    const b = new NdArray("bool", [7], new Uint8Array([1, 0, 1, 0, 1, 0, 1]));
    const [a0, a1] = [argument(0), argument(1)];
    for (const to of ["float32", "int32", "bool"] as const) {
      for (const from of [x, i, b]) compareWithLoops(engine, [castTo(a0, to)], [from]);
    }
    for (const through of ["int8", "uint8"] as const) {
      for (const from of [x, i, b]) {
        compareWithLoops(engine, [castTo(castTo(a0, through), "int32")], [from]);
        compareWithLoops(engine, [castTo(castTo(a0, through), "float32")], [from]);
      }
    }
    for (const c of [0, 1]) {
      compareWithLoops(engine, [s.and(a0, c), s.or(a0, c), s.xor(a0, c), s.eq(a0, c)], [b]);
    }
    compareWithLoops(engine, [s.select(a0, a1, s.neg(a1))], [b, x]);
    compareWithLoops(engine, [s.select(s.lt(a0, 0), s.mul(a0, 0.25), a0)], [x]);
    compareWithLoops(engine, [s.isnan(a0), s.isinf(a0), s.add(a0, a0)], [x]);
    for (const c of [0, -0, 1, -1, Infinity, NaN]) {
      compareWithLoops(engine, [s.max(a0, c), s.min(a0, c), s.max(c, a0), s.min(c, a0)], [x]);
    }
  });

  Deno.test(`operands broadcast in every pattern: ${name}`, () => {
    const random = randomSource(5);
    const shapes: number[][][] = [
      [[], []],
      [[1], [1]],
      [[5], []],
      [[], [5]],
      [[17], [17]],
      [[3, 5], [5]],
      [[3, 5], [3, 1]],
      [[3, 1], [1, 5]],
      [[2, 3, 37], [37]],
      [[2, 3, 37], [3, 1]],
      [[2, 3, 4], [2, 1, 4]],
      [[2, 1, 3, 1, 5], [1, 4, 1, 2, 1]],
      [[3, 1, 2, 1, 3, 1, 2], [1, 2, 1, 2, 1, 3, 1]],
      [[0, 4], [4]],
      [[1, 1], [1]],
      [[16, 1], [1, 64]],
      [[2, 19], [1, 19]],
      [[1601, 3], [3]],
      [[2], [50, 47, 2]],
      [[9, 31, 20], [1, 1, 20]],
      [[280, 63], [63]],
      [[301, 5], [301, 1]],
      [[258, 1], [1, 7]],
      [[1, 2], [263, 1]],
      [[260, 15], [260, 1]],
    ];
    for (const [a, b] of shapes) {
      for (const dtype of ["float32", "int32", "bool"] as const) {
        const fill = (shape: number[]): NdArray => {
          const array = NdArray.zeros(dtype, shape);
          (array.data as Int32Array).forEach((_, i, d) =>
            d[i] = dtype === "bool" ? +(random() > 0.5) : Math.floor(random() * 20) - 10
          );
          return array;
        };
        const x = fill(a), y = fill(b);
        const light = dtype === "bool"
          ? s.xor(argument(0), argument(1))
          : s.sub(argument(0), argument(1));
        compareWithLoops(engine, [light, s.lt(argument(0), argument(1))], [x, y]);
        // Light ones are unrolled, heavy ones are not, long chains are computed side by side.
        for (const length of [12, 40]) {
          let chain: Expr = light;
          for (let i = 0; i < length; i++) {
            chain = dtype === "bool"
              ? s.xor(s.not(chain), argument(i % 2))
              : s.add(s.neg(chain), argument(i % 2));
          }
          compareWithLoops(engine, [chain], [x, y]);
        }
      }
    }
  });
}

/** The vector code and the plain loops must agree to the bit. */
function compareWithLoops(engine: Engine, exprs: readonly Expr[], ins: readonly NdArray[]): void {
  const dtypes = ins.map((a) => a.dtype);
  const rank = Math.max(...ins.map((a) => a.rank));
  const shape = Array.from({ length: rank }, (_, d) => {
    const dims = ins.map((a) => a.shape[d - (rank - a.rank)] ?? 1);
    return dims.includes(0) ? 0 : Math.max(...dims);
  });
  const outs = exprs.map((e) => NdArray.zeros(exprType(e, dtypes) as DType, shape));
  pointwiseCpu(exprs, ins, outs);
  const got = run(engine, exprs, ins, outs.map((o) => NdArray.zeros(o.dtype, shape)));
  outs.forEach((o, k) => {
    assertEquals(
      got[k],
      Array.from(o.data as ArrayLike<number>),
      `${exprs[k].op} of ${dtypes} ${ins.map((a) => `[${a.shape}]`)}`,
    );
  });
  assertEquals(sizeOf(shape), got[0].length);
}
