/** Waits of loops: their reads from a device, their script calls, and the work done ahead. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { gpuDevice } from "../../../src/engine/runtime/devices/devices.ts";
import { HAS_WEBGPU, type TestDevice, testOnDevices } from "../../devices.ts";

const ROWS = 100;
/** Rows that are read together, at most. */
const ROWS_AHEAD = 64;
const x4 = new Float32Array([1, 2, 3, 4]);
const rows = new tf.NdArray(
  "float32",
  [ROWS, 2],
  new Float32Array(2 * ROWS).map((_, i) => i),
);

const plusOne = (v: tf.NdArray): tf.NdArray => v.map((e) => Number(e) + 1);
const script = (x: tf.Tensor, body: (v: tf.NdArray) => unknown = plusOne): tf.Tensor =>
  tf.numpyFunction(body as typeof plusOne, [x], tf.TensorSpec(x.shape, "float32"));
const pure = (x: tf.Tensor, body: (v: tf.NdArray) => unknown = plusOne): tf.Tensor =>
  tf.numpyFunction(body as typeof plusOne, [x], tf.TensorSpec(x.shape, "float32"), {
    stateful: false,
  });

interface Case {
  readonly what: string;
  /** Builds it from a vector of 4 and rows of 2. */
  readonly build: (x: tf.Tensor, rows: tf.Tensor) => tf.Tensor;
  readonly want: (x: readonly number[], rows: readonly (readonly number[])[]) => unknown;
  /** Readbacks on a GPU, that of the result among them. */
  readonly readbacks: number;
  /** Number where reads must be awaited, if it is larger. */
  readonly awaited?: number;
  readonly calls?: number;
}

const turns = (
  n: number,
  body: (x: tf.Tensor) => tf.Tensor,
  x: tf.Tensor,
): tf.Tensor =>
  tf.whileLoop((i) => tf.less(i, n), (i, y) => [tf.add(i, 1), body(y)], [
    tf.scalar(0, "int32"),
    x,
  ])[1];

const CASES: readonly Case[] = [
  {
    what: "a counted loop reads nothing",
    build: (x) => turns(10, (y) => tf.mul(y, 2), x),
    want: (x) => x.map((v) => v * 1024),
    readbacks: 1,
  },
  {
    what: "a limit from outside is read once",
    build: (x) => {
      const limit = tf.cast(tf.sum(x), "int32");
      return tf.whileLoop((i) => tf.less(i, limit), (i, y) => [tf.add(i, 2), tf.mul(y, 2)], [
        tf.scalar(0, "int32"),
        x,
      ])[1];
    },
    want: (x) => x.map((v) => v * 32),
    readbacks: 2,
  },
  {
    what: "a step width that only says when to stop is the host's",
    build: (x) =>
      tf.whileLoop((h) => tf.greater(h, 0.1), (h, y) => [tf.mul(h, 0.5), tf.add(y, 1)], [
        tf.scalar(1),
        x,
      ])[1],
    want: (x) => x.map((v) => v + 4),
    readbacks: 1,
  },
  {
    what: "a counter that kernels read is sent to them",
    build: (x) =>
      tf.whileLoop(
        (i) => tf.less(i, 4),
        (i, y) => [tf.add(i, 1), tf.add(y, tf.cast(i, "float32"))],
        [tf.scalar(0, "int32"), x],
      )[1],
    want: (x) => x.map((v) => v + 6),
    readbacks: 1,
  },
  {
    what: "a script in a counted loop is one readback a turn",
    build: (x) => turns(5, (y) => script(tf.mul(y, 2)), x),
    want: (x) => x.map((v) => v * 32 + 31),
    readbacks: 5,
    calls: 5,
  },
  {
    what: "what only a script reads of a loop's surroundings is read once",
    build: (x) => {
      const big = tf.exp(tf.zerosLike(x));
      return turns(
        3,
        (y) =>
          tf.mul(
            y,
            tf.numpyFunction((b: tf.NdArray) => b, [big], tf.TensorSpec([4], "float32")),
          ),
        x,
      );
    },
    want: (x) => x,
    readbacks: 2,
    calls: 3,
  },
  {
    what: "a script that says when to stop is one readback a turn",
    build: (x) =>
      tf.whileLoop((goesOn) => goesOn, (_, y) => {
        const doubled = tf.mul(y, 2);
        return [
          tf.numpyFunction((v: tf.NdArray) => Number(v.at(0)) < 30, [doubled], [
            tf.TensorSpec([], "bool"),
          ])[0] as tf.Tensor,
          doubled,
        ];
      }, [tf.constant(true), x])[1],
    want: (x) => x.map((v) => v * 32),
    readbacks: 6,
    calls: 5,
  },
  {
    what: "a condition of large values is read together with what the script reads",
    build: (x) =>
      tf.whileLoop((y) => tf.less(tf.sum(tf.square(y)), 1000), (y) => [script(tf.mul(y, 2))], [
        x,
      ])[0],
    // 1, 2, 3, 4; 3, 5, 7, 9; 7, 11, 15, 19; 15, 23, 31, 39: three calls, four tests.
    want: (x) => x.map((v) => v * 8 + 7),
    readbacks: 4,
    calls: 3,
  },
  {
    what: "rows that a script reads come in one copy",
    build: (_, rows) => tf.mapFn((r) => tf.mul(script(r), 2), tf.exp(tf.mul(rows, 0))),
    want: (_, rows) => rows.map((r) => r.map(() => 4)),
    readbacks: 2,
    calls: ROWS,
  },
  {
    what: "rows of a map are read 64 at a time",
    build: (_, rows) => tf.mapFn((r) => tf.mul(pure(tf.mul(r, 3)), 2), rows),
    want: (_, rows) => rows.map((r) => r.map((v) => (v * 3 + 1) * 2)),
    readbacks: 3,
    calls: ROWS,
  },
  {
    what: "rows are read together also where scripts have effects",
    build: (_, rows) => tf.mapFn((r) => tf.mul(script(tf.mul(r, 3)), 2), rows),
    want: (_, rows) => rows.map((r) => r.map((v) => (v * 3 + 1) * 2)),
    readbacks: 3,
    calls: ROWS,
  },
  {
    what: "two scripts in a row of a map are two boundaries",
    build: (_, rows) => tf.mapFn((r) => pure(tf.cumsum(pure(tf.mul(r, 3)))), rows),
    want: (_, rows) => rows.map(([a, b]) => [a! * 3 + 2, (a! + b!) * 3 + 3]),
    readbacks: 4,
    calls: 2 * ROWS,
  },
  {
    what: "rows that wait for their first script are read together for their second",
    build: (_, rows) => {
      const later = (v: tf.NdArray) => Promise.resolve(plusOne(v));
      const ten = tf.slice(rows, [0, 0], [10, 2]);
      return tf.mapFn((r) => pure(tf.cumsum(pure(tf.mul(r, 3), later)), later), ten);
    },
    want: (_, rows) => rows.slice(0, 10).map(([a, b]) => [a! * 3 + 2, (a! + b!) * 3 + 3]),
    readbacks: 2,
    calls: 20,
  },
  {
    what: "a scan without scripts reads nothing",
    build: (_, rows) => tf.gather(tf.scan((a, r) => tf.add(a, r), rows), ROWS - 1),
    want: () => [ROWS * (ROWS - 1), ROWS * ROWS],
    readbacks: 1,
  },
  {
    what: "a fold whose script reads the state is one readback a row",
    build: (_, rows) =>
      tf.foldl((a, r) => script(tf.add(a, r)), tf.slice(rows, [0, 0], [5, 2]), {
        initializer: [0, 0],
      }),
    want: () => [25, 30],
    readbacks: 5,
    calls: 5,
  },
  {
    what: "what a fold's script reads of rows comes 64 rows at a time",
    build: (_, rows) =>
      tf.foldl((a, r) => tf.add(a, script(tf.mul(r, 3))), rows, { initializer: [0, 0] }),
    want: (_, rows) => [0, 1].map((k) => rows.reduce((sum, r) => sum + r[k]! * 3 + 1, 0)),
    readbacks: 3,
    calls: ROWS,
  },
  {
    what: "a scan whose script makes the state of it and of a row reads 64 rows at a time",
    build: (_, rows) =>
      tf.scan(
        (a, r) =>
          tf.numpyFunction(
            (a: tf.NdArray, r: tf.NdArray) =>
              new tf.NdArray(
                "float32",
                [2],
                (a.data as Float32Array).map((v, i) => v / 2 + Number(r.at(i))),
              ),
            [a, tf.mul(r, 3)],
            tf.TensorSpec([2], "float32"),
          ),
        rows,
        { initializer: [0, 0], reverse: true },
      ),
    want: (_, rows) => {
      const out: number[][] = [];
      let state = [0, 0];
      for (let k = ROWS - 1; k >= 0; k--) {
        out[k] = state = state.map((v, i) => Math.fround(v / 2 + rows[k][i]! * 3));
      }
      return out;
    },
    readbacks: 2,
    calls: ROWS,
  },
  {
    what:
      "a fold of two scripts over small rows is one readback: what the host wrote it need not read",
    build: (_, rows) =>
      tf.foldl((a, r) => script(tf.add(a, script(tf.mul(r, 3)))), tf.slice(rows, [0, 0], [5, 2]), {
        initializer: [0, 0],
      }),
    want: () => [70, 85],
    readbacks: 1,
    awaited: 2,
    calls: 10,
  },
];

function open<T>(build: (x: tf.Tensor, rows: tf.Tensor) => T): { sess: tf.Session; built: T } {
  const graph = new tf.Graph();
  const built = graph.asDefault(() =>
    build(tf.placeholder("float32", [4], "x"), tf.placeholder("float32", [ROWS, 2], "rows"))
  );
  return { sess: new tf.Session({ graph }), built };
}

const both = (device: TestDevice, readbacks: number): number => device === "cpu" ? 0 : readbacks;

for (const { what, build, want, readbacks, calls = 0 } of CASES) {
  testOnDevices(`loops: ${what}`, async (device) => {
    const { sess, built } = open(build);
    await using _ = sess;
    const feeds = { "x:0": x4, "rows:0": rows };
    const wanted = want([...x4], rows.toArray() as number[][]);
    const before = tf.memory().numTensors;
    for (let k = 0; k < 2; k++) {
      const metadata: Partial<tf.RunMetadata> = {};
      const out = await sess.run(built, { feeds, metadata }) as tf.NdArray;
      assertEquals(out.toArray(), wanted);
      assertEquals([metadata.readbacks, metadata.hostCalls], [both(device, readbacks), calls]);
    }
    assertEquals(tf.memory().numTensors, before);
  });
}

testOnDevices("a fold calls its scripts in turn, and ends with the first that fails", async () => {
  const calls: number[] = [];
  const { sess, built } = open((_, rows) =>
    tf.foldl(
      (a, r) => {
        const script = async (v: tf.NdArray) => {
          await Promise.resolve();
          calls.push(Number(v.at(0)));
          if (calls.length === 70) throw new tf.NotImplementedError("the 70th");
          return v;
        };
        return tf.add(a, tf.numpyFunction(script, [tf.mul(r, 2)], tf.TensorSpec([2], "float32")));
      },
      rows,
      { initializer: [0, 0] },
    )
  );
  await using _ = sess;
  const before = tf.memory().numTensors;
  await assertRejects(
    () => sess.run(built, { feeds: { "rows:0": rows } }),
    tf.errors.UnimplementedError,
    "the 70th",
  );
  assertEquals(calls, Array.from({ length: 70 }, (_, k) => 4 * k));
  // The run has ended; what it held is freed in the turn after.
  await new Promise((done) => setTimeout(done));
  assertEquals(tf.memory().numTensors, before);
});

testOnDevices(
  "the gradient of a fold whose scripts read rows is that of the plain one",
  async () => {
    const loss = (rows: tf.Tensor, square: (r: tf.Tensor) => tf.Tensor) =>
      tf.sum(tf.foldl((a, r) => tf.add(tf.mul(a, 0.5), square(tf.mul(r, 0.125))), rows, {
        initializer: [0, 0],
      }));
    const script = (r: tf.Tensor) =>
      tf.pyFunction((v: tf.Tensor) => tf.square(v), [r], tf.TensorSpec([2], "float32"));
    const { sess, built } = open((_, rows) => [
      ...[script, tf.square].map((square) => tf.gradients(loss(rows, square), [rows])[0]!),
    ]);
    await using _ = sess;
    const before = tf.memory().numTensors;
    const [found, wanted] = await sess.run(built, { feeds: { "rows:0": rows } }) as tf.NdArray[];
    assertEquals(found.toArray(), wanted.toArray());
    assertEquals(tf.memory().numTensors, before);
  },
);

testOnDevices(
  "a turn that was begun before the loop's end was known leaves nothing",
  async (device) => {
    const calls: number[] = [];
    const { sess, built } = open((x) =>
      tf.whileLoop(
        (y) => tf.less(tf.sum(tf.square(y)), 1000),
        // Four elements hold as long as the loop goes on: the last turn would fail before its script.
        (y) => [
          tf.numpyFunction(
            (v: tf.NdArray) => {
              calls.push(v.size);
              const next = v.map((e) => Number(e) * 4);
              return Number(next.at(0)) < 16 ? next : new Float32Array([100, 100]);
            },
            [tf.exp(tf.log(tf.reshape(y, [4])))],
            tf.TensorSpec([null], "float32"),
          ),
        ],
        [x],
        { shapeInvariants: [[null]] },
      )[0]
    );
    await using _ = sess;
    const before = tf.memory().numTensors;
    const metadata: Partial<tf.RunMetadata> = {};
    const out = await sess.run(built, { feeds: { "x:0": x4 }, metadata }) as tf.NdArray;
    assertEquals([out.toArray(), calls], [[100, 100], [4, 4]]);
    assertEquals(metadata.readbacks, both(device, 3));
    assertEquals(tf.memory().numTensors, before);
  },
);

testOnDevices("a turn that fails before its script fails the loop", async () => {
  const { sess, built } = open((x) =>
    tf.whileLoop(
      (y) => tf.less(tf.sum(tf.square(y)), 1e9),
      (y) => [
        tf.numpyFunction(
          () => new Float32Array(2),
          [tf.exp(tf.reshape(y, [4]))],
          tf.TensorSpec([null], "float32"),
        ),
      ],
      [x],
      { shapeInvariants: [[null]] },
    )[0]
  );
  await using _ = sess;
  const before = tf.memory().numTensors;
  const error = await assertRejects(
    () => sess.run(built, { feeds: { "x:0": x4 } }),
    tf.errors.InvalidArgumentError,
  );
  assert(/reshape|Reshape/.test(error.message), error.message);
  assertEquals(tf.memory().numTensors, before);
});

testOnDevices("a row whose script throws ends the map and frees the other rows", async () => {
  const seen: number[] = [];
  for (const stateful of [true, false]) {
    seen.length = 0;
    const { sess, built } = open((_, rows) =>
      tf.mapFn((r) =>
        tf.exp(
          tf.numpyFunction(
            (v: tf.NdArray) => {
              if (Number(v.at(0)) === 30) throw new RangeError("thirty");
              seen.push(Number(v.at(0)));
              return v;
            },
            [tf.mul(r, 3)],
            tf.TensorSpec([2], "float32"),
            { stateful },
          ),
        ), rows)
    );
    await using _ = sess;
    const before = tf.memory().numTensors;
    await assertRejects(() => sess.run(built, { feeds: { "rows:0": rows } }), Error, "thirty");
    assertEquals(seen, [0, 6, 12, 18, 24]);
    // The error is told at once, and where rows were awaited they go in the same turn.
    await new Promise((done) => setTimeout(done));
    assertEquals(tf.memory().numTensors, before);
  }
});

testOnDevices(
  "bodies of rows that await go on together, and in turn where they have effects",
  async (device) => {
    for (const stateful of [false, true]) {
      let running = 0, most = 0;
      const { sess, built } = open((_, rows) =>
        tf.mapFn(
          (r) =>
            tf.numpyFunction(
              async (v: tf.NdArray) => {
                most = Math.max(most, ++running);
                await Promise.resolve();
                await Promise.resolve();
                running--;
                return v;
              },
              [tf.mul(r, 3)],
              tf.TensorSpec([2], "float32"),
              { stateful },
            ),
          rows,
        )
      );
      await using _ = sess;
      const metadata: Partial<tf.RunMetadata> = {};
      const out = await sess.run(built, { feeds: { "rows:0": rows }, metadata }) as tf.NdArray;
      assertEquals(out.toArray(), (rows.toArray() as number[][]).map((r) => r.map((v) => v * 3)));
      // Where rows are awaited, the bodies of those that were read together end before the next are read.
      const together = device === "cpu" || gpuDevice()!.canReadSync ? ROWS : ROWS_AHEAD;
      assertEquals(most, stateful ? 1 : together);
      assertEquals(metadata.readbacks, both(device, 2));
    }
  },
);

testOnDevices(
  "gradients of loops with scripts, on and off the host, are those of their turns",
  async (device) => {
    const { sess, built } = open((x, rows) => {
      const twice = (v: tf.Tensor) =>
        tf.pyFunction((t: tf.Tensor) => tf.mul(t, t), [v], tf.TensorSpec([4], "float32"));
      const y = tf.whileLoop(
        (i, h) => tf.logicalAnd(tf.less(i, 3), tf.greater(h, 0)),
        (i, h, y) => [tf.add(i, 1), tf.mul(h, 0.5), twice(tf.mul(y, 0.5))],
        [tf.scalar(0, "int32"), tf.scalar(1), x],
      )[2];
      const m = tf.mapFn((r) => tf.mul(r, r), rows);
      return [...tf.gradients(y, [x]), ...tf.gradients(m, [rows])] as tf.Tensor[];
    });
    await using _ = sess;
    const metadata: Partial<tf.RunMetadata> = {};
    const [dx, dr] = await sess.run(built, {
      feeds: { "x:0": x4, "rows:0": rows },
      metadata,
    }) as tf.NdArray[];
    // y = x^8 / 2^14.
    assertEquals(dx!.toArray(), [...x4].map((v) => 8 * v ** 7 / 2 ** 14));
    assertEquals(dr!.toArray(), (rows.toArray() as number[][]).map((r) => r.map((v) => v * 2)));
    assertEquals(metadata.readbacks, both(device, 1));
  },
);

Deno.test({
  name: "loops on a device that can only be awaited read as often [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    await tf.setBackend("webgpu");
    const device = gpuDevice()!;
    const { readSync, read } = device;
    for (const { what, build, want, readbacks, awaited = readbacks } of CASES) {
      const { sess, built } = open(build);
      await using _ = sess;
      let reads = 0;
      Object.assign(device, {
        readSync: () => null,
        read: (list: Parameters<typeof read>[0]) => {
          reads++;
          return read.call(device, list);
        },
      });
      try {
        const out = await sess.run(built, { feeds: { "x:0": x4, "rows:0": rows } }) as tf.NdArray;
        assertEquals(out.toArray(), want([...x4], rows.toArray() as number[][]), what);
        assertEquals(reads, awaited, what);
      } finally {
        Object.assign(device, { readSync, read });
      }
    }
  },
});
