/**
 * TensorFlow's own tests of script ops, case by case: py_func_test.py (1–63) and script_ops_test.py (64–72).
 * Numbers and names are those of the list the README of this folder explains.
 */
import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import {
  type Any,
  assertBoth,
  bothModes,
  deferred,
  errorOf,
  evaluate,
  open,
  plain,
  totals,
} from "./helpers.ts";

type N = tf.NdArray;
type T = tf.Tensor;
const py = tf.compat.v1.pyFunc;

/** Adds element by element in the arrays' own dtype. */
const plus = (x: N, y: N): N => x.map((v, i) => (v as Any) + (y.at(i) as Any));
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const REAL = [
  "float16",
  "float32",
  "float64",
  "uint8",
  "int8",
  "uint16",
  "int16",
  "int32",
  "int64",
] as const;

testOnDevices("1 testRealDataTypes: pyFunc() takes and returns every real dtype", async () => {
  for (const dtype of REAL) {
    const one = dtype === "int64" ? 3n : 3;
    await assertBoth(() => py(plus, [tf.constant(1, dtype), tf.constant(2, dtype)], dtype), one);
  }
});

testOnDevices("2 testComplexDataTypes: pyFunc() takes and returns complex dtypes", async () => {
  const sub = (x: N, y: N): N =>
    new tf.NdArray(
      x.dtype,
      [],
      (x.data as Any).map((v: Any, i: number) => v - (y.data as Any)[i]) as Any,
    );
  for (const dtype of ["complex64", "complex128"] as const) {
    const value = (re: number, im: number) => tf.constant([re, im] as Any, dtype);
    await assertBoth(() => py(sub, [value(1, 1), value(2, -2)], dtype), [-1, 3]);
  }
});

testOnDevices("3 testBoolDataTypes: pyFunc() takes and returns booleans", async () => {
  const and = (x: N, y: N) => Boolean(x.item()) && Boolean(y.item());
  await assertBoth(
    () => py(and, [tf.constant(true, "bool"), tf.constant(false, "bool")], "bool"),
    false,
  );
});

testOnDevices("4 testSingleType: one dtype means one tensor", async () => {
  const f = (x: N, y: N) => Math.sinh(x.item() as number) + Math.cosh(y.item() as number);
  const z = await evaluate(() => py(f, [tf.constant(1), tf.constant(2)], "float32"));
  assertAlmostEquals(z, Math.sinh(1) + Math.cosh(2), 1e-5);
});

testOnDevices("5 testScalar: a list of one dtype means a list of one tensor", async () => {
  const f = (x: T, y: T) => tf.add(tf.sinh(x), tf.cosh(y));
  const z = await evaluate(() => tf.pyFunction(f, [tf.constant(1), tf.constant(2)], ["float32"]));
  assertEquals(z.length, 1);
  assertAlmostEquals(z[0], Math.sinh(1) + Math.cosh(2), 1e-5);
});

testOnDevices("6 testArray: a vector for a list of one dtype", async () => {
  const f = (
    x: N,
    y: N,
  ) => [x.map((v, i) => Math.sinh(v as number) + Math.cosh(y.at(i) as number))];
  const [z] = await evaluate(() =>
    py(f, [tf.constant([1, 2], "float64"), tf.constant([2, 3], "float64")], ["float64"])
  );
  assertEquals(z, [Math.sinh(1) + Math.cosh(2), Math.sinh(2) + Math.cosh(3)]);
});

/** sinh(x) + cosh(y) of complex numbers. */
function sinhPlusCosh([a, b]: readonly number[], [c, d]: readonly number[]): [number, number] {
  return [
    Math.sinh(a) * Math.cos(b) + Math.cosh(c) * Math.cos(d),
    Math.cosh(a) * Math.sin(b) + Math.sinh(c) * Math.sin(d),
  ];
}

testOnDevices("7 testComplexType: complex functions of complex arguments", async () => {
  const f = (x: N, y: N) => {
    assertEquals([x.dtype, y.dtype], ["complex64", "complex64"]);
    return sinhPlusCosh(x.item() as [number, number], y.item() as [number, number]);
  };
  const { graph, eager } = await bothModes(() =>
    py(
      f,
      [tf.constant([1, 2] as Any, "complex64"), tf.constant([3, 4] as Any, "complex64")],
      "complex64",
    )
  );
  const wanted = sinhPlusCosh([1, 2], [3, 4]);
  for (const z of [graph, eager]) {
    wanted.forEach((v, i) => assertAlmostEquals(z[i], v, 1e-5));
  }
});

testOnDevices("8 testRFFT: float in, complex out", async () => {
  const rfft = (x: N): N => {
    const n = x.size, out = new Float32Array(2 * (n / 2 + 1));
    for (let k = 0; k <= n / 2; k++) {
      for (let i = 0; i < n; i++) {
        out[2 * k] += (x.at(i) as number) * Math.cos((2 * Math.PI * k * i) / n);
        out[2 * k + 1] -= (x.at(i) as number) * Math.sin((2 * Math.PI * k * i) / n);
      }
    }
    return new tf.NdArray("complex64", [n / 2 + 1], out);
  };
  const y = await evaluate(() => py(rfft, [tf.constant([1, 2, 3, 4])], "complex64"));
  [[10, 0], [-2, 2], [-2, 0]].forEach((pair, i) =>
    pair.forEach((v, j) => assertAlmostEquals(y[i][j], v, 1e-5))
  );
});

testOnDevices("9 testPythonLiteral: a plain number is a result", async () => {
  await assertBoth(
    () => py((x: N) => (x.item() === 0 ? 1 : 0), [tf.constant(0, "float64")], "float64"),
    1,
  );
});

testOnDevices("10 testList: a list gives one output per element", async () => {
  const f = (x: N) => [x, x.map((v) => (v as number) + 1)];
  await assertBoth(() => py(f, [tf.constant(0, "float64")], ["float64", "float64"]), [0, 1]);
});

testOnDevices("11 testTuple: so does a tuple, and inp and Tout may be tuples", async () => {
  const f = (x: N) => Object.freeze([x, (x as Any) + 1]);
  const x = () => tf.constant(0, "float64");
  await assertBoth(() => py(f, [x()], ["float64", "float64"]), [0, 1]);
  const Tout = Object.freeze(["float64", "float64"] as const);
  await assertBoth(() => py(f, Object.freeze([x()]), Tout), [0, 1]);
});

testOnDevices("12 testStrings: strings travel from one body to the next", async () => {
  const read = () => new tf.NdArray("string", [1], [bytes(" there")]);
  const join = (x: N, y: N) =>
    new tf.NdArray(
      "string",
      [2],
      (x.data as Any).map((v: Any) => bytes(plain(v) + plain(y.at(0)))) as Any,
    );
  await assertBoth(() => {
    const x = py(read, [], "string");
    return py(join, [tf.constant(["hello", "hi"], "string"), x], "string");
  }, ["hello there", "hi there"]);
});

testOnDevices(
  "13 testStringsAreConvertedToBytes: JavaScript strings become UTF-8 bytes",
  async () => {
    await assertBoth(() => {
      const x = py(() => [" there"], [], "string");
      return py(
        (x: N, y: N) => (x.data as Any).map((v: Any) => plain(v) + plain(y.at(0))),
        [tf.constant(["hello", "hi"], "string"), x],
        "string",
      );
    }, ["hello there", "hi there"]);
  },
);

testOnDevices(
  "14 testObjectArraysAreConvertedToBytes: bytes and strings may be mixed",
  async () => {
    await assertBoth(() => {
      const x = py(() => [bytes(" there"), " ya"], [], "string");
      return py(
        (x: N, y: N) => (x.data as Any).map((v: Any, i: number) => plain(v) + plain(y.at(i))),
        [tf.constant(["hello", "hi"], "string"), x],
        "string",
      );
    }, ["hello there", "hi ya"]);
  },
);

testOnDevices("15 testStringPadding: bytes of different lengths stay as they are", async () => {
  const correct = ["this", "is", "a", "test"];
  await assertBoth(() => py(() => [correct.map(bytes)], [], ["string"]), [correct]);
});

testOnDevices(
  "16 testStringPaddingAreConvertedToBytes: strings of different lengths stay as they are",
  async () => {
    const correct = ["this", "is", "a", "test"];
    await assertBoth(() => py(() => [correct], [], ["string"]), [correct]);
  },
);

testOnDevices("17 testNulTerminatedStrings: NULs stay; NumPy alone would strip them", async () => {
  const texts = ["this\0", "is\0\0", "a\0", "t\0est"];
  await assertBoth(() => py(() => texts, [], "string"), texts);
});

testOnDevices("18 testLarge: a million floats, twenty times", async () => {
  const each = (x: N, f: (v: number) => number): N =>
    new tf.NdArray("float32", x.shape, (x.data as Float32Array).map(f));
  await using g = open(() => {
    const x = tf.zeros([1_000_000]);
    const [y] = py((x: N) => each(x, (v) => v + 1), [x], ["float32"]);
    const [z] = py((x: N) => each(x, (v) => v * 2), [x], ["float32"]);
    return [y.op, z.op];
  });
  for (let i = 0; i < 20; i++) {
    assertEquals(await g.sess.run(g.parts as Any) as Any, [null, null]);
  }
});

testOnDevices("19 testNoInput: a body without inputs", async () => {
  await assertBoth(() => py(() => 42, [], "float64"), 42);
});

testOnDevices(
  "20 testAlias: what the body returned and keeps is not changed downstream",
  async () => {
    const kept = new Float32Array([1, 2]);
    assertEquals(await evaluate(() => tf.add(py(() => kept, [], "float32"), tf.constant([3, 4]))), [
      4,
      6,
    ]);
    assertEquals([...kept], [1, 2]);
  },
);

testOnDevices("21 testReturnUnicodeString: text is UTF-8", async () => {
  await assertBoth(() => py(() => "你好 世界", [], "string"), "你好 世界");
});

testOnDevices("22 testBadNumpyReturnType: an array whose elements are no numbers", async () => {
  const structured = { shape: [0], dtype: "[('foo', '<f4')]", data: [] };
  const error = await errorOf(() => evaluate(() => py(() => structured, [], ["float32"])));
  assert(error instanceof tf.errors.InternalError);
  assertMatch(error.message, /Unsupported numpy data type/);
});

testOnDevices("23 testBadReturnType: an object where a value is wanted", async () => {
  const error = await errorOf(() => evaluate(() => py(() => ({ a: 1 }), [], "float32")));
  assert(error instanceof tf.errors.InternalError);
  assertMatch(error.message, /Unsupported object type/);
});

testOnDevices("24 testReturnInput: a view of the input may be returned", async () => {
  await using g = open(() => {
    const x = tf.placeholder("float32", [2], "x");
    return tf.add(py((x: N) => (x.data as Float32Array).subarray(0, 1), [x], "float32"), 0);
  });
  assertEquals(plain(await g.sess.run(g.parts, { feeds: { "x:0": [0, 1] } })), [0]);
});

/** A body that advances an iterator. */
function counter(): () => unknown {
  const producer = [0n, 1n, 2n].values();
  return () => producer.next().value;
}

testOnDevices("25 testStateful: the body of a stateful op runs each time", async () => {
  await using g = open(() => py(counter(), [], ["int64"])[0]);
  for (const wanted of [0n, 1n, 2n]) assertEquals(await g.sess.run(g.parts), wanted);
});

testOnDevices(
  "26 testStateless: the body of a stateless op without inputs runs once per session",
  async () => {
    await using g = open(() => py(counter(), [], ["int64"], false)[0]);
    for (const wanted of [0n, 0n, 0n]) assertEquals(await g.sess.run(g.parts), wanted);
  },
);

testOnDevices("27 testGradientFunction: a numpy-style body has no gradient", async () => {
  for (const stateful of [true, false]) {
    await using g = open(() => {
      const x = tf.constant(3);
      return tf.gradients(py((x: N) => x, [x], "float32", { stateful }), [x]);
    });
    assertEquals(g.parts, [null]);
  }
});

testOnDevices("28 testCOrder: results in another memory order keep their values", async () => {
  const transposed = {
    shape: [2, 2],
    dtype: "float32",
    strides: [1, 2],
    data: new Float32Array([1, 3, 2, 4]),
    copy: () => ({ shape: [2, 2], dtype: "float32", data: new Float32Array([1, 2, 3, 4]) }),
  };
  await assertBoth(() => py(() => transposed, [], "float32"), [[1, 2], [3, 4]]);
});

testOnDevices("29 testParallel: bodies that are ready together overlap", async () => {
  const given = deferred<number>(), taken = deferred();
  const put = async () => {
    given.resolve(42);
    await taken.promise;
    return 42;
  };
  const get = async () => {
    const v = await given.promise;
    taken.resolve();
    return v;
  };
  assertEquals(await evaluate(() => [py(put, [], "int32"), py(get, [], "int32")]), [42, 42]);
});

testOnDevices("30 testNoReturnValueStateful: no output, only an effect", async () => {
  class State {
    readonly value = BigInt64Array.of(1n);
    increment(diff: N): void {
      this.value[0] += diff as Any;
    }
  }
  const state = new State();
  const op = () => py((diff: N) => state.increment(diff), [tf.constant(2, "int64")], [], true);
  assertEquals(await evaluate(op), null);
  assertEquals([...state.value], [3n]);
});

testOnDevices("31 testNoReturnValueStateless: no output and no effect", async () => {
  const doNothing = (_unused: N): void => {};
  assertEquals(
    await evaluate(() => py(doNothing, [tf.constant(3, "int64")], [], false)),
    [],
  );
});

class WeirdError extends Error {}
/** A failing body, the text of its error, and the class of the result. */
const EXCEPTIONS: readonly (readonly [() => never, string, new (...a: never[]) => Error])[] = [
  [raise(tf.ValueError), "blah", tf.errors.InvalidArgumentError],
  [raise(TypeError), "blah", tf.errors.InvalidArgumentError],
  [raise(RangeError), "blah", tf.errors.InvalidArgumentError],
  [raise(tf.StopIteration), "blah", tf.errors.OutOfRangeError],
  [
    raise(RangeError, "Array buffer allocation failed"),
    "Array buffer allocation failed",
    tf.errors.ResourceExhaustedError,
  ],
  [raise(tf.NotImplementedError), "blah", tf.errors.UnimplementedError],
  [raise(WeirdError), "blah", tf.errors.UnknownError],
  [raise(Error), "blah", tf.errors.UnknownError],
];

function raise(Thrown: new (message: string) => Error, text = "blah"): () => never {
  return function innerException(): never {
    throw new Thrown(text);
  };
}

async function checkException(
  call: (body: () => never) => unknown,
  isEager: boolean,
): Promise<void> {
  for (const [innerException, text, Wanted] of EXCEPTIONS) {
    const raiseException = (): never => {
      throw innerException();
    };
    const error = await errorOf(() =>
      isEager ? call(raiseException) : evaluate(() => call(raiseException))
    );
    assert(error instanceof Wanted, `${text} gave ${error.name}, not ${Wanted.name}`);
    assertMatch(
      error.message,
      new RegExp(`: ${text}[^]*innerException[^]*raiseException[^]*: ${text}`),
    );
    assert((error.cause as Error).message.includes(text));
  }
}

testOnDevices(
  "32 testExceptionHandling: what a body throws has TensorFlow's class, text and stack",
  async () => {
    for (const isEager of [false, true]) {
      await checkException((body) => py(body, [], []), isEager);
      await checkException((body) => py(body, [], "int32"), isEager);
    }
  },
);

// 33–35 are in upstream/collected_test.ts, whose processes collect garbage.

const ones = (shape: number[], dtype: "float32" | "int32") => tf.ones(shape, dtype);

testOnDevices("36 testEagerSingleOutputInt32: int32 tensors", async () => {
  await assertBoth(
    () =>
      tf.pyFunction(
        (a: T, b: T) => tf.matMul(a, b),
        [ones([3, 3], "int32"), ones([3, 1], "int32")],
        "int32",
      ),
    [[3], [3], [3]],
  );
});

testOnDevices("38 testEagerSingleOutputFloat32: float32 tensors on the device", async (device) => {
  const seen: string[] = [];
  await assertBoth(() =>
    tf.pyFunction(
      (a: T, b: T) => {
        seen.push(a.device);
        return tf.matMul(a, b);
      },
      [ones([3, 3], "float32"), ones([3, 1], "float32")],
      "float32",
    ), [[3], [3], [3]]);
  for (const name of seen) assertMatch(name, device === "webgpu" ? /GPU:0$/ : /CPU:0$/);
});

testOnDevices("39 testEagerArrayOutput: a list of one tensor", async () => {
  await assertBoth(
    () =>
      tf.pyFunction((a: T, b: T) => [tf.matMul(a, b)], [
        ones([3, 3], "float32"),
        ones([3, 1], "float32"),
      ], ["float32"]),
    [[[3], [3], [3]]],
  );
});

testOnDevices("40 testEagerReturnNone: no output", async () => {
  let calls = 0;
  const noReturn = (): void => void calls++;
  assertEquals(tf.pyFunction(noReturn, [], []) as Any, []);
  assertEquals(await evaluate(() => tf.pyFunction(noReturn, [], [])), null);
  assertEquals(calls, 2);
});

testOnDevices("41 testEagerPyFuncInDefun: inside a traced function", () => {
  const f = tf.function(() =>
    tf.pyFunction((a: T, b: T) => tf.matMul(a, b), [
      ones([3, 3], "float32"),
      ones([3, 1], "float32"),
    ], "float32")
  );
  assertEquals(tf.tidy(() => plain(f())), [[3], [3], [3]]);
});

testOnDevices(
  "42 testEagerExceptionHandling: the table of 32 for eager-style bodies, graph and eager",
  async () => {
    await checkException((body) => tf.pyFunction(body, [], "float32"), false);
    await checkException((body) => tf.pyFunction(body, [], "float32"), true);
  },
);

testOnDevices("43 testEagerReturningVariableRaisesError: a variable is no result", async () => {
  using v = tf.variable(0);
  for (
    const build of [
      () => evaluate(() => tf.pyFunction(() => v, [], "float32")),
      () => tf.pyFunction(() => v, [], "float32"),
    ]
  ) {
    const error = await errorOf(build);
    assert(error instanceof tf.errors.UnknownError);
    assertMatch(error.message, /Attempting to return a variable/);
  }
});

testOnDevices(
  "44 testTapeCache: a script keeps a tape only until its gradient is computed",
  async () => {
    const live = () => totals().liveTapes, before = live();
    const square = (x: T): T => tf.pyFunction((x: T) => tf.pow(x, 2), [x], "float32");
    const derivative = (): T => {
      const x = tf.constant(3);
      square(x);
      assertEquals(live(), before);
      using tape = new tf.GradientTape();
      tape.watch(x);
      const y = square(x);
      // The tape itself: what a script adds are steps of it.
      assertEquals(live(), before + 1);
      return tape.gradient(y, x)!;
    };
    await assertBoth(derivative, 6);
    assertEquals(live(), before);
  },
);

testOnDevices("45 testEagerGradientTape: real and complex, in both modes", async () => {
  const gradient = (x: T): T => {
    using tape = new tf.GradientTape();
    tape.watch(x);
    return tape.gradient(tf.pyFunction((x: T) => tf.pow(x, 2), [x], x.dtype), x)!;
  };
  await assertBoth(() => gradient(tf.constant(3)), 6);
  const complex = () => gradient(tf.constant([3, 3] as Any, "complex128"));
  const { graph, eager } = await bothModes(complex);
  for (const [re, im] of [graph, eager]) {
    assertAlmostEquals(re, 6, 1e-12);
    assertAlmostEquals(im, -6, 1e-12);
  }
});

testOnDevices("46 testEagerGradientGraph: tf.gradients", async () => {
  assertEquals(
    await evaluate(() => {
      const x = tf.constant(3);
      return tf.gradients(tf.pyFunction((x: T) => tf.square(x), [x], "float32"), [x])[0];
    }),
    6,
  );
});

const twoOutputs = (x: T, y: T) => [tf.mul(x, y), tf.div(x, y)];

testOnDevices("47 testEagerGradientGraphTwoOutputs: the sum over outputs", async () => {
  assertEquals(
    await evaluate(() => {
      const x = tf.constant(3), y = tf.constant(2);
      const [a, b] = tf.pyFunction(twoOutputs, [x, y], ["float32", "float32"]);
      return tf.gradients(tf.add(a, b), [x])[0];
    }),
    2.5,
  );
});

const sumOfSquares = (x: T, y: T) => tf.add(tf.pow(x, 2), tf.pow(y, 2));

testOnDevices("48 testEagerGradientTapeMultipleArgs: one gradient per argument", async () => {
  await assertBoth(() => {
    const x = tf.constant(3), y = tf.constant(4);
    using tape = new tf.GradientTape();
    tape.watch(x);
    tape.watch(y);
    return tape.gradient(tf.pyFunction(sumOfSquares, [x, y], "float32"), [x, y]);
  }, [6, 8]);
});

testOnDevices(
  "49 testEagerGradientGraphMultipleArgs: one gradient per argument, in a graph",
  async () => {
    assertEquals(
      await evaluate(() => {
        const x = tf.constant(3), y = tf.constant(4);
        return tf.gradients(tf.pyFunction(sumOfSquares, [x, y], "float32"), [x, y]);
      }),
      [6, 8],
    );
  },
);

testOnDevices("50 testEagerGradientGraphLogHuber: a branch on a value", async () => {
  const logHuber = (x: T, m: T) =>
    tf.abs(x).item() <= m.item()
      ? tf.square(x)
      : tf.mul(tf.square(m), tf.add(tf.sub(1, tf.mul(2, tf.log(m))), tf.log(tf.square(x))));
  await using g = open(() => {
    const x = tf.placeholder("float32", null, "x"), m = tf.placeholder("float32", null, "m");
    const y = tf.pyFunction(logHuber, [x, m], "float32");
    return [y, tf.gradients(y, [x])[0]!];
  });
  assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": 1, "m:0": 2 } }), [1, 2]);
});

testOnDevices(
  "51 testEagerRespectsDevicePlacementOfOp: a chain pinned to the CPU stays there",
  async () => {
    const seen: string[] = [];
    const onCpu = (f: (x: T) => T) => (x: T): T => {
      const y = f(x);
      seen.push(x.device, y.device);
      return y;
    };
    await using g = open(() =>
      tf.device("/CPU:0", () => {
        const x = tf.placeholder("float32", null, "x");
        const y = tf.pyFunction(onCpu((x) => tf.square(x)), [x], "float32");
        return tf.pyFunction(onCpu((x) => tf.add(x, x)), [y], "float32");
      })
    );
    assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": 3 } }), 18);
    assertEquals(seen.length, 4);
    for (const name of seen) assertMatch(name, /CPU:0$/);
  },
);

testOnDevices("52 testEagerPyFuncOnGPUWithStrings: strings are the host's business", async () => {
  await assertBoth(
    () =>
      tf.pyFunction((x: T) => `<dtype: '${x.dtype}'>`, [tf.constant(["a"], "string")], "string"),
    "<dtype: 'string'>",
  );
});

testOnDevices("53 testEagerPyFuncNotACallable: only functions can be called", async () => {
  const x = tf.scalar(1);
  for (const call of [tf.pyFunction, tf.numpyFunction, py] as Any[]) {
    assertThrows(() => call(x, [x], "int32"), tf.ValueError, "callable");
    await evaluate(() => {
      assertThrows(() => call(x, [x], "int32"), tf.ValueError, "callable");
      return tf.constant(1);
    });
  }
  x.dispose();
});

testOnDevices("54 testUnsupportedToutType: what is no dtype", () => {
  assertThrows(
    () => tf.pyFunction(() => 1, [], [{}] as Any),
    TypeError,
    "Cannot convert the argument `type_value`: {} to a TensorFlow DType",
  );
});

const ROWS = [[1, 2, 3], [4], [5, 6]];
const rows = (): tf.RaggedTensor => tf.ragged.constant(ROWS, { dtype: "int32" });
const RAGGED = new tf.RaggedTensorSpec([null, null], "int32");

/** Returns the ragged result of code as nested lists, in a graph and in eager mode. */
async function bothRagged(build: () => tf.RaggedTensor): Promise<unknown> {
  await using g = open(() => [...build().components]);
  const [values, ...splits] = await g.sess.run(g.parts) as N[];
  const graph = new tf.RaggedArray(values, splits).toList();
  assertEquals(tf.tidy(() => build().toList()), graph);
  return graph;
}

testOnDevices("55 testRaggedTensorArg: a body gets ragged tensors", async () => {
  const total = (x: tf.RaggedTensor) => tf.ragged.sum(x);
  await assertBoth(() => tf.pyFunction(total, [rows()], ["int32"]), [21]);
});

testOnDevices("56 testRaggedTensorReturn: a body makes a ragged tensor", async () => {
  const make = (values: T, lengths: T) => tf.RaggedTensor.fromRowLengths(values, lengths);
  const inputs = () => [tf.constant([1, 2, 3, 4, 5, 6], "int32"), tf.constant([3, 1, 2], "int32")];
  assertEquals(await bothRagged(() => tf.pyFunction(make, inputs(), [RAGGED])[0]), ROWS);
});

testOnDevices("57 testRaggedTensorBroadcast: a result has the spec of the input", async () => {
  const double = (x: tf.RaggedTensor) => tf.mul(x as Any, 2);
  const thrice = (): tf.RaggedTensor => {
    const x = rows();
    return tf.add(tf.pyFunction(double, [x], x.spec) as Any, x as Any) as Any;
  };
  const wanted = ROWS.map((row) => row.map((v) => 3 * v));
  assertEquals(await bothRagged(thrice), wanted);
  assertEquals(tf.tidy(() => (tf.function(thrice)() as tf.RaggedTensor).toList()), wanted);
});

for (
  const [title, give] of [
    ["58 testRaggedExpectedListGotList", (v: unknown) => [v]],
    ["59 testRaggedExpectedListGotTuple", (v: unknown) => Object.freeze([v])],
    ["60 testRaggedExpectedListGotSingleValue", (v: unknown) => v],
  ] as const
) {
  testOnDevices(`${title}: one declared value is taken in each form`, async () => {
    const body = (x: tf.RaggedTensor) => give(x);
    const [a, b] = [
      () => tf.pyFunction(body, [rows()], [RAGGED])[0],
      () => tf.pyFunction(body, [rows()], RAGGED),
    ];
    assertEquals([await bothRagged(a), await bothRagged(b)], [ROWS, ROWS]);
  });
}

testOnDevices("61 testRaggedNoReturnValue: a body of effects takes ragged tensors", async () => {
  const seen: unknown[] = [];
  const look = (x: tf.RaggedTensor) => void seen.push(x.toList());
  const both = await bothModes(() => tf.pyFunction(look, [rows()], []));
  assertEquals([both.graph, both.eager, seen], [null, [], [ROWS, ROWS]]);
});

testOnDevices(
  "62 testRaggedBadReturnTypeExpectedTensorReturnedRagged: a ragged tensor is no tensor",
  async () => {
    const phrase = /py_function: func=.* returned .* which did not match Tout=.*/;
    for (const Tout of ["int32", ["int32"], RAGGED && { x: "int32" as const }] as const) {
      const body = (x: tf.RaggedTensor) => (typeof Tout === "object" && "x" in Tout ? { x } : x);
      const graph = await errorOf(() => evaluate(() => tf.pyFunction(body, [rows()], Tout)));
      const eager = await errorOf(() => tf.tidy(() => void tf.pyFunction(body, [rows()], Tout)));
      for (const error of [graph, eager]) {
        assert(error instanceof tf.errors.InvalidArgumentError, String(error));
        assertMatch(error.message, phrase);
      }
    }
  },
);

testOnDevices(
  "63 testRaggedBadReturnTypeExpectedRaggedReturnedTensor: a tensor is no ragged tensor, nor is one of another dtype or rank",
  async () => {
    const bodies = [
      (x: tf.RaggedTensor) => x.toTensor(),
      (x: tf.RaggedTensor) => x.map((v) => tf.cast(v, "float32")),
      () => tf.ragged.constant([[[1]]], { dtype: "int32" }),
      () => new tf.SparseTensor([[0]], tf.constant([1], "int32"), [3]),
    ];
    for (const body of bodies) {
      const error = await errorOf(() =>
        tf.tidy(() => void tf.pyFunction(body, [rows()], [RAGGED]))
      );
      assert(error instanceof tf.errors.InvalidArgumentError, String(error));
      assertMatch(error.message, /py_function: func=.* returned .* which did not match Tout=.*/);
    }
  },
);

testOnDevices(
  "numpy-style scripts refuse ragged tensors, in and out, as TensorFlow's do",
  async () => {
    assertThrows(
      () => tf.numpyFunction((x: N) => x, [rows()], "float32"),
      TypeError,
      "NOT CONVERTIBLE TO TENSOR",
    );
    assertThrows(
      () => tf.numpyFunction(() => 1, [], RAGGED as Any),
      TypeError,
      "to a TensorFlow DType",
    );
    const error = await errorOf(() => evaluate(() => tf.pyFunction(() => ROWS, [], "float32")));
    assert(error instanceof tf.errors.InvalidArgumentError);
    assertMatch(error.message, /ragged/);
  },
);

testOnDevices("sparse tensors go into scripts and come back as three arrays each", async () => {
  const twice = (x: tf.SparseTensor) =>
    new tf.SparseTensor(x.indices, tf.mul(x.values, 2), x.denseShape);
  const build = () => {
    const x = new tf.SparseTensor([[0, 1], [1, 0]], tf.constant([5, 6]), [2, 2]);
    return tf.pyFunction(twice, [x], new tf.SparseTensorSpec([2, 2])).toDense();
  };
  await assertBoth(build, [[0, 10], [12, 0]]);
});

testOnDevices("gradients go through scripts of ragged tensors", async () => {
  const loss = (values: T) => {
    const x = tf.RaggedTensor.fromRowSplits(values, tf.constant([0, 3, 4, 6], "int32"));
    const y = tf.pyFunction(
      (x: tf.RaggedTensor) => x.map((v) => tf.square(v)),
      [x],
      new tf.RaggedTensorSpec([3, null]),
    );
    return tf.sum(tf.mul(tf.ragged.sum(y, 1) as T, tf.constant([1, 10, 100])));
  };
  const values = [1, 2, 3, 4, 5, 6], wanted = [2, 4, 6, 80, 1000, 1200];
  assertEquals(tf.tidy(() => tf.grad(loss)(tf.constant(values)).arraySync()), wanted);
  await using g = open(() => {
    const x = tf.placeholder("float32", [6], "x");
    return tf.gradients(loss(x), [x])[0]!;
  });
  assertEquals(plain(await g.sess.run(g.parts, { feeds: { "x:0": values } })), wanted);
});

testOnDevices("64 test_decorator: numpyFunction({ Tout })", async () => {
  let calls = 0;
  const f = tf.numpyFunction({ Tout: "int32" })((x: N, y: N) => {
    calls++;
    return plus(x, y);
  });
  assertEquals(tf.tidy(() => f(tf.scalar(1, "int32"), tf.scalar(2, "int32")).item()), 3);
  assertEquals(calls, 1);
  assertEquals(await evaluate(() => f(tf.constant(1, "int32"), tf.constant(2, "int32"))), 3);
  assertEquals(calls, 2);
});

testOnDevices("65 test_inline_decorator: pyFunction({ Tout })(body)", async () => {
  let calls = 0;
  const f = tf.pyFunction({ Tout: "int32" })((x: T, y: T) => {
    calls++;
    return tf.add(x, y);
  });
  assertEquals(tf.tidy(() => f(tf.scalar(1, "int32"), tf.scalar(2, "int32")).item()), 3);
  assertEquals(await evaluate(() => f(tf.constant(1, "int32"), tf.constant(2, "int32"))), 3);
  assertEquals(calls, 2);
});

Deno.test("66 test_bad_args: what is neither a call nor a decorator", () => {
  const body = (x: T) => x;
  for (const f of [tf.numpyFunction, tf.pyFunction] as Any[]) {
    assertThrows(() => f(body), TypeError, "Missing required argument: 'Tout'");
    assertThrows(() => f("int32"), TypeError, "Missing required argument: 'Tout'");
    assertThrows(
      () => f({ inp: [1], Tout: "int32" }),
      TypeError,
      "Don't set the `inp` argument when using",
    );
    assertThrows(() => f(null, [1], "int32"), TypeError, "as a decorator");
    assertThrows(() => f({ func: body, Tout: "int32" }), TypeError, "Missing argument `inp`");
    assertThrows(() => f(body, undefined, "int32"), TypeError, "Missing argument `inp`");
  }
});

testOnDevices(
  "67 test_decorator_pass_through_extra_args: further arguments reach the op when it is called",
  async () => {
    for (const decorate of [tf.numpyFunction, tf.pyFunction] as Any[]) {
      const f = decorate({ Tout: "int32", nonExistentArgument: true })(plus);
      assertThrows(
        () => f(1, 2),
        TypeError,
        'Unknown option "nonExistentArgument"',
      );
    }
    await using g = open(() =>
      tf.pyFunction({ Tout: "float32", name: "custom" })((x: T) => x)(tf.constant(1))
    );
    assertEquals(g.parts.name, "custom:0");
  },
);

testOnDevices("68 test_numpy_arguments: plain values as inputs", async () => {
  await assertBoth(() => tf.numpyFunction((x: Any, y: Any) => x + y, [1, 2], "int32"), 3);
});

testOnDevices("69 test_stateless: a stateless body in a function called twice", () => {
  let calls = 0;
  const inner = tf.function((x: T) =>
    tf.numpyFunction(
      (v: N) => {
        calls++;
        return v;
      },
      [x],
      "float32",
      { stateful: false },
    )
  );
  const outer = tf.function((x: T) => tf.add(inner(x) as T, inner(x) as T));
  assertEquals(tf.tidy(() => (outer(tf.scalar(2)) as T).item()), 4);
  assert(calls === 1 || calls === 2);
});

testOnDevices("70 test_stateful: a stateful body in a function called twice", () => {
  let calls = 0;
  const inner = tf.function((x: T) =>
    tf.numpyFunction(
      (v: N) => {
        calls++;
        return v;
      },
      [x],
      "float32",
      { stateful: true },
    )
  );
  const outer = tf.function((x: T) => tf.add(inner(x) as T, inner(x) as T));
  assertEquals(tf.tidy(() => (outer(tf.scalar(2)) as T).item()), 4);
  assertEquals(calls, 2);
});

testOnDevices("71 test_variable_arguments: a variable and a number as inputs", async () => {
  using v = tf.variable(1, true, undefined, "int32");
  const two = () => tf.constant(2, "int32");
  await assertBoth(() => tf.pyFunction((x: T, y: T) => tf.add(x, y), [v, two()], "int32"), 3);
});

Deno.test("72 test_fail_on_non_utf8_token: a token whose bytes are no text", () => {
  const value = {
    name: "value",
    op: "Const",
    attr: {
      dtype: { type: "DT_INT32" },
      value: {
        tensor: { dtype: "DT_INT32", tensorShape: { dim: [{ size: "2" }] }, intVal: [1, 2] },
      },
    },
  };
  const node = {
    name: "PyFunc",
    op: "PyFunc",
    input: ["value"],
    attr: {
      token: { s: btoa("\xb0") },
      Tin: { list: { type: ["DT_INT32"] } },
      Tout: { list: { type: ["DT_INT32"] } },
    },
  };
  new tf.Graph().asDefault(() => {
    const error = assertThrows(
      () => tf.importGraphDef({ node: [value, node] } as Any),
      tf.errors.InternalError,
      "Please make sure `token` is a well-formed UTF-8 string.",
    ) as tf.errors.OpError;
    assertEquals([error.op, error.node], ["PyFunc", "PyFunc"]);
  });
  assertThrows(
    () => tf.registerScript("\ud800@1", () => 1),
    tf.ValueError,
    "Cannot register script",
  );
});
