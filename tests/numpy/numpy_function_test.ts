/** Bodies that get arrays of numpy-ts: what they are given, what they may return, and what is refused. */
import * as tf from "@weft/weft";
import {
  fromNumpy,
  type NDArray,
  np,
  numpyFunction,
  numpyFunctionAsync,
  pyFunc,
  registerScript,
  toNumpy,
} from "@weft/weft/numpy";
import { assert, assertAlmostEquals, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import {
  type Any,
  assertBoth,
  assertFlat,
  errorOf,
  errorOfBoth,
  open,
  plain,
} from "../script/helpers.ts";

const sinh = (x: NDArray): unknown => np.sinh(x);

testOnDevices("np.sinh() works as written, in a graph and at once, with a vjp", async () => {
  const values = [-2, 0, 1];
  const options = {
    stateful: false,
    shapeFn: (x: unknown) => x,
    vjp: ({ inputs: [x] }: { inputs: tf.Tensor[] }, dy: tf.Tensor) => [tf.mul(dy, tf.cosh(x))],
  };
  await using g = open(() => {
    const x = tf.placeholder("float32", [null], "x");
    const y = numpyFunction(sinh, [x], "float32", options);
    return { y, dx: tf.gradients(y, [x])[0]! };
  });
  assertEquals(g.parts.y.staticShape, [null]);
  const { y, dx } = plain(await g.sess.run(g.parts as Any, { feeds: { "x:0": values } }));
  const eager = tf.tidy(() => plain(numpyFunction(sinh, [tf.tensor(values)], "float32")));
  const slope = tf.tidy(() =>
    plain(tf.grad((x) => numpyFunction(sinh, [x], "float32", options))(tf.tensor(values)))
  );
  values.forEach((v, i) => {
    assertAlmostEquals(y[i], Math.sinh(v), 1e-5);
    assertAlmostEquals(eager[i], Math.sinh(v), 1e-5);
    assertAlmostEquals(dx[i], Math.cosh(v), 1e-5);
    assertAlmostEquals(slope[i], Math.cosh(v), 1e-5);
  });
});

/** A value of each dtype that numpy-ts has. */
const VALUES: readonly (readonly [tf.DType, readonly unknown[]])[] = [
  ["bool", [true, false]],
  ["int8", [-128, 127]],
  ["uint8", [0, 255]],
  ["int16", [-32768, 32767]],
  ["uint16", [0, 65535]],
  ["int32", [-2147483648, 16777217]],
  ["uint32", [0, 4294967295]],
  ["int64", [-(2n ** 63n), 2n ** 62n]],
  ["uint64", [0n, 2n ** 64n - 1n]],
  ["float32", [0.5, -Infinity]],
  ["float64", [0.1, 1e300]],
  ["complex64", [[1, -2], [0, 0.5]]],
  ["complex128", [[0.1, 1e300], [0, 0]]],
];

for (const [dtype, value] of [...VALUES, ["float16", [0.5, -2]] as const]) {
  testOnDevices(`a numpy-ts body gets and returns ${dtype}`, async () => {
    const seen: string[] = [];
    const body = (x: NDArray): unknown => {
      seen.push(`${x.dtype} ${x.shape}`);
      return x;
    };
    const wanted = plain(tf.tensor(value as Any, undefined, dtype));
    await assertBoth(
      () => numpyFunction(body, [tf.constant(value as Any, dtype)], dtype),
      wanted,
    );
    assertEquals(seen, [`${dtype} 2`, `${dtype} 2`]);
  });
}

Deno.test("toNumpy() shares the elements, whatever their number", () => {
  for (const size of [0, 1, 7, 100_000]) {
    const data = Float32Array.from({ length: size }, (_, i) => i);
    const array = toNumpy(new tf.NdArray("float32", [size], data));
    assert(array.data as unknown === data);
    // Kernels in WebAssembly must not mind memory that is not their own.
    const sum = np.add(np.multiply(array, 2), array) as NDArray;
    assertEquals(sum.data[size - 1], size === 0 ? undefined : 3 * (size - 1));
    if (size === 0) continue;
    array.set([0], 42);
    assertEquals(data[0], 42);
  }
  const scalar = toNumpy(new tf.NdArray("float64", [], Float64Array.of(3)));
  assertEquals([scalar.ndim, scalar.item()], [0, 3]);
});

/** Views of a 3 by 4 array that counts from 0. */
const VIEWS: Readonly<Record<string, (a: NDArray) => unknown>> = {
  "the same array": (a) => a,
  "later rows": (a) => a.slice("1:"),
  "a column": (a) => a.slice(":", "1"),
  "a row": (a) => a.slice("-1"),
  "an element as an array": (a) => a.slice("1:2", "2:3"),
  "every other row, backwards": (a) => a.slice("::2", "::-1"),
  "a transposed array": (a) => np.transpose(a),
  "a flipped array": (a) => np.flip(a),
  "a repeated row": (a) => np.broadcast_to(a.slice("0"), [2, 4]),
  "no rows": (a) => a.slice("0:0"),
  "a reshaped array": (a) => a.reshape(2, 2, 3),
};

for (const dtype of ["float32", "complex64", "bool"] as const) {
  testOnDevices(`a numpy-ts body may return a view of ${dtype}`, async () => {
    for (const [name, view] of Object.entries(VIEWS)) {
      const all = tf.cast(tf.range(0, 12), dtype).reshape([3, 4]);
      const elements = view(toNumpy(all.ndarraySync())) as NDArray;
      const wanted = (elements.tolist() as unknown[]).flat(Infinity).map((v) => {
        const { re, im } = v as { re?: number; im?: number };
        return re !== undefined ? [re, im] : dtype === "bool" ? Boolean(v) : v;
      });
      const run = () => numpyFunction(view, [tf.constant(all.ndarraySync())], dtype).flatten();
      await assertBoth(run, wanted);
      assertEquals(fromNumpy(elements).shape, [...elements.shape], name);
    }
  });
}

testOnDevices("a numpy-ts body may return scalars of every kind", async () => {
  const x = () => tf.constant([1, 2, 3]);
  await assertBoth(() => numpyFunction((a: NDArray) => np.sum(a), [x()], "float32"), 6);
  await assertBoth(() => numpyFunction((a: NDArray) => np.mean(a), [x()], "float64"), 2);
  await assertBoth(() => numpyFunction((a: NDArray) => np.argmax(a), [x()], "int64"), 2n);
  await assertBoth(() => numpyFunction((a: NDArray) => np.any(a), [x()], "bool"), true);
  const z = () => tf.complex([1, 2], [3, 4]);
  await assertBoth(() => numpyFunction((a: NDArray) => np.sum(a), [z()], "complex64"), [3, 7]);
  const [low, high] = tf.tidy(() =>
    plain(numpyFunction((a: NDArray) => [np.min(a), np.sum(a)], [z()], ["complex64", "complex128"]))
  );
  assertEquals([low, high], [[1, 3], [3, 7]]);
});

testOnDevices(
  "numpy-ts bodies keep the nest of their inputs and get the context last",
  async () => {
    const body = ({ a, b }: Any, [c]: NDArray[], ctx: tf.ScriptContext): unknown => {
      assert(ctx.signal instanceof AbortSignal);
      return { sum: np.add(a, b), twice: [np.multiply(c, 2)] };
    };
    await assertBoth(
      () =>
        numpyFunction(body, [{ a: tf.constant([1]), b: tf.constant([2]) }, [tf.constant([3])]], {
          sum: "float32",
          twice: ["float32"],
        }),
      { sum: [3], twice: [[6]] },
    );
  },
);

testOnDevices("numpyFunction() of numpy-ts is a decorator, too", async () => {
  const negative = numpyFunction({ Tout: "float32", shapeFn: (x: unknown) => x })(
    (x: NDArray) => np.negative(x),
  );
  await assertBoth(() => negative(tf.constant([1, -2])), [-1, 2]);
  tf.tidy(() => assertEquals(pyFunc(sinh, [tf.scalar(0)], "float32").item(), 0));
  assertThrows(() => numpyFunction({} as Any), TypeError, "Missing required argument: 'Tout'");
});

testOnDevices("numpyFunctionAsync() of numpy-ts awaits its body", async () => {
  const later = async (x: NDArray): Promise<unknown> => {
    await Promise.resolve();
    return np.cumsum(x);
  };
  using x = tf.tensor([1, 2, 3]);
  using y = await numpyFunctionAsync(later, [x], "float32");
  assertEquals(await y.array(), [1, 3, 6]);
  await using g = open(() => numpyFunction(later, [tf.constant([1, 1])], "float32"));
  assertEquals(plain(await g.sess.run(g.parts)), [1, 2]);
});

testOnDevices("what numpy-ts has no dtype for, or was not declared, is refused", async () => {
  const noStrings = await errorOfBoth(() => numpyFunction(sinh, [tf.constant("a")], "float32"));
  assert(noStrings instanceof tf.errors.InvalidArgumentError);
  assertMatch(noStrings.message, /Cannot make a numpy-ts array of dtype string/);
  const wide = await errorOfBoth(() =>
    numpyFunction(() => np.array([1, 2]), [tf.constant(1)], "float32")
  );
  assertMatch(wide.message, /0-th value returned by .* is double, but expects float/);
  const complex = await errorOfBoth(() =>
    numpyFunction((z: NDArray) => np.sum(z), [tf.complex([1], [2])], "float32")
  );
  assertMatch(complex.message, /0-th value returned by .* is complex128, but expects float/);
  const thrown = await errorOfBoth(() =>
    numpyFunction((x: NDArray) => np.add(x, np.zeros([3])), [tf.constant([1, 2])], "float32")
  );
  assertMatch(thrown.message, /broadcast/);
  const uncallable = await errorOf(() => numpyFunction(3 as Any, [tf.scalar(1)], "float32"));
  assert(uncallable instanceof tf.ValueError);
  const worker = await errorOf(() =>
    numpyFunction(sinh, [tf.scalar(1)], "float32", { worker: true } as Any)
  );
  assert(worker instanceof tf.ValueError);
});

testOnDevices(
  "registerScript() of numpy-ts gives a body a name that a GraphDef keeps",
  async () => {
    const token = "test.numpy_ts_exp@1";
    const body = registerScript(token, (x: NDArray) => np.exp(x));
    try {
      const graph = new tf.Graph();
      graph.asDefault(() =>
        numpyFunction(body, [tf.constant([0])], tf.TensorSpec([1], "float32"), { name: "exp" })
      );
      const def = JSON.parse(JSON.stringify(graph.toGraphDef()));
      await using g = open(() => {
        tf.importGraphDef(def, { prefix: "" });
      });
      assertEquals(plain(await g.sess.run("exp:0")), [1]);
    } finally {
      tf.unregisterScript(token);
    }
  },
);

testOnDevices("arrays of numpy-ts become tensors by their dtype and strides", async () => {
  const a = np.array([[1, 2], [3, 4]], "int32") as NDArray;
  await assertBoth(() => tf.constant(np.transpose(a) as Any), [[1, 3], [2, 4]]);
  await assertBoth(() => tf.constant(a.slice("1") as Any), [3, 4]);
  tf.tidy(() => {
    assertEquals(tf.tensor(a as Any).dtype, "int32");
    assertEquals(plain(tf.tensor(np.array([true, false], "bool") as Any)), [true, false]);
    assertEquals(plain(tf.add(np.flip(a) as Any, a as Any)), [[5, 5], [5, 5]]);
    const z = np.conj(toNumpy(tf.complex([1, 2], [3, 4]).ndarraySync()));
    assertEquals(plain(tf.tensor(np.flip(z) as Any)), [[2, -4], [1, -3]]);
  });
});

testOnDevices("an array of numpy-ts of rank 0 is its number, any other is refused", async () => {
  const tiny = 1.2345678901234e-12;
  const scalar = (body: (x: Any) => unknown) => () =>
    numpyFunction(body, [tf.constant(tiny, "float64")], "float64");
  await assertBoth(scalar((x) => x * 2), tiny * 2);
  await assertBoth(scalar((x) => x + 1), tiny + 1);
  await assertBoth(scalar((x) => (x > 0 ? 1 : -1)), 1);
  await assertBoth(scalar((x) => np.sqrt(x) as Any * 1), Math.sqrt(tiny));
  assertEquals(
    (toNumpy(new tf.NdArray("int64", [], BigInt64Array.of(2n ** 60n))) as Any) + 1n,
    2n ** 60n + 1n,
  );
  assertEquals(`${np.array([1, 2])}`, "[1. 2.]");
  for (const body of [(x: Any) => x * 2, (x: Any) => x + 1, (x: Any) => np.add(x, 1) as Any > 0]) {
    const error = await errorOfBoth(() => numpyFunction(body, [tf.constant([5])], "float32"));
    assert(error instanceof tf.errors.InvalidArgumentError);
    assertMatch(error.message, /shape \[1\] as a number.*\.map\(\).*np\.multiply/);
  }
});

testOnDevices("calls of numpy-ts bodies leave nothing behind", async () => {
  await using g = open(() => numpyFunction(sinh, [tf.constant([1, 2])], "float32"));
  await assertFlat(async () => {
    for (let i = 0; i < 20; i++) {
      await g.sess.run(g.parts);
      tf.tidy(() => void numpyFunction(sinh, [tf.tensor([1, 2])], "float32"));
      const bad = () => void numpyFunction(() => "x", [tf.tensor([1])], "float32");
      await errorOf(() => tf.tidy(bad));
    }
  });
});
