/** loadOnnx() runs, composes, differentiates, and refuses what is no sound model. */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { inspectOnnx, loadOnnx } from "@weft/weft/onnx";
import { testOnDevices } from "../devices.ts";
import { floats, model, node, tensor, value } from "./make_model.ts";

/** y = Relu(x · w + b), with scalars beside the weights. */
const DENSE = {
  nodes: [
    node("MatMul", ["x", "w"], ["xw"]),
    node("Add", ["xw", "b"], ["sum"]),
    node("Relu", ["sum"], ["y"]),
  ],
  inputs: [value("x", "float32", ["n", 2])],
  outputs: [value("y", "float32", ["n", 2])],
  initialisers: [tensor("w", [2, 2], floats(1, 2, 3, 4)), tensor("b", [2], floats(0.5, -10))],
};

testOnDevices("run() gives outputs by name, for batches of many sizes", async () => {
  const m = await loadOnnx(model(DENSE));
  const extents = ["n", 2];
  assertEquals(m.inputs, [{
    name: "x",
    dtype: "float32",
    shape: [null, 2],
    extents,
    kind: "tensor",
  }]);
  for (let n = 1; n < 8; n++) {
    const { y } = await m.run({ x: new Array(n).fill([1, 1]) });
    assertEquals(await (y as tf.Tensor).array(), new Array(n).fill([4.5, 0]));
  }
  m.dispose();
  await assertRejects(() => m.run({ x: [[1, 1]] }), tf.ValueError, "it is disposed");
});

Deno.test("loadOnnx() takes what pages have: an ArrayBuffer, a Blob, a File, a body of a response", async () => {
  const bytes = new Uint8Array(model(DENSE)), { buffer } = bytes;
  const sources = [
    buffer,
    new Blob([bytes]),
    new File([bytes], "dense.onnx"),
    new Response(bytes).body!,
  ];
  for (const source of sources) {
    const m = await loadOnnx(source);
    const { y } = await m.run({ x: [[1, 1]] });
    assertEquals(await y!.array(), [[4.5, 0]]);
    m.dispose();
  }
  await assertRejects(
    () => loadOnnx(new File([], "none.onnx")),
    tf.errors.DataLossError,
    "Cannot load none.onnx: Cannot read an ONNX model: it looks like an empty file",
  );
  await assertRejects(() => loadOnnx(new Blob([])), tf.errors.DataLossError, "a blob of 0 bytes");
  for (
    const [wrong, received] of [
      [new Response(bytes), "a value of type Response"],
      [[1, 2], "an array of 2"],
      [null, "null"],
      [3, "3"],
    ] as const
  ) {
    await assertRejects(
      () => loadOnnx(wrong as never),
      TypeError,
      `a ReadableStream, as a response's body is one, received ${received}`,
    );
  }
});

testOnDevices("call() is part of a function, a tape and a dataset", async () => {
  const m = await loadOnnx(model(DENSE));
  const f = tf.function((x: tf.Tensor) => tf.sum(m.call({ x }).y as tf.Tensor));
  assertEquals(await f(tf.tensor([[1, 1]])).array(), 4.5);
  const { grads } = tf.variableGrads(() => f(tf.tensor([[1, 2]])), Object.values(m.variables));
  assertEquals(Object.values(grads).map((g) => g.arraySync()), [[[1, 0], [2, 0]], [1, 0]]);
  const rows = tf.data.fromTensorSlices(tf.tensor([[[1, 1]], [[2, 1]]]))
    .map((x) => m.call({ x: x as tf.Tensor }).y as tf.Tensor);
  const got: unknown[] = [];
  for await (const y of rows) got.push((y as tf.Tensor).arraySync());
  assertEquals(got, [[[4.5, 0]], [[5.5, 0]]]);
});

testOnDevices("variables are weights, and none where trainable is false", async () => {
  const m = await loadOnnx(model(DENSE));
  assertEquals(Object.keys(m.variables), ["w", "b"]);
  m.variables.b.assign([0, 0]);
  assertEquals((m.call({ x: [[1, 1]] }).y as tf.Tensor).arraySync(), [[4, 6]]);
  const frozen = await loadOnnx(model(DENSE), { trainable: false });
  assertEquals(frozen.variables, {});
  const { y } = await frozen.run({ x: [[1, 1]] });
  assertEquals(await (y as tf.Tensor).array(), [[4.5, 0]]);
});

Deno.test("run() names inputs that are missing, unknown or of another type", async () => {
  await tf.setBackend("cpu");
  const m = await loadOnnx(model(DENSE));
  const cases: [Record<string, tf.TensorLike>, string][] = [
    [{}, `it takes "x", "x" is missing`],
    [{ x: [[1, 1]], z: 1 }, `it takes "x", "z" is unknown`],
    [{ x: [[1, 1, 1]] }, `input "x" has the shape [1,3], wanted [?,2]`],
    [{ x: tf.tensor([[1, 1]], [1, 2], "int32") }, `input "x" is int32, wanted float32`],
  ];
  for (const [inputs, why] of cases) assertThrows(() => m.call(inputs), tf.ValueError, why);
});

testOnDevices("scripts take the place of ops, may be async, and are differentiated", async () => {
  const bytes = model({
    ...DENSE,
    nodes: [...DENSE.nodes.slice(0, 2), node("Clamp", ["sum"], ["y"], {}, "acme")],
  });
  const error = await assertRejects(() => loadOnnx(bytes), tf.errors.UnimplementedError);
  assert(error.message.includes(`there is no acme:Clamp at "y"`), error.message);
  let calls = 0;
  const clamp = async (x: tf.Tensor) => {
    calls++;
    await x.data();
    return tf.minimum(tf.square(x), 9);
  };
  const m = await loadOnnx(bytes, { scripts: { "acme:Clamp": clamp } });
  const { y } = await m.run({ x: [[1, 1]] });
  assertEquals([await (y as tf.Tensor).array(), calls], [[[9, 9]], 1]);
  const sync = await loadOnnx(bytes, { scripts: { "acme:Clamp": (x: tf.Tensor) => tf.square(x) } });
  const { grads } = tf.variableGrads(
    () => tf.sum(sync.call({ x: [[1, 1]] }).y as tf.Tensor),
    [sync.variables.b],
  );
  assertEquals(Object.values(grads).map((g) => g.arraySync()), [[9, -8]]);
});

Deno.test("loadOnnx() takes nodes in any order, as onnxruntime's converters write them", async () => {
  const [matMul, add, relu] = DENSE.nodes;
  for (const nodes of [[relu, add, matMul], [add, relu, matMul], [relu, matMul, add]]) {
    const m = await loadOnnx(model({ ...DENSE, nodes }));
    const { y } = await m.run({ x: [[1, 1]] });
    assertEquals(await y!.array(), [[4.5, 0]]);
    m.dispose();
  }
  // A branch reads what stands behind its node, and its own nodes are in no order either.
  const branch = (by: string) => ({
    nodes: [node("Neg", ["t"], ["u"]), node("Mul", ["late", by], ["t"])],
    inputs: [],
    outputs: [value("u", "float32", ["n", 2])],
  });
  const m = await loadOnnx(model({
    nodes: [
      node("If", ["is"], ["y"], { then_branch: branch("w"), else_branch: branch("late") }),
      node("Abs", ["x"], ["late"]),
    ],
    inputs: [value("is", "bool", []), ...DENSE.inputs],
    outputs: DENSE.outputs,
    initialisers: [tensor("w", [2], floats(2, 3))],
  }));
  for (const [is, want] of [[true, [[-2, -6]]], [false, [[-1, -4]]]]) {
    assertEquals(await (await m.run({ is, x: [[-1, 2]] } as never)).y!.array(), want);
  }
  m.dispose();
});

Deno.test("a long chain of nodes in reverse order is sorted without recursion", async () => {
  const count = 20_000;
  const nodes = Array.from(
    { length: count },
    (_, i) => node("Neg", [i === 0 ? "x" : `t${i}`], [`t${i + 1}`]),
  );
  const file = model({
    ...DENSE,
    initialisers: [],
    nodes: [node("Abs", [`t${count}`], ["y"]), ...nodes.reverse()],
  });
  assertEquals((await inspectOnnx(file)).ops, { Neg: count, Abs: 1 });
});

Deno.test("loadOnnx() refuses files that are no sound models, with what is wrong", async () => {
  const with_ = (changes: Partial<typeof DENSE>) => model({ ...DENSE, ...changes });
  const [matMul, add, relu] = DENSE.nodes;
  const cases: [string, Uint8Array, string][] = [
    ["nothing", new Uint8Array(), "it looks like an empty file"],
    ["noise", Uint8Array.of(255, 255, 255), "Cannot read an ONNX model"],
    ["a name twice", with_({ nodes: [matMul, add, relu, relu] }), `"y" is made twice`],
    [
      "a name that nothing makes",
      with_({ nodes: [matMul, relu] }),
      `reads "sum", which nothing makes`,
    ],
    [
      "a cycle",
      with_({ nodes: [node("MatMul", ["y", "w"], ["xw"]), add, relu] }),
      `reads "y", which a later node makes; nodes form a cycle`,
    ],
    [
      "a node that reads itself",
      with_({ nodes: [node("MatMul", ["xw", "w"], ["xw"]), add, relu] }),
      `reads "xw", which a later node makes; nodes form a cycle`,
    ],
    [
      "an input twice",
      with_({ inputs: [...DENSE.inputs, ...DENSE.inputs] }),
      `"x" is an input twice`,
    ],
    [
      "an initialiser twice",
      with_({ initialisers: [tensor("w", [1], floats(1)), tensor("w", [1], floats(1))] }),
      `"w" is an initialiser twice`,
    ],
    [
      "an output without a name",
      with_({ outputs: [...DENSE.outputs, value("", "float32", [])] }),
      "one of its outputs has no name",
    ],
    [
      "too few elements",
      with_({ initialisers: [tensor("w", [2, 2], floats(1))] }),
      `"w" of shape [2,2]: it has 4 bytes, wanted 16`,
    ],
    [
      "extents below 0",
      with_({ initialisers: [tensor("w", [-1], floats(1))] }),
      `[-1] is no shape`,
    ],
    [
      "huge extents",
      with_({ initialisers: [tensor("w", [2 ** 31, 2 ** 31], floats(1))] }),
      `is no shape`,
    ],
    [
      "no version of a domain",
      model({
        ...DENSE,
        nodes: [matMul, add, node("Relu", ["sum"], ["y"], {}, "acme")],
        domains: [],
      }),
      `no version of the operator set "acme"`,
    ],
  ];
  for (const [what, bytes, why] of cases) {
    const e = await assertRejects(() => loadOnnx(bytes), tf.errors.DataLossError, undefined, what);
    assert(e.message.includes(why), `${what}: ${e.message}`);
  }
});

Deno.test("loadOnnx() reads external data in the model's folder and nowhere else", async () => {
  const folder = await Deno.makeTempDir();
  const outside = await Deno.makeTempFile();
  try {
    await Deno.mkdir(`${folder}/model/data`, { recursive: true });
    const bytes = new Uint8Array(Float32Array.of(9, 1, 2, 3, 4).buffer);
    await Deno.writeFile(`${folder}/model/data/w`, bytes);
    await Deno.writeFile(`${folder}/w`, bytes);
    await Deno.writeFile(outside, bytes);
    await Deno.symlink(outside, `${folder}/model/link`);
    const at = (location: string) => {
      const w = tensor("w", [2, 2], { location, offset: 4, length: 16 });
      return model({ ...DENSE, initialisers: [w, DENSE.initialisers[1]] });
    };
    const path = `${folder}/model/m.onnx`;
    const load = async (location: string, options = {}) => {
      await Deno.writeFile(path, at(location));
      return await loadOnnx(path, options);
    };
    for (
      const m of [
        await load("data/w"),
        await loadOnnx(at("w"), { externalData: { w: bytes } }),
        await loadOnnx(at("w"), { externalData: (_, from, n) => bytes.subarray(from, from + n) }),
      ]
    ) {
      assertEquals(await m.variables.w.array(), [[1, 2], [3, 4]]);
    }
    for (const bad of ["../w", `${folder}/w`, "data/../../w", "..\\w", "file:///etc/passwd"]) {
      await assertRejects(
        () => load(bad),
        tf.errors.InvalidArgumentError,
        "not in the model's folder",
      );
    }
    await assertRejects(() => load("link"), tf.errors.PermissionDeniedError, "leads out of");
    await assertRejects(() => load("none"), tf.errors.NotFoundError);
    await assertRejects(() => loadOnnx(at("w")), tf.errors.NotFoundError, "read from bytes");
    await Deno.writeFile(`${folder}/model/short`, bytes.subarray(0, 12));
    await assertRejects(() => load("short"), tf.errors.DataLossError);
  } finally {
    await Deno.remove(folder, { recursive: true });
    await Deno.remove(outside);
  }
});

Deno.test("inspectOnnx() tells what is in a file", async () => {
  const found = await inspectOnnx(model(DENSE));
  assertEquals(found.inputs, { x: "float32[n, 2]" });
  assertEquals(found.ops, { Add: 1, MatMul: 1, Relu: 1 });
  assertEquals([found.bytes, found.missing], [24, {}]);
});

Deno.test("loadOnnx() makes no more of external data than its files hold", async () => {
  await tf.setBackend("cpu");
  let reads = 0;
  const load = (places: readonly number[]) =>
    loadOnnx(
      model({
        ...DENSE,
        initialisers: [
          ...DENSE.initialisers,
          ...places.map((offset, i) =>
            tensor(`t${i}`, [1000], { location: "data", offset, length: 4000 })
          ),
        ],
      }),
      {
        externalData: (_, __, length) => {
          reads++;
          return new Uint8Array(length);
        },
      },
    );
  // Tensors with the same place share its bytes.
  await load(new Array<number>(50).fill(8));
  assertEquals(reads, 1);
  const shifted = Array.from({ length: 50 }, (_, i) => 4 * i);
  await assertRejects(() => load(shifted), tf.errors.DataLossError, "overlap within 4196 bytes");
  assertEquals(reads, 1);
});

Deno.test("nodes that lack what they need say so when the model is built", async () => {
  await tf.setBackend("cpu");
  const empty = { nodes: [], inputs: [], outputs: [] };
  const cases: [string, ReturnType<typeof node>, string][] = [
    [
      "a loop",
      node("Loop", ["", "", "x"], ["y"], { body: empty }),
      "its body gives 0 outputs, wanted at least 2",
    ],
    [
      "a scan",
      node("Scan", ["x", "x"], ["y"], { body: empty, num_scan_inputs: 1n }),
      "its body gives 0 outputs",
    ],
    [
      "a branch",
      node("If", ["x"], ["y"], { then_branch: empty }),
      "Cannot reshape a tensor with 2 elements",
    ],
    ["a concatenation", node("Concat", [], ["y"], { axis: 0n }), ""],
  ];
  for (const [what, one, why] of cases) {
    const m = await loadOnnx(model({ ...DENSE, nodes: [one] }));
    const e = assertThrows(() => m.call({ x: [[1, 1]] }), Error, undefined, what);
    assert(e instanceof tf.errors.OpError || e instanceof tf.ValueError, `${what}: ${e}`);
    assert(e.message.includes(why), `${what}: ${e.message}`);
  }
});
