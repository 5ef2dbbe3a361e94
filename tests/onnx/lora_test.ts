/** lora() adapts weights of every form: it begins with what was, trains its factors alone, merges and is saved. */
import { assert, assertEquals, assertRejects, assertThrows, fail } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx, lora, type OnnxModel } from "@weft/weft/onnx";
import { testOnDevices } from "../devices.ts";
import { constant, floats, type Graph, int64s, model, node, tensor, value } from "./make_model.ts";

/** Numbers that look random. */
const numbers = (n: number, seed = 1): Float32Array =>
  Float32Array.from({ length: n }, (_, i) => Math.fround(Math.sin(i * 1.7 + seed)));

interface Case {
  readonly graph: Graph & { readonly opset?: number; readonly domains?: readonly string[] };
  readonly input: Parameters<typeof tf.tensor>;
  /** Patterns of the targets; all products if absent. */
  readonly targets?: string;
  /** False where the weight cannot take the adapter in. */
  readonly merges?: boolean;
  /** Shapes of A and B. */
  readonly shapes: readonly [number[], number[]];
}

const X: Case["input"] = [numbers(6, 5), [2, 3]];
const matrix = (graph: Partial<Graph>): Graph => ({
  nodes: [node("MatMul", ["x", "w"], ["y"])],
  inputs: [value("x", "float32", ["n", 3])],
  outputs: [value("y", "float32", ["n", 4])],
  initialisers: [tensor("w", [3, 4], numbers(12))],
  ...graph,
});
const turned = [tensor("w", [4, 3], numbers(12))];
const levels = (name: string, dims: number[], bytes: number[]) =>
  tensor(name, dims, Uint8Array.from(bytes));
const bytes24 = Array.from({ length: 24 }, (_, i) => (i * 37) % 256);

const CASES: Readonly<Record<string, Case>> = {
  "a product": { graph: matrix({}), input: X, shapes: [[3, 2], [2, 4]] },
  "a Gemm of a transposed weight": {
    graph: matrix({
      nodes: [node("Gemm", ["x", "w", "c"], ["y"], { transB: 1n, alpha: 0.5 })],
      initialisers: [...turned, tensor("c", [4], numbers(4, 9))],
    }),
    input: X,
    shapes: [[3, 2], [2, 4]],
  },
  "a weight that a node transposes": {
    graph: matrix({
      nodes: [
        node("Transpose", ["w"], ["wt"], { perm: [1n, 0n] }),
        node("Identity", ["wt"], ["wi"]),
        node("MatMul", ["x", "wi"], ["y"]),
      ],
      initialisers: turned,
    }),
    input: X,
    shapes: [[3, 2], [2, 4]],
  },
  "a FusedMatMul": {
    graph: {
      ...matrix({
        nodes: [node("FusedMatMul", ["x", "w"], ["y"], { transB: 1n }, "com.microsoft")],
        initialisers: turned,
      }),
      domains: ["com.microsoft"],
    },
    input: X,
    shapes: [[3, 2], [2, 4]],
  },
  "two products with one weight": {
    graph: matrix({
      nodes: [
        node("MatMul", ["x", "w"], ["a"]),
        node("Neg", ["x"], ["minus"]),
        node("MatMul", ["minus", "w"], ["b"]),
        node("Concat", ["a", "b"], ["y"], { axis: 0n }),
      ],
    }),
    input: X,
    shapes: [[3, 2], [2, 4]],
  },
  "a weight that another node reads": {
    graph: matrix({
      nodes: [
        node("MatMul", ["x", "w"], ["a"]),
        node("ReduceSum", ["w"], ["total"], { keepdims: 0n }),
        node("Add", ["a", "total"], ["y"]),
      ],
    }),
    input: X,
    merges: false,
    shapes: [[3, 2], [2, 4]],
  },
  "an embedding": {
    graph: matrix({
      nodes: [node("Gather", ["w", "x"], ["y"])],
      inputs: [value("x", "int64", ["n"])],
      outputs: [value("y", "float32", ["n", 4])],
    }),
    input: [[0, 2, -1, 1], [4], "int64"],
    targets: "w",
    shapes: [[3, 2], [2, 4]],
  },
  "a convolution": {
    graph: {
      nodes: [
        node("Conv", ["x", "w", "c"], ["y"], { pads: [1n, 1n, 1n, 1n], strides: [2n, 1n] }),
      ],
      inputs: [value("x", "float32", ["n", 2, 5, 4])],
      outputs: [value("y", "float32", ["n", 3, 3, 4])],
      initialisers: [tensor("w", [3, 2, 3, 3], numbers(54)), tensor("c", [3], numbers(3, 2))],
    },
    input: [numbers(80, 3), [2, 2, 5, 4]],
    targets: "*",
    shapes: [[2, 2, 3, 3], [3, 2, 1, 1]],
  },
  "a weight of 4 bits": {
    graph: {
      nodes: [
        node("MatMulNBits", ["x", "w", "s"], ["y"], {
          K: 32n,
          N: 2n,
          bits: 4n,
          block_size: 16n,
        }, "com.microsoft"),
      ],
      inputs: [value("x", "float32", ["n", 32])],
      outputs: [value("y", "float32", ["n", 2])],
      initialisers: [
        levels("w", [2, 2, 8], [...bytes24, ...bytes24.slice(0, 8)]),
        tensor("s", [4], floats(0.1, 0.2, 0.3, 0.05)),
      ],
      domains: ["com.microsoft"],
    },
    input: [numbers(64), [2, 32]],
    merges: false,
    shapes: [[32, 2], [2, 2]],
  },
  "a weight that is dequantised": {
    graph: matrix({
      nodes: [
        node("DequantizeLinear", ["q", "s"], ["w"], { axis: 1n }),
        node("MatMul", ["x", "w"], ["y"]),
      ],
      initialisers: [
        levels("q", [3, 4], bytes24.slice(0, 12)),
        tensor("s", [4], floats(0.1, 0.2, 0.3, 0.05)),
      ],
    }),
    input: X,
    merges: false,
    shapes: [[3, 2], [2, 4]],
  },
  "a weight of float16": {
    graph: matrix({
      nodes: [
        node("Cast", ["x"], ["h"], { to: 10n }),
        node("MatMul", ["h", "w"], ["p"]),
        node("Cast", ["p"], ["y"], { to: 1n }),
      ],
      initialisers: [
        tensor("w", [3, 4], new Float16Array(numbers(12))),
      ],
    }),
    input: X,
    shapes: [[3, 2], [2, 4]],
  },
};

const array = async (y: unknown): Promise<number[]> =>
  Array.from(await (y as tf.Tensor).data() as Float32Array, Number);
const near = (got: number[], want: number[], by: number, what: string): void => {
  assertEquals(got.length, want.length, what);
  const most = Math.max(1, ...want.map(Math.abs));
  got.forEach((v, i) => {
    if (!(Math.abs(v - want[i]) <= by * most)) fail(`${what}: ${got} ≠ ${want}`);
  });
};

for (const [name, { graph, input, targets, merges = true, shapes }] of Object.entries(CASES)) {
  testOnDevices(`lora() adapts ${name}`, async () => {
    const file = model(graph), x = tf.tensor(...input), isHalf = name.includes("float16");
    const by = isHalf ? 4e-3 : 2e-5;
    for (const trainable of [true, false]) {
      const m = await loadOnnx(file, { trainable });
      const run = async (of: OnnxModel = m) => await array((await of.run({ x })).y);
      const before = await run();
      const base = { ...m.variables };
      const adapters = lora(m, { rank: 2, alpha: 6, seed: 3, ...targets && { targets } });
      const [[nameA, a], [nameB, b]] = Object.entries(adapters.variables);
      assertEquals([nameA.endsWith(".lora_A"), nameB.endsWith(".lora_B")], [true, true]);
      assertEquals([a.shape, b.shape], shapes as never);
      assertEquals(await run(), before, "it computes the same at first");
      // Only its factors are trained.
      const loss = () => tf.sum(tf.square(tf.cast(m.call({ x }).y as tf.Tensor, "float32")));
      const { grads } = tf.variableGrads(loss);
      assertEquals(Object.keys(grads).length, 2);
      const weights = await Promise.all(Object.values(base).map(array));
      const optimizer = tf.train.sgd(0.01);
      for (let i = 0; i < 2; i++) tf.function(() => optimizer.minimize(loss))();
      assertEquals(await Promise.all(Object.values(base).map(array)), weights);
      // What is added is three times the product of both.
      a.assign(tf.reshape(tf.tensor(numbers(a.size, 7)), a.shape));
      b.assign(tf.reshape(tf.tensor(numbers(b.size, 8)), b.shape));
      const adapted = await run();
      const once = adapted.map((v, i) => v - before[i]);
      b.assign(tf.mul(b, 2));
      near(await run(), before.map((v, i) => v + 2 * once[i]), by, "it is linear in B");
      b.assign(tf.div(b, 2));
      // It is saved with its nodes, and alone.
      const saved = await loadOnnx(await m.encode());
      near(await run(saved), adapted, by, "saved with adapters");
      const alone = await tf.io.serializeVariables(adapters.variables);
      const other = await loadOnnx(file, { trainable });
      const loaded = lora(other, { rank: 2, alpha: 6, ...targets && { targets } });
      await tf.io.restoreVariables(loaded.variables, alone);
      near(await run(other), adapted, by, "loaded into another model");
      loaded.remove();
      near(await run(other), before, 0, "removed");
      assertEquals(Object.keys(other.variables), Object.keys(base));
      const stay = adapters.merge();
      assertEquals(stay.length > 0, !merges || !trainable);
      near(await run(), adapted, by, "merged");
      if (stay.length === 0) {
        assert(a.isDisposed && b.isDisposed);
        assertEquals(Object.keys(m.variables), Object.keys(base));
        near(await run(await loadOnnx(await m.encode())), adapted, by, "merged and saved");
      }
      for (const made of [m, saved, other]) made.dispose();
    }
  });
}

testOnDevices("weights are variables where a file has all of them in constant nodes", async () => {
  const graph = matrix({
    nodes: [
      constant("w", [3, 4], numbers(12)),
      constant("scale", [], floats(2)),
      node("MatMul", ["x", "w"], ["p"]),
      node("Mul", ["p", "scale"], ["y"]),
    ],
    initialisers: [],
  });
  const m = await loadOnnx(model(graph));
  assertEquals(Object.keys(m.variables), ["w"]);
  m.variables.w.assign(tf.ones([3, 4]));
  assertEquals(await array(m.call({ x: [[1, 2, 3]] }).y), [12, 12, 12, 12]);
  const again = await loadOnnx(await m.encode());
  assertEquals(await array(again.call({ x: [[1, 2, 3]] }).y), [12, 12, 12, 12]);
  // Beside weights, constant nodes are constants.
  const both = matrix({
    nodes: [constant("c", [4], numbers(4)), node("Gemm", ["x", "w", "c"], ["y"])],
  });
  assertEquals(Object.keys((await loadOnnx(model(both))).variables), ["w"]);
});

testOnDevices("lora() adds what its factors make of the input", async () => {
  const m = await loadOnnx(model(CASES["a product"].graph));
  const { variables } = lora(m, { rank: 1, alpha: 2 });
  variables["w.lora_A"].assign([[1], [2], [3]]);
  variables["w.lora_B"].assign([[1, 0, -1, 0.5]]);
  m.variables.w.assign(tf.zeros([3, 4]));
  assertEquals(await array(m.call({ x: [[1, 1, 1]] }).y), [12, 0, -12, 6]);
});

Deno.test("lora() refuses what does not fit, and changes nothing", async () => {
  const m = await loadOnnx(model(CASES["a product"].graph));
  const before = await array(m.call({ x: [[1, 1, 1]] }).y);
  const tensors = tf.memory().numTensors;
  const cases: [() => unknown, string][] = [
    [
      () => lora(m, { targets: "none" }),
      `no node with a weight is called none, there is "y" with "w"`,
    ],
    [() => lora(m, { rank: 0 }), "the rank is 0"],
    [() => lora(m, { alpha: NaN }), "alpha is NaN"],
  ];
  for (const [act, why] of cases) assertThrows(act, tf.ValueError, why);
  assertThrows(() => lora(m, { ranks: 3 } as never), TypeError);
  const first = lora(m);
  assertThrows(() => lora(m), tf.ValueError, `there is a variable "w.lora_A" already`);
  assertEquals(Object.keys(m.variables), ["w", "w.lora_A", "w.lora_B"]);
  first.remove();
  m.unfreeze();
  assertEquals(tf.memory().numTensors, tensors);
  assertEquals(await array(m.call({ x: [[1, 1, 1]] }).y), before);
});

Deno.test("encode() refuses functions, streams and disposed models", async () => {
  const file = model(CASES["a product"].graph);
  const m = await loadOnnx(file);
  m.replace("y", (y) => tf.neg(y));
  await assertRejects(() => m.encode(), tf.errors.UnimplementedError, `functions make "y"`);
  const streamed = await loadOnnx(new Blob([file as Uint8Array<ArrayBuffer>]).stream());
  await assertRejects(() => streamed.encode(), tf.errors.InvalidArgumentError, "from a stream");
  m.dispose();
  await assertRejects(() => m.encode(), tf.ValueError, "it is disposed");
});

Deno.test("save() writes weights of other files into its own, and keeps what it does not know", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const data = new Uint8Array(numbers(12).buffer as ArrayBuffer);
    await Deno.writeFile(`${folder}/data`, data);
    const file = model(matrix({
      nodes: [node("MatMul", ["x", "w"], ["p"]), node("Reshape", ["p", "to"], ["y"])],
      initialisers: [
        tensor("w", [3, 4], { location: "data", offset: 0, length: 48 }),
        tensor("to", [2], int64s(-1, 4)),
      ],
    }));
    // A field of a later version of the format, at the end of the model's message.
    const strange = Uint8Array.from([...file, 0xfa, 0x3f, 2, 7, 7]);
    await Deno.writeFile(`${folder}/m.onnx`, strange);
    const m = await loadOnnx(`${folder}/m.onnx`);
    m.variables.w.assign(tf.ones([3, 4]));
    await m.save(`${folder}/saved.onnx`);
    const bytes = await Deno.readFile(`${folder}/saved.onnx`);
    assertEquals([...bytes.subarray(-5)], [0xfa, 0x3f, 2, 7, 7]);
    await Deno.remove(`${folder}/data`);
    const again = await loadOnnx(`${folder}/saved.onnx`);
    assertEquals(await array(again.call({ x: [[1, 2, 3]] }).y), [6, 6, 6, 6]);
    await assertRejects(() => m.encode(), tf.errors.NotFoundError);
    await Deno.writeFile(`${folder}/data`, data);
    await Deno.writeFile(`${folder}/m.onnx`, model(matrix({ initialisers: turned })));
    await assertRejects(() => m.encode(), tf.errors.DataLossError, "its file has changed");
    await assertRejects(() => again.save(`${folder}/none/x.onnx`), tf.errors.NotFoundError);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
