/**
 * Every op of float16, over its samples and over greater numbers, and gradients through its parts: what float64 gives, rounded once.
 */

import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { registeredOpNames } from "@weft/weft/testing";
import { apply } from "../../src/engine/core/apply.ts";
import { castArray } from "../../src/engine/core/convert.ts";
import { type Attrs, lookupOp, type OpDef } from "../../src/engine/core/op.ts";
import { numbersOf } from "../../src/library/testing/compare.ts";
import { dtypesOf, type OpCase } from "../../src/library/testing/op_case.ts";
import {
  drawInputs,
  isFree,
  type OpSample,
  sampleTitle,
  type SampleValues,
} from "../../src/library/testing/op_sample.ts";
import { referenceOutputs } from "../../src/library/testing/reference.ts";
import { inputsOn, problemOf, runEagerly } from "../../src/library/testing/run_op.ts";
import { defaultDevice } from "../../src/engine/runtime/devices/devices.ts";
import { some } from "../effort.ts";
import { testOnDevices } from "../devices.ts";
import { FAMILIES } from "../op_samples/mod.ts";

/** Samples of an op that are tried as a rule, and ops: those of a GPU wait for their shaders. */
const SAMPLES = 1, OPS = { cpu: Infinity, webgpu: 60 };
/** The numbers of a sample, and so great ones that sums of their squares are beyond float16. */
const SCALES = [1, 150];
/** Greatest error of float32 in what results are made of, relative to the greatest number in sight. */
const LOSS = { cpu: 2 ** -19, webgpu: 2 ** -14 };

/** Ops whose references do not hold for greater numbers, each with the reason. */
const SMALL_ONLY: Readonly<Record<string, string>> = {
  _ApplyCenteredRMSProp: "the square of a mean is beyond the mean of squares",
  _LogSoftmaxGrad: "logarithms of probabilities are not above zero",
};

const TABLE = Object.assign({}, ...Object.values(FAMILIES)) as (typeof FAMILIES)[string];

/** Distance between the numbers of float16 around this one. */
function spacing(x: number): number {
  return 2 ** (Math.max(-14, Math.min(15, Math.floor(Math.log2(Math.abs(x))))) - 10);
}

/** Returns the fault of a result, or null: it may be off by one rounding, and by `loss`. */
function wrong(got: tf.NdArray, want: tf.NdArray, loss: number): string | null {
  const a = numbersOf(got), b = numbersOf(want);
  if (a.length !== b.length) return `has ${a.length} elements, wanted ${b.length}`;
  for (let i = 0; i < a.length; i++) {
    // Limits of a dtype, and what is beyond float16.
    const w = Math.abs(b[i]) === Number.MAX_VALUE ? Math.sign(b[i]) * 65504 : b[i];
    const bound = 0.51 * spacing(w) + loss, apart = Math.abs(a[i] - w);
    const isBeyond = Math.abs(w) + bound >= 65520 && a[i] === Math.sign(w) * Infinity;
    if (Object.is(a[i], w) || a[i] === w || apart <= bound || isBeyond) continue;
    return `is ${a[i]} at ${i}, wanted ${w}, ${(apart / spacing(w)).toPrecision(3)} roundings`;
  }
  return null;
}

/** The sample with greater numbers. */
function times(sample: OpSample, by: number): OpSample {
  const inputs = sample.inputs.map((input) => {
    if (!isFree(input)) return input;
    const { low = -2, high = 2, values, ...rest } = input as SampleValues;
    const more = values && { values: values.map((v) => v * by) };
    return { ...rest, low: low * by, high: high * by, ...more };
  });
  return { ...sample, inputs };
}

/** Gradients of all floating outputs by tape, with seeds that every dtype holds. */
function gradientsOf(def: OpDef, attrs: Attrs, given: readonly tf.NdArray[]): tf.NdArray[] {
  return tf.tidy(() => {
    const inputs = inputsOn(def, given, defaultDevice());
    const xs = inputs.filter((x): x is tf.Tensor =>
      x instanceof tf.Tensor && x.dtype.startsWith("float")
    );
    using tape = new tf.GradientTape();
    tape.watch(xs);
    const ys = apply(def, inputs, attrs).filter((y) => y.dtype.startsWith("float"));
    const outputGradients = ys.map((y) => {
      const seed = Array.from({ length: y.size }, (_, i) => (i % 5 - 1) / 4);
      return tf.tensor(seed, y.shape, y.dtype);
    });
    const grads = tape.gradient(ys, xs, { outputGradients }) as (tf.Tensor | null)[];
    return grads.flatMap((g) => g === null ? [] : [g.ndarraySync()]);
  });
}

async function check(def: OpDef, sample: OpSample, loss: number): Promise<string | null> {
  const attrs = sample.attrs ?? {}, inputs = drawInputs(sample, "float16");
  const problem = problemOf(def, inputs, attrs);
  const run: OpCase["run"] = async (_, __, fn) => void await fn();
  const c: OpCase = { def, sample, attrs, inputs, problem, dtype: "float16", gpu: null, run };
  const want = await referenceOutputs(c);
  if (want === null) return null;
  const compare = (got: readonly tf.NdArray[], want: readonly tf.NdArray[], what: string) => {
    const all = [...inputs, ...want].flatMap((x) => [...numbersOf(x)]).filter(Number.isFinite);
    const most = all.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    const texts = got.map((x, k) => x.dtype === "float16" ? wrong(x, want[k], loss * most) : null);
    const at = texts.findIndex((t) => t !== null);
    return at < 0 ? null : `${what} ${at} ${texts[at]}`;
  };
  const found = compare(await runEagerly(def, inputs, attrs, defaultDevice()), want, "output");
  // Rules of gradients are several ops, each of which is rounded.
  if (found !== null || def.grad !== undefined || !def.expand) return found;
  const wide = inputs.map((x) => x.dtype === "float16" ? castArray(x, "float64") : x);
  return compare(gradientsOf(def, attrs, inputs), gradientsOf(def, attrs, wide), "gradient");
}

testOnDevices("ops of float16 are computed in float32 and rounded once", async (on) => {
  const failures: string[] = [];
  for (const name of some(registeredOpNames(), OPS[on])) {
    const def = lookupOp(name)!;
    const all = (TABLE[name] ?? []).filter((s) =>
      !def.stateful && s.inputs.some(isFree) && dtypesOf(def, s).includes("float16")
    );
    for (const sample of some(all, SAMPLES)) {
      for (const by of name in SMALL_ONLY ? [1] : SCALES) {
        const text = await check(def, by === 1 ? sample : times(sample, by), LOSS[on])
          .catch((e) => `threw ${e}`);
        if (text !== null) failures.push(`${name} ${sampleTitle(sample)}, times ${by}: ${text}`);
      }
    }
  }
  assertEquals(failures, []);
});

const half = (x: tf.TensorLike): tf.Tensor => tf.cast(x, "float16");

/** The computations, with TensorFlow's float32 results, rounded. */
const CASES: readonly (readonly [string, () => tf.Tensor, readonly number[]])[] = [
  ["layerNorm", () => tf.layerNorm(half([300, -300, 400])), [
    0.5390625,
    -1.4013671875,
    0.86279296875,
  ]],
  ["attention", () => {
    const x = half(tf.fill([1, 2, 1, 3], 200));
    return tf.scaledDotProductAttention(x, x, x, { scale: 1 });
  }, [200, 200, 200, 200, 200, 200]],
  ["norm", () => tf.norm(half([300, 400])), [500]],
  ["moments", () => tf.moments(half([300, 0, 0])).mean, [100]],
  ["variance", () => tf.moments(half([400, 0, 0, 0, 0, 0, 0, 0])).variance, [17504]],
  ["addN", () => tf.addN(Array.from({ length: 129 }, (_, i) => half(i === 0 ? 2048 : 1))), [2176]],
];

/** Computations whose gradients go through numbers beyond float16: squares, scores, their sums. */
const DERIVED: Readonly<Record<string, readonly [(x: tf.Tensor) => tf.Tensor, tf.TensorLike]>> = {
  "layerNorm": [(x) => tf.layerNorm(x), [[300, -300, 400], [1, 2, 3]]],
  "batchNorm": [
    (x) => tf.batchNorm(x as tf.Tensor2D, tf.cast([200], x.dtype), tf.cast([60000], x.dtype)),
    [[300], [-300]],
  ],
  "localResponseNormalization": [
    (x) => tf.localResponseNormalization(x as tf.Tensor4D),
    [[[[300, -300, 400]]]],
  ],
  "attention": [
    (x) => tf.scaledDotProductAttention(x, x, x),
    [[[[200, 100, 250, 90, 40]], [[199, 101, 250.5, 90, 41]]]],
  ],
  "attention of an even depth": [
    (x) => tf.scaledDotProductAttention(x, x, x),
    [[[[200, 100, 250, 90]], [[199, 101, 250.5, 90]]]],
  ],
  "norm": [(x) => tf.norm(x, 2, -1), [[300, 400], [3, 4]]],
  "variance": [(x) => tf.moments(x).variance, [400, 0, 0, 0, 0, 0, 0, 0]],
  "logSumExp": [(x) => tf.logSumExp(x), [12, 11.5, 3]],
};

testOnDevices("gradients of float16 go through numbers that it does not hold", async () => {
  for (const [name, [compute, values]] of Object.entries(DERIVED)) {
    const gradient = (x: tf.Tensor): tf.Tensor =>
      tf.grad((x: tf.Tensor) => {
        const y = compute(x), at = tf.reshape(tf.range(1, y.size + 1), y.shape);
        return tf.sum(tf.mul(y, tf.cast(tf.sin(at), y.dtype)));
      })(x);
    const want = gradient(tf.tensor(values)).ndarraySync(), numbers = numbersOf(want);
    const most = Array.from(numbers).reduce((a, b) => Math.max(a, Math.abs(b)), 0);
    const compiled = await tf.function(gradient).async(half(values)) as tf.Tensor;
    for (const [way, x] of Object.entries({ eager: gradient(half(values)), compiled })) {
      assertEquals(x.dtype, "float16", name);
      const apart = Array.from(x.dataSync(), (v, i) => Math.abs(Number(v) - numbers[i]) / most);
      // A few roundings of float16; what overflows is further away, and NaN is no less than anything.
      const isNear = apart.every((d) => d <= 2 ** -9);
      assertEquals([name, way, isNear], [name, way, true], String(apart));
    }
  }
});

testOnDevices("composites of float16 keep what float32 holds", async () => {
  for (const [name, compute, want] of CASES) {
    assertEquals(Array.from(tf.tidy(compute).dataSync(), Number), want, name);
    const compiled = tf.function(compute);
    assertEquals(
      Array.from((await compiled.async()).dataSync(), Number),
      want,
      `${name}, compiled`,
    );
  }
});
