/** Lifetime and memory of script ops: rows H and I. Nothing leaks, and writes stay private. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { assertSpyCalls, spy } from "@std/testing/mock";
import { testOnDevices } from "../devices.ts";
import {
  type Any,
  assertFlat,
  deferred,
  errorOf,
  evaluate,
  open,
  plain,
  totals,
} from "./helpers.ts";

type N = tf.NdArray;
type T = tf.Tensor;

const spoil = (x: N): N => {
  if (x.dtype === "string") { for (const b of x.data as Uint8Array[]) b.fill(63); }
  else (x.data as Float32Array).fill(99);
  return x;
};

testOnDevices("H1 H5 ten thousand eager calls leave nothing behind", async () => {
  using x = tf.scalar(2);
  await assertFlat(() => {
    for (let i = 0; i < 10_000; i++) {
      tf.numpyFunction((v: N) => v, [x], "float32").dispose();
      tf.pyFunction((v: T) => tf.add(tf.square(v), 1), [x], "float32").dispose();
    }
  });
});

testOnDevices("H1 async eager calls leave nothing behind", async () => {
  using x = tf.scalar(2);
  await assertFlat(async () => {
    for (let i = 0; i < 200; i++) {
      (await tf.numpyFunctionAsync(async (v: N) => await Promise.resolve(v), [x], "float32"))
        .dispose();
      const y = await tf.pyFunctionAsync(
        async (v: T) => {
          const a = tf.add(tf.square(v), 1);
          const [e] = await a.data();
          return tf.mul(tf.add(a, 1), e as number);
        },
        [x],
        "float32",
      );
      assertEquals(y.item(), 30);
      y.dispose();
    }
  });
});

testOnDevices("H4 sessions that are closed give back all they held", async () => {
  await assertFlat(async () => {
    for (let i = 0; i < 50; i++) {
      const y = await evaluate(() => {
        const c = tf.constant([1, 2]);
        const a = tf.numpyFunction((x: N) => x, [tf.mul(c, 2)], "float32");
        return tf.pyFunction((x: T, y: T) => tf.add(x, y), [a, c], "float32");
      });
      assertEquals(y, [3, 6]);
    }
  });
});

testOnDevices(
  "H2 an op whose body is not known here cannot be imported, and the error says how to register it",
  () => {
    const body = tf.registerScript("weft.tests.memory.h2@1", (x: N) => x);
    const g = new tf.Graph();
    g.asDefault(() => {
      tf.numpyFunction(body, [1], "float32", { name: "a" });
      tf.numpyFunction(body, [1], "float32", { name: "b" });
    });
    const def = g.toGraphDef();
    assert(tf.unregisterScript("weft.tests.memory.h2@1"));
    const error = assertThrows(
      () => new tf.Graph().asDefault(() => tf.importGraphDef(def)),
      tf.errors.NotFoundError,
    );
    for (const part of ['"a"', '"b"', "weft.tests.memory.h2@1", "registerScript"]) {
      assert(error.message.includes(part), error.message);
    }
  },
);

testOnDevices("H7 functions and graphs hold their bodies alive", async () => {
  const f = ((): Any => {
    const secret = { n: 5 };
    return tf.function((x: T) =>
      tf.numpyFunction((v: N) => (v.item() as number) + secret.n, [x], "float32")
    );
  })();
  assertEquals(tf.tidy(() => f(tf.scalar(1)).item()), 6);
  await using g = open(() => tf.numpyFunction(() => 7, [], "float32"));
  assertEquals(await g.sess.run(g.parts), 7);
});

testOnDevices("I1 a body that writes to its inputs changes nothing for others", async () => {
  for (const value of [[1, 2], ["a", "b"]] as Any[]) {
    const dtype = typeof value[0] === "string" ? "string" : "float32";
    await using g = open(() => {
      const x = tf.placeholder(dtype, [2], "x");
      const c = tf.constant(value, dtype);
      const look = (v: N) =>
        new tf.NdArray(v.dtype, v.shape, (v.data as Any).map((e: Any) => e.slice?.() ?? e) as Any);
      const through = tf.numpyFunction(look, [x], dtype);
      const script = (f: Any, t: T) => tf.numpyFunction(f, [t], dtype);
      return {
        // Everything is read by one that spoils and by others, before and after it.
        feed: [script(look, x), script(spoil, x), script(look, x), x],
        constant: [script(look, c), script(spoil, c), script(look, c), c],
        result: [script(look, through), script(spoil, through), script(look, through), through],
        twice: tf.numpyFunction((a: N, b: N) => (spoil(a), b), [x, x], dtype),
      };
    });
    const feed = dtype === "string"
      ? value.map((s: string) => new TextEncoder().encode(s))
      : new Float32Array(value);
    for (let i = 0; i < 3; i++) {
      const out = plain(await g.sess.run(g.parts as Any, { feeds: { "x:0": feed } }));
      const spoiled = dtype === "string" ? ["?", "?"] : [99, 99];
      const want = [value, spoiled, value, value];
      assertEquals(out, { feed: want, constant: want, result: want, twice: value });
      assertEquals(plain([...feed]), value);
    }
  }
});

testOnDevices("I1 an eager body that writes to its inputs changes nothing", () => {
  tf.tidy(() => {
    const x = tf.tensor([1, 2]), s = tf.tensor(["a"], undefined, "string");
    const data = new Float32Array([1, 2]);
    assertEquals(plain(tf.numpyFunction(spoil, [x], "float32")), [99, 99]);
    assertEquals(plain(tf.numpyFunction(spoil, [s], "string")), ["?"]);
    assertEquals(plain(tf.numpyFunction(spoil, [data], "float32")), [99, 99]);
    assertEquals([plain(x), plain(s), [...data]], [[1, 2], ["a"], [1, 2]]);
  });
});

testOnDevices("I3 fetched arrays are the caller's alone, and feeds are copied", async () => {
  await using g = open(() => {
    const c = tf.constant([1, 2]), x = tf.placeholder("float32", [2], "x");
    return [c, x, tf.identity(c), tf.numpyFunction((v: N) => v, [x], "float32")];
  });
  const feed = new Float32Array([3, 4]);
  for (let i = 0; i < 3; i++) {
    const arrays = await g.sess.run(g.parts, { feeds: { "x:0": feed } }) as N[];
    assertEquals(plain(arrays), [[1, 2], [3, 4], [1, 2], [3, 4]]);
    for (const a of arrays) (a.data as Float32Array).fill(-1);
    assertEquals([...feed], [3, 4]);
  }
  const late = g.sess.run(g.parts[3], { feeds: { "x:0": feed } });
  feed.fill(0);
  assertEquals(plain(await late), [3, 4]);
});

testOnDevices(
  "I3 fed tensors stay on their device, and are the run's until it ends",
  async (device) => {
    await assertFlat(async () => {
      await using g = open(() => {
        const x = tf.placeholder("float32", [2], "x");
        const gate = tf.numpyFunction(async () => (await Promise.resolve(), 1), [], "float32");
        return { x, y: tf.mul(x, 2), late: tf.mul(x, gate), other: tf.constant(1) };
      });
      using a = tf.tensor([1, 2]);
      using v = tf.variable([3, 4]);
      const metadata: Partial<tf.RunMetadata> = {};
      assertEquals(
        plain(await g.sess.run(g.parts.y.op as Any, { feeds: { "x:0": a }, metadata })),
        null,
      );
      assertEquals([metadata.readbacks, metadata.bytesToHost], [0, 0]);
      assertEquals(plain(await g.sess.run([g.parts.x, g.parts.y], { feeds: { "x:0": v } })), [[
        3,
        4,
      ], [6, 8]]);
      const b = tf.tensor([5, 6]);
      const run = g.sess.run([g.parts.late, g.parts.x], { feeds: { "x:0": b } });
      b.dispose();
      assertEquals(plain(await run), [[5, 6], [5, 6]]);
      assertEquals(await g.sess.run(g.parts.other, { feeds: { "x:0": a } }), 1);
      using wrong = tf.tensor([1, 2, 3]);
      await errorOf(() =>
        g.sess.run(g.parts.y, {
          feeds: new Map<Any, Any>([[g.parts.other, tf.tidy(() => 1)], [g.parts.x, wrong]]),
        })
      );
      assertEquals(device === "cpu" || metadata.dispatches === 1, true);
    });
  },
);

testOnDevices(
  "I3 a graph does not see what is written into the arrays it was built with",
  async () => {
    const data = new Float32Array([1, 2]), bytes = new TextEncoder().encode("ab");
    const array = new tf.NdArray("float32", [2], data);
    await using g = open(() => [
      tf.constant(data),
      tf.constant(array),
      tf.add(data, 0),
      tf.numpyFunction((x: N) => x, [data], "float32"),
      tf.constant([bytes] as Any, "string"),
    ]);
    data.fill(0);
    bytes.fill(63);
    assertEquals(plain(await g.sess.run(g.parts)), [[1, 2], [1, 2], [1, 2], [1, 2], ["ab"]]);
  },
);

testOnDevices("I4 what a body returned and keeps is never changed", async () => {
  const kept = new tf.NdArray("float32", [2], new Float32Array([1, 2]));
  const held: N[] = [];
  const hold = (x: N) => {
    held.push(x);
    return x;
  };
  await using g = open(() => {
    const y = tf.numpyFunction(() => kept, [], "float32");
    const z = tf.numpyFunction(hold, [y], "float32");
    return [
      tf.numpyFunction(spoil, [y], "float32"),
      tf.numpyFunction(spoil, [z], "float32"),
      tf.add(z, 1),
    ];
  });
  for (let i = 0; i < 2; i++) {
    const arrays = await g.sess.run(g.parts) as N[];
    assertEquals(plain(arrays), [[99, 99], [99, 99], [2, 3]]);
    for (const a of arrays) (a.data as Float32Array).fill(-1);
  }
  assertEquals([plain(kept), plain(held)], [[1, 2], [[1, 2], [1, 2]]]);
});

testOnDevices("I5 an input may be returned, whole, in part, twice", async () => {
  const call = (body: Any, tout: Any) =>
    evaluate(() => tf.add(tf.numpyFunction(body, [tf.constant([1, 2, 3])], tout) as T, 0));
  assertEquals(await call((x: N) => x, "float32"), [1, 2, 3]);
  assertEquals(await call((x: N) => (x.data as Float32Array).subarray(1), "float32"), [2, 3]);
  assertEquals(
    await evaluate(() =>
      tf.numpyFunction((x: N) => [x, x], [tf.constant([1])], ["float32", "float32"])
    ),
    [[1], [1]],
  );
  assertEquals(
    await evaluate(() =>
      tf.pyFunction((x: T) => [x, x], [tf.constant([1])], ["float32", "float32"])
    ),
    [[1], [1]],
  );
  assertEquals(
    tf.tidy(() => plain(tf.pyFunction((x: T) => [x, x], [tf.tensor([1])], ["float32", "float32"]))),
    [[1], [1]],
  );
});

testOnDevices("I6 inputs may be kept: arrays as they are, tensors with keep()", async () => {
  const arrays: N[] = [], tensors: T[] = [];
  await using g = open(() => {
    const x = tf.placeholder("float32", [], "x");
    const y = tf.numpyFunction((v: N) => (arrays.push(v), v), [x], "float32");
    return tf.pyFunction((v: T) => (tensors.push(v.keep()), v), [y], "float32");
  });
  for (const v of [1, 2, 3]) assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": v } }), v);
  assertEquals([plain(arrays), plain(tensors)], [[1, 2, 3], [1, 2, 3]]);
  // A kept tensor is the user's: the body has no part in what is made of it.
  assertEquals(tf.tidy(() => plain(tf.add(tensors[0], 1))), 2);
  tf.dispose(tensors);
});

testOnDevices("a body may dispose what it was given", async () => {
  const body = (x: T) => {
    const y = tf.square(x);
    x.dispose();
    return y;
  };
  assertEquals(
    await evaluate(() => {
      const x = tf.constant(3);
      return [tf.pyFunction(body, [x], "float32"), tf.add(x, 1)];
    }),
    [9, 4],
  );
  tf.tidy(() => {
    const x = tf.scalar(3);
    assertEquals(tf.pyFunction(body, [x], "float32").item(), 9);
    assertEquals(x.item(), 3);
  });
});

testOnDevices("what a body kept from another call is found out", async () => {
  let kept: T | undefined;
  const body = (x: T) => {
    const y = kept ?? x;
    kept = tf.add(x, 1);
    return y;
  };
  await using g = open(() => tf.pyFunction(body, [tf.placeholder("float32", [], "x")], "float32"));
  assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": 1 } }), 1);
  const error = await errorOf(() => g.sess.run(g.parts, { feeds: { "x:0": 1 } }));
  assert(error instanceof tf.errors.InvalidArgumentError);
  assertMatch(error.message, /disposed tensor/);
});

testOnDevices(
  "failed runs leave nothing behind, sync or async, with tapes or without",
  async () => {
    const fail = (x: T): never => {
      tf.square(x);
      throw new Error("no");
    };
    const failLater = async (x: T) => {
      const y = tf.square(x);
      await y.data();
      tf.add(y, 1);
      throw new Error("no");
    };
    for (const body of [fail, failLater]) {
      await using g = open(() => {
        const x = tf.placeholder("float32", [2], "x");
        const a = tf.mul(x, 2), b = tf.pyFunction((x: T) => tf.mul(x, 3), [a], "float32");
        const y = tf.pyFunction(body, [b], "float32");
        return { y: tf.add(y, a), dx: tf.gradients(y, [x])[0]! };
      });
      const feeds = { "x:0": [1, 2] };
      await errorOf(() => g.sess.run(g.parts, { feeds }));
      await assertFlat(async () => {
        for (let i = 0; i < 20; i++) {
          assertEquals(
            (await errorOf(() => g.sess.run(g.parts.y, { feeds }))).name,
            "UnknownError",
          );
          assertEquals(
            (await errorOf(() => g.sess.run(g.parts.dx, { feeds }))).name,
            "UnknownError",
          );
        }
      });
    }
  },
);

testOnDevices(
  "runs that are cancelled free what they hold at once, and what comes late later",
  async () => {
    const gate = deferred(), begun = deferred();
    const started: T[] = [];
    const body = async (x: T) => {
      started.push(x);
      tf.square(x);
      begun.resolve();
      await gate.promise;
      return tf.tensor([1, 2]);
    };
    const g = open(() => {
      const x = tf.mul(tf.placeholder("float32", [2], "x"), 2);
      const y = tf.pyFunction(body, [x], "float32");
      return [y, tf.gradients(y, [x])[0]!, tf.exp(x)];
    });
    const feeds = { "x:0": [1, 2] };
    const before = totals();
    const stop = new AbortController();
    const run = g.sess.run(g.parts, { feeds, signal: stop.signal });
    // A first run may give the event loop a turn before the body begins.
    await begun.promise;
    assert(totals().numTensors > before.numTensors);
    stop.abort(new Error("enough"));
    const error = await errorOf(() => run);
    assert(error instanceof tf.errors.CancelledError);
    assertEquals((error.cause as Error).message, "enough");
    assertEquals(totals(), before);
    assert(started[0].isDisposed);
    gate.resolve();
    await new Promise((r) => setTimeout(r));
    assertEquals(totals(), before);
    await g.sess.close();
  },
);

testOnDevices(
  "what a body makes after an await is its own, used or not, until it keeps it",
  async () => {
    let kept: T | undefined;
    const body = async (x: T) => {
      const values = await x.array() as number[];
      const scaled = tf.tensor(values.map((v) => v * 10));
      tf.square(scaled);
      const inner = tf.tidy(() => tf.add(tf.neg(scaled), 1));
      await Promise.resolve();
      kept = tf.add(inner, 1).keep();
      return tf.add(tf.mul(x, scaled), tf.tensor([1, 1]));
    };
    await using g = open(() =>
      tf.pyFunction(body, [tf.placeholder("float32", [2], "x")], "float32")
    );
    const feeds = { "x:0": [1, 2] };
    await g.sess.run(g.parts, { feeds });
    kept!.dispose();
    await assertFlat(async () => {
      for (let i = 0; i < 5; i++) {
        assertEquals(plain(await g.sess.run(g.parts, { feeds })), [11, 41]);
        assertEquals(plain(kept), [-8, -18]);
        kept!.dispose();
      }
      using x = tf.tensor([1, 2]);
      using y = await tf.pyFunctionAsync(body, [x], "float32");
      assertEquals(plain(y), [11, 41]);
      kept!.dispose();
    });
    // What others make at the same time stays theirs.
    await assertFlat(async () => {
      const others = async () => {
        await Promise.resolve();
        return tf.tensor([1]);
      };
      const [, theirs] = await Promise.all([g.sess.run(g.parts, { feeds }), others()]);
      assertEquals(plain(theirs), [1]);
      tf.dispose([theirs, kept]);
    });
  },
);

testOnDevices(
  "arrays are copied once when they are fed and once when they are returned, and no more",
  async () => {
    await using g = open(() => {
      let y: tf.Tensor = tf.placeholder("float32", [2], "x");
      for (let i = 0; i < 5; i++) y = tf.numpyFunction((v: N) => v, [y], "float32");
      return y;
    });
    for (const x of [new Float32Array([1, 2]), [1, 2]]) {
      await g.sess.run(g.parts, { feeds: { "x:0": x } });
      using copied = spy(tf.NdArray.prototype, "copy");
      assertEquals(plain(await g.sess.run(g.parts, { feeds: { "x:0": x } })), [1, 2]);
      assertSpyCalls(copied, Array.isArray(x) ? 5 : 6); // A list's array is made for the run.
    }
  },
);
