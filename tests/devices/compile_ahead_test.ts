/** Kernels that are compiled before the first call. */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { testOnDevices } from "../devices.ts";

type Made = () => {
  readonly f: tf.TracedFunction<tf.Tensor[], tf.Tensor>;
  readonly specs: readonly tf.TensorSpec[];
  readonly args: () => tf.Tensor[];
};

const square = tf.TensorSpec([17, 17]);
const ramp = (): tf.Tensor => tf.reshape(tf.div(tf.range(0, 289), 289), [17, 17]);

/** Functions whose extents no other test has, so that their programs are compiled here. */
const FUNCTIONS: Readonly<Record<string, Made>> = {
  "kernels of one body": () => ({
    f: tf.function((x: tf.Tensor) => tf.softmax(tf.matMul(tf.tanh(tf.asinh(x)), x))),
    specs: [square],
    args: () => [ramp()],
  }),
  "a called function": () => {
    const g = tf.function((x: tf.Tensor) => tf.acosh(tf.add(tf.abs(x), 1.5)) as tf.Tensor);
    const f = tf.function((x: tf.Tensor) => tf.sum(tf.mul(g(x), tf.erf(x)), 0));
    return { f, specs: [square], args: () => [ramp()] };
  },
  "kernels that numbers of the host choose": () => ({
    f: tf.function((x: tf.Tensor) => tf.reverse(tf.cumsum(tf.tile(x, [2, 1]), 1), [0])),
    specs: [square],
    args: () => [ramp()],
  }),
  "both branches of a condition": () => ({
    f: tf.function((x: tf.Tensor) =>
      tf.cond(tf.greater(tf.sum(x), 0), () => tf.atanh(tf.mul(x, 0.3)), () => tf.log1p(tf.abs(x)))
    ),
    specs: [square],
    args: () => [ramp()],
  }),
  "a gradient": () => ({
    f: tf.function((x: tf.Tensor) => tf.grad((y: tf.Tensor) => tf.sum(tf.expm1(tf.sinh(y))))(x)),
    specs: [square],
    args: () => [ramp()],
  }),
};

for (const [name, make] of Object.entries(FUNCTIONS)) {
  testOnDevices(`compile() compiles ${name}, and a call then compiles nothing`, async () => {
    const { f, specs, args } = make();
    await f.compile(...specs);
    const given = args();
    let result: tf.Tensor | undefined;
    const { pipelinesCreated } = await tf.profile(async () => {
      result = f(...given);
      await result.data();
    });
    assertEquals([pipelinesCreated, f.traceCount], [0, 1]);
    tf.dispose([result!, ...given]);
  });
}

testOnDevices("compile() runs no script and assigns nothing", async () => {
  let calls = 0;
  const v = tf.variable(tf.ones([3])), seen = (x: tf.Tensor): tf.Tensor => (calls++, x);
  const f = tf.function((x: tf.Tensor) => {
    v.assignAdd(x);
    return tf.pyFunction(seen, [tf.mul(x, v)], "float32");
  });
  await f.compile(tf.TensorSpec([3]));
  assertEquals([calls, Array.from(v.dataSync())], [0, [1, 1, 1]]);
  assertEquals(Array.from(f(tf.tensor([1, 2, 3])).dataSync() as Float32Array), [2, 6, 12]);
  assertEquals(calls, 1);
  v.dispose();
});

testOnDevices(
  "compile() takes specs that fit a signature, unknown extents, and loops",
  async () => {
    const f = tf.function(
      (x: tf.Tensor) =>
        tf.whileLoop(
          (i: tf.Tensor) => tf.less(i, 3),
          (i: tf.Tensor, y: tf.Tensor) => [tf.add(i, 1), tf.cos(y)],
          [tf.scalar(0, "int32"), x],
        )[1],
      { inputSignature: [tf.TensorSpec([null, 5])] },
    );
    await f.compile();
    await f.compile(tf.TensorSpec([4, 5]));
    assertEquals(f.traceCount, 1);
    assertEquals(f(tf.zeros([4, 5])).shape, [4, 5]);
    await assertRejects(() => f.compile(tf.TensorSpec([4, 6])), TypeError, "Cannot compile");
    await assertRejects(() => f.compile(square, square), TypeError, "Cannot compile");
    await assertRejects(
      () => tf.function((x: tf.Tensor) => tf.matMul(x, tf.ones([3, 3]))).compile(square),
      tf.errors.ValueError,
    );
  },
);

testOnDevices(
  "compile() takes arguments in place of specs, composites, and several in turn",
  async () => {
    const scaled = tf.function((x: tf.Tensor, by: tf.Tensor) => tf.mul(tf.acosh(tf.cosh(x)), by), {
      inputSignature: [tf.TensorSpec([null]), tf.TensorSpec([])],
    });
    await scaled.compile(tf.ones([19]), 2 as unknown as tf.Tensor);
    await scaled.compile(tf.TensorSpec([23]), tf.TensorSpec([]));
    for (const length of [19, 23]) {
      const x = tf.ones([length]), by = tf.scalar(2);
      const { pipelinesCreated } = await tf.profile(async () => void await scaled(x, by).data());
      assertEquals(pipelinesCreated, 0);
    }
    await assertRejects(() => scaled.compile("no", 2), TypeError);
    const sums = tf.function((x: tf.RaggedTensor) => tf.sum(tf.square(x.values as tf.Tensor)));
    const ragged = tf.ragged.constant([[1, 2], [3]]) as tf.RaggedTensor;
    await sums.compile(ragged);
    assertEquals(sums(ragged).item(), 14);
  },
);
