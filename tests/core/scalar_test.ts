/** Scalar expressions: the printers agree with the closures and with mathematics, in every arithmetic. */

import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { type DType, DTYPES, makeData } from "../../src/engine/core/dtype.ts";
import { NdArray, setElement } from "../../src/engine/core/nd_array.ts";
import {
  argument,
  castTo,
  constant,
  type Expr,
  exprKey,
  scalar as s,
  type ScalarOp,
  substitute,
} from "../../src/engine/core/scalar/expr.ts";
import { collapseBroadcast } from "../../src/engine/kernels/pointwise/broadcast.ts";
import { interpretLoop, pointwiseCpu } from "../../src/engine/kernels/host/pointwise.ts";
import { pointwiseGpu } from "../../src/engine/kernels/pointwise/variants.ts";
import { exprType } from "../../src/engine/core/scalar/expr.ts";
import type { Profile } from "../../src/engine/core/dispatch.ts";
import { GPU_DTYPES } from "../../src/engine/core/gpu_storage.ts";
import { printWgsl } from "../../src/engine/core/scalar/wgsl.ts";
import { testOnDevices } from "../devices.ts";

const x = argument(0), y = argument(1);

const UNARY: ScalarOp[] = [
  ...["neg", "abs", "sign", "floor", "ceil", "round", "trunc", "sqrt", "rsqrt", "exp"] as const,
  ...["expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh"] as const,
  ...["cosh", "tanh", "asinh", "acosh", "atanh", "erf", "not", "isnan", "isinf"] as const,
  ...["isfinite", "bitnot", "real", "imag", "conj"] as const,
];
const BINARY: ScalarOp[] = [
  ...["add", "sub", "mul", "div", "floordiv", "floormod", "truncmod", "pow", "atan2"] as const,
  ...["min", "max", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor"] as const,
  ...["bitand", "bitor", "bitxor", "shl", "shr"] as const,
];

/** Values worth trying in each dtype. */
function samples(dtype: DType): NdArray {
  const { kind, bytes } = DTYPES[dtype];
  const list: (number | bigint | boolean | Uint8Array | [number, number])[] = kind === "float"
    ? [0, -0, 1, -1, 0.5, -2.5, 3, 1e-20, 1e20, NaN, Infinity, -Infinity]
    : kind === "bool"
    ? [false, true]
    : kind === "complex"
    ? [[0, 0], [1, 0], [0, -1], [-2, 3], [0.5, 0.25], [-1, -1]]
    : kind === "string"
    ? ["", "a", "ab", "b"].map((t) => new TextEncoder().encode(t))
    : bytes === 8
    ? [0n, 1n, 2n, -1n, -7n, 5n, 2n ** 63n - 1n, -(2n ** 63n), 63n]
    : [0, 1, 2, -1, -7, 5, 127, 255, 2147483647, -2147483648, 31];
  const array = new NdArray(dtype, [list.length], makeData(dtype, list.length));
  list.forEach((v, i) => setElement(array, i, v));
  return array;
}

/** Computes an expression by printed code, or by closures. */
function compute(
  e: Expr,
  ins: readonly NdArray[],
  shape: readonly number[],
  closures: boolean,
): NdArray {
  const dtypes = ins.map((i) => i.dtype);
  const out = new NdArray(
    exprType(e, dtypes),
    shape,
    makeData(exprType(e, dtypes), shape.reduce((a, b) => a * b, 1)),
  );
  if (!closures) pointwiseCpu([e], ins, [out]);
  else {
    interpretLoop([e], dtypes)(
      ins.map((i) => i.data),
      [out.data],
      collapseBroadcast(shape, ins.map((i) => i.shape)),
    );
  }
  return out;
}

const COMPUTED = (Object.keys(DTYPES) as DType[]).filter((t) =>
  DTYPES[t].kind !== "handle" && (t !== "float16" || DTYPES[t].array !== undefined)
);

/** Faults of whole numbers, of which integer_division_test.ts tries every kind: these have second operands that are above zero. */
const FAULTY: readonly ScalarOp[] = ["div", "floordiv", "floormod", "truncmod", "pow"];

function isWhole(dtype: DType): boolean {
  return DTYPES[dtype].kind === "int" || DTYPES[dtype].kind === "uint";
}

function aboveZero(a: NdArray): NdArray {
  const list = Array.from({ length: a.size }, (_, i) => a.at(i) as number | bigint)
    .filter((v) => v > 0);
  const out = new NdArray(a.dtype, [list.length], makeData(a.dtype, list.length));
  list.forEach((v, i) => setElement(out, i, v));
  return out;
}

Deno.test("printed code and closures agree, for every primitive and dtype", () => {
  let compared = 0;
  for (const dtype of COMPUTED) {
    const a = samples(dtype), n = a.size;
    const column = a.reshape([n, 1]);
    const pairs = (b: NdArray) => [[column, b], [n, b.size]] as const;
    const faulty = isWhole(dtype) ? FAULTY : [];
    const groups = [
      [UNARY, [a], [n]] as const,
      [BINARY.filter((op) => !faulty.includes(op)), ...pairs(a)] as const,
      [faulty, ...pairs(isWhole(dtype) ? aboveZero(a) : a)] as const,
    ];
    for (const [ops, ins, shape] of groups) {
      for (const op of ops) {
        const e: Expr = { op, args: ins.length === 1 ? [x] : [x, y] };
        let printed: NdArray | Error, evaluated: NdArray | Error;
        try {
          printed = compute(e, ins, shape, false);
        } catch (error) {
          printed = error as Error;
        }
        try {
          evaluated = compute(e, ins, shape, true);
        } catch (error) {
          evaluated = error as Error;
        }
        if (printed instanceof Error) {
          assertEquals(printed.name, "UnimplementedError", `${op} of ${dtype}: ${printed.message}`);
          if (GPU_DTYPES.includes(dtype)) {
            const print = () => printWgsl([e], [dtype, dtype], ["a", "b"]);
            assertThrows(print, tf.errors.UnimplementedError, "Cannot print scalar");
          }
          assert(evaluated instanceof Error, `${op} of ${dtype}: only closures can`);
          assertEquals(evaluated.name, "UnimplementedError");
        } else {
          assert(!(evaluated instanceof Error), `${op} of ${dtype}: ${evaluated}`);
          assertEquals(evaluated.data, printed.data, `${op} of ${dtype}`);
          compared++;
          if (GPU_DTYPES.includes(dtype)) printWgsl([e], [dtype, dtype], ["a", "b"]);
        }
      }
    }
  }
  assert(compared > 400, `compared ${compared}`);
});

Deno.test("printed casts and closures agree, between every pair of dtypes", () => {
  for (const from of COMPUTED) {
    for (const to of COMPUTED) {
      if (from === "string" || to === "string") continue;
      const a = samples(from);
      const printed = compute(castTo(x, to), [a], [a.size], false);
      assertEquals(
        compute(castTo(x, to), [a], [a.size], true).data,
        printed.data,
        `${from} to ${to}`,
      );
    }
  }
});

Deno.test("integer arithmetic wraps inside expressions, in each width", () => {
  const half = (e: Expr): Expr => s.floordiv(e, 2);
  for (
    const [dtype, a, b, sum, product] of [
      ["int8", 100, 100, -28, 8],
      ["uint8", 200, 100, 22, 16],
      ["int16", 30000, 30000, -2768, -2944],
      ["uint16", 60000, 60000, 27232, 20992],
      ["int32", 2147483647, 3, -1073741823, 1073741822],
      ["uint32", 4294967295, 3, 1, 2147483646],
    ] as const
  ) {
    const ins = [a, b].map((v) => {
      const array = NdArray.zeros(dtype, [1]);
      setElement(array, 0, v);
      return array;
    });
    assertEquals(compute(half(s.add(x, y)), ins, [1], false).at(0), sum, `${dtype} sum`);
    assertEquals(compute(half(s.mul(x, y)), ins, [1], false).at(0), product, `${dtype} product`);
  }
  const big = [2n ** 63n - 1n, 3n].map((v) => new NdArray("int64", [1], BigInt64Array.of(v)));
  assertEquals(compute(half(s.add(x, y)), big, [1], false).at(0), -(2n ** 62n) + 1n);
  assertEquals(
    compute(
      s.pow(x, y),
      [
        new NdArray("int64", [1], BigInt64Array.of(3n)),
        new NdArray("int64", [1], BigInt64Array.of(100n)),
      ],
      [1],
      false,
    ).at(0),
    BigInt.asIntN(64, 3n ** 100n),
  );
});

Deno.test("float32 is rounded at each step, as one op after the other would", () => {
  const a = new NdArray("float32", [1], Float32Array.of(0.1));
  const b = new NdArray("float32", [1], Float32Array.of(0.2));
  const sum = Math.fround(Math.fround(0.1) + Math.fround(0.2));
  assertEquals(compute(s.eq(s.add(x, y), sum), [a, b], [1], false).at(0), true);
  assertEquals(compute(s.eq(x, 0.1), [a], [1], false).at(0), true);
  const d = new NdArray("float64", [1], Float64Array.of(0.1));
  assertEquals(
    compute(s.eq(castTo(castTo(x, "float32"), "float64"), Math.fround(0.1)), [d], [1], false).at(0),
    true,
  );
});

Deno.test("float to integer casts saturate, NaN becomes 0", () => {
  const a = new NdArray("float64", [6], Float64Array.of(NaN, 1e30, -1e30, -1.9, 2147483647, 3e9));
  const cast = (t: DType): unknown[] =>
    Array.from(compute(castTo(x, t), [a], [6], false).data as ArrayLike<unknown>);
  assertEquals(cast("int32"), [0, 2147483647, -2147483648, -1, 2147483647, 2147483647]);
  assertEquals(cast("uint32"), [0, 4294967295, 0, 0, 2147483647, 3000000000]);
  assertEquals(cast("int64"), [0n, 2n ** 63n - 1n, -(2n ** 63n), -1n, 2147483647n, 3000000000n]);
  assertEquals(cast("uint64"), [0n, 2n ** 64n - 1n, 0n, 0n, 2147483647n, 3000000000n]);
});

Deno.test("complex functions satisfy their identities", () => {
  const z = samples("complex128");
  const run = (e: Expr): NdArray => compute(e, [z], [z.size], false);
  const same = (a: Expr, b: Expr, what: string): void => {
    const p = run(a), q = run(b);
    for (let i = 0; i < z.size; i++) {
      const [re, im] = p.at(i) as [number, number], [want, wantIm] = q.at(i) as [number, number];
      assertAlmostEquals(re, want, 1e-9, `${what} at ${z.at(i)}`);
      assertAlmostEquals(im, wantIm, 1e-9, `${what} at ${z.at(i)}`);
    }
  };
  same(s.mul(s.sqrt(x), s.sqrt(x)), x, "sqrt");
  same(s.exp(s.log(s.add(x, 5))), s.add(x, 5), "log");
  same(s.expm1(s.log1p(s.add(x, 5))), s.add(x, 5), "log1p");
  for (
    const [f, inverse] of [["sin", "asin"], ["cos", "acos"], ["tan", "atan"], ["sinh", "asinh"], [
      "cosh",
      "acosh",
    ], ["tanh", "atanh"]] as const
  ) {
    // A point off the branch cuts and poles.
    const at = s.add(s.mul(x, 0.25), 0.125);
    same(s[f](s[inverse](at)), at, f);
  }
  same(s.div(s.mul(x, s.add(x, 5)), s.add(x, 5)), x, "div");
  same(s.pow(x, 2), s.mul(x, x), "pow");
  same(s.mul(s.sign(x), s.complex(s.abs(x), 0)), x, "sign");
});

Deno.test("exprKey() and substitute() keep shared nodes shared", () => {
  let e = x;
  for (let i = 0; i < 60; i++) e = s.mul(e, e);
  assert(exprKey(e).length < 1000);
  assertEquals(exprKey(e), exprKey(substitute(e, [x])));
  assert(exprKey(s.add(x, 1)) !== exprKey(s.add(x, 2)));
  assert(exprKey(s.mul(x, 0)) !== exprKey(s.mul(x, -0)));
  assertEquals(
    exprKey(substitute(s.sub(x, y), [s.neg(x), constant(3)])),
    exprKey(s.sub(s.neg(x), 3)),
  );
  assertThrows(() => substitute(y, [x]), tf.ValueError, "Cannot substitute argument 1");
});

Deno.test("pointwiseGpu() fits its parameters into the uniform block", () => {
  const profile: Profile = {
    barriers: true,
    subgroup: 0,
    subgroupDirective: false,
    lanes: 8,
    f16: false,
    words64: false,
    maxBinding: 2 ** 27,
    maxBuffers: 16,
    maxInvocations: 256,
    maxWorkgroupBytes: 16384,
    maxGrid: 65535,
  };
  // Twelve operands, each stretched along other axes of six.
  const out = [2, 3, 2, 3, 2, 3];
  const shapes = Array.from(
    { length: 12 },
    (_, k) => out.map((d, i) => ((k >> (i % 4)) & 1 ? d : 1)),
  );
  const ins = [...shapes, out].map((shape) => ({ dtype: "float32" as const, shape }));
  const sum = ins.map((_, i) => argument(i)).reduce((a, b) => s.add(a, b));
  const [dispatch] = pointwiseGpu([sum], ins, { dtype: "float32", shape: out }, profile).dispatches;
  assert(dispatch.params.length <= 64);
  // Rows in fours: three words and no more for a bias.
  const [bias] = pointwiseGpu(
    [s.add(x, y)],
    [
      { dtype: "float32", shape: [6, 8] },
      { dtype: "float32", shape: [8] },
    ],
    { dtype: "float32", shape: [6, 8] },
    profile,
  ).dispatches;
  assertEquals(bias.params, [12, 2, 0, 1]);
  assert(bias.program.source.includes("var<storage, read> in1: array<vec4<f32>>"));
});

/** Distance of `a` from `want` in units of the last place of float32. */
function ulps(a: number, want: number): number {
  const e = Math.max(Math.floor(Math.log2(Math.abs(want))), -126);
  return Math.abs(a - want) / 2 ** (e - 23);
}

function spread(lo: number, hi: number, logarithmic: boolean): Float32Array {
  return Float32Array.from({ length: 400 }, (_, i) => {
    const t = i / 399;
    return logarithmic ? lo * (hi / lo) ** t : lo + (hi - lo) * t;
  });
}

testOnDevices("elementary functions are right to a few units in the last place", () => {
  const cases: [
    string,
    (v: tf.Tensor) => tf.Tensor,
    (v: number) => number,
    Float32Array,
    number?,
  ][] = [
    ["exp", tf.exp, Math.exp, spread(-87, 88, false)],
    ["expm1", tf.expm1, Math.expm1, spread(1e-9, 3, true)],
    ["expm1", tf.expm1, Math.expm1, spread(-3, 0.5, false)],
    ["log", tf.log, Math.log, spread(1e-37, 1e38, true)],
    ["log", tf.log, Math.log, spread(0.9, 1.1, false)],
    ["log of subnormals", tf.log, Math.log, spread(1e-43, 1e-38, true)],
    ["log1p", tf.log1p, Math.log1p, spread(-0.999, 2, false)],
    ["log1p", tf.log1p, Math.log1p, spread(1e-12, 1e12, true)],
    ["sin", tf.sin, Math.sin, spread(-20, 20, false)],
    ["sin", tf.sin, Math.sin, spread(1e3, 3e38, true)],
    ["cos", tf.cos, Math.cos, spread(-20, 20, false)],
    ["cos", tf.cos, Math.cos, spread(1e3, 3e38, true)],
    ["tan", tf.tan, Math.tan, spread(-20, 20, false)],
    ["asin", tf.asin, Math.asin, spread(-1, 1, false)],
    ["acos", tf.acos, Math.acos, spread(-1, 1, false)],
    ["atan", tf.atan, Math.atan, spread(1e-8, 1e8, true)],
    ["atan", tf.atan, Math.atan, spread(-4, 4, false)],
    ["sinh", tf.sinh, Math.sinh, spread(-89, 89, false)],
    ["sinh", tf.sinh, Math.sinh, spread(1e-9, 2, true)],
    ["cosh", tf.cosh, Math.cosh, spread(-89, 89, false)],
    ["tanh", tf.tanh, Math.tanh, spread(-10, 10, false)],
    ["tanh", tf.tanh, Math.tanh, spread(1e-9, 1, true)],
    ["asinh", tf.asinh, Math.asinh, spread(1e-9, 1e30, true)],
    ["acosh", tf.acosh, Math.acosh, spread(1, 1e30, true)],
    ["atanh", tf.atanh, Math.atanh, spread(-0.999, 0.999, false)],
    ["rsqrt", tf.rsqrt, (v) => 1 / Math.sqrt(v), spread(1e-37, 1e38, true)],
    ["sigmoid", tf.sigmoid, (v) => 1 / (1 + Math.exp(-v)), spread(-80, 20, false)],
    [
      "softplus",
      tf.softplus,
      (v) => Math.max(v, 0) + Math.log1p(Math.exp(-Math.abs(v))),
      spread(-80, 80, false),
    ],
    ["x ** 3", (v) => tf.pow(v, 3), (v) => v ** 3, spread(1e-12, 1e12, true)],
    ["x ** -2", (v) => tf.pow(v, -2), (v) => v ** -2, spread(1e-18, 1e18, true)],
    ["x ** 2.5", (v) => tf.pow(v, 2.5), (v) => v ** 2.5, spread(1e-14, 1e15, true)],
    [
      "x ** -0.3",
      (v) => tf.pow(v, Math.fround(-0.3)),
      (v) => v ** Math.fround(-0.3),
      spread(1e-37, 1e38, true),
    ],
    ["2 ** x", (v) => tf.pow(2, v), (v) => 2 ** v, spread(-120, 120, false)],
    ["10 ** x", (v) => tf.pow(10, v), (v) => 10 ** v, spread(-37, 38, false), 12],
  ];
  for (const [name, f, want, values, limit = 4] of cases) {
    const got = f(tf.tensor(values)).dataSync() as Float32Array;
    values.forEach((v, i) => {
      const w = want(v);
      if (Math.abs(w) < 1.2e-38 || Math.abs(w) > 3.4e38) return;
      assert(ulps(got[i], w) <= limit, `${name} of ${v}: got ${got[i]}, wanted ${w}`);
    });
  }
});

testOnDevices("elementary functions keep NaN, infinities and the sign of zero", () => {
  const at = [NaN, Infinity, -Infinity, 0, -0, 1, -1];
  const N = NaN,
    I = Infinity,
    e = Math.fround(Math.E),
    p = Math.fround(Math.PI / 2),
    q = Math.fround(Math.PI / 4);
  const f = Math.fround;
  const table: Record<string, number[]> = {
    exp: [N, I, 0, 1, 1, e, f(1 / Math.E)],
    expm1: [N, I, -1, 0, -0, f(Math.E - 1), f(Math.expm1(-1))],
    log: [N, I, N, -I, -I, 0, N],
    log1p: [N, I, N, 0, -0, f(Math.LN2), -I],
    sqrt: [N, I, N, 0, -0, 1, N],
    rsqrt: [N, 0, N, I, -I, 1, N],
    reciprocal: [N, 0, -0, I, -I, 1, -1],
    sin: [N, N, N, 0, -0, f(Math.sin(1)), f(Math.sin(-1))],
    cos: [N, N, N, 1, 1, f(Math.cos(1)), f(Math.cos(1))],
    tan: [N, N, N, 0, -0, f(Math.tan(1)), f(Math.tan(-1))],
    asin: [N, N, N, 0, -0, p, -p],
    acos: [N, N, N, p, p, 0, f(Math.PI)],
    atan: [N, p, -p, 0, -0, q, -q],
    sinh: [N, I, -I, 0, -0, f(Math.sinh(1)), f(Math.sinh(-1))],
    cosh: [N, I, I, 1, 1, f(Math.cosh(1)), f(Math.cosh(1))],
    tanh: [N, 1, -1, 0, -0, f(Math.tanh(1)), f(Math.tanh(-1))],
    asinh: [N, I, -I, 0, -0, f(Math.asinh(1)), f(Math.asinh(-1))],
    acosh: [N, I, N, N, N, 0, N],
    atanh: [N, N, N, 0, -0, I, -I],
    erf: [N, 1, -1, 0, -0, f(0.8427007929497149), f(-0.8427007929497149)],
    abs: [N, I, I, 0, 0, 1, 1],
    neg: [N, -I, I, -0, 0, -1, 1],
    sign: [N, 1, -1, 0, 0, 1, -1],
    square: [N, I, I, 0, 0, 1, 1],
    relu: [N, I, 0, 0, 0, 1, 0],
    relu6: [N, 6, 0, 0, 0, 1, 0],
    elu: [N, I, -1, 0, 0, 1, f(Math.expm1(-1))],
    sigmoid: [N, 1, 0, 0.5, 0.5, f(1 / (1 + 1 / Math.E)), f(1 / (1 + Math.E))],
    softplus: [
      N,
      I,
      0,
      f(Math.LN2),
      f(Math.LN2),
      f(Math.log(1 + Math.E)),
      f(Math.log1p(1 / Math.E)),
    ],
    isNaN: [1, 0, 0, 0, 0, 0, 0],
    isInf: [0, 1, 1, 0, 0, 0, 0],
    isFinite: [0, 0, 0, 1, 1, 1, 1],
    step: [N, 1, 0, 0, 0, 1, 0],
  };
  // Where a zero's sign is a matter of taste, it is not compared.
  const anyZero = new Set(["sign", "relu", "relu6", "elu", "step"]);
  for (const [name, want] of Object.entries(table)) {
    const fn = tf[name as "exp"] as (v: tf.TensorLike) => tf.Tensor;
    const got = Array.from(fn(tf.tensor(at)).dataSync() as ArrayLike<number>);
    got.forEach((g, i) => {
      const close = Object.is(g, want[i]) || (g === want[i] && (g !== 0 || anyZero.has(name))) ||
        (Number.isFinite(g) && want[i] !== 0 && ulps(g, want[i]) <= 2);
      assert(close, `${name}(${Object.is(at[i], -0) ? "-0" : at[i]}): got ${g}, wanted ${want[i]}`);
    });
  }
});

testOnDevices("functions of two numbers keep NaN, infinities and the sign of zero", () => {
  const at = [NaN, Infinity, -Infinity, 0, -0, 1, -1, 2, -2, 0.5, 3, -3];
  const js: Record<string, (a: number, b: number) => number> = {
    add: (a, b) => a + b,
    mul: (a, b) => a * b,
    div: (a, b) => a / b,
    pow: (a, b) => (a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : a ** b),
    atan2: Math.atan2,
    maximum: Math.max,
    minimum: Math.min,
    floorDiv: (a, b) => Math.floor(a / b),
    mod: (a, b) => {
      const r = a % b;
      return r !== 0 && (r < 0) !== (b < 0) ? r + b : r;
    },
    equal: (a, b) => Number(a === b),
    notEqual: (a, b) => Number(a !== b),
    less: (a, b) => Number(a < b),
    lessEqual: (a, b) => Number(a <= b),
    greater: (a, b) => Number(a > b),
    greaterEqual: (a, b) => Number(a >= b),
  };
  const signed = new Set(["mul", "div", "atan2"]);
  const rows = tf.tensor(at, [at.length, 1]), columns = tf.tensor(at);
  for (const [name, want] of Object.entries(js)) {
    const fn = tf[name as "add"] as (a: tf.TensorLike, b: tf.TensorLike) => tf.Tensor;
    const got = fn(rows, columns).dataSync() as ArrayLike<number>;
    at.forEach((a, i) =>
      at.forEach((b, j) => {
        const g = got[i * at.length + j], w = want(a, b);
        const close = Object.is(g, w) || (g === w && (g !== 0 || !signed.has(name))) ||
          (Number.isFinite(g) && Number.isFinite(w) && w !== 0 && ulps(g, w) <= 2);
        assert(close, `${name}(${a}, ${Object.is(b, -0) ? "-0" : b}): got ${g}, wanted ${w}`);
      })
    );
  }
});

testOnDevices("floor division floors the rounded quotient, the remainder is exact", () => {
  const a = [6, 0.7, 1e10, -1e10, 123456789, 5e-40, 7, -7, 1e38, 16777215];
  const b = [3, 0.1, 3, 7, 0.3, 3, -3, 3, 3e-5, 4097];
  const x = Float32Array.from(a), y = Float32Array.from(b);
  const mod = tf.mod(x, y).dataSync() as Float32Array;
  const div = tf.floorDiv(x.subarray(0, 8), y.subarray(0, 8)).dataSync() as Float32Array;
  x.forEach((v, i) => {
    if (Math.abs(v) < 1e-38) return;
    const r = v % y[i], want = r !== 0 && (r < 0) !== (y[i] < 0) ? r + y[i] : r;
    assertEquals(mod[i], Math.fround(want), `${v} mod ${y[i]}`);
    if (i < 8) assertEquals(div[i], Math.floor(Math.fround(v / y[i])), `${v} floorDiv ${y[i]}`);
  });
});

testOnDevices("32-bit integers are exact", () => {
  const at = [0, 1, 2, 3, -1, -2, -7, 7, 46341, 65536, 16777217, 2147483647, -2147483648];
  const int: Record<string, (a: number, b: number) => number> = {
    add: (a, b) => (a + b) | 0,
    sub: (a, b) => (a - b) | 0,
    mul: Math.imul,
    div: (a, b) => Math.floor(a / b) | 0,
    mod: (a, b) => ((a % b) + b) % b,
    maximum: Math.max,
    minimum: Math.min,
    squaredDifference: (a, b) => Math.imul(a - b, a - b),
    bitwiseAnd: (a, b) => a & b,
    bitwiseOr: (a, b) => a | b,
    bitwiseXor: (a, b) => a ^ b,
    less: (a, b) => Number(a < b),
    equal: (a, b) => Number(a === b),
  };
  for (const dtype of ["int32", "uint32"] as const) {
    const settle = (v: number): number => (dtype === "int32" ? v | 0 : v >>> 0);
    const values = at.map(settle);
    const rows = tf.tensor(values, [values.length, 1], dtype),
      columns = tf.tensor(values, undefined, dtype);
    for (const [name, want] of Object.entries(int)) {
      const fn = tf[name as "add"] as (a: tf.TensorLike, b: tf.TensorLike) => tf.Tensor;
      // Zero has no quotient.
      const others = name === "div" || name === "mod" ? values.filter((v) => v !== 0) : values;
      const got = fn(rows, tf.tensor(others, undefined, dtype));
      const data = got.dataSync() as ArrayLike<number>;
      values.forEach((a, i) =>
        others.forEach((b, j) => {
          const w = got.dtype === "bool" ? want(a, b) : settle(want(a, b));
          assertEquals(
            data[i * others.length + j] === 0 ? 0 : data[i * others.length + j],
            w === 0 ? 0 : w,
            `${name}(${a}, ${b}) of ${dtype}`,
          );
        })
      );
    }
    const power = tf.pow(columns, tf.tensor([5], undefined, dtype)).dataSync() as ArrayLike<number>;
    values.forEach((a, i) =>
      assertEquals(
        BigInt(power[i]),
        dtype === "int32"
          ? BigInt.asIntN(32, BigInt(a) ** 5n)
          : BigInt.asUintN(32, BigInt(a) ** 5n),
        `${a} ** 5`,
      )
    );
  }
});

testOnDevices("float16 computes in float32 and rounds once", () => {
  if (DTYPES.float16.array === undefined) return;
  const x = tf.tensor([1, 2.5, -3, 60000, 6e-8, NaN], undefined, "float16");
  assertEquals(tf.mul(x, 2).arraySync(), [2, 5, -6, Infinity, 1.1920928955078125e-7, NaN]);
  assertEquals(tf.sigmoid(x).dtype, "float16");
  assertEquals((tf.exp(x).arraySync() as number[])[0], 2.71875);
  assertEquals(tf.isInf(tf.add(x, 10000)).arraySync(), [false, false, false, true, false, false]);
  assertEquals(tf.where(tf.less(x, 0), 0, x).arraySync(), [
    1,
    2.5,
    0,
    60000,
    5.960464477539063e-8,
    NaN,
  ]);
});

testOnDevices("casts agree on both devices", () => {
  const x = tf.tensor([NaN, -0, 0.5, -1.9, 3e9, -3e9, 1e30, Infinity]);
  assertEquals(tf.cast(x, "int32").arraySync(), [
    0,
    0,
    0,
    -1,
    2147483647,
    -2147483648,
    2147483647,
    2147483647,
  ]);
  assertEquals(tf.cast(x, "uint32").arraySync(), [
    0,
    0,
    0,
    0,
    3000000000,
    0,
    4294967295,
    4294967295,
  ]);
  assertEquals(tf.cast(x, "bool").arraySync(), [true, false, true, true, true, true, true, true]);
  assertEquals(tf.cast(tf.tensor([-1], undefined, "int32"), "uint32").arraySync(), [4294967295]);
  assertEquals(tf.cast(tf.tensor([true, false]), "float32").arraySync(), [1, 0]);
  assertEquals(tf.cast(tf.tensor([16777217], undefined, "int32"), "float32").arraySync(), [
    16777216,
  ]);
});

Deno.test("pointwise ops run where no code may be made from text", async () => {
  const program = `
    import * as tf from ${JSON.stringify(new URL("../../mod.ts", import.meta.url).href)};
    await tf.setBackend("cpu");
    const long = (v) => tf.tensor(v, undefined, "int64");
    console.log(JSON.stringify([
      tf.add(tf.complex([1, 2], [3, 4]), 1).arraySync(),
      tf.pow(tf.tensor([[1.5], [2]], undefined, "float64"), [2, 3]).arraySync(),
      tf.mul(long([3n, 4n]), long([2n])).arraySync().map(String),
    ]));`;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-check",
      "--no-config",
      "--v8-flags=--disallow-code-generation-from-strings",
      `data:text/javascript,${encodeURIComponent(program)}`,
    ],
  }).output();
  const text = new TextDecoder();
  assertEquals(code, 0, text.decode(stderr));
  assertEquals(JSON.parse(text.decode(stdout)), [[[2, 3], [3, 4]], [[2.25, 3.375], [4, 8]], [
    "6",
    "8",
  ]]);
});
