/** `ordered: false`: scripts that run each time, but not one after another. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { type Any, deferred, open } from "./helpers.ts";

/** A body that waits until `count` calls are in it: it ends only where they overlap. */
function meeting(count: number): { body: (x: Any) => Promise<number>; most: () => number } {
  const all = deferred();
  let inside = 0;
  return {
    body: async (_: Any) => {
      if (++inside === count) all.resolve();
      await all.promise;
      return 1;
    },
    most: () => inside,
  };
}

const CALLS: readonly (readonly [string, (f: Any, inp: Any, tout: Any, options?: Any) => Any])[] = [
  ["numpyFunction", tf.numpyFunction],
  ["pyFunction", tf.pyFunction],
  ["pyFunc", tf.pyFunc],
  [
    "contrib.framework.pyFunc",
    (f, args, outputTypes, options) =>
      tf.contrib.framework.pyFunc(f, { args, outputTypes, outputShapes: [], ...options }),
  ],
];

testOnDevices("scripts with ordered: false overlap in functions and loops", async () => {
  for (const [name, call] of CALLS) {
    const SHAPES: Readonly<Record<string, (body: Any) => tf.Tensor>> = {
      "side by side": (body) =>
        tf.addN([1, 2, 3].map((v) => call(body, [tf.scalar(v)], "float32", { ordered: false }))),
      "in mapFn": (body) =>
        tf.sum(tf.mapFn((x: Any) => {
          const y = call(body, [x], "float32", { ordered: false });
          y.setShape([]);
          return y;
        }, tf.tensor([1, 2, 3])) as tf.Tensor),
      "in called functions": (body) => {
        const f = tf.function((x: Any) => call(body, [x], "float32", { ordered: false }));
        return tf.addN([1, 2, 3].map((v) => f(tf.scalar(v)) as tf.Tensor));
      },
      "in branches": (body) => {
        const f = (v: number) =>
          tf.cond(tf.greater(tf.scalar(v), 0), () => {
            return call(body, [tf.scalar(v)], "float32", { ordered: false });
          }, () => tf.scalar(0));
        return tf.addN([1, 2, 3].map(f));
      },
    };
    for (const [shape, build] of Object.entries(SHAPES)) {
      const { body, most } = meeting(3);
      const f = tf.function(() => build(body));
      const y = await f.async() as tf.Tensor;
      assertEquals([await y.data().then((d) => d[0]), most()], [3, 3], `${name} ${shape}`);
      y.dispose();
    }
  }
});

testOnDevices(
  "scripts with ordered: false run each time, for constants and without readers",
  () => {
    for (const [name, call] of CALLS) {
      let count = 0;
      const body = (_: Any) => {
        count++;
        return 1;
      };
      const f = tf.function((x: tf.Tensor) => {
        call(body, [tf.scalar(1)], "float32", { ordered: false });
        call(body, [tf.scalar(1)], "float32", { ordered: false });
        tf.cond(tf.greater(x, 0), () => call(body, [x], "float32", { ordered: false }), () => x);
        return tf.mul(x, 2);
      });
      for (let k = 1; k <= 3; k++) {
        tf.tidy(() => void f(tf.scalar(2)));
        assertEquals(count, 3 * k, name);
      }
    }
  },
);

testOnDevices("ordered scripts keep their order beside others", async () => {
  const order: string[] = [];
  const add = (what: string, ordered: boolean) =>
    tf.numpyFunction(
      async () => {
        for (let k = 0; k < (what === "a" ? 3 : 1); k++) await Promise.resolve();
        order.push(what);
      },
      [],
      [],
      { ordered },
    );
  const f = tf.function(() => {
    add("a", true);
    add("free", false);
    add("b", true);
    return tf.scalar(1);
  });
  (await f.async() as tf.Tensor).dispose();
  assertEquals(order.filter((w) => w !== "free"), ["a", "b"]);
  assertEquals(order.includes("free"), true);
});

testOnDevices("ordered: false outlives a GraphDef, also within a function", async () => {
  const { body, most } = meeting(3);
  tf.registerScript("test.meeting@1", body);
  try {
    await using g = open(() => {
      const y = tf.mapFn((x: Any) => {
        const y = tf.numpyFunction(body, [x], "float32", { ordered: false });
        y.setShape([]);
        return y;
      }, tf.tensor([1, 2, 3]));
      return tf.sum(y as tf.Tensor);
    });
    // A portable one has a loop in place of the map, whose turns are in order.
    const def = g.sess.graph.toGraphDef({ portable: false });
    const name = (g.parts as Any).name;
    await using h = open(() => tf.importGraphDef(def, { prefix: "" }));
    assertEquals([await h.sess.run(name), most()], [3, 3]);
  } finally {
    tf.unregisterScript("test.meeting@1");
  }
});
