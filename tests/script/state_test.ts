/** Stateful and stateless script ops: rows F1–F7. Folding, merging, pruning, order. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { buildIr } from "../../src/engine/graph/ir.ts";
import { cse } from "../../src/engine/graph/passes/cse.ts";
import { fold } from "../../src/engine/graph/passes/fold.ts";
import type { SymbolicTensor } from "../../src/engine/graph/operation.ts";
import { testOnDevices } from "../devices.ts";
import { type Any, assertFlat, deferred, errorOf, open, plain } from "./helpers.ts";

type N = tf.NdArray;
type T = tf.Tensor;

const counted = tf.registerScript("weft.tests.state.counted@1", (x: N) => {
  calls++;
  return x.map((v) => (v as number) * 2);
});
let calls = 0;
const square = tf.registerScript(
  "weft.tests.state.square@1",
  (x: N) => x.map((v) => (v as number) ** 2),
  {
    vjp: ({ inputs: [x] }, dy) => [tf.mul(dy, tf.mul(2, x))],
  },
);

testOnDevices(
  "F2 a stateless op of constants is computed once per session, whatever is fetched",
  async () => {
    let n = 0;
    const body = (x: N, y: N) => (n++, (x.item() as number) + (y.item() as number));
    const build = (stateful: boolean) => {
      // The sum is an ordinary op between two constants: it folds too.
      const y = tf.numpyFunction(
        body,
        [tf.add(tf.constant(1), tf.constant(2)), tf.constant(3)],
        "float32",
        { stateful },
      );
      return { y, z: tf.mul(y, tf.placeholder("float32", [], "p")) };
    };
    for (const [stateful, want] of [[false, 1], [true, 4]] as const) {
      n = 0;
      await using g = open(() => build(stateful));
      assertEquals(await g.sess.run(g.parts.y), 6);
      assertEquals(await g.sess.run(g.parts.y), 6);
      assertEquals(await g.sess.run(g.parts.z, { feeds: { "p:0": 2 } }), 12);
      assertEquals(await g.sess.run([g.parts.y, g.parts.z], { feeds: { "p:0": 3 } }), [6, 18]);
      assertEquals(n, want);
      await using other = new tf.Session({ graph: g.sess.graph });
      assertEquals(await other.run(g.parts.y), 6);
      assertEquals(n, want + 1);
    }
  },
);

testOnDevices(
  "F2 runs that begin together share one fold, async bodies included; its calls are counted once",
  async () => {
    let n = 0;
    const body = async (x: N) => {
      n++;
      await Promise.resolve();
      return x;
    };
    await using g = open(() =>
      tf.numpyFunction(body, [tf.constant([1, 2])], "float32", { stateful: false })
    );
    const metadata = Array.from({ length: 5 }, () => ({} as Partial<tf.RunMetadata>));
    const results = await Promise.all(metadata.map((m) => g.sess.run(g.parts, { metadata: m })));
    assertEquals(plain(results), Array.from({ length: 5 }, () => [1, 2]));
    assertEquals(n, 1);
    assertEquals(metadata.reduce((sum, m) => sum + m.hostCalls!, 0), 1);
  },
);

testOnDevices("F2 a fold that fails is an error at its node, and is tried again", async () => {
  let n = 0;
  const body = () => {
    if (n++ === 0) throw new TypeError("first");
    return n;
  };
  await using g = open(() =>
    tf.numpyFunction(body, [], "int32", { stateful: false, name: "folded" })
  );
  const error = await errorOf(() => g.sess.run(g.parts));
  assert(error instanceof tf.errors.InvalidArgumentError);
  assertEquals(error.node, "folded");
  assertEquals([await g.sess.run(g.parts), await g.sess.run(g.parts)], [2, 2]);
});

testOnDevices("F2 what a fold returned cannot be changed by anybody", async () => {
  await using g = open(() => {
    const y = tf.numpyFunction(() => new Float32Array([1, 2]), [], "float32", { stateful: false });
    const spoil = (x: N) => (x.data as Float32Array).fill(9);
    return [y, tf.numpyFunction(spoil, [y], "float32")];
  });
  for (let i = 0; i < 2; i++) {
    const [y, z] = await g.sess.run(g.parts) as N[];
    assertEquals(plain([y, z]), [[1, 2], [9, 9]]);
    (y.data as Float32Array).fill(7);
  }
});

testOnDevices(
  "F2 a run that is cancelled during a fold returns at once, and the fold is everybody's",
  async () => {
    const gate = deferred<number>();
    let n = 0;
    await using g = open(() =>
      tf.numpyFunction(() => (n++, gate.promise), [], "float32", { stateful: false })
    );
    const stop = new AbortController();
    const first = g.sess.run(g.parts, { signal: stop.signal });
    const second = g.sess.run(g.parts);
    stop.abort();
    assert(await errorOf(() => first) instanceof tf.errors.CancelledError);
    gate.resolve(4);
    assertEquals([await second, await g.sess.run(g.parts), n], [4, 4, 1]);
  },
);

testOnDevices("F2 close() during a fold ends the runs that wait for it", async () => {
  await assertFlat(async () => {
    const g = open(() =>
      tf.numpyFunction(() => deferred().promise, [tf.constant(1)], "float32", { stateful: false })
    );
    const runs = [g.sess.run(g.parts), g.sess.run(g.parts)];
    await g.sess.close();
    for (const run of runs) {
      assertMatch((await errorOf(() => run)).message, /Session has been closed/);
    }
  });
});

testOnDevices(
  "F3 ops of the same function, inputs and attributes are merged; others are not",
  async () => {
    const anonymous = (x: N) => (calls++, x);
    const x = () => tf.placeholder("float32", [], "x");
    const rows: [string, (x: T) => unknown, number][] = [
      [
        "registered, twice",
        (x) => [0, 0].map(() => tf.numpyFunction(counted, [x], "float32", { stateful: false })),
        1,
      ],
      [
        "registered, another shape declared",
        (x) =>
          [null, []].map((s) =>
            tf.numpyFunction(counted, [x], tf.TensorSpec(s, "float32"), { stateful: false })
          ),
        2,
      ],
      [
        "registered, other inputs",
        (x) =>
          [x, tf.add(x, 1)].map((i) =>
            tf.numpyFunction(counted, [i], "float32", { stateful: false })
          ),
        2,
      ],
      [
        "registered, inputs equal by merging",
        (x) =>
          [tf.add(x, 1), tf.add(x, 1)].map((i) =>
            tf.numpyFunction(counted, [i], "float32", { stateful: false })
          ),
        1,
      ],
      [
        "registered, stateful",
        (x) => [0, 0].map(() => tf.numpyFunction(counted, [x], "float32")),
        2,
      ],
      [
        "anonymous, one function object",
        (x) => [0, 0].map(() => tf.numpyFunction(anonymous, [x], "float32", { stateful: false })),
        1,
      ],
      [
        "anonymous, two function objects",
        (x) =>
          [0, 0].map(() =>
            tf.numpyFunction((v: N) => anonymous(v), [x], "float32", { stateful: false })
          ),
        2,
      ],
    ];
    for (const [what, build, want] of rows) {
      calls = 0;
      await using g = open(() => build(x()));
      await g.sess.run(g.parts as Any, { feeds: { "x:0": 3 } });
      assertEquals(calls, want, what);
    }
  },
);

testOnDevices("F3 gradients of merged ops are right", async () => {
  await using g = open(() => {
    const x = tf.placeholder("float32", [], "x");
    const [a, b] = [0, 0].map(() => tf.numpyFunction(square, [x], "float32", { stateful: false }));
    return tf.gradients(tf.mul(a, b), [x])[0]!;
  });
  assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": 2 } }), 32);
});

testOnDevices("F4 what is not needed does not run, and nothing runs twice", async () => {
  const log: string[] = [];
  const note = (name: string) => (x: Any) => (log.push(name), x);
  await using g = open(() => {
    const x = tf.placeholder("float32", [], "x");
    const a = tf.numpyFunction(note("a"), [x], "float32");
    const b = tf.pyFunction(note("b"), [a], "float32");
    tf.numpyFunction(note("unused"), [x], "float32");
    return { a, b, sum: tf.add(b, tf.mul(a, b)) };
  });
  const feeds = { "x:0": 3 };
  assertEquals(await g.sess.run(g.parts.sum, { feeds }), 12);
  assertEquals(log.splice(0), ["a", "b"]);
  await g.sess.run([g.parts.a, g.parts.a.op as Any, "b:0", g.parts.sum].slice(0, 2), { feeds });
  assertEquals(log.splice(0), ["a"]);
});

testOnDevices("F4 a control dependency runs what it names", async () => {
  const log: string[] = [];
  await using g = open(() => {
    const first = tf.numpyFunction(() => void log.push("first"), [], []);
    return tf.controlDependencies(
      [first as unknown as tf.Operation],
      () => tf.numpyFunction(() => (log.push("second"), 1), [], "float32", { stateful: false }),
    );
  });
  await g.sess.run(g.parts);
  await g.sess.run(g.parts);
  assertEquals(log.filter((l) => l === "first").length, 2);
  assertEquals(log.slice(0, 2), ["first", "second"]);
});

testOnDevices(
  "F5 in a function stateful ops run in program order, used or not; stateless ones only where used",
  async () => {
    const log: string[] = [];
    const gates = [deferred(), deferred()];
    const f = tf.function((x: T) => {
      tf.numpyFunction(
        async () => {
          await gates[0].promise;
          log.push("1");
        },
        [],
        [],
      );
      tf.numpyFunction((v: N) => (log.push("unused stateless"), v), [x], "float32", {
        stateful: false,
      });
      const y = tf.pyFunction(
        async (v: T) => {
          await gates[1].promise;
          log.push("2");
          return v;
        },
        [x],
        "float32",
      );
      tf.numpyFunction(() => void log.push("3"), [], []);
      return y;
    });
    using x = tf.scalar(1);
    const run = f.async(x);
    // The second could go on before the first, and the third waits for neither: order holds them back.
    gates[1].resolve();
    await Promise.resolve();
    assertEquals(log, []);
    gates[0].resolve();
    (await run as T).dispose();
    assertEquals(log, ["1", "2", "3"]);
  },
);

testOnDevices("F6 an op whose output is fed does not run", async () => {
  let n = 0;
  await using g = open(() => {
    const y = tf.numpyFunction(() => (n++, 1), [], "float32");
    return { y, z: tf.add(y, 1) };
  });
  assertEquals(await g.sess.run(g.parts, { feeds: new Map([[g.parts.y, 5]]) }), { y: 5, z: 6 });
  assertEquals(n, 0);
});

testOnDevices("F7 bodies in a loop run in the order of iterations", async () => {
  const log: number[] = [];
  const f = tf.function((n: T) =>
    tf.whileLoop((i) => tf.less(i, n), (i) => {
      tf.numpyFunction(
        async (v: N) => {
          // Earlier iterations wait longer.
          for (let k = 0; k < 6 - (v.item() as number); k++) await Promise.resolve();
          log.push(v.item() as number);
        },
        [i],
        [],
      );
      return [tf.add(i, 1)];
    }, [tf.scalar(0)])
  );
  using n = tf.scalar(6);
  tf.dispose(await f.async(n));
  assertEquals(log, [0, 1, 2, 3, 4, 5]);
});

/** The plan's view of what `build` returns. */
function ir(build: () => T[]) {
  const fetches = new tf.Graph().asDefault(build) as unknown as SymbolicTensor[];
  return buildIr({ fetches, targets: [], feeds: [] });
}
const names = (g: { nodes: readonly { name: string }[] }) => g.nodes.map((n) => n.name);

Deno.test("cse() merges pure nodes by value of small constants, and keeps zeros of different sign apart", () => {
  const g = ir(
    () => [
      tf.constant(1),
      tf.constant(1),
      tf.constant(0),
      tf.constant(-0),
      tf.constant(1, "int32"),
    ],
  );
  const merged = cse(g);
  assertEquals([g.nodes.length, merged.nodes.length], [5, 4]);
  assert(merged.fetches[0] === merged.fetches[1]);
});

Deno.test("cse() keeps effects, placeholders and different devices apart", () => {
  const g = ir(() => {
    const a = tf.placeholder("float32", []), b = tf.placeholder("float32", []);
    return [
      tf.neg(a),
      tf.neg(b),
      tf.device("/CPU:0", () => tf.neg(a)),
      tf.neg(a),
      tf.pyFunction((x: T) => x, [a], "float32"),
      tf.pyFunction((x: T) => x, [a], "float32"),
    ];
  });
  assertEquals(cse(g).nodes.length, g.nodes.length - 1);
});

Deno.test("fold() asks for nodes of constants in order, and leaves what it is not given", async () => {
  const build = () => {
    const a = tf.add(tf.constant(1), tf.constant(2));
    const b = tf.mul(a, tf.constant(3));
    return [tf.neg(b), tf.add(b, tf.placeholder("float32", [], "p"))];
  };
  const asked: string[] = [];
  const value = (v: number) => [new tf.NdArray("float32", [], new Float32Array([v]))];
  const sums = fold(ir(build), (node, inputs) => {
    asked.push(`${node.name}(${inputs.map((i) => i.item())})`);
    return node.def.name === "Neg" ? null : value(node.def.name.startsWith("Add") ? 3 : 9);
  });
  assert(!(sums instanceof Promise));
  assertEquals(asked, ["AddV2(1,2)", "Mul(3,3)", "Neg(9)"]);
  assertEquals(names(sums).filter((n) => !n.startsWith("Const")), ["Mul", "Neg", "p", "AddV2_1"]);
  const later = fold(
    ir(build),
    (node) => Promise.resolve(node.def.name === "Neg" ? value(-9) : value(9)),
  );
  assert(later instanceof Promise);
  assertEquals((await later).fetches[0].node.def.name, "Const");
});
