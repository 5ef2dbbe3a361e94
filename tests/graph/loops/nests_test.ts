/** Nests of tensors and of lists as variables of a loop, eager, in functions and in graphs. Numbers are TensorFlow's. */
import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../../devices.ts";

const X = [0.5, -1], W = [[0.3, 0.7], [-0.2, 1.1]];

/** Three steps of a cell whose state is an object, with a list of what it saw. */
function cell(x: tf.Tensor, w: tf.Tensor): tf.Tensor[] {
  const log = new tf.TensorArray("float32", 3, { elementShape: [] });
  const [, state] = tf.whileLoop(
    (i) => tf.less(i, 3),
    (i, { h: [last, sum], log }) => [
      tf.add(i, 1),
      {
        log: log.write(i, tf.sum(last)),
        h: [tf.tanh(tf.reshape(tf.matMul(w, tf.reshape(last, [2, 1])), [2])), tf.add(sum, last)],
      },
    ],
    [tf.scalar(0, "int32"), { h: [x, tf.zeros([2])], log }],
  );
  return [state.h[0], state.h[1], state.log.stack()];
}

const lossOf = ([a, b, log]: tf.Tensor[]): tf.Tensor =>
  tf.add(tf.sum(tf.mul(a, b)), tf.sum(tf.square(log)));

/** The cell's results and the gradients of their loss by x and w. */
function trained(x: tf.Tensor, w: tf.Tensor): tf.Tensor[] {
  using tape = new tf.GradientTape();
  tape.watch(x);
  tape.watch(w);
  const out = cell(x, w);
  return [...out, ...tape.gradient(lossOf(out), [x, w]) as tf.Tensor[]];
}

const TRAINED = [
  [-0.577678382396698, -0.5480992197990417],
  [-0.625852644443512, -2.507042646408081],
  [-0.5, -1.3341748714447021, -1.298720359802246],
  [-1.8270355463027954, -5.809586524963379],
  [-0.03875923156738281, 4.175119400024414, 1.3905233144760132, 5.975022315979004],
];

function assertClose(found: readonly unknown[]): void {
  found.forEach((values, i) =>
    (values as number[]).flat().forEach((v, k) => assertAlmostEquals(v, TRAINED[i][k], 2e-5))
  );
}

testOnDevices("whileLoop() carries a nest of tensors and lists, and its gradients", async () => {
  using x = tf.tensor(X), w = tf.tensor(W);
  const f = tf.function(trained);
  for (const fn of [trained, f]) {
    tf.tidy(() => assertClose((fn(x, w) as tf.Tensor[]).map((t) => t.arraySync())));
  }
  const graph = new tf.Graph();
  const fetches = graph.asDefault(() => {
    const x = tf.placeholder("float32", [2], "x"), w = tf.placeholder("float32", [2, 2], "w");
    const out = cell(x, w);
    return [...out, ...tf.gradients(lossOf(out), [x, w]) as tf.Tensor[]];
  });
  await using sess = new tf.Session({ graph });
  const found = await sess.run(fetches, { feeds: { "x:0": X, "w:0": W } }) as tf.NdArray[];
  assertClose(found.map((a) => a.toArray()));
});

testOnDevices("whileLoop() takes shape invariants in the nest of its variables", () => {
  const grow = (x: tf.Tensor): tf.Tensor[] => {
    const [, [list, last]] = tf.whileLoop(
      (i) => tf.less(i, 3),
      (i, [list, last]) => [tf.add(i, 1), [tf.concat([list, x]), tf.mul(last, 2)]],
      [tf.scalar(0, "int32"), [x, tf.scalar(1)]],
      { shapeInvariants: [[], [[null], undefined]] },
    );
    return [list, last];
  };
  for (const f of [grow, tf.function(grow)]) {
    tf.tidy(() => {
      const [list, last] = f(tf.tensor(X)) as tf.Tensor[];
      assertEquals(list.arraySync(), [0.5, -1, 0.5, -1, 0.5, -1, 0.5, -1]);
      assertEquals(last.item(), 8);
    });
  }
});

testOnDevices("whileLoop() carries one object alone, with a limit of turns", () => {
  const run = (start: tf.Tensor): tf.Tensor => {
    const [{ i, v }] = tf.whileLoop(
      ({ i }) => tf.less(i, 9),
      ({ i, v }) => ({ v: tf.mul(v, 3), i: tf.add(i, 1) }),
      [{ i: tf.scalar(0, "int32"), v: start }],
      { maximumIterations: 4 },
    );
    return tf.add(v, tf.cast(i, "float32"));
  };
  tf.tidy(() => {
    for (const f of [run, tf.function(run)]) assertEquals(f(tf.scalar(1)).item(), 85);
  });
});

testOnDevices("a loop variable of literals is one tensor, also in a nest", () => {
  const run = (x: tf.Tensor): tf.Tensor => {
    const [a, [b, { c }]] = tf.whileLoop(
      (a) => tf.less(tf.sum(a), 6),
      (a, [b, { c }]) => [tf.add(a, 1), [tf.add(b, x), { c: tf.mul(c, 2) }]],
      [[0, 0], [x, { c: 1 }]],
    );
    return tf.concat([a, tf.stack([b, c])]);
  };
  tf.tidy(() => {
    for (const f of [run, tf.function(run)]) {
      assertEquals(f(tf.scalar(5)).arraySync(), [3, 3, 20, 8]);
    }
  });
});

testOnDevices("whileLoop() refuses a body or invariants of another nest", () => {
  const two = "The two structures don't have the same nested structure";
  const start = (): { a: tf.Tensor; b: tf.Tensor[] } => ({ a: tf.scalar(1), b: [tf.scalar(2)] });
  const object = "a loop variable is an object of keys [a,b], body has";
  const list = "a loop variable is a list of 1, body has";
  type Body = (s: { a: tf.Tensor; b: tf.Tensor[] }) => unknown;
  const bodies: readonly (readonly [body: Body, says: string])[] = [
    [({ a }) => ({ a }), `${object} an object of keys [a] there`],
    [({ a, b }) => ({ a, b: [...b, a] }), `${list} a list of 2 there`],
    [({ a, b }) => ({ a, b: { 0: b[0] } }), `${list} an object of keys [0] there`],
    [({ a }) => a, `${object} one value there`],
    [({ a, b }) => ({ a, c: b }), `${object} an object of keys [a,c] there`],
  ];
  for (const [body, says] of bodies) {
    const run = (): unknown =>
      tf.whileLoop(({ a }) => tf.less(a, 3), body as never, [start()] as const);
    for (const f of [run, tf.function(run as () => tf.Tensor)]) {
      assertThrows(() => tf.tidy(() => void f()), tf.ValueError, `${two}: ${says}`);
    }
  }
  assertThrows(
    () =>
      tf.tidy(() =>
        void tf.whileLoop(() => false, (s) => [s], [start()], { shapeInvariants: [{ a: [] }] })
      ),
    tf.ValueError,
    two,
  );
});

/** Runs in eager mode, in a function and in a graph, and compares. */
async function everywhere(build: () => tf.Tensor, want: unknown): Promise<void> {
  tf.tidy(() => {
    for (const f of [build, tf.function(build)]) assertEquals(f().arraySync(), want);
  });
  const graph = new tf.Graph(), y = graph.asDefault(build);
  await using sess = new tf.Session({ graph });
  assertEquals((await sess.run(y) as tf.NdArray).toArray(), want);
}

testOnDevices("a loop finds out what its lists hold", async () => {
  const squares = (dynamicSize: boolean) => (): tf.Tensor => {
    const log = new tf.TensorArray("float32", dynamicSize ? 0 : 3, { dynamicSize });
    const [, { lists: [rows] }] = tf.whileLoop(
      (i) => tf.less(i, 3),
      (i, { lists: [rows] }) => {
        const v = tf.cast(i, "float32");
        return [tf.add(i, 1), { lists: [rows.write(i, tf.stack([v, tf.square(v)]))] }];
      },
      [tf.scalar(0, "int32"), { lists: [log] }],
    );
    return rows.stack();
  };
  for (const grows of [false, true]) await everywhere(squares(grows), [[0, 0], [1, 1], [2, 4]]);
  const nested = (): tf.Tensor => {
    const [, sums] = tf.whileLoop((i) => tf.less(i, 2), (i, sums) => {
      const [, inner] = tf.whileLoop(
        (k) => tf.less(k, 3),
        (k, inner) => [tf.add(k, 1), inner.write(k, tf.add(i, k))],
        [tf.scalar(0, "int32"), new tf.TensorArray("int32", 3)],
        { maximumIterations: 2 },
      );
      return [tf.add(i, 1), sums.write(i, tf.add(inner.stack(), 10))];
    }, [tf.scalar(0, "int32"), new tf.TensorArray("int32", 2)]);
    return sums.stack();
  };
  await everywhere(nested, [[10, 11, 10], [11, 12, 10]]);
});

testOnDevices("a list that a loop never writes must say what it holds", () => {
  const run = (): tf.Tensor => {
    const [, list] = tf.whileLoop((i) => tf.less(i, 3), (i, list) => [tf.add(i, 1), list], [
      tf.scalar(0, "int32"),
      new tf.TensorArray("float32", 3),
    ]);
    return list.stack();
  };
  for (const f of [run, tf.function(run)]) {
    assertThrows(() => tf.tidy(() => void f()), tf.ValueError, "pass { elementShape }");
  }
});

testOnDevices("a loop writes elements of a shape that the graph does not know", async () => {
  const graph = new tf.Graph();
  const fetches = graph.asDefault(() => {
    const x = tf.placeholder("float32", [null, null, 2], "x");
    const w = tf.constant([[0.5, -0.2], [0.1, 0.7]]), n = tf.gather(tf.shape(x), 0);
    const rows = new tf.TensorArray("float32", n).unstack(x);
    const zeros = tf.zerosLike(tf.gather(x, 0));
    const [, last, states, sums] = tf.whileLoop(
      (t) => tf.less(t, n),
      (t, h, states, sums) => [
        tf.add(t, 1),
        tf.tanh(tf.add(tf.matMul(h, w), rows.read(t))),
        states.write(t, h),
        sums.write(t, tf.sum(h, 1)),
      ],
      [
        tf.scalar(0, "int32"),
        zeros,
        new tf.TensorArray("float32", n),
        new tf.TensorArray("float32", 0, { dynamicSize: true }),
      ],
    );
    const all = states.stack();
    const [dx] = tf.gradients(tf.add(tf.sum(tf.mul(all, all)), tf.sum(last)), x);
    return [last, all, sums.stack(), dx!];
  });
  await using sess = new tf.Session({ graph });
  const x = [[[1, 2], [0, 1], [1, 1]], [[3, 0], [-1, 1], [0, 0]]];
  const found = await sess.run(fetches, { feeds: { "x:0": x } }) as tf.NdArray[];
  const want = [
    [0.9980929, 0.4796276, -0.7277092, 0.9109564, 0.4276004, 0.3633995],
    [0, 0, 0, 0, 0, 0, 0.7615942, 0.9640276, 0, 0.7615942, 0.7615942, 0.7615942],
    [0, 0, 0, 1.7256217, 0.7615942, 1.5231884],
    // deno-fmt-ignore
    [
      0.5758277, 0.1743243, 0.2011879, 0.7094808, 0.7383901, 0.9291775,
      0.0038106, 0.7699574, 0.4704393, 0.1701584, 0.8171579, 0.8679407,
    ],
  ];
  assertEquals(found.map((a) => a.shape), [[3, 2], [2, 3, 2], [2, 3], [2, 3, 2]]);
  found.forEach((a, k) => want[k].forEach((v, i) => assertAlmostEquals(Number(a.at(i)), v, 1e-5)));
});
