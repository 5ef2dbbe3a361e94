/** Ops of older files that TensorFlow 2.21 makes no more, and draws of them that follow no seed of TensorFlow's: nodes as such files have them. */

import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";

// deno-lint-ignore no-explicit-any
type Any = any;

const float = { type: "DT_FLOAT" }, int = { type: "DT_INT32" };
const TYPES: Readonly<Record<string, string>> = {
  float32: "DT_FLOAT",
  int32: "DT_INT32",
  int64: "DT_INT64",
};

/** Values of the outputs of a node whose inputs are constants, in so many runs of one session. */
async function run(
  op: string,
  inputs: readonly tf.Tensor[],
  attr: Readonly<Record<string, unknown>>,
  { outputs = 1, runs = 1, library }: { outputs?: number; runs?: number; library?: unknown } = {},
): Promise<Any[]> {
  const names = inputs.map((_, i) => `in${i}`), graph = new tf.Graph();
  const results = graph.asDefault(() => {
    const fed = inputs.map((x) => tf.placeholder(x.dtype, x.shape));
    const node = [
      ...fed.map(({ dtype }, i) => ({
        name: names[i],
        op: "Placeholder",
        attr: { dtype: { type: TYPES[dtype] } },
      })),
      { name: "y", op, input: names, attr },
    ];
    const out = tf.importGraphDef({ node, library, versions: { producer: 1 } } as Any, {
      inputMap: Object.fromEntries(names.map((name, i) => [name, fed[i]])),
      prefix: "",
      returnElements: Array.from({ length: outputs }, (_, i) => `y:${i}`),
    }) as tf.Tensor[];
    return { fed, out };
  });
  await using session = new tf.Session({ graph });
  const feeds = new Map(results.fed.map((x, i) => [x, inputs[i].ndarraySync()]));
  const all: Any[] = [];
  for (let i = 0; i < runs; i++) {
    all.push(...await session.run(results.out, { feeds: feeds as Any }) as unknown as unknown[]);
  }
  return all.map((v) => v instanceof tf.NdArray ? v.toArray() : v);
}

const ints = (...v: number[]) => tf.tensor(v, [v.length], "int32");

Deno.test("normalizations by global moments scale where the file says so", async () => {
  const x = tf.tensor([[[[1, 2]], [[3, 6]]]]), moments = [[2, 4], [3, 8], [10, 20], [2, 4]];
  const inputs = [x, ...moments.map((v) => tf.tensor(v))];
  const attr = (scale: boolean) => ({
    T: float,
    variance_epsilon: { f: 1 },
    scale_after_normalization: { b: scale },
  });
  const [plain] = await run("BatchNormWithGlobalNormalization", inputs, attr(false));
  assertEquals([plain[0][0][0][0], plain[0][1][0][0]], [9.5, 10.5]);
  assertAlmostEquals(plain[0][1][0][1], 20 + 2 / 3, 1e-5);
  const [scaled] = await run("BatchNormWithGlobalNormalization", inputs, attr(true));
  assertEquals([scaled[0][0][0][0], scaled[0][1][0][0]], [9, 11]);
});

Deno.test("ops of batches are those of any rank", async () => {
  const x = tf.tensor([[[4, 0], [0, 9]]]);
  assertEquals(await run("BatchCholesky", [x], { T: float }), [[[[2, 0], [0, 3]]]]);
  assertEquals(await run("BatchMatrixDeterminant", [x], { T: float }), [[36]]);
  const [inverse] = await run("BatchMatrixInverse", [x], { T: float });
  assertAlmostEquals(inverse[0][0][0], 0.25, 1e-6);
});

Deno.test("draws between bounds keep them, of one distribution or of one for each row", async () => {
  const bounds = [[0, 100], [1, 2], [-1, 99], [2, 101]];
  const attr = { T: int, dtype: float, seed: { i: "3" }, seed2: { i: "4" } };
  const many = [ints(2, 50), ...bounds.map((v) => tf.tensor(v))];
  const [first, second] = await run("ParameterizedTruncatedNormal", many, attr, { runs: 2 });
  for (const draws of [first, second]) {
    assert(draws[0].every((v: number) => v >= -1 && v <= 2));
    assert(draws[1].every((v: number) => v >= 99 && v <= 101));
  }
  assert(String(first) !== String(second));
  const [again] = await run("ParameterizedTruncatedNormal", many, attr);
  assertEquals(again, first);
  const one = [ints(40), ...[5, 1, 5, 6].map((v) => tf.scalar(v))];
  const [drawn] = await run("ParameterizedTruncatedNormal", one, attr);
  assert(drawn.every((v: number) => v >= 5 && v <= 6));
});

Deno.test("shuffled rows are the rows in another order with each run", async () => {
  const rows = tf.tensor(Array.from({ length: 30 }, (_, i) => [i, -i]));
  const attr = { T: float, seed: { i: "1" }, seed2: { i: "2" } };
  const [first, second] = await run("RandomShuffle", [rows], attr, { runs: 2 });
  const sorted = (v: number[][]) => v.toSorted((a, b) => a[0] - b[0]);
  assertEquals(sorted(first), rows.arraySync());
  assertEquals(sorted(second), rows.arraySync());
  assert(String(first) !== String(second));
});

/** A function that doubles, and the attributes of its call. */
function doubling() {
  const body = {
    signature: {
      name: "twice",
      inputArg: [{ name: "x", type: "DT_FLOAT" }],
      outputArg: [{ name: "y", type: "DT_FLOAT" }],
    },
    nodeDef: [{ name: "sum", op: "AddV2", input: ["x", "x"], attr: { T: float } }],
    ret: { y: "sum:z:0" },
  };
  const attr = {
    f: { func: { name: "twice" } },
    Tin: { list: { type: ["DT_FLOAT"] } },
    Tcaptured: { list: {} },
    Tout: { list: { type: ["DT_FLOAT"] } },
  };
  return { attr, library: { function: [body] } };
}

Deno.test("a batched function is called with the batch that it gets", async () => {
  const { attr, library } = doubling();
  assertEquals(await run("BatchFunction", [tf.tensor([1, 2])], attr, { library }), [[2, 4]]);
});

Deno.test("what older ops cannot be made of is refused", async () => {
  const x = tf.zeros([1, 4, 4, 1]), attr = { T: float, padding: { s: btoa("SAME") } };
  await assertRejects(
    () => run("MaxPoolV2", [x, ints(1, 2, 2, 1), ints(1, 1, 1, 1)], attr),
    tf.errors.UnimplementedError,
    "must be constants",
  );
  await assertRejects(
    () => run("Mfcc", [tf.ones([1, 1, 1]), tf.scalar(8000, "int32")], {}),
    tf.errors.InvalidArgumentError,
    "Mel filterbank",
  );
  const ratios = { list: { f: [1, 5, 1, 1] } };
  await assertRejects(
    () => run("FractionalMaxPool", [x], { T: float, pooling_ratio: ratios }, { outputs: 3 }),
    tf.ValueError,
    "above extent 4",
  );
  const seeds = { T: float, pooling_ratio: { list: { f: [1, 2, 2, 1] } }, seed: { i: "1" } };
  await assertRejects(
    () => run("FractionalMaxPool", [x], seeds, { outputs: 3 }),
    tf.errors.InvalidArgumentError,
    "deterministic is false",
  );
});

Deno.test("gradients of convolutions take a tensor in place of its shape", async () => {
  const draw = (...shape: number[]) => tf.randomNormal(shape, 0, 1, "float32", 3);
  const cases = [
    ["Conv2DBackpropInput", "Conv2DBackpropInputV2", 0],
    ["Conv2DBackpropFilter", "Conv2DBackpropFilterV2", 1],
    ["Conv3DBackpropInputV2", "Conv3DBackpropInput", 0],
    ["Conv3DBackpropFilterV2", "Conv3DBackpropFilter", 1],
  ] as const;
  for (const [sized, whole, which] of cases) {
    const isDeep = whole.startsWith("Conv3D"), more = isDeep ? [3] : [];
    const inputs = [
      draw(1, 4, 4, ...more, 2),
      draw(2, 2, ...more, 2, 3),
      draw(1, 2, 2, ...more, 3),
    ];
    const strides = { list: { i: isDeep ? [1, 2, 2, 1, 1] : [1, 2, 2, 1] } };
    const attr = { T: float, strides, padding: { s: btoa("SAME") } };
    const dims = inputs.map((x, i) => i === which ? ints(...x.shape) : x);
    const wanted = await run(sized, dims, isDeep && which === 0 ? { ...attr, Tshape: int } : attr);
    assertEquals(await run(whole, inputs, attr), wanted, whole);
  }
});

Deno.test("diagonals of batches, copies and calls for other devices are what they stand for", async () => {
  const rows = tf.tensor([[1, 2], [3, 4]]), square = tf.tensor([[[1, 2], [3, 4]]]);
  const { library, attr } = doubling();
  assertEquals(await run("BatchMatrixDiag", [rows], { T: float }), [
    [[[1, 0], [0, 2]], [[3, 0], [0, 4]]],
  ]);
  assertEquals(await run("BatchMatrixDiagPart", [square], { T: float }), [[[1, 4]]]);
  assertEquals(await run("BatchMatrixSetDiag", [square, tf.tensor([[7, 8]])], { T: float }), [
    [[[7, 2], [3, 8]]],
  ]);
  for (const op of ["Copy", "CopyHost", "DebugIdentity", "DebugIdentityV2", "DebugIdentityV3"]) {
    assertEquals(await run(op, [rows], { T: float }), [rows.arraySync()], op);
  }
  const target = tf.scalar(0, "int32");
  assertEquals(await run("RemoteCall", [target, tf.tensor([1, 2])], attr, { library }), [[2, 4]]);
  const drawn = { R: float, dtype: float, seed: { i: "3" } };
  const [first] = await run("RandomPoisson", [ints(20), tf.tensor([4])], drawn);
  assert(first.flat().every((v: number) => v >= 0 && Number.isInteger(v)));
});
