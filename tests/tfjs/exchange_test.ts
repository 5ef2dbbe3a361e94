/** Tensors from one library to the other: values, memory, owners, and the order of the two queues' work. */
import * as tf from "@weft/weft";
import { fromTfjs, fromTfjsAsync, toTfjs, toTfjsAsync } from "@weft/weft/tfjs";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { HAS_WEBGPU, testOnDevices } from "../devices.ts";
import { type Any, plain } from "../script/helpers.ts";
import { assertBothFlat, assertNoTransfer, bufferOf, taken, testWithTfjs, tfjs } from "./setup.ts";

/** A value of each dtype that both libraries have, and of several shapes. */
const VALUES: readonly (readonly [tf.DType, readonly number[], readonly unknown[]])[] = [
  ["float32", [], [0.5]],
  ["float32", [5], [1, -2, 0, 3e38, -Infinity]],
  ["float32", [0, 2], []],
  ["int32", [2, 3], [0, 1, -1, 100, 16777215, -16777216]],
  ["int32", [0], []],
  ["bool", [3], [true, false, true]],
  ["bool", [], [true]],
  ["string", [2], ["weft", "naïve"]],
  ["string", [0], []],
  ["complex64", [2], [[1, -2], [0, 0.5]]],
  ["complex64", [], [[3, 4]]],
];

for (const [dtype, shape, values] of VALUES) {
  testWithTfjs(`toTfjs() and fromTfjs() keep ${dtype}[${shape}]`, async () => {
    await assertBothFlat(async () => {
      using x = tf.tensor(values as Any, shape as Any, dtype);
      const t = toTfjs(x);
      assertEquals([t.dtype, t.shape], [dtype, shape] as Any);
      const data = await tfjs.engine().read(t.dataId);
      const size = values.length * (dtype === "complex64" ? 2 : 1);
      assertEquals([...data].length, size);
      using back = fromTfjs(t);
      t.dispose();
      assertEquals([back.dtype, back.shape], [dtype, shape]);
      assertEquals(await back.array(), await x.array());
    });
  });

  testWithTfjs(
    `fromTfjs() and toTfjs() keep what TensorFlow.js made, ${dtype}[${shape}]`,
    async () => {
      await assertBothFlat(async () => {
        using x = tf.tensor(values as Any, shape as Any, dtype);
        const made = tfjs.tidy(() => {
          const t = toTfjs(x);
          // A result, so that the data is TensorFlow.js's own. Strings it only hands on.
          if (dtype === "string" || t.size === 0) return t.clone();
          const zero = tfjs.zerosLike(t);
          return dtype === "bool" ? tfjs.logicalOr(t, zero) : tfjs.add(t, zero);
        });
        using y = fromTfjs(made);
        made.dispose();
        const again = toTfjs(y);
        using z = fromTfjs(again);
        again.dispose();
        assertEquals([z.dtype, z.shape], [dtype, shape]);
        assertEquals(await z.array(), await x.array());
      });
    },
  );
}

testWithTfjs(
  "int32 passes as it is, though TensorFlow.js computes with it in float32",
  async () => {
    const values = [16777217, 2147483647, -2147483648];
    using x = tf.tensor(values, [3], "int32");
    const t = toTfjs(x);
    using y = fromTfjs(t);
    assertEquals([[...await t.data()], await y.array()], [values, values]);
    t.dispose();
  },
);

testWithTfjs("views of either library keep their values", async () => {
  using _scope = tf.scope();
  const x = tf.range(0, 12);
  const t = toTfjs(x.reshape([3, 4]));
  const u = tfjs.tidy(() => tfjs.reshape(tfjs.transpose(t), [2, 6]));
  assertEquals(await fromTfjs(u).array(), [[0, 4, 8, 1, 5, 9], [2, 6, 10, 3, 7, 11]]);
  const row = tfjs.slice(t, [1, 0], [1, 4]);
  assertEquals(await fromTfjs(row).mul(2).array(), [[8, 10, 12, 14]]);
  const variable = tf.variable(x);
  const v = toTfjs(variable);
  variable.assign(tf.zeros([12]));
  assertEquals(await v.array(), Array.from({ length: 12 }, (_, i) => i));
  variable.dispose();
  tfjs.dispose([t, u, row, v]);
});

testWithTfjs("the Async forms do the same", async () => {
  await assertBothFlat(async () => {
    using x = tf.tensor([1, 2, 3]);
    const t = await toTfjsAsync(x);
    using y = await fromTfjsAsync(t);
    t.dispose();
    assertEquals(await y.array(), [1, 2, 3]);
  });
});

testWithTfjs("what cannot be exchanged is refused", () => {
  for (const dtype of ["float64", "int64", "uint8", "uint32", "complex128"] as const) {
    using x = tf.ones([2], dtype);
    const error = assertThrows(() => toTfjs(x), TypeError, "Cannot give Tensor(") as Error;
    assertMatch(error.message, new RegExp(`Cannot give Tensor\\(${dtype}\\[2\\]\\) to TensorFlow`));
  }
  const gone = tf.tensor([1]);
  gone.dispose();
  assertThrows(() => toTfjs(gone), tf.RuntimeError, "disposed");
  new tf.Graph().asDefault(() => {
    assertThrows(() => toTfjs(tf.placeholder("float32")), TypeError, "out of scope");
  });
  const t = tfjs.tensor([1]);
  t.dispose();
  assertThrows(() => fromTfjs(t), tf.RuntimeError, "disposed");
  assertThrows(
    () => fromTfjs([1] as Any),
    TypeError,
    "Cannot take over a tensor of TensorFlow.js: the argument is none",
  );
});

testOnDevices("tensors are copied where TensorFlow.js runs on another device", async () => {
  await tfjs.setBackend("cpu");
  await assertBothFlat(() => {
    using x = tf.tensor([1, 2, 3, 4, 5]);
    const y = taken(() => tfjs.square(toTfjs(x)));
    assertEquals(y.device, x.device);
    assertEquals(plain(y), [1, 4, 9, 16, 25]);
    y.dispose();
  });
});

/** Registers a test of what two libraries on one GPU device do. */
function testShared(name: string, fn: () => void | Promise<void>): void {
  if (!HAS_WEBGPU) return Deno.test({ name: `${name} [webgpu]`, ignore: true, fn: () => {} });
  testWithTfjs(name, (device) => (device === "cpu" ? undefined : fn()));
}

testShared("on one device tensors go both ways in the same GPU buffer", async () => {
  await assertBothFlat(async () => {
    using x = tf.tensor([1, 2, 3, 4, 5]);
    await assertNoTransfer(() => {
      const t = toTfjs(x), u = toTfjs(x);
      assert(bufferOf(t) === bufferOf(u));
      using same = fromTfjs(t);
      assert((same as Any).storage === (x as Any).storage);
      const squared = tfjs.square(t);
      using y = fromTfjs(squared);
      const again = toTfjs(y);
      assert(bufferOf(again) === bufferOf(squared));
      assert((y as Any).storage.buffer.gpu === bufferOf(squared));
      tfjs.dispose([t, u, squared, again]);
    });
  });
});

testShared("on one device TensorFlow.js reads as many elements as there are", async () => {
  for (const size of [1, 2, 3, 4, 5, 63, 65, 1000]) {
    using x = tf.range(0, size);
    const wanted = Array.from({ length: size }, (_, i) => i);
    const a = toTfjs(x);
    assertEquals([...await a.data()], wanted);
    const c = tfjs.add(a, 1), d = tfjs.complex(a, c);
    assertEquals([...await c.data()], wanted.map((v) => v + 1));
    assertEquals((await d.data()).length, 2 * size);
    tfjs.dispose([a, c, d]);
  }
});

testShared("on one device TensorFlow.js reads at once where we do", () => {
  using x = tf.tensor([1, 2, 3]);
  assertEquals([...x.dataSync() as Float32Array], [1, 2, 3]);
  const a = toTfjs(x), b = tfjs.neg(a), c = tfjs.complex(a, b);
  assertEquals([...b.dataSync()], [-1, -2, -3]);
  assertEquals([...a.dataSync()], [1, 2, 3]);
  assertEquals([...c.dataSync()], [1, -1, 2, -2, 3, -3]);
  tfjs.dispose([a, b, c]);
});

testShared("kernels of ours read buffers of TensorFlow.js of every size to the end", async () => {
  for (const size of [1, 2, 3, 5, 6, 7, 9]) {
    using _scope = tf.scope();
    const t = tfjs.tidy(() => tfjs.mul(toTfjs(tf.range(0, size)), 2));
    const y = fromTfjs(t);
    t.dispose();
    const wanted = Array.from({ length: size }, (_, i) => 2 * i);
    assertEquals(await tf.add(y, 1).array(), wanted.map((v) => v + 1));
    assertEquals((await tf.sum(y).data())[0], size * (size - 1));
    // The update of an optimizer works in groups of four.
    const v = tf.variable(tf.zeros([size]));
    tf.train.sgd(0.5).applyGradients([{ name: v.name, tensor: y }]);
    assertEquals(await v.array(), wanted.map((w) => -w / 2));
    v.dispose();
  }
});

testShared("on one device either tensor may be disposed first", async () => {
  await assertBothFlat(async () => {
    const x = tf.tensor([1, 2, 3, 4]);
    const t = toTfjs(x);
    x.dispose();
    // Would take the buffer, were it free.
    const other = tf.tensor([9, 9, 9, 9]);
    assertEquals(await t.array(), [1, 2, 3, 4]);
    const u = tfjs.neg(t);
    t.dispose();
    // Its types forbid it, but nothing bad comes of our tensor as the result.
    const y = tfjs.tidy(() => fromTfjs(u) as Any) as tf.Tensor;
    u.dispose();
    const more = tfjs.fill([4], 7);
    assertEquals(await y.array(), [-1, -2, -3, -4]);
    tf.dispose([other, y]);
    more.dispose();
  });
});

testShared("on one device work happens in the order it was asked for", async () => {
  const steps = 30;
  await assertBothFlat(async () => {
    let x: tf.Tensor = tf.ones([1000]);
    await assertNoTransfer(() => {
      for (let i = 0; i < steps; i++) {
        const before = x;
        x = tf.tidy(() => {
          const ours = tf.add(x, x);
          // What TensorFlow.js makes on the way is free again before any of it was submitted.
          const theirs = taken(() => tfjs.add(toTfjs(ours), toTfjs(x)));
          return tf.add(tf.sub(theirs, ours), taken(() => tfjs.neg(toTfjs(ours))));
        });
        before.dispose();
      }
    });
    // 3x - 2x - 2x each time.
    assertEquals([...new Set(await x.data() as Float32Array)], [(-1) ** steps]);
    x.dispose();
  });
});

testShared(
  "a buffer that comes back to the pool is not overwritten before it was read",
  async () => {
    const kept: tfjs.Tensor[] = [];
    for (let i = 0; i < 30; i++) {
      const x = tf.fill([256], i);
      const t = toTfjs(x);
      kept.push(tfjs.mul(t, 2));
      t.dispose();
      x.dispose();
      tf.tensor(new Float32Array(256).fill(-1)).dispose();
    }
    for (const [i, t] of kept.entries()) {
      assertEquals([...new Set(await t.data())], [2 * i]);
      t.dispose();
    }
  },
);
