/** Functions of TensorFlow.js as ops: values, gradients of several orders, nests, errors, and what they leave behind. */
import * as tf from "@weft/weft";
import { tfjsFunction } from "@weft/weft/tfjs";
import { gradCheck } from "@weft/weft/testing";
import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  type Any,
  assertBoth,
  errorOf,
  errorOfBoth,
  evaluate,
  open,
  plain,
} from "../script/helpers.ts";
import { assertBothFlat, assertNoTransfer, testWithTfjs, tfjs } from "./setup.ts";

type T = tfjs.Tensor;
const { InvalidArgumentError } = tf.errors;

const cube = (x: T): T => tfjs.mul(x, tfjs.square(x));

/** TensorFlow.js's own control flow, which looks at values, needs a backend that reads at once; this looks at shapes. */
const norm = (x: T): T => (x.rank === 0 ? tfjs.abs(x) : tfjs.sqrt(tfjs.sum(tfjs.square(x))));

testWithTfjs("tfjsFunction() computes in a graph and at once", async () => {
  const x = () => tf.constant([1, -2, 3]);
  await assertBoth(() => tfjsFunction(cube, [x()], "float32"), [1, -8, 27]);
  await assertBoth(
    () => tfjsFunction(norm, [tf.constant([3, 4])], tf.TensorSpec([], "float32")),
    5,
  );
  await assertBoth(() => tfjsFunction((a: T) => tfjs.greater(a, 0), [x()], "bool"), [
    true,
    false,
    true,
  ]);
  await assertBoth(() => tfjsFunction((a: T) => tfjs.argMax(a, 1), [[[0, 2, 1]]], "int32"), [1]);
  await assertBoth(
    () => tfjsFunction((a: T) => a, [tf.constant("as it is")], "string"),
    "as it is",
  );
  await assertBoth(() => tfjsFunction(cube, [tf.zeros([0, 2])], "float32"), []);
  await assertBoth(() => tfjsFunction(() => 2.5, [x()], "float32"), 2.5);
});

testWithTfjs("nests of arguments and results are kept", async () => {
  const body = ({ a, b }: Record<string, T>, [c]: T[], ctx: tf.ScriptContext): unknown => {
    assert(ctx.signal instanceof AbortSignal);
    return { sum: tfjs.add(a, b), more: [tfjs.mul(c, 2), 7] };
  };
  await assertBoth(
    () =>
      tfjsFunction(body, [{ a: tf.constant(1), b: tf.constant(2) }, [tf.constant(3)]], {
        sum: "float32",
        more: ["float32", "int32"],
      }),
    { sum: 3, more: [6, 7] },
  );
});

testWithTfjs("gradients of any order are TensorFlow.js's, in graphs and at once", async () => {
  const graph = await evaluate(() => {
    const x = tf.constant([1, -2]);
    const y = tfjsFunction(cube, [x], "float32");
    const [dx] = tf.gradients(y, [x]);
    const [ddx] = tf.gradients(dx!, [x]);
    const [dddx] = tf.gradients(ddx!, [x]);
    return [y, dx, ddx, dddx];
  });
  assertEquals(graph, [[1, -8], [3, 12], [6, -12], [6, 6]]);
  tf.tidy(() => {
    const f = (x: tf.Tensor): tf.Tensor => tf.sum(tfjsFunction(cube, [x], "float32"));
    const g = (x: tf.Tensor): tf.Tensor => tf.sum(tf.grad(f)(x));
    const x = tf.tensor([1, -2]);
    assertEquals(plain(tf.grad(f)(x)), [3, 12]);
    assertEquals(plain(tf.grad(g)(x)), [6, -12]);
    assertEquals(plain(tf.grad((z) => tf.sum(tf.grad(g)(z)))(x)), [6, 6]);
  });
});

testWithTfjs("a GradientTape, tf.function and a loop go through it", async () => {
  await assertBothFlat(async () => {
    using x = tf.tensor([1, 2]);
    {
      using tape = new tf.GradientTape();
      tape.watch(x);
      using y = tf.tidy(() => tf.mul(2, tfjsFunction(cube, [x], "float32")));
      using dx = tape.gradient(y, x) as tf.Tensor;
      assertEquals(await dx.array(), [6, 24]);
    }
    const f = tf.function((x: tf.Tensor) => tf.add(tfjsFunction(cube, [x], "float32"), x));
    using twice = tf.tidy(() => tf.grad((x) => tf.sum(f(x) as tf.Tensor))(x));
    assertEquals(await twice.array(), [4, 13]);
  });
  const looped = await evaluate(() => {
    const x = tf.constant(1.5);
    const [, y] = tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 3),
      (i: tf.Tensor, y: tf.Tensor) => {
        const next = tfjsFunction((a: T) => tfjs.square(a), [y], "float32");
        next.setShape([]);
        return [tf.add(i, 1), next];
      },
      [tf.constant(0, "int32"), x],
    ) as tf.Tensor[];
    return [y, tf.gradients(y, [x])[0]];
  });
  assertEquals(looped, [1.5 ** 8, 8 * 1.5 ** 7]);
});

testWithTfjs("gradients agree with differences, also of several outputs and layers", () => {
  const two = (x: tf.Tensor, y: tf.Tensor): tf.Tensor => {
    const [a, b] = tfjsFunction(
      (x: T, y: T) => [tfjs.mul(x, tfjs.sin(y)), tfjs.tanh(tfjs.sum(y))],
      [x, y],
      ["float32", "float32"],
    );
    return tf.add(tf.sum(a), tf.mul(b, 3));
  };
  gradCheck(two, [[1, 2, 3], [0.5, -1, 0.25]], { dtype: "float32" });
  const image = tf.randomNormal([1, 4, 4, 2], 0, 1, "float32", 1).arraySync() as Any;
  const filter = tf.randomNormal([3, 3, 2, 3], 0, 1, "float32", 2).arraySync() as Any;
  gradCheck(
    (x, w) => {
      const y = tfjsFunction(
        (x: T, w: T) => tfjs.conv2d(x as tfjs.Tensor4D, w as tfjs.Tensor4D, 1, "same"),
        [x, w],
        "float32",
      );
      return tf.sum(tf.mul(y, tf.sin(y)));
    },
    [image, filter],
    { dtype: "float32", elements: 12 },
  );
});

testWithTfjs("inputs that a function does not use get zeros, integers get none", async () => {
  const build = () => {
    const x = tf.constant([1, 2]), unused = tf.constant([5]), n = tf.constant([1, 0], "int32");
    const y = tfjsFunction((x: T, _: T, n: T) => tfjs.gather(x, n), [x, unused, n], "float32");
    const [dx, du, dn] = tf.gradients(tf.mul(y, [10, 20]), [x, unused, n]);
    assertEquals(dn, null);
    return [dx, du];
  };
  assertEquals(await evaluate(build), [[20, 10], [0]]);
  // An output that is not float32 carries no gradient, and neither does one without a requested gradient.
  const mixed = await evaluate(() => {
    const x = tf.constant([3, 1]);
    const [values, whole] = tfjsFunction(
      (x: T) => [tfjs.square(x), tfjs.cast(x, "int32")],
      [x],
      ["float32", "int32"],
    );
    return [whole, tf.gradients(values, [x])[0]];
  });
  assertEquals(mixed, [[3, 1], [6, 2]]);
});

testWithTfjs("what a function may not return is refused", async () => {
  const x = () => tf.constant([1, 2]);
  const later = await errorOfBoth(() =>
    tfjsFunction((x: T) => Promise.resolve(x), [x()], "float32")
  );
  assert(later instanceof InvalidArgumentError);
  assertMatch(later.message, /must return tensors at once/);
  const ours = await errorOfBoth(() => tfjsFunction(() => tf.scalar(1), [x()], "float32"));
  assertMatch(ours.message, /returns .*float32.*must return tensors of TensorFlow\.js/);
  const dtype = await errorOfBoth(() =>
    tfjsFunction((x: T) => tfjs.cast(x, "int32"), [x()], "float32")
  );
  assert(dtype instanceof InvalidArgumentError);
  assertMatch(dtype.message, /is int32, but expects float/);
  const count = await errorOfBoth(() => tfjsFunction((x: T) => [x, x], [x()], ["float32"]));
  assertMatch(count.message, /returns 2 values, but expects to see 1 values/);
  const shape = await errorOfBoth(() => tfjsFunction(cube, [x()], tf.TensorSpec([3], "float32")));
  assertMatch(shape.message, /not compatible with the declared shape/);
  const thrown = await errorOfBoth(() =>
    tfjsFunction((x: T) => tfjs.matMul(x as Any, x as Any), [x()], "float32")
  );
  assertMatch(thrown.message, /matMul/);
  const input = await errorOfBoth(() => tfjsFunction(cube, [tf.constant(1, "float64")], "float32"));
  assertMatch(input.message, /Cannot give Tensor\(float64\[\]\) to TensorFlow.js/);
  assert(await errorOf(() => tfjsFunction(3 as Any, [], "float32")) instanceof tf.ValueError);
});

testWithTfjs("gradients that TensorFlow.js does not have are errors that say so", async () => {
  const build = () => {
    const x = tf.constant([[1, 2], [3, 4]]);
    const y = tfjsFunction((x: T) => tfjs.einsum("ij->ji", x), [x], "float32");
    return tf.gradients(y, [x]);
  };
  const missing = await errorOf(() => evaluate(build));
  assertMatch(missing.message, /no gradient is registered for its kernel Einsum/);
  const complex = await errorOf(() =>
    tf.tidy(() =>
      tf.grad((x) => tf.sum(tf.abs(tfjsFunction((z: T) => z, [tf.complex(x, x)], "complex64"))))(
        tf.tensor([1]),
      )
    )
  );
  assertMatch(complex.message, /Cannot differentiate a function of TensorFlow.js through/);
});

testWithTfjs(
  "calls, gradients and failures leave nothing behind in either library",
  async (device) => {
    const graph = open(() => {
      const x = tf.placeholder("float32", [5], "x");
      const y = tfjsFunction(cube, [tf.mul(x, 2)], tf.TensorSpec([5], "float32"));
      return { y, dx: tf.gradients(y, [x])[0]! };
    });
    await using g = graph;
    using fed = tf.tensor([1, 2, 3, 4, 5]);
    await g.sess.run(g.parts as Any, { feeds: { "x:0": fed } });
    const constant = tfjs.tensor([1, 1, 1, 1, 1]);
    await assertBothFlat(async () => {
      for (let i = 0; i < 10; i++) {
        await g.sess.run(g.parts as Any, { feeds: { "x:0": fed } });
        tf.tidy(() => {
          tf.grad((x) =>
            tf.sum(tfjsFunction((x: T) => tfjs.add(cube(x), constant), [x], "float32"))
          )(
            fed,
          );
          tfjsFunction(() => constant, [], "float32");
        });
        const bad = () => void tfjsFunction((x: T) => [tfjs.square(x), x], [fed], "float32");
        await errorOf(() => tf.tidy(bad));
      }
    });
    assert(!constant.isDisposed);
    constant.dispose();
    if (device === "cpu") return;
    await assertNoTransfer(() =>
      tf.tidy(() => void tf.grad((x) => tf.sum(tfjsFunction(cube, [x], "float32")))(fed))
    );
  },
);

testWithTfjs("in a run on one device only fetches are read", async (device) => {
  await using g = open(() => {
    const x = tf.placeholder("float32", [4], "x");
    const y = tfjsFunction(cube, [tf.add(x, x)], tf.TensorSpec([4], "float32"));
    return tf.sum(tf.gradients(tf.mul(y, y), [x])[0]!);
  });
  using x = tf.tensor([1, 0, 0, 0]);
  const metadata: Any = {};
  assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": x }, metadata }), 6 * 64);
  if (device === "cpu") return;
  assertEquals([metadata.readbacks, metadata.bytesToHost], [1, 4]);
});
