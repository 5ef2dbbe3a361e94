/**
 * Calls and results of script ops, row by row: letters and numbers are those of the table in this folder's README (A:
 * arguments, B: arguments of bodies, C and D: results, 1.5: result objects, 1.6: errors).
 */
import * as tf from "@weft/weft";
import { pyFunc as npPyFunc } from "@weft/weft/numpy";
import { assert, assertEquals, assertMatch, assertNotEquals, assertThrows } from "@std/assert";
import { fileName, testOnDevices } from "../devices.ts";
import {
  type Any,
  assertBoth,
  bothModes,
  errorOf,
  errorOfBoth,
  evaluate,
  open,
  plain,
} from "./helpers.ts";

type N = tf.NdArray;
type T = tf.Tensor;
const py = tf.compat.v1.pyFunc;
const { InvalidArgumentError, InternalError, UnknownError } = tf.errors;

Deno.test("A1–A4 ops, default names and output names are TensorFlow's", () => {
  new tf.Graph().asDefault(() => {
    const x = tf.constant(1);
    const ops = [
      py((x: N) => x, [x], "float32"),
      py((x: N) => x, [x], "float32"),
      py((x: N) => x, [x], "float32", { stateful: false }),
      tf.numpyFunction((x: N) => x, [x], "float32", { stateful: false }),
      tf.pyFunction((x: T) => x, [x], "float32"),
      tf.pyFunction((x: T) => x, [x], "float32", { name: "mine" }),
    ];
    assertEquals(
      ops.map((t) => [t.op.type, t.name]),
      [
        ["PyFunc", "PyFunc:0"],
        ["PyFunc", "PyFunc_1:0"],
        ["PyFuncStateless", "PyFuncStateless:0"],
        ["PyFuncStateless", "PyFuncStateless_1:0"],
        ["EagerPyFunc", "EagerPyFunc:0"],
        ["EagerPyFunc", "mine:0"],
      ],
    );
    assertEquals(ops.map((t) => t.op.def.stateful ?? false), [
      true,
      true,
      false,
      false,
      true,
      true,
    ]);
    const [, second] = tf.numpyFunction((x: N) => [x, x], [x], ["float32", "float32"], {
      name: "two",
    });
    assertEquals(second.name, "two:1");
  });
});

testOnDevices("A5 what cannot be called is a ValueError while building, and eagerly", async () => {
  for (const call of [tf.pyFunction, tf.numpyFunction, py] as Any[]) {
    const error = await errorOfBoth(() => call(3, [tf.scalar(1)], "float32"));
    assert(error instanceof tf.ValueError);
    assertEquals(error.message, "Expected func to be callable. Received func=3 of type number");
  }
});

testOnDevices("A6 any function may be a body", async () => {
  class Adder {
    n = 10;
    add(x: N): N {
      return x.map((v) => (v as number) + this.n);
    }
    static one(x: N): N {
      return x.map((v) => (v as number) + 1);
    }
  }
  const adder = new Adder();
  const partial = (n: number) => (x: N) => x.map((v) => (v as number) + n);
  for (
    const [body, want] of [[adder.add.bind(adder), 11], [Adder.one, 2], [partial(5), 6]] as const
  ) {
    await assertBoth(() => tf.numpyFunction(body, [tf.scalar(1)], "float32"), want);
  }
  assertEquals(
    await evaluate(() =>
      tf.numpyFunction(async (x: N) => await Promise.resolve(x), [tf.constant(1)], "float32")
    ),
    1,
  );
});

testOnDevices(
  "A7 inputs may be tensors, variables, JavaScript values, nests of them, or none",
  async () => {
    using v = tf.variable([1, 2]);
    const dtypes = (...xs: Any[]) => xs.slice(0, -1).map((x) => x.dtype).join();
    const inputs = [v, 1, true, "a", 2n, new Float64Array([1]), new Int32Array([1]), [[1, 2], [
      3,
      4,
    ]]];
    const want = "float32,float32,bool,string,int64,float64,int32,float32";
    await assertBoth(() => tf.numpyFunction(dtypes, inputs, "string"), want);
    await assertBoth(() => tf.pyFunction(dtypes, inputs, "string"), want);
    await assertBoth(() => tf.numpyFunction(() => 7, [], "int32"), 7);
    const nested = (a: { x: N; y: N[] }, [b]: [N]) =>
      (a.x.item() as number) + (a.y[1].item() as number) * 10 + (b.item() as number) * 100;
    await assertBoth(
      () =>
        tf.numpyFunction(nested, [{ x: tf.scalar(1), y: [tf.scalar(9), tf.scalar(2)] }, [
          tf.scalar(3),
        ]], "float32"),
      321,
    );
  },
);

testOnDevices("A8 inputs must be a list", async () => {
  for (const call of [tf.pyFunction, tf.numpyFunction] as Any[]) {
    assertMatch(
      (await errorOfBoth(() => call((x: Any) => x, 3, "float32"))).message,
      /is not iterable/,
    );
    const symbolic = await errorOf(() =>
      evaluate(() => call((x: Any) => x, tf.constant(1), "float32"))
    );
    assert(symbolic instanceof tf.OperatorNotAllowedInGraphError);
    assertMatch(symbolic.message, /Iterating over a symbolic tf.Tensor is not allowed/);
  }
});

testOnDevices("A9 an input that is no tensor is a TypeError", async () => {
  for (const bad of [null, undefined, () => 1, Symbol("s"), new Map()]) {
    const error = await errorOfBoth(() => tf.numpyFunction((x: N) => x, [bad as Any], "float32"));
    assert(error instanceof TypeError);
    assertMatch(
      error.message,
      /Tensors in list passed to 'input' of 'PyFunc' Op have types \[<NOT CONVERTIBLE TO TENSOR>\] that are invalid/,
    );
  }
});

testOnDevices("A10 a Tout may be spelled in many ways, nested, and with shapes", async () => {
  for (
    const tout of [
      "float32",
      "float",
      "DT_FLOAT",
      tf.TensorSpec([], "float32"),
      tf.TensorSpec(null, "float32"),
    ] as Any[]
  ) {
    await assertBoth(() => tf.numpyFunction((x: N) => x, [tf.scalar(1)], tout), 1);
  }
  const nest = { b: ["int32", tf.TensorSpec([2], "float32")], a: "bool" } as const;
  const body = () => ({ a: true, b: [3, [1, 2]] });
  await assertBoth(() => tf.numpyFunction(body, [], nest), { a: true, b: [3, [1, 2]] });
  await assertBoth(() => tf.pyFunction(body, [], nest), { a: true, b: [3, [1, 2]] });
});

testOnDevices("A11 what is no dtype is a TypeError", async () => {
  for (const bad of [null, undefined, {}, 3, "flot", [["x"]]]) {
    const error = await errorOfBoth(() =>
      tf.numpyFunction((x: N) => x, [tf.scalar(1)], bad as Any)
    );
    assert(error instanceof TypeError);
    assertMatch(
      error.message,
      /Cannot convert .* to a TensorFlow DType|Missing required argument: 'Tout'/,
    );
  }
});

Deno.test("A15 each call has a token of its own, a registered body the one it was registered with", () => {
  const body = (x: N) => x;
  const named = tf.registerScript("weft.tests.behaviour.a15@1", (x: N) => x);
  new tf.Graph().asDefault(() => {
    const tokens = [body, body, named, named].map((f) =>
      tf.numpyFunction(f, [1], "float32").op.attrs.token
    );
    assertMatch(tokens[0], /^pyfunc_\d+$/);
    assertNotEquals(tokens[0], tokens[1]);
    assertEquals(tokens.slice(2), ["weft.tests.behaviour.a15@1", "weft.tests.behaviour.a15@1"]);
  });
});

testOnDevices(
  "B1 B3 numpy-style bodies get writable host arrays of the right dtype, rank 0 too, in both modes",
  async () => {
    const seen: Any[] = [];
    const look = (a: N, b: N, c: N, ctx: tf.ScriptContext) => {
      seen.push([
        a.dtype,
        a.shape,
        b.dtype,
        b.shape,
        c.shape,
        a instanceof tf.NdArray,
        typeof ctx.node,
        ctx.signal instanceof AbortSignal,
      ]);
      (a.data as Float32Array)[0] = 5;
      return a.at(0) as number;
    };
    const build = () =>
      tf.numpyFunction(look, [
        tf.constant([1, 2]),
        tf.constant(3, "int32"),
        tf.constant([[], []] as Any),
      ], "float32");
    await assertBoth(build, 5);
    const want = ["float32", [2], "int32", [], [2, 0], true, "string", true];
    assertEquals(seen, [want, want]);
  },
);

Deno.test("A1 pyFunc() takes stateful and name in TensorFlow's order, or as options", () => {
  const id = (x: N) => x;
  const cases: [Any[], string, string][] = [
    [[true], "PyFunc", "PyFunc:0"],
    [[false], "PyFuncStateless", "PyFuncStateless:0"],
    [[false, "mine"], "PyFuncStateless", "mine:0"],
    [[undefined, "mine"], "PyFunc", "mine:0"],
    [[{ stateful: false }], "PyFuncStateless", "PyFuncStateless:0"],
    [[{ stateful: false, name: "mine" }], "PyFuncStateless", "mine:0"],
  ];
  for (const make of [tf.pyFunc, py, npPyFunc] as Any[]) {
    for (const [rest, type, name] of cases) {
      new tf.Graph().asDefault(() => {
        const y = make(id, [tf.constant(1)], "float32", ...rest);
        assertEquals([y.op.type, y.name], [type, name]);
      });
    }
    assertThrows(() => make(id, [1], "float32", "mine"), TypeError, "Options of pyFunc must be");
  }
  assertThrows(
    () => tf.numpyFunction(id, [1], "float32", true as Any),
    TypeError,
    "Options of numpyFunction must be an object of stateful, name",
  );
});

testOnDevices("B1 a rank-0 array is its number in arithmetic, any other is refused", async () => {
  const five = () => tf.constant(5);
  const scalar = (body: (x: Any) => unknown) => () => tf.numpyFunction(body, [five()], "float32");
  await assertBoth(scalar((x) => (x > 0 ? 1 : -1)), 1);
  await assertBoth(scalar((x) => x * 2), 10);
  await assertBoth(scalar((x) => x + 1), 6);
  await assertBoth(scalar((x) => `${x}`.length), 1);
  for (const body of [(x: Any) => x * 2, (x: Any) => (x > 0 ? 1 : -1), (x: Any) => x + 1]) {
    const error = await errorOfBoth(() => tf.numpyFunction(body, [tf.constant([5])], "float32"));
    assert(error instanceof InvalidArgumentError);
    assertMatch(error.message, /shape \[1\] as a number.*\.map\(\).*np\.multiply/);
  }
});

testOnDevices("B2 string inputs are arrays of bytes", async () => {
  const look = (s: N) =>
    [s.dtype, (s.data as Any[]).every((b: Any) => b instanceof Uint8Array), s.shape.length].join();
  await assertBoth(
    () => tf.numpyFunction(look, [tf.constant(["a", "é"], "string")], "string"),
    "string,true,1",
  );
});

testOnDevices(
  "B4 eager-style bodies get tensors that have values, on the op's device",
  async (device) => {
    const look = (x: T) =>
      [x instanceof tf.Tensor, x.isSymbolic, plain(tf.add(x, 1)), x.device.split("/").at(-1)]
        .join();
    const want = `true,false,2,device:${device === "cpu" ? "CPU" : "GPU"}:0`;
    // A string result is the host's, so the op's device is said.
    const seen: string[] = [];
    await assertBoth(
      () => tf.pyFunction((x: T) => (seen.push(look(x)), x), [tf.scalar(1)], "float32"),
      1,
    );
    assertEquals(seen, [want, want]);
    assertEquals(
      tf.tidy(() => look(tf.device("/CPU:0", () => tf.scalar(1)))),
      "true,false,2,device:CPU:0",
    );
  },
);

testOnDevices("B6 bfloat16 arrives as it is", async () => {
  await assertBoth(
    () =>
      tf.numpyFunction(
        (x: N) => `${x.dtype} ${x.item()}`,
        [tf.constant(1.5, "bfloat16")],
        "string",
      ),
    "bfloat16 1.5",
  );
});

testOnDevices("B7 a body may make graphs, sessions, variables and functions", async () => {
  const body = async (x: T) => {
    using v = tf.variable(2);
    await using inner = open(() => tf.mul(tf.placeholder("float32", [], "x"), 10));
    const a = await inner.sess.run(inner.parts, { feeds: { "x:0": x.item() } }) as number;
    const f = tf.function((t: T) => tf.add(t, 1));
    return tf.tidy(() => (f(tf.mul(v, a)) as T).item());
  };
  assertEquals(await evaluate(() => tf.pyFunction(body, [tf.constant(3)], "float32")), 61);
  const sync = (x: T) => {
    new tf.Graph().asDefault(() => tf.constant(1));
    return tf.add(x, 1);
  };
  await assertBoth(() => tf.pyFunction(sync, [tf.scalar(1)], "float32"), 2);
});

/** Return values and what comes of them: a value, or an error class and text. */
type Row = readonly [what: string, body: () => unknown, tout: Any, want: Any];
const fails = (Class: Any, text: RegExp) => ({ Class, text });
const count = (n: number, m: number) =>
  fails(
    InvalidArgumentError,
    new RegExp(`pyfunc_\\d+ returns ${n} values, but expects to see ${m} values\\.`),
  );
const dtype = (i: number, is: string, wants: string) =>
  fails(
    InvalidArgumentError,
    new RegExp(`${i}-th value returned by pyfunc_\\d+ is ${is}, but expects ${wants}`),
  );
const unsupported = (name: string) =>
  fails(InternalError, new RegExp(`Unsupported object type ${name}`));
const f32 = (...v: number[]) => new Float32Array(v);

async function checkRows(
  rows: readonly Row[],
  call: (body: () => unknown, tout: Any) => unknown,
): Promise<void> {
  for (const [what, body, tout, want] of rows) {
    if (want?.Class) {
      const error = await errorOfBoth(() => call(body, tout));
      assert(error instanceof want.Class, `${what}: ${error.name}: ${error.message}`);
      assertMatch(error.message, want.text, what);
    } else {assertEquals(
        await bothModes(() => call(body, tout)),
        { graph: want, eager: want },
        what,
      );}
  }
}

const NUMPY_ROWS: readonly Row[] = [
  ["C1 array", () => f32(1, 2), "float32", [1, 2]],
  ["C1 number", () => 1.5, "float32", 1.5],
  ["C2 list of one array", () => [f32(1)], "float32", [1]],
  ["C3 list of numbers is a vector where Tout is single", () => [1, 2], "float32", [1, 2]],
  ["C3 list of two arrays", () => [f32(1), f32(2)], "float32", count(2, 1)],
  ["C4 list for a list", () => [1, 2], ["float32", "float32"], [1, 2]],
  ["C5 one for two", () => 1, ["float32", "float32"], count(1, 2)],
  ["C5 three for two", () => [1, 2, 3], ["float32", "float32"], count(3, 2)],
  ["C7 undefined", () => undefined, "float32", count(0, 1)],
  ["C7 null", () => null, ["float32"], count(0, 1)],
  ["C7 empty list for one of a list", () => [], ["float32"], count(0, 1)],
  ["C8 a value for none", () => 1, [], count(1, 0)],
  ["C8 a list for none", () => [1], [], count(1, 0)],
  ["C9 null inside", () => [null], ["float32"], unsupported("null")],
  ["C9 null as the only element", () => [null], "float32", unsupported("null")],
  ["C10 double for float", () => new Float64Array([1]), "float32", dtype(0, "double", "float")],
  [
    "C10 int32 for float",
    () => [f32(1), new Int32Array([1])],
    ["float32", "float32"],
    dtype(1, "int32", "float"),
  ],
  ["C10 int64 for int32", () => new BigInt64Array([1n]), "int32", dtype(0, "int64", "int32")],
  ["C10 string for float", () => "a", "float32", dtype(0, "string", "float")],
  ["C11 number for float64", () => 0.1, "float64", 0.1],
  ["C11 bigint for int64", () => 5n, "int64", 5n],
  ["C11 number for int64", () => 5, "int64", 5n],
  ["C11 boolean", () => true, "bool", true],
  ["C11 pair for complex", () => [1, 2], "complex64", [1, 2]],
  [
    "C12 too big for int64",
    () => 2n ** 64n,
    "int64",
    fails(InvalidArgumentError, /must fit int64/),
  ],
  ["C12 too big for int8", () => 300, "int8", fails(InvalidArgumentError, /must fit int8/)],
  ["C12 too big for float32", () => 1e39, "float32", fails(InvalidArgumentError, /must fit float/)],
  ["C12 negative for uint8", () => -1, "uint8", fails(InvalidArgumentError, /must fit uint8/)],
  ["C12 a fraction for int32", () => 1.5, "int32", fails(InvalidArgumentError, /must fit int32/)],
  ["C12 NaN for int32", () => NaN, "int32", fails(InvalidArgumentError, /must fit int32/)],
  ["C12 2 for bool", () => 2, "bool", fails(InvalidArgumentError, /must fit bool/)],
  ["C13 object", () => ({}), "float32", unsupported("Object")],
  ["C13 set", () => new Set([1]), "float32", unsupported("Set")],
  ["C13 map", () => new Map(), ["float32"], unsupported("Map")],
  ["C13 generator", function* () {}, "float32", unsupported("")],
  ["C13 function", () => () => 1, "float32", unsupported("function")],
  ["C13 symbol", () => Symbol("s"), "float32", unsupported("symbol")],
  ["C15 date", () => new Date(0), "float32", unsupported("Date")],
  [
    "C16 ragged",
    () => [[1, 2], [3]],
    "float32",
    fails(InvalidArgumentError, /ValueError: Cannot convert a ragged nested array/),
  ],
  ["C17 list of objects", () => [{}], "float32", unsupported("Object")],
  ["C19 DataView", () => new DataView(new ArrayBuffer(4)), "float32", unsupported("DataView")],
  ["C20 no elements", () => new tf.NdArray("float32", [0, 3], f32()), "float32", []],
  ["C20 an empty list", () => [], "float32", []],
  ["C21 tensor", () => tf.scalar(4), "float32", 4],
  [
    "C21 tensor of another dtype",
    () => tf.scalar(4, "int32"),
    "float32",
    dtype(0, "int32", "float"),
  ],
  ["C22 bytes", () => new Uint8Array([1, 2]), "uint8", [1, 2]],
  ["C22 clamped bytes", () => new Uint8ClampedArray([1, 2]), "uint8", [1, 2]],
  ["nested lists", () => [[1, 2], [3, 4]], "int32", [[1, 2], [3, 4]]],
  ["string", () => "é", "string", "é"],
  ["bytes with NUL", () => new TextEncoder().encode("a\0b\0"), "string", "a\0b\0"],
  ["list of strings", () => [["a"], ["b\0"]], "string", [["a"], ["b\0"]]],
  ["number for string", () => 1, "string", fails(InvalidArgumentError, /must fit string/)],
];

testOnDevices(
  "C1–C22 what numpy-style bodies may return, the same in graphs and eagerly",
  async () => {
    await checkRows(NUMPY_ROWS, (body, tout) => tf.numpyFunction(body, [], tout));
  },
);

testOnDevices(
  "C6 nothing for no output: an operation in a graph, an empty list eagerly",
  async () => {
    for (const result of [undefined, null, []]) {
      assertEquals(await bothModes(() => tf.numpyFunction(() => result, [], [])), {
        graph: null,
        eager: [],
      });
    }
  },
);

testOnDevices("C13 a promise is awaited in a graph, and named eagerly", async () => {
  const body = async () => await Promise.resolve(3);
  assertEquals(await evaluate(() => tf.numpyFunction(body, [], "int32")), 3);
  const error = await errorOf(() => tf.numpyFunction(body, [], "int32"));
  assert(error instanceof tf.errors.FailedPreconditionError);
  assertMatch(error.message, /numpyFunctionAsync/);
  using y = await tf.numpyFunctionAsync(body, [], "int32");
  assertEquals(y.item(), 3);
});

testOnDevices("C18 strided arrays of other libraries are straightened, or refused", async () => {
  const data = f32(1, 2, 3, 4, 5, 6);
  const view = { shape: [2, 2], dtype: "float32", data, strides: [3, 1] };
  const good = {
    ...view,
    copy: () => ({ shape: [2, 2], dtype: "float32", data: f32(2, 3, 5, 6), strides: [2, 1] }),
  };
  await assertBoth(() => tf.numpyFunction(() => good, [], "float32"), [[2, 3], [5, 6]]);
  assertMatch(
    (await errorOfBoth(() => tf.numpyFunction(() => view, [], "float32"))).message,
    /not in row-major order/,
  );
});

const EAGER_ROWS: readonly Row[] = [
  ["D1 number", () => 1, "float32", 1],
  ["D1 list", () => [1, 2], "float32", [1, 2]],
  [
    "D1 typed array of another dtype",
    () => new Float64Array([1]),
    "float32",
    dtype(0, "double", "float"),
  ],
  [
    "D2 a fraction for int32",
    () => 1.5,
    "int32",
    fails(InvalidArgumentError, /TypeError: Cannot convert 1.5 .*int32/),
  ],
  [
    "D3 tensor of another dtype",
    () => tf.scalar(1, "int32"),
    "float32",
    fails(
      InvalidArgumentError,
      /Tensor conversion requested dtype float32 for Tensor with dtype int32/,
    ),
  ],
  ["D4 two tensors for one", () => [tf.scalar(1), tf.scalar(2)], "float32", count(2, 1)],
  [
    "D4 three for two",
    () => [tf.scalar(1), tf.scalar(2), tf.scalar(3)],
    ["float32", "float32"],
    count(3, 2),
  ],
  ["D5 one for two", () => tf.scalar(1), ["float32", "float32"], count(1, 2)],
  ["D6 nothing for one", () => undefined, "float32", count(0, 1)],
  ["D7 a value for none", () => tf.scalar(1), [], count(1, 0)],
  ["D7 a list for none", () => [tf.scalar(1)], [], count(1, 0)],
  [
    "D8 null inside",
    () => [null],
    ["float32"],
    fails(InvalidArgumentError, /Attempt to convert a value \(null\) with an unsupported type/),
  ],
  [
    "D8 null beside",
    () => [tf.scalar(1), null],
    ["float32", "float32"],
    fails(InvalidArgumentError, /Attempt to convert a value \(null\)/),
  ],
  [
    "D8 object",
    () => ({}),
    "float32",
    fails(
      InvalidArgumentError,
      /Attempt to convert a value .* with an unsupported type \(Object\)/,
    ),
  ],
  ["D12 one tensor for a list of one", () => tf.scalar(1), ["float32"], [1]],
  ["D12 list of one tensor for one", () => [tf.scalar(1)], "float32", 1],
];

testOnDevices(
  "D1–D8 D12 what eager-style bodies may return, the same in graphs and eagerly",
  async () => {
    await checkRows(EAGER_ROWS, (body, tout) => tf.pyFunction(body, [], tout));
  },
);

testOnDevices("D9 a variable is no result", async () => {
  using v = tf.variable(1);
  const error = await errorOfBoth(() => tf.pyFunction(() => v, [], "float32"));
  assert(error instanceof UnknownError);
  assertMatch(error.message, /Attempting to return a variable/);
});

testOnDevices("D10 a tensor of a graph is out of scope in a body", async () => {
  for (const use of [(t: T) => t, (t: T) => tf.add(t, 1)]) {
    const error = await errorOf(() =>
      evaluate(() => {
        const outer = tf.constant([1]);
        return tf.pyFunction(() => use(outer), [], "float32");
      })
    );
    assert(error instanceof InvalidArgumentError);
    assertMatch(error.message, /out of scope and cannot be used here/);
  }
});

testOnDevices(
  "1.5 a single Tout gives a tensor, a list a list, an object an object, [] an operation",
  async () => {
    for (
      const [call, stateless] of [
        [(f: Any, t: Any) => tf.numpyFunction(f, [], t), false],
        [(f: Any, t: Any) => tf.numpyFunction(f, [], t, { stateful: false }), true],
        [(f: Any, t: Any) => tf.pyFunction(f, [], t), false],
      ] as const
    ) {
      const shapes = () => [
        call(() => 1, "float32"),
        call(() => [1], ["float32"]),
        call(() => [1, 2], ["float32", "float32"]),
        call(() => ({ a: 1 }), { a: "float32" }),
      ];
      const kinds = (list: Any[]) =>
        list.map((r) =>
          r instanceof tf.Tensor ? "tensor" : Array.isArray(r) ? r.length : Object.keys(r).join()
        );
      assertEquals(tf.tidy(() => kinds(shapes())), ["tensor", 1, 2, "a"]);
      await evaluate(() => {
        assertEquals(kinds(shapes()), ["tensor", 1, 2, "a"]);
        const none: Any = call(() => {}, []);
        assertEquals(none instanceof tf.Operation, !stateless);
        return stateless ? tf.constant(0) : none;
      });
      assertEquals(call(() => {}, []) as Any, []);
    }
    const f = tf.function((x: T) => tf.numpyFunction((v: N) => void v, [x], []));
    assertEquals(tf.tidy(() => f(tf.scalar(1)) as Any), null);
  },
);

testOnDevices(
  "1.6 an OpError keeps its class; node, cause, text and both stacks are there",
  async () => {
    for (
      const name of [
        "NotFoundError",
        "AlreadyExistsError",
        "DataLossError",
        "AbortedError",
        "UnavailableError",
      ] as const
    ) {
      const body = (): never => {
        throw new tf.errors[name]("from the body");
      };
      const error = await errorOfBoth(() =>
        tf.numpyFunction(body, [], "float32", { name: "node" })
      );
      assert(error instanceof tf.errors[name]);
    }
    let cause: Error | undefined;
    const bodyOfTest = (): never => {
      throw cause = new Error("deep");
    };
    const error = await errorOf(() =>
      evaluate(() => tf.numpyFunction(bodyOfTest, [], "float32", { name: "a/b" }))
    );
    assertEquals([error.name, error.code, error.node, error.op, error.cause], [
      "UnknownError",
      2,
      "a/b",
      "PyFunc",
      cause,
    ]);
    const lines = error.message.split("\n"), here = fileName(import.meta.url);
    assertEquals(lines[0], "Error: deep");
    assertMatch(lines[1], new RegExp(`bodyOfTest.*${here}`));
    assertMatch(
      error.message,
      new RegExp(`\\[\\[\\{\\{node a/b\\}\\}\\]\\]\n\nOriginal stack trace for 'a/b':\n.*${here}`),
    );
    assert(!/\/src\/(script|runtime|core|graph)\//.test(error.message), error.message);
  },
);

testOnDevices("1.6 whatever is thrown has a class", async () => {
  const rows: [unknown, Any][] = [
    ["text", UnknownError],
    [undefined, UnknownError],
    [Object.create(null), UnknownError],
    [{ message: "no error" }, UnknownError],
    [new SyntaxError("s"), UnknownError],
    [new RangeError("Array buffer allocation failed"), tf.errors.ResourceExhaustedError],
    [
      Object.assign(new Error("gpu"), { name: "GPUOutOfMemoryError" }),
      tf.errors.ResourceExhaustedError,
    ],
    [new DOMException("gone", "AbortError"), UnknownError],
  ];
  for (const [thrown, Wanted] of rows) {
    for (const isAsync of [false, true]) {
      const body = isAsync ? () => Promise.reject(thrown) : () => {
        throw thrown;
      };
      const error = await errorOf(() =>
        evaluate(() => tf.pyFunction(body, [], "float32", { name: "n" }))
      );
      assert(error instanceof Wanted, `${error.name}: ${error.message}`);
      assertEquals([error.node, error.cause], ["n", thrown]);
    }
  }
});
