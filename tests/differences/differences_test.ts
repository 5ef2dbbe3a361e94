/**
 * Every difference from TensorFlow is a row of DIFFERENCES.md, and every row is true. `tensorflow.json`, which
 * `write_tensorflow.py` wrote, says what TensorFlow 2.21 makes of special values and of the rows' examples.
 */

import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { apply } from "../../src/engine/core/apply.ts";
import { type DType, DTYPES, isBigInt, isInteger } from "../../src/engine/core/dtype.ts";
import { type Attrs, lookupOp, type OpDef } from "../../src/engine/core/op.ts";
import { interpretLoop } from "../../src/engine/kernels/host/pointwise.ts";
import { collapseBroadcast } from "../../src/engine/kernels/pointwise/broadcast.ts";
import { argument } from "../../src/engine/core/scalar/expr.ts";
import { findDevice } from "../../src/engine/runtime/devices/devices.ts";
import {
  isHostInput,
  problemOf,
  runCpuKernel,
  runEagerly,
} from "../../src/library/testing/run_op.ts";
import { HAS_WEBGPU, testOnDevices } from "../devices.ts";
import { isSame, ROWS, shown, type Value } from "./table.ts";
import tensorflow from "./tensorflow.json" with { type: "json" };

const run = (example: string): Promise<unknown> =>
  // deno-lint-ignore no-explicit-any
  new (Object.getPrototypeOf(async () => {}).constructor as any)("tf", `return ${example};`)(tf);

testOnDevices("the examples of DIFFERENCES.md give what it says", async (device) => {
  for (const { name, example, weft, webgpu } of ROWS) {
    const wanted = device === "cpu" ? weft : webgpu;
    if (wanted === null) continue;
    const result = await run(example).then(shown, (e) => (e as Error).name);
    assertEquals(result, wanted, `${name}: ${example}`);
  }
});

Deno.test("DIFFERENCES.md says of TensorFlow what TensorFlow said", () => {
  const said = Object.fromEntries(ROWS.map((row) => [row.name, row.tensorflow]));
  assertEquals(said, tensorflow.examples);
});

// --- The sweep.

interface Listed {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly values: readonly Value[];
}
interface Case {
  readonly def: OpDef;
  readonly attrs: Attrs;
  readonly inputs: readonly Listed[];
  readonly output: Listed;
}

function listed({ dtype, shape, values }: (typeof tensorflow.inputs)[number]): Listed {
  const t = dtype as DType;
  const read = (text: string): Value => {
    if (DTYPES[t].kind === "complex") return text.split(",").map(Number) as unknown as Value;
    if (isBigInt(t)) return BigInt(text);
    // Texts are the shortest that the dtype reads back.
    return DTYPES[t].kind === "float" && t !== "float64" ? Math.fround(+text) : +text;
  };
  return { dtype: t, shape, values: values === "" ? [] : values.split(" ").map(read) };
}

const INPUTS = tensorflow.inputs.map(listed);
const CASES: readonly Case[] = tensorflow.cases.map(({ op, attrs, inputs, output }) => ({
  def: lookupOp(op)!,
  attrs,
  inputs: inputs.map((i) => INPUTS[i]),
  output: listed(output),
}));

function arrayOf({ dtype, shape, values }: Listed): tf.NdArray {
  const array = tf.NdArray.zeros(dtype, [...shape]);
  const data = array.data as unknown as unknown[];
  values.forEach((v, i) => {
    if (Array.isArray(v)) [data[2 * i], data[2 * i + 1]] = v;
    else if (dtype === "bfloat16") {
      // The upper half of a float32: what the values here need.
      data[i] = new Uint32Array(Float32Array.of(v as number).buffer)[0] >>> 16;
    } else data[i] = v;
  });
  return array;
}

/** One result that is another than TensorFlow's. */
interface Difference {
  readonly op: string;
  readonly from: DType;
  readonly to: DType;
  /** Inputs of the element; empty for reductions. */
  readonly inputs: readonly Value[];
  readonly tensorflow: Value;
  readonly weft: Value;
}

/** Relative tolerance of results: the rounding of a dtype in the longest functions. */
const TOLERANCE: Partial<Record<DType, number>> = {
  float32: 1e-5,
  float64: 1e-12,
  float16: 2e-3,
  bfloat16: 3e-2,
  complex64: 1e-5,
};

/** The element of a broadcast input that element `i` of the output is made of. */
function elementFor(i: number, out: readonly number[], { shape, values }: Listed): Value {
  let at = 0, step = 1;
  for (let d = out.length - 1, k = shape.length - 1; d >= 0; d--, k--) {
    const index = i % out[d];
    i = Math.floor(i / out[d]);
    if (k < 0) continue;
    if (shape[k] !== 1) at += index * step;
    step *= shape[k];
  }
  return values[at];
}

function differencesOf(
  { def, inputs, output }: Case,
  got: tf.NdArray,
): Difference[] {
  assertEquals([got.dtype, got.shape], [output.dtype, output.shape], def.name);
  const list: Difference[] = [];
  output.values.forEach((wanted, i) => {
    let weft = got.at(i) as Value | boolean;
    if (typeof weft === "boolean") weft = Number(weft);
    if (isSame(wanted, weft, TOLERANCE[output.dtype] ?? 0)) return;
    list.push({
      op: def.name,
      from: inputs[0].dtype,
      to: output.dtype,
      inputs: def.meaning.kind === "pointwise"
        ? inputs.map((input) => elementFor(i, output.shape, input))
        : [],
      tensorflow: wanted,
      weft,
    });
  });
  return list;
}

const RELU_GRADIENTS = ["ReluGrad", "Relu6Grad"];
const SMALLEST_NORMAL = 1.1754943508222875e-38;
const isSmall = (v: Value): boolean => v !== 0 && Math.abs(Number(v)) < SMALLEST_NORMAL;

/** Which differences a row explains. */
const EXPLAINS: Readonly<Record<string, (d: Difference) => boolean>> = {
  "casts": ({ op, from, to, inputs: [x], weft }) => {
    if (op !== "Cast" || !isInteger(to) || isInteger(from)) return false;
    const bits = BigInt(8 * DTYPES[to].bytes), signed = DTYPES[to].kind === "int";
    const low = signed ? -(2n ** (bits - 1n)) : 0n;
    const high = signed ? 2n ** (bits - 1n) - 1n : 2n ** bits - 1n;
    const value = Number(Array.isArray(x) ? x[0] : x);
    if (Number.isNaN(value)) return BigInt(weft as number) === 0n;
    const wanted = value >= Number(high) ? high : value <= Number(low) ? low : null;
    return BigInt(weft as number) === wanted;
  },
  "zero-sign": ({ op, tensorflow, weft }) =>
    tensorflow === 0 && weft === 0 &&
    ["Relu", "Relu6", "Maximum", "Minimum", "Max", "Min", "RsqrtGrad", ...RELU_GRADIENTS]
      .includes(op),
  "subnormal": ({ to, tensorflow, weft, inputs, op }) =>
    to === "float32" &&
    ((tensorflow === 0 && isSmall(weft)) ||
      // A quotient that is flushed on the way.
      (Math.abs(Number(inputs[1] ?? 0)) === Math.fround(3e38) && op === "FloorDiv") ||
      (Math.abs(Number(inputs[0] ?? 0)) === Math.fround(3e38) && op === "SqrtGrad")),
  "relu-gradient": ({ op, inputs: [dy], tensorflow, weft }) =>
    RELU_GRADIENTS.includes(op) && !Number.isFinite(dy) && Number.isNaN(tensorflow) && weft === 0,
  "float-attributes": ({ op, to, tensorflow, weft }) =>
    op.startsWith("LeakyRelu") && to === "float64" && isSame(tensorflow, weft, 1e-7),
  "erf-infinity": ({ op, to, inputs: [x] }) =>
    op === "Erf" && to === "float64" && Math.abs(Number(x)) === Infinity,
  "complex-ends": ({ to, inputs, tensorflow, weft }) =>
    to === "complex64" &&
    ([...inputs, tensorflow, weft] as (readonly number[])[]).some((z) =>
      z.some((part) => part === 0 || !Number.isFinite(part))
    ),
};
/** Rows that the sweep does not meet: what they say is seen in their examples alone. */
const EXAMPLES_ALONE = [
  ...[
    "division-by-zero",
    "negative-power",
    "quotient",
    "literals",
    "widening",
    "range",
    "too-large",
  ],
  ...[
    "counts",
    "histogram-range",
    "cycle",
    "windows",
    "indices",
    "sparse-product",
    "qr-signs",
    "vector-signs",
    "vector-phases",
    "complex-lstsq",
    "complex-rank",
    "squared-distance",
    "random-numbers",
    "eager-seed",
    "iteration",
    "slices",
    "adam",
    "adadelta",
    "rmsprop",
  ],
  ...["power-gradient", "cumprod-gradient", "flat-gradient", "nan-rank", "softmax-nan"],
  ...["moments-second", "entropy-second", "resize-second", "crop-edge", "stitch-gradient"],
  ...["saturate", "learned-sampler", "unicode-script"],
];

/** A way to compute a case. */
type Mode = (c: Case) => Promise<tf.NdArray> | tf.NdArray;

const eagerly = (device: string): Mode => async ({ def, inputs, attrs }) => {
  const [out] = await runEagerly(def, inputs.map(arrayOf), attrs, findDevice(device));
  return out;
};

/** In a function, between ops that it may be fused with. */
const compiled: Mode = async ({ def, inputs, attrs }) => {
  const arrays = inputs.map(arrayOf);
  const hosts = arrays.map((a, i) => (isHostInput(def, i, arrays.length) ? a : null));
  const f = tf.function((...xs: tf.Tensor[]) => {
    // Another use of what goes in, and of what comes out: the op is part of a larger kernel.
    const all = hosts.map((h, i) => h ?? xs[i]);
    const [y] = apply(def, all, attrs);
    const twin = isInteger(y.dtype) || y.dtype === "bool" ? tf.equal(y, y) : tf.neg(y);
    return [y, twin];
  });
  using _scope = tf.scope();
  const [y] = f(...arrays.map((a, i) => (hosts[i] ? tf.scalar(0) : tf.tensor(a as never))));
  return await y.ndarray();
};

/** True for what a GPU computes: the rest of a plan runs on the CPU. */
const isOnGpu = ({ inputs, output }: Case): boolean =>
  [...inputs, output].every(({ dtype }) => ["float32", "int32", "uint32", "bool"].includes(dtype));

const byLoops: Mode = ({ def, inputs, attrs }) => {
  const arrays = inputs.map(arrayOf);
  return runCpuKernel(def, arrays, problemOf(def, arrays, attrs))[0];
};

/** Where no code may be made of text. */
const interpreted: Mode = (c) => {
  const { def, inputs, attrs } = c;
  const { meaning } = def;
  if (meaning.kind !== "pointwise") return byLoops(c);
  const arrays = inputs.map(arrayOf), problem = problemOf(def, arrays, attrs);
  const exprs = meaning.exprs(arrays.map((_, i) => argument(i)), problem.attrs);
  const out = tf.NdArray.zeros(problem.outputs[0].dtype, [...problem.outputs[0].shape]);
  const loop = interpretLoop(exprs, arrays.map((a) => a.dtype));
  loop(
    arrays.map((a) => a.data),
    [out.data],
    collapseBroadcast(out.shape, arrays.map((a) => a.shape)),
  );
  return out;
};

function testMode(name: string, device: "cpu" | "webgpu", mode: Mode): void {
  Deno.test({
    name:
      `special values give what TensorFlow makes of them, or a row says so: ${name} [${device}]`,
    ignore: device === "webgpu" && !HAS_WEBGPU,
    async fn() {
      assert(await tf.setBackend(device));
      const unexplained: string[] = [], met = new Set<string>();
      for (const c of CASES) {
        for (const d of differencesOf(c, await mode(c))) {
          const row = ROWS.find(({ name }) => EXPLAINS[name]?.(d));
          if (row) met.add(row.name);
          else {
            const { op, from, to, inputs, tensorflow, weft } = d;
            unexplained.push(
              `${op}: ${from} -> ${to} of ${inputs.join("; ")}: ${shown(weft)}, not ${
                shown(tensorflow)
              }`,
            );
          }
        }
      }
      assertEquals(unexplained, []);
      // Every row is either met here or stands for what has no special values.
      assertEquals(
        [...met, ...EXAMPLES_ALONE].sort(),
        ROWS.map((row) => row.name).sort(),
      );
    },
  });
}

testMode("eagerly", "cpu", eagerly("/CPU:0"));
testMode("by loops", "cpu", byLoops);
testMode("by closures", "cpu", interpreted);
testMode("in functions", "cpu", compiled);
testMode("eagerly", "webgpu", eagerly("/GPU:0"));
testMode("in functions", "webgpu", (c) => (isOnGpu(c) ? compiled(c) : eagerly("/CPU:0")(c)));
