// Ragged and sparse tensors as arguments and results of functions, branches and loops, on tapes, in scopes and in sessions. Eager and
// compiled code give the same; expected values are TensorFlow 2.21's.

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { deep, plain, ragged, sparse, sparseOf } from "./values.ts";

type R = tf.RaggedTensor;
type S = tf.SparseTensor;
// deno-lint-ignore no-explicit-any
type Body = (x: any) => unknown;

const ROW = tf.RaggedTensorSpec([null], "float32", 0);
const ROWS = [[1, 2], [], [3, 4, 5]], TWICE = [[2, 4], [], [6, 8, 10]];
const twice = (x: R): R => x.map((v) => tf.mul(v, 2));
const scaled = ({ indices, values, denseShape }: S): S =>
  new tf.SparseTensor(indices, tf.mul(values, 2), denseShape);
const loop = (x: unknown, body: Body, options = {}): unknown =>
  tf.whileLoop(
    (i) => tf.less(i, 2),
    (i, q) => [tf.add(i, 1), body(q) as tf.Tensor],
    [0, x] as const,
    options,
  )[1];
const whole = sparseOf([[0, 1], [2, 0]], [5, 6], [3, 2]);

const CALLS: Record<string, readonly [body: Body, argument: () => unknown, expected: unknown]> = {
  "a ragged argument and result": [twice, ragged, TWICE],
  "a deep ragged argument and result": [twice, deep, [[[2], []], [[4, 6]]]],
  "a sparse argument and result": [scaled, sparse, sparseOf([[0, 1], [2, 0]], [10, 12], [3, 2])],
  "a dense result of a sparse argument": [(x: S) => x.toDense(), sparse, [[0, 5], [0, 0], [6, 0]]],
  "a nest of both": [
    ({ r, s: [s], k }) => ({ a: [twice(r), scaled(s)], b: null, c: k }),
    () => ({ r: ragged(), s: [sparse()], k: tf.scalar(7) }),
    { a: [TWICE, sparseOf([[0, 1], [2, 0]], [10, 12], [3, 2])], b: null, c: 7 },
  ],
  "cond() of ragged tensors": [
    (x: R) => tf.cond(tf.less(tf.sum(x.flatValues), 0), () => x, () => twice(x)),
    ragged,
    TWICE,
  ],
  "cond() of sparse tensors": [
    (x: S) => tf.cond(tf.less(tf.sum(x.values), 0), () => scaled(x), () => x),
    sparse,
    whole,
  ],
  "case() of ragged tensors": [
    (x: R) =>
      tf.case([[tf.less(tf.sum(x.flatValues), 0), () => x as never]], {
        default: () => twice(x) as never,
      }),
    ragged,
    TWICE,
  ],
  "whileLoop() with a ragged variable": [(x: R) => loop(x, twice), ragged, [[4, 8], [], [
    12,
    16,
    20,
  ]]],
  "whileLoop() with a sparse variable": [
    (x: S) => loop(x, scaled),
    sparse,
    sparseOf([[0, 1], [2, 0]], [20, 24], [3, 2]),
  ],
  "whileLoop() with rows that grow": [
    (x: R) =>
      loop(x, (q) => tf.ragged.concatRows([q, q]), {
        shapeInvariants: [[], tf.RaggedTensorSpec([null, null])],
      }),
    () => tf.ragged.constant([[1], [2, 3]]),
    [[1], [2, 3], [1], [2, 3], [1], [2, 3], [1], [2, 3]],
  ],
  "mapFn() over ragged rows": [(x: R) => tf.mapFn((row) => tf.sum(row as tf.Tensor), x), ragged, [
    3,
    0,
    12,
  ]],
  "mapFn() from ragged rows to ragged rows": [
    (x: R) => tf.mapFn((row) => tf.mul(row as tf.Tensor, 2), x, { fnOutputSignature: ROW }),
    ragged,
    TWICE,
  ],
  "mapFn() over deep ragged rows and a tensor": [
    (x: R) =>
      tf.mapFn(
        ([row, k]) => ({ row: (row as R).map((v) => tf.mul(v, k)), k }),
        [x, tf.tensor([1, 10])] as const,
      ),
    deep,
    { row: [[[1], []], [[20, 30]]], k: [1, 10] },
  ],
  "mapFn() over sparse rows": [(x: S) => tf.mapFn((row) => row.toDense(), x), sparse, [[0, 5], [
    0,
    0,
  ], [6, 0]]],
  "mapFn() from sparse rows to sparse rows": [(x: S) => tf.mapFn((row) => row, x), sparse, whole],
  "mapFn() from numbers to ragged rows": [
    (x: tf.Tensor) =>
      tf.mapFn((n) => tf.range(0, n, 1, "int32"), x, {
        fnOutputSignature: tf.RaggedTensorSpec([null], "int32", 0),
      }),
    () => tf.tensor([2, 0, 3], [3], "int32"),
    [[0, 1], [], [0, 1, 2]],
  ],
  "foldl() over ragged rows": [
    (x: R) => tf.foldl((a, row) => tf.add(a, tf.sum(row as tf.Tensor)), x, { initializer: 0 }),
    ragged,
    15,
  ],
  "scan() over ragged rows": [
    (x: R) =>
      tf.scan((a, row) => tf.add(a, tf.sum(row as tf.Tensor)), x, {
        initializer: 0,
        reverse: true,
      }),
    ragged,
    [15, 12, 12],
  ],
  "grad() with respect to a ragged tensor": [
    (x: R) => tf.grad((q: R) => tf.sum(tf.square(q.toTensor())))(x),
    ragged,
    TWICE,
  ],
  "grad() with respect to a sparse tensor": [
    (x: S) => tf.grad((q: S) => tf.sum(tf.square(q.toDense())))(x),
    sparse,
    sparseOf([[0, 1], [2, 0]], [10, 12], [3, 2]),
  ],
  "grads() of both": [
    ({ r, s }) =>
      tf.grads((a, b) =>
        tf.add(tf.sum((a as unknown as R).flatValues), tf.sum((b as unknown as S).values))
      )([r, s]),
    () => ({ r: ragged(), s: sparse() }),
    [[[1, 1], [], [1, 1, 1]], sparseOf([[0, 1], [2, 0]], [1, 1], [3, 2])],
  ],
  "a gradient through mapFn()": [
    (x: R) =>
      tf.grad((q: R) => tf.sum(tf.mapFn((row) => tf.square(tf.sum(row as tf.Tensor)), q)))(x),
    ragged,
    [[6, 6], [], [24, 24, 24]],
  ],
  "a gradient through mapFn() to ragged rows": [
    (x: R) =>
      tf.grad((q: R) =>
        tf.sum(
          tf.square(
            (tf.mapFn((row) => tf.mul(row as tf.Tensor, 2), q, {
              fnOutputSignature: ROW,
            }) as unknown as R).flatValues,
          ),
        )
      )(x),
    ragged,
    [[8, 16], [], [24, 32, 40]],
  ],
  "a gradient through whileLoop()": [
    (x: R) => tf.grad((q: R) => tf.sum((loop(q, twice) as R).flatValues))(x),
    ragged,
    [[4, 4], [], [4, 4, 4]],
  ],
  "a gradient through a function": [
    (x: R) => tf.grad((q: R) => tf.sum(tf.function((z: R) => z.map(tf.square))(q).flatValues))(x),
    ragged,
    TWICE,
  ],
  "a tape with a ragged target and source": [
    (x: R) => {
      using tape = new tf.GradientTape();
      tape.watch(x);
      return tape.gradient(x.map(tf.square), x);
    },
    ragged,
    TWICE,
  ],
};

for (const [name, [body, argument, expected]] of Object.entries(CALLS)) {
  testOnDevices(`${name}: eager and compiled`, async () => {
    using _s = tf.scope();
    assertEquals(await plain(body(argument())), expected);
    const compiled = tf.function(body);
    assertEquals(await plain(compiled(argument())), expected);
    assertEquals(await plain(await compiled.async(argument())), expected);
    assertEquals(compiled.traceCount, 1);
  });
}

testOnDevices(
  "signatures take ragged and sparse specs, and refuse what is of another kind",
  async () => {
    using _s = tf.scope();
    const rows = tf.function(twice, { inputSignature: [tf.RaggedTensorSpec([null, null])] });
    assertEquals(await plain(rows(ragged())), TWICE);
    assertEquals(await plain(rows(tf.ragged.constant([[1]]))), [[2]]);
    assertEquals(rows.traceCount, 1);
    const elements = tf.function((x: S) => x.toDense(), {
      inputSignature: [new tf.SparseTensorSpec([null, 2])],
    });
    assertEquals(await plain(elements(sparse())), [[0, 5], [0, 0], [6, 0]]);
    for (
      const [call, text] of [
        [
          () => rows(tf.ragged.constant([[1]], { dtype: "int32" })),
          "Can not cast ragged int32[1,?] to ragged float32[?,?]",
        ],
        [() => rows(deep()), "Can not cast ragged float32[2,?,?] to ragged float32[?,?]"],
        [() => rows(tf.ones([2, 2]) as unknown as R), "to ragged float32[?,?]"],
        [
          () => elements(new tf.SparseTensor([[0, 1]], [1], [2, 3])),
          "Can not cast sparse float32[2,3] to sparse float32[?,2]",
        ],
        [
          () => elements(ragged() as unknown as S),
          "Can not cast ragged float32[3,?] to sparse float32[?,2]",
        ],
      ] as const
    ) assertThrows(call, TypeError, text);
    const concrete = tf.function(twice).getConcreteFunction(tf.RaggedTensorSpec([null, null]));
    assertEquals(concrete.inputs.map((x) => [x.dtype, x.shape]), [["float32", [null]], ["int32", [
      null,
    ]]]);
    assertEquals(await plain(concrete(ragged() as unknown as tf.Tensor)), TWICE);
  },
);

testOnDevices("functions trace once for ragged tensors of as many rows", () => {
  using _s = tf.scope();
  const f = tf.function(twice), relaxed = tf.function(twice, { reduceRetracing: true });
  for (const rows of [[[1], []], [[], [1, 2]], [[1], [2]]]) f(tf.ragged.constant(rows));
  assertEquals(f.traceCount, 1);
  for (const rows of [[[1]], [[], [1, 2]], [[1], [2], []]]) relaxed(tf.ragged.constant(rows));
  assertEquals(relaxed.traceCount, 2);
});

testOnDevices("branches and loops name composite values that differ", () => {
  const x = ragged();
  const differ = tf.function((p: tf.Tensor) =>
    tf.cond(p, () => x as unknown as tf.Tensor, () => tf.scalar(1))
  );
  assertThrows(
    () => differ(tf.scalar(true, "bool")),
    TypeError,
    "received ragged1float32,int32 and .float32",
  );
  const grows = tf.function(() => loop(x, (q) => tf.ragged.concatRows([q, q])));
  assertThrows(() => grows(), tf.ValueError, "use the `shape_invariants` argument");
  assertThrows(
    () => loop(x, (q: R) => q.flatValues),
    tf.ValueError,
    "a loop variable is ragged float32[3,?], body has one value there",
  );
  assertThrows(
    () => tf.scan((a) => a, x as never),
    TypeError,
    "Cannot use RaggedTensor(ragged float32[3,?]) as the initializer, which is the first row of elems, of scan",
  );
  assertThrows(
    () => tf.mapFn(() => ragged(), x, { fnOutputSignature: tf.SparseTensorSpec([null]) }),
    TypeError,
    "wanted sparse float32[?], received RaggedTensor",
  );
  assertThrows(() => tf.mapFn((row) => row, x), tf.errors.InvalidArgumentError, "");
});

testOnDevices("scopes, keep() and dispose() own the parts of composite values", async () => {
  const before = tf.memory().numTensors;
  for (const make of [ragged, sparse] as (() => R | S)[]) {
    const x = tf.tidy(() => ({ x: [make()] })).x[0];
    let y: R | S;
    {
      using s = tf.scope();
      y = s.keep(make());
    }
    const z = tf.tidy(() => ({ kept: tf.keep(make()).spec, z: tf.ones([1]) }));
    assertEquals(await plain(y), await plain(x));
    tf.dispose([x, { y }, z]);
  }
  // Tensors kept in a tidy have no owner: two of ragged rows and three of sparse elements.
  assertEquals(tf.memory().numTensors, before + 5);
  const x = ragged(), twiceX = twice(x);
  twiceX.dispose();
  assertEquals(x.toList(), ROWS);
  using y = x;
  assertEquals(y.raggedRank, 1);
});

testOnDevices("sessions are fed and fetch ragged and sparse tensors, and show them", async () => {
  const graph = new tf.Graph();
  const nodes = graph.asDefault(() => {
    const r = tf.compat.v1.ragged.placeholder("float32", 1),
      s = tf.compat.v1.sparsePlaceholder("float32");
    return { r, s, twice: twice(r), scaled: scaled(s) };
  });
  const session = new tf.Session({ graph });
  const feeds = new Map<R | S, R | S>([[nodes.r, ragged()], [nodes.s, sparse()]]);
  const out = await session.run([nodes.twice, { s: nodes.scaled }], { feeds }) as unknown as [
    tf.RaggedArray,
    { s: tf.SparseArray },
  ];
  assertEquals(out[0].toList(), TWICE);
  assertEquals(String(out[0]), "RaggedArray(float32) [[2,4],[],[6,8,10]]");
  assertEquals(
    String(out[1].s),
    'SparseArray(float32) {"indices":[[0,1],[2,0]],"values":[10,12],"denseShape":[3,2]}',
  );
  const again = await session.run(nodes.twice, { feeds: new Map([[nodes.r, out[0]]]) });
  assertEquals(again.toList(), [[4, 8], [], [12, 16, 20]]);
});

testOnDevices("console.log() and JSON show ragged and sparse tensors", (device) => {
  using _s = tf.scope();
  const shown = Deno.inspect([ragged(), sparse()], { colors: false, breakLength: 1000 });
  const values = (text: string) => device === "cpu" ? text : "on /device:GPU:0";
  assertEquals(
    shown.replace(/\s+/g, " "),
    `[ RaggedTensor(ragged float32[3,?]) ${
      values("[[1,2],[],[3,4,5]]")
    }, SparseTensor(sparse float32[3,2]) ${
      values('{"indices":[[0,1],[2,0]],"values":[5,6],"denseShape":[3,2]}')
    } ]`,
  );
  assertEquals(JSON.parse(JSON.stringify({ r: ragged(), s: sparse() })), { r: ROWS, s: whole });
});

testOnDevices("constructors refuse ranks, sizes and dtypes that do not fit", () => {
  using _s = tf.scope();
  const { RaggedTensor, SparseTensor } = tf;
  const floats = tf.tensor([0.5, 2]);
  for (
    const [make, type, text] of [
      [
        () => new SparseTensor([0, 1], [1, 2], [2]),
        RangeError,
        "indices must have rank 2, received shape [2]",
      ],
      [
        () => new SparseTensor([[0, 1]], [1, 2], [2, 2]),
        RangeError,
        "want indices [2,2], received shape [1,2]",
      ],
      [
        () => new SparseTensor([[0, 1]], [1], [2, 2, 2]),
        RangeError,
        "a dense shape of 3 dimensions",
      ],
      [
        () => new SparseTensor([[0, 1]], [[1]], [2, 2]),
        RangeError,
        "values must have rank 1, received shape [1,1]",
      ],
      [() => new SparseTensor([[0, 1]], [1], [[2, 2]]), RangeError, "denseShape must have rank 1"],
      [
        () => new SparseTensor(tf.tensor([[0.5, 1]]), [1], [2, 2]),
        TypeError,
        "indices must be whole numbers, received float32",
      ],
      [
        () => RaggedTensor.fromRowSplits([1, 2], [0, 1, 3]),
        RangeError,
        "the last split is 3, but there are 2 values",
      ],
      [
        () => RaggedTensor.fromRowSplits([1, 2], floats),
        TypeError,
        "rowSplits must be whole numbers, received float32",
      ],
      [
        () => RaggedTensor.fromRowLengths([1, 2], [1, 2]),
        RangeError,
        "the last split is 3, but there are 2 values",
      ],
      [
        () => RaggedTensor.fromRowLengths([1, 2], [3, -1]),
        RangeError,
        "splits must begin with 0 and never fall",
      ],
      [() => RaggedTensor.fromRowSplits(5, [0, 1]), RangeError, "values are a scalar"],
      [
        () => tf.RaggedTensorSpec([null, null], "float32", 2),
        RangeError,
        "raggedRank (2) must be from 0 to less than rank (2)",
      ],
      [() => tf.SparseTensorSpec([null], "float33" as "float32"), TypeError, "float33"],
    ] as const
  ) assertThrows(make, type as new () => Error, text);
  const wide = tf.tensor([0n, 2n], [2], "int64");
  assertEquals(RaggedTensor.fromRowSplits([1, 2], wide).rowSplits.dtype, "int32");
  assertEquals(new SparseTensor([], [], [2, 3]).toDense().arraySync(), [[0, 0, 0], [0, 0, 0]]);
  assertEquals(tf.RaggedTensorSpec([null, null]) instanceof tf.RaggedTensorSpec, true);
  assertEquals(String(new tf.SparseTensorSpec([2, null], "int32")), "sparse int32[2,?]");
});
