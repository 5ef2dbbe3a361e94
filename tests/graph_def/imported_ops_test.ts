/** Ops of imported graphs that are made of others: values of TensorFlow, attributes left out, unknown ranks, variables. */

import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { apply1 } from "../../src/engine/core/apply.ts";
import { lookupOp } from "../../src/engine/core/op.ts";

// deno-lint-ignore no-explicit-any
type Attrs = Record<string, any>;
const float = { type: "DT_FLOAT" }, int = { type: "DT_INT32" };
const NCHW = { data_format: { s: btoa("NCHW") } };
const WHOLE = { float32: "DT_FLOAT", int32: "DT_INT32", bool: "DT_BOOL" } as const;

/** A node whose inputs are fed, and the values of its outputs. `shape` says what is known of the first input. */
async function run(
  op: string,
  inputs: readonly tf.Tensor[],
  attr: Attrs = {},
  { outputs = 1, shape }: { outputs?: number; shape?: null } = {},
): Promise<unknown[]> {
  const graph = new tf.Graph();
  const fed = graph.asDefault(() =>
    inputs.map((x, i) => tf.placeholder(x.dtype, i === 0 && shape === null ? null : x.shape))
  );
  const results = graph.asDefault(() => {
    const names = fed.map((_, i) => `in${i}`);
    const placeholders = fed.map(({ dtype }, i) => ({
      name: names[i],
      op: "Placeholder",
      attr: { dtype: { type: WHOLE[dtype as keyof typeof WHOLE] } },
    }));
    const node = [...placeholders, { name: "y", op, input: names, attr }];
    return tf.importGraphDef({ node, versions: { producer: 1 } } as tf.GraphDefJson, {
      inputMap: Object.fromEntries(names.map((name, i) => [name, fed[i]])),
      prefix: "",
      returnElements: Array.from({ length: outputs }, (_, i) => `y:${i}`),
    }) as tf.Tensor[];
  });
  await using session = new tf.Session({ graph });
  const out = await session.run(results, {
    feeds: new Map(fed.map((x, i) => [x, inputs[i].ndarraySync()])),
  }) as unknown[];
  return out.map((v) => v instanceof tf.NdArray ? v.toArray() : v);
}

/** Within 4 digits. */
function assertNear(received: unknown, wanted: unknown, what: string): void {
  const flat = (v: unknown) => [v].flat(9) as number[];
  assertEquals(flat(received).length, flat(wanted).length, what);
  flat(received).forEach((v, i) =>
    assert(Math.abs(v - flat(wanted)[i]) < 1e-4, `${what}: ${received}`)
  );
}

const X = tf.tensor([[[[1, 2], [3, 5]], [[4, 4], [0, 1]]]]);
const DY = tf.tensor([[[[1, 0], [0, 2]], [[1, 1], [3, 0]]]]);
const [SCALE, OFFSET, MEAN, VARIANCE] = [[1, 2], [0.5, 0], [0.5, 1], [2, 3]].map((v) =>
  tf.tensor(v)
);

Deno.test("imported normalizations and their gradients have TensorFlow's defaults", async () => {
  const inference = { is_training: { b: false } };
  const normal = await run("FusedBatchNorm", [X, SCALE, OFFSET, MEAN, VARIANCE], {
    T: float,
    ...inference,
  });
  assertNear(normal, [0.85354, 1.15468, 2.26772, 4.61873, 2.97481, 3.46404, 0.14646, 0], "forward");
  const gradient = (x: tf.Tensor, dy: tf.Tensor, attr: Attrs) =>
    run("FusedBatchNormGrad", [dy, x, SCALE, MEAN, VARIANCE], { T: float, ...attr }, {
      outputs: 3,
    });
  const training = [
    [-0.28725, -1.92443, -1.43625, -2.79034, -0.95011, -2.8866, 1.34788, -0.86601],
    [1.76772, 6.35075],
    [5, 3],
  ];
  const inferred = [[0.70709, 0, 0, 2.30936, 0.70709, 1.15468, 2.12127, 0], ...training.slice(1)];
  for (const [attr, wanted] of [[{}, training], [inference, inferred]] as const) {
    assertNear(await gradient(X, DY, attr), wanted, JSON.stringify(attr));
    const first = (x: tf.Tensor) => tf.transpose(x, [0, 3, 1, 2]);
    const [dx, ...others] = await gradient(first(X), first(DY), { ...attr, ...NCHW });
    const last = tf.transpose(dx as tf.TensorLike, [0, 2, 3, 1]).arraySync();
    assertNear([last, ...others], wanted, `NCHW ${JSON.stringify(attr)}`);
  }
});

Deno.test("imported biases lie along the channels, wherever those are", async () => {
  const x = tf.reshape(tf.range(0, 8), [1, 2, 2, 2]), bias = tf.tensor([10, 20]);
  const last = [[[[10, 21], [12, 23]], [[14, 25], [16, 27]]]];
  const first = [[[[10, 11], [12, 13]], [[24, 25], [26, 27]]]];
  for (const shape of [undefined, null] as const) {
    const known = shape === undefined ? {} : { shape };
    assertEquals(await run("BiasAdd", [x, bias], { T: float }, known), [last]);
  }
  assertEquals(await run("BiasAdd", [x, bias], { T: float, ...NCHW }), [first]);
  assertEquals(await run("BiasAddGrad", [x], { T: float }), [[12, 16]]);
  assertEquals(await run("BiasAddGrad", [x], { T: float, ...NCHW }), [[6, 22]]);
  const rows = tf.tensor([[1, 2], [3, 4]]);
  assertEquals(await run("BiasAdd", [rows, bias], { T: float, ...NCHW }), [[[11, 22], [13, 24]]]);
  assertEquals(await run("BiasAddGrad", [rows], { T: float }, { shape: null }), [[4, 6]]);
});

Deno.test("imported ops take TensorFlow's defaults for attributes that are left out", async () => {
  const t = tf.tensor, ints = (...v: number[]) => tf.tensor(v, undefined, "int32");
  const square = t([[1, 2], [3, 4]]), lower = t([[1, 0], [1, 1]]);
  const cases: [string, tf.Tensor[], Attrs, unknown[]][] = [
    ["EuclideanNorm", [t([[3, 4]]), ints(1)], { T: float, Tidx: int }, [[5]]],
    ["EuclideanNorm", [t([[3, 4]]), ints(1)], { T: float, keep_dims: { b: true } }, [[[5]]]],
    ["BatchMatMulV3", [square, lower], { Ta: float, Tb: float, Tout: float }, [[[3, 2], [7, 4]]]],
    [
      "BatchMatMulV3",
      [square, lower],
      { Ta: float, Tb: float, Tout: float, adj_x: { b: true }, adj_y: { b: true } },
      [[[1, 4], [2, 6]]],
    ],
    ["TopK", [t([1, 3, 2])], { T: float, k: { i: "2" } }, [[3, 2], [1, 2]]],
    ["Ones", [ints(2, 1)], { dtype: float }, [[[1], [1]]]],
    ["Gather", [square, ints(1, 0)], { Tparams: float, Tindices: int }, [[[3, 4], [1, 2]]]],
    ["Unique", [ints(5, 6, 5)], { T: int }, [[5, 6], [0, 1, 0]]],
    ["MatrixDiag", [t([1, 2])], { T: float }, [[[1, 0], [0, 2]]]],
    [
      "MatrixDiagV2",
      [t([[1, 2], [3, 0]]), ints(0, 1), tf.scalar(2, "int32"), tf.scalar(2, "int32"), tf.scalar(9)],
      { T: float },
      [[[3, 1], [9, 0]]],
    ],
    ["MatrixDiagPart", [square], { T: float }, [[1, 4]]],
    [
      "MatrixDiagPartV2",
      [t([[1, 2, 3], [4, 5, 6]]), ints(-1, 1), tf.scalar(0)],
      { T: float },
      [[[2, 6], [1, 5], [4, 0]]],
    ],
    ["MatrixSetDiag", [square, t([8, 9])], { T: float }, [[[8, 2], [3, 9]]]],
    [
      "MatrixSetDiagV2",
      [square, t([8]), tf.scalar(1, "int32")],
      { T: float },
      [[[1, 8], [3, 4]]],
    ],
    ["TensorScatterSub", [t([5, 5]), tf.tensor([[1]], [1, 1], "int32"), t([2])], { T: float }, [
      [5, 3],
    ]],
    ["ScatterNdNonAliasingAdd", [t([5, 5]), tf.tensor([[1]], [1, 1], "int32"), t([2])], {
      T: float,
    }, [[5, 7]]],
    ["Bucketize", [t([[-5, 10000], [150, 10], [5, 100]])], {
      T: float,
      boundaries: { list: { f: [0, 10, 100] } },
    }, [[[0, 3], [3, 2], [1, 3]]]],
    ["HistogramFixedWidth", [t([-1, 0, 1.5, 2, 5, 15]), t([0, 5]), tf.scalar(5, "int32")], {
      T: float,
    }, [[2, 1, 1, 0, 2]]],
    ["NthElement", [t([[3, 1, 2], [9, 7, 8]]), tf.scalar(1, "int32")], { T: float }, [[2, 8]]],
    ["NthElement", [t([[3, 1, 2], [9, 7, 8]]), tf.scalar(0, "int32")], {
      T: float,
      reverse: { b: true },
    }, [[3, 9]]],
    ["InTopK", [t([[0.1, 0.9, 0.9], [0.3, 0.2, 0.1]]), ints(2, 1)], { T: int, k: { i: "1" } }, [
      [true, false],
    ]],
    ["UniqueWithCountsV2", [tf.tensor([[1, 1], [1, 1], [3, 2]], [3, 2], "int32"), ints(0)], {
      T: int,
    }, [[[1, 1], [3, 2]], [0, 0, 1], [2, 1]]],
    ["UniqueWithCounts", [ints(5, 6, 5)], { T: int }, [[5, 6], [0, 1, 0], [2, 1]]],
  ];
  for (const [op, inputs, attr, wanted] of cases) {
    assertEquals(await run(op, inputs, attr, { outputs: wanted.length }), wanted, op);
  }
});

Deno.test("what passes lists on takes them for what they hold", async () => {
  const variant = { type: "DT_VARIANT" };
  const list = (name: string, input: string) => ({
    name,
    op: "TensorListFromTensor",
    input: [input, "shape"],
    attr: { element_dtype: float, shape_type: int },
  });
  for (
    const [op, input, wanted] of [
      ["Identity", ["a"], [[1, 2], [3, 4]]],
      ["StopGradient", ["b"], [[5, 6], [7, 8]]],
      ["SelectV2", ["no", "a", "b"], [[5, 6], [7, 8]]],
      ["AddN", ["a", "b"], [[6, 8], [10, 12]]],
    ] as const
  ) {
    const graph = new tf.Graph();
    const y = graph.asDefault(() => {
      const inputMap = {
        ...{ x: tf.constant([[1, 2], [3, 4]]), y: tf.constant([[5, 6], [7, 8]]) },
        ...{ shape: tf.constant([2], "int32"), no: tf.constant(false) },
      };
      const node = [
        ...Object.entries(inputMap).map(([name, { dtype }]) => ({
          name,
          op: "Placeholder",
          attr: { dtype: { type: WHOLE[dtype as "int32"] } },
        })),
        ...[list("a", "x"), list("b", "y")],
        { name: "z", op, input, attr: { T: variant, ...(op === "AddN" ? { N: { i: "2" } } : {}) } },
        {
          name: "stack",
          op: "TensorListStack",
          input: ["z", "shape"],
          attr: { element_dtype: float, num_elements: { i: "-1" } },
        },
      ];
      return tf.importGraphDef({ node, versions: { producer: 1 } } as unknown as tf.GraphDefJson, {
        inputMap,
        prefix: "",
        returnElements: ["stack:0"],
      })[0] as tf.Tensor;
    });
    await using session = new tf.Session({ graph });
    assertEquals((await session.run(y) as tf.NdArray).toArray(), wanted, op);
  }
});

Deno.test("imported suppression fills its results up where that is asked for", async () => {
  const boxes = tf.tensor([[0, 0, 1, 1], [0, 0, 1, 1], [0, 5, 1, 6]]),
    scores = tf.tensor([1, 3, 2]);
  const limits = [0.5, -1, 0].map((v) => tf.scalar(v));
  const most = tf.scalar(3, "int32");
  for (const b of [false, true]) {
    const attr = { T: float, T_threshold: float, pad_to_max_output_size: { b } };
    const more = b ? [0] : [];
    const v4 = await run("NonMaxSuppressionV4", [boxes, scores, most, limits[0], limits[1]], attr, {
      outputs: 2,
    });
    assertEquals(v4, [[1, 2, ...more], 2]);
    const v5 = await run("NonMaxSuppressionV5", [boxes, scores, most, ...limits], attr, {
      outputs: 3,
    });
    assertEquals(v5, [[1, 2, ...more], [3, 2, ...more], 2]);
  }
});

Deno.test("boxes are softened as in TensorFlow.js by tf.image, and as in TensorFlow in graphs of files", async () => {
  const boxes = tf.tensor([[0, 0, 1, 1], [0, 0, 1, 0.75]]), scores = tf.tensor([0.9, 0.8]);
  const graph = new tf.Graph();
  const { selectedIndices } = graph.asDefault(() =>
    tf.image.nonMaxSuppressionWithScore(boxes, scores, 2, 0.5, 0, 0.5)
  );
  const { name } = selectedIndices as tf.SymbolicTensor;
  const kept = async (portable: boolean): Promise<unknown> => {
    const other = new tf.Graph();
    const [y] = other.asDefault(() =>
      tf.importGraphDef(graph.toGraphDef({ portable }), { prefix: "", returnElements: [name] })
    ) as tf.Tensor[];
    await using session = new tf.Session({ graph: other });
    return (await session.run(y) as tf.NdArray).toArray();
  };
  await using session = new tf.Session({ graph });
  assertEquals((await session.run(selectedIndices) as tf.NdArray).toArray(), [0]);
  assertEquals([await kept(false), await kept(true)], [[0], [0, 1]]);
});

Deno.test("Erfinv is right to the ends of its range", async () => {
  const points = [0, 0.5, -0.875, 1 - 2 ** -9, 1 - 2 ** -10, -(1 - 2 ** -16), 1, -1];
  const inverse = [
    0,
    0.47693628,
    -1.08478704,
    2.19009997,
    2.33146777,
    -3.05817958,
    Infinity,
    -Infinity,
  ];
  const [received] = await run("Erfinv", [tf.tensor(points)], { T: float }) as [number[]];
  received.forEach((v, i) =>
    assert(v === inverse[i] || Math.abs(v - inverse[i]) < 4e-6, `erfinv(${points[i]}): ${v}`)
  );
});

Deno.test("numbers become texts as C writes them", () => {
  const text = (x: tf.TensorLike, attrs: Attrs, dtype?: tf.DType) =>
    apply1(lookupOp("AsString")!, [tf.tensor(x, undefined, dtype)], attrs).arraySync();
  const numbers = [1 / 3, 0.5, -20, 123456, 1234567, 1e-4, 1.25e-5, 0];
  const [f, e, g] = [{}, { scientific: true }, { shortest: true }];
  const cases: [Attrs, string[]][] = [
    [g, ["0.333333", "0.5", "-20", "123456", "1.23457e+06", "0.0001", "1.25e-05", "0"]],
    [{ ...g, precision: 2 }, [
      "0.33",
      "0.5",
      "-20",
      "1.2e+05",
      "1.2e+06",
      "0.0001",
      "1.3e-05",
      "0",
    ]],
    [{ ...f, precision: 1 }, ["0.3", "0.5", "-20.0", "123456.0", "1234567.0", "0.0", "0.0", "0.0"]],
    [f, [
      "0.333333",
      "0.500000",
      "-20.000000",
      "123456.000000",
      "1234567.000000",
      "0.000100",
      "0.000013",
      "0.000000",
    ]],
    [{ ...e, precision: 2 }, [
      "3.33e-01",
      "5.00e-01",
      "-2.00e+01",
      "1.23e+05",
      "1.23e+06",
      "1.00e-04",
      "1.25e-05",
      "0.00e+00",
    ]],
  ];
  for (const [attrs, wanted] of cases) {
    assertEquals(text(numbers, attrs, "float64"), wanted, JSON.stringify(attrs));
  }
  assertEquals(text([NaN, Infinity, -Infinity], f), ["nan", "inf", "-inf"]);
  assertEquals(text([5, -12], { width: 4 }, "int32"), ["   5", " -12"]);
  assertEquals(text([5, -12], { width: 4, fill: "0" }, "int32"), ["0005", "-012"]);
  assertEquals(text([true, false], f), ["true", "false"]);
});

Deno.test("imported graphs read and change rows of variables", async () => {
  const start = [[1, 2], [3, 4], [5, 6]], rows = [2, 0], values = [[10, 20], [30, 40]];
  // At rows, or at elements; what the variable is afterwards.
  const changes: [string, number[] | number[][], number | number[] | number[][], number[][]][] = [
    ["ResourceScatterAdd", rows, values, [[31, 42], [3, 4], [15, 26]]],
    ["ResourceScatterSub", rows, values, [[-29, -38], [3, 4], [-5, -14]]],
    ["ResourceScatterUpdate", rows, values, [[30, 40], [3, 4], [10, 20]]],
    ["ResourceScatterUpdate", rows, 7, [[7, 7], [3, 4], [7, 7]]],
    ["ResourceScatterNdAdd", [[2, 1], [0, 0]], [7, 8], [[9, 2], [3, 4], [5, 13]]],
    ["ResourceScatterNdUpdate", [[2, 1], [0, 0]], [7, 8], [[8, 2], [3, 4], [5, 7]]],
  ];
  for (const [op, at, by, wanted] of changes) {
    const graph = new tf.Graph();
    const [gathered, elements, value, assign, change] = graph.asDefault(() => {
      const attr = { dtype: float };
      const shape = { shape: { dim: [{ size: "3" }, { size: "2" }] } };
      const inputs = {
        start: tf.constant(start),
        at: tf.constant(at, "int32"),
        by: tf.constant(by),
      };
      const picks = {
        rows: tf.constant(rows, "int32"),
        at2: tf.constant([[2, 1], [0, 0]], "int32"),
      };
      const inputMap = { ...inputs, ...picks };
      const node = [
        ...Object.entries(inputMap).map(([name, { dtype }]) => ({
          name,
          op: "Placeholder",
          attr: { dtype: { type: WHOLE[dtype as "int32"] } },
        })),
        { name: "v", op: "VarHandleOp", attr: { dtype: float, shape } },
        { name: "assign", op: "AssignVariableOp", input: ["v", "start"], attr },
        { name: "change", op, input: ["v", "at", "by"], attr: { ...attr, Tindices: int } },
        { name: "gather", op: "ResourceGather", input: ["v", "rows"], attr },
        {
          name: "nd",
          op: "ResourceGatherNd",
          input: ["v", "at2"],
          attr: { ...attr, Tparams: float, Tindices: int },
        },
        { name: "read", op: "ReadVariableOp", input: ["v"], attr },
      ];
      return tf.importGraphDef({ node, versions: { producer: 1 } } as tf.GraphDefJson, {
        inputMap,
        prefix: "",
        returnElements: ["gather:0", "nd:0", "read:0", "assign", "change"],
      }) as [tf.Tensor, tf.Tensor, tf.Tensor, tf.Operation, tf.Operation];
    });
    await using session = new tf.Session({ graph });
    await session.run(assign);
    const now = async () =>
      (await session.run([gathered, elements, value]) as tf.NdArray[]).map((a) => a.toArray());
    const all = (v: number[][]) => [[v[2], v[0]], [v[2][1], v[0][0]], v];
    assertEquals(await now(), all(start), op);
    await session.run(change);
    assertEquals(await now(), all(wanted), op);
  }
});
