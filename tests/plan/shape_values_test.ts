/** Values that follow from shapes: segments know them, and what reads them on the host ends no segment. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ConcreteFunction } from "../../src/engine/runtime/functions/concrete_function.ts";
import { execute, executeAlone } from "../../src/engine/runtime/plan/execute.ts";
import { newRunContext } from "../../src/engine/runtime/run/run_context.ts";
import type { EagerTensor } from "../../src/engine/runtime/eager/tensor.ts";
import { testOnDevices } from "../devices.ts";

const extent = (x: tf.Tensor, axis: number): tf.Tensor =>
  tf.reshape(tf.slice(tf.shape(x), [axis], [1]), []);
const dims = (...list: (tf.Tensor | number)[]): tf.Tensor =>
  tf.stack(list.map((d) => (typeof d === "number" ? tf.constant(d, "int32") : d)));

type Body = (x: tf.Tensor) => tf.Tensor;

/** Programs of a matrix of unknown extents, each one segment. */
const BODIES: Readonly<Record<string, Body>> = {
  "a reshape": (x) => tf.reshape(tf.cumsum(x), dims(extent(x, 1), extent(x, 0))),
  "a reshape of a result": (x) => {
    const y = tf.concat([x, tf.neg(x)], 1);
    return tf.reshape(tf.cumsum(y), dims(extent(y, 0), -1, 2));
  },
  "a reshape by int64": (x) => {
    const rows = tf.slice(tf.cast(tf.shape(x), "int64"), [0], [1]);
    return tf.reshape(tf.cumsum(x), tf.concat([rows, tf.constant([1, -1], "int64")], 0));
  },
  "a fill": (x) => tf.add(tf.cumsum(x), tf.fill(tf.shape(x), 2)),
  "a broadcast": (x) => tf.add(x, tf.broadcastTo(tf.sum(x, 0), tf.shape(x))),
  "a range": (x) => tf.add(x, tf.cast(tf.range(0, extent(x, 1), 1, "int32"), "float32")),
  "a tile": (x) => tf.tile(x, dims(extent(x, 1), 1)),
  "padding": (x) => tf.pad(x, tf.reshape(dims(extent(x, 0), 0, 0, 1), [2, 2])),
  "a slice": (x) => tf.slice(x, [0, 0], dims(extent(x, 0), tf.minimum(extent(x, 1), 2))),
  "a number of the host and of a kernel": (x) =>
    tf.div(
      tf.sum(tf.reshape(tf.cumsum(x), dims(extent(x, 0), -1)), 0),
      tf.cast(extent(x, 0), "float32"),
    ),
  "a size that is computed in floats": (x) => {
    const half = tf.cast(tf.ceil(tf.mul(tf.cast(extent(x, 0), "float32"), 0.5)), "int32");
    return tf.slice(tf.cumsum(x), [0, 0], dims(half, -1));
  },
  "a size by a condition": (x) => {
    const [n, m] = [extent(x, 0), extent(x, 1)];
    return tf.reshape(tf.cumsum(x), dims(tf.where(tf.less(n, m), n, m), -1));
  },
  "sizes of sizes": (x) =>
    tf.mul(
      x,
      tf.fill(tf.shape(tf.fill(tf.shape(tf.cumsum(x)), 1)), tf.cast(tf.size(x), "float32")),
    ),
  "a rank": (x) => tf.mul(tf.cumsum(x), tf.cast(tf.rank(x), "float32")),
  "a variable's shape": (x) => tf.add(x, tf.fill(dims(1, extent(SCALE, 0)), 3)),
};
const SCALE: tf.Variable = tf.variable(tf.ones([1, 1]));

const SHAPES: readonly (readonly [number, number])[] = [[2, 4], [4, 2], [2, 4], [4, 4], [2, 6]];
const matrix = ([n, m]: readonly [number, number]): tf.Tensor =>
  tf.reshape(tf.cast(tf.range(0, n * m), "float32"), [n, m]);
const SPEC = tf.TensorSpec([null, null], "float32");

for (const [name, body] of Object.entries(BODIES)) {
  testOnDevices(`a shape that is known as the run begins keeps kernels together: ${name}`, () => {
    const { graph } = tf.function(body).getConcreteFunction(SPEC);
    const plan = new ConcreteFunction(graph).plan();
    for (const shape of [...SHAPES, ...SHAPES]) {
      const x = matrix(shape) as EagerTensor, want = body(x).arraySync();
      const [first] = execute(plan, [x], newRunContext()) as EagerTensor[];
      assertEquals(first.arraySync(), want);
      const results = executeAlone(plan, [x]);
      assert(results !== null, "it is more than one segment");
      const [again] = results.tensors();
      assertEquals(again.arraySync(), want);
      tf.dispose([x, first, again]);
    }
  });

  testOnDevices(`a shape's readers give the same in gradients and sessions: ${name}`, async () => {
    const f = tf.function(body, { inputSignature: [SPEC] });
    const slope = tf.function((x: tf.Tensor) => tf.grad((x) => tf.sum(tf.square(body(x))))(x), {
      inputSignature: [SPEC],
    });
    const graph = new tf.Graph();
    const [x, y] = graph.asDefault(() => {
      const x = tf.placeholder("float32", null, "x");
      return [x, f(tf.ensureShape(x, [null, null])) as tf.Tensor];
    });
    await using session = new tf.Session({ graph });
    for (const shape of SHAPES) {
      const given = matrix(shape), want = body(given).arraySync();
      assertEquals((f(given) as tf.Tensor).arraySync(), want);
      assertEquals(
        (slope(given) as tf.Tensor).arraySync(),
        tf.grad((x) => tf.sum(tf.square(body(x))))(given).arraySync(),
      );
      const out = await session.run(y, { feeds: new Map([[x, given]]) }) as tf.NdArray;
      assertEquals(out.toArray(), want);
    }
  });
}

testOnDevices(
  "a shape is a result, what a script is given, and what a variable is assigned",
  async () => {
    const kept = tf.variable(tf.zeros([2], "int32"));
    const f = tf.function((x: tf.Tensor) => {
      const y = tf.reshape(tf.cumsum(x), dims(extent(x, 1), extent(x, 0))), s = tf.shape(y);
      kept.assign(s);
      const seen = tf.numpyFunction((s) => s, [tf.mul(s, 2)], "int32") as tf.Tensor;
      return [s, tf.add(s, 1), tf.cast(s, "float32"), seen, y];
    }, { inputSignature: [SPEC] });
    for (const [n, m] of SHAPES) {
      const out = await Promise.all((f(matrix([n, m])) as tf.Tensor[]).map((t) => t.array()));
      assertEquals(out.slice(0, 4), [[m, n], [m + 1, n + 1], [m, n], [2 * m, 2 * n]]);
      assertEquals(kept.arraySync(), [m, n]);
    }
  },
);

testOnDevices("a session's shape is the caller's to change", async () => {
  const graph = new tf.Graph();
  const [x, out] = graph.asDefault(() => {
    const x = tf.placeholder("float32", [null, 2], "x"), y = tf.cumsum(x);
    return [x, [tf.shape(y), tf.reshape(y, dims(-1, extent(y, 0)))]];
  });
  await using session = new tf.Session({ graph });
  for (let i = 0; i < 3; i++) {
    const [s] = await session.run(out, {
      feeds: new Map([[x, [[1, 2], [3, 4], [5, 6]]]]),
    }) as tf.NdArray[];
    assertEquals(s.toArray(), [3, 2]);
    s.data[0] = 100;
  }
});

testOnDevices(
  "a shape's reader that fails names its node, and the next call is right",
  async () => {
    const f = tf.function((x: tf.Tensor) => tf.reshape(tf.cumsum(x), dims(extent(x, 0), 3)), {
      inputSignature: [SPEC],
    });
    const graph = new tf.Graph();
    const [x, y] = graph.asDefault(() => {
      const x = tf.placeholder("float32", [null, null], "x");
      return [x, tf.reshape(tf.cumsum(x), dims(extent(x, 0), 3))];
    });
    await using session = new tf.Session({ graph });
    for (let i = 0; i < 3; i++) {
      assertEquals((f(tf.ones([2, 3])) as tf.Tensor).arraySync(), [[1, 1, 1], [2, 2, 2]]);
      assertThrows(() => f(tf.ones([2, 4])), tf.errors.InvalidArgumentError, "Reshape");
      await session.run(y, { feeds: new Map([[x, tf.ones([2, 3])]]) });
      await assertRejects(
        () => session.run(y, { feeds: new Map([[x, tf.ones([2, 4])]]) }),
        tf.errors.InvalidArgumentError,
        "{{node Reshape_1}}",
      );
    }
  },
);

testOnDevices("a size that nothing reads fails where a kernel waits for it", async () => {
  const graph = new tf.Graph();
  const [x, y] = graph.asDefault(() => {
    const x = tf.placeholder("float32", [null, 2], "x");
    const share = tf.floorDiv(12, extent(x, 0));
    return [x, graph.controlDependencies([share], () => tf.add(tf.cumsum(x), 1))];
  });
  await using session = new tf.Session({ graph });
  for (let i = 0; i < 3; i++) {
    const out = await session.run(y, { feeds: new Map([[x, [[1, 2]]]]) }) as tf.NdArray;
    assertEquals(out.toArray(), [[2, 3]]);
    await assertRejects(
      () => session.run(y, { feeds: new Map([[x, tf.zeros([0, 2])]]) }),
      tf.errors.InvalidArgumentError,
      "FloorDiv",
    );
  }
});

testOnDevices("lists that are long run as kernels: rows of a range of any length", () => {
  const f = tf.function((x: tf.Tensor) => {
    const all = tf.range(0, extent(x, 0), 1, "int32");
    return tf.reverse(tf.gather(tf.cumsum(x), all), [0]);
  }, { inputSignature: [SPEC] });
  for (const n of [3, 64, 65, 1000, 3]) {
    const out = (f(tf.ones([n, 1])) as tf.Tensor).dataSync();
    assertEquals([out.length, out[0], out[n - 1]], [n, n, 1]);
  }
});

testOnDevices(
  "shapes of empty values, scalars and values of unknown rank are known as others are",
  () => {
    const f = tf.function((x: tf.Tensor) => {
      const y = tf.abs(x);
      return [tf.reshape(y, tf.concat([tf.shape(y), [1]], 0)), tf.fill(tf.shape(y), 1)];
    }, { inputSignature: [tf.TensorSpec(null, "float32")] });
    for (const shape of [[], [0], [3], [2, 0, 3], [1, 2, 3], [], [0]]) {
      const [y, ones] = f(tf.zeros(shape)) as tf.Tensor[];
      assertEquals([y.shape, ones.shape], [[...shape, 1], shape]);
    }
  },
);

testOnDevices("loops and branches whose values grow know each turn's shape", () => {
  const grow = tf.function((x: tf.Tensor) =>
    tf.whileLoop(
      (x) => tf.less(extent(x, 0), 20),
      (x) => {
        const wide = tf.reshape(tf.concat([x, tf.add(x, 1)], 0), dims(tf.mul(extent(x, 0), 2), -1));
        const y = tf.cond(
          tf.greater(extent(wide, 0), 8),
          () => tf.add(wide, tf.fill(tf.shape(wide), 1)),
          () => wide,
        ) as tf.Tensor;
        return [tf.ensureShape(y, [null, 1])];
      },
      [x],
      { shapeInvariants: [tf.TensorSpec([null, 1], "float32")] },
    ), { inputSignature: [tf.TensorSpec([null, 1], "float32")] });
  for (const n of [2, 3, 2]) {
    const [y] = [grow(tf.zeros([n, 1]))].flat() as tf.Tensor[];
    let want = new Array<number>(n).fill(0);
    while (want.length < 20) {
      want = [...want, ...want.map((v) => v + 1)];
      if (want.length > 8) want = want.map((v) => v + 1);
    }
    assertEquals(Array.from(y.dataSync()), want);
  }
});
