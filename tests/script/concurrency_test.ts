/** Time, threads and places: rows J, K and L. Bodies overlap, runs end when they are told to, eager mode and graphs agree. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { effort } from "../effort.ts";
import { HAS_WEBGPU, testOnDevices } from "../devices.ts";
import {
  type Any,
  assertBoth,
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
const tick = (): Promise<void> => new Promise((r) => setTimeout(r));

testOnDevices("J1 J2 J5 eager mode checks Tout and keeps its form, as graphs do", async () => {
  for (const call of [tf.numpyFunction, tf.pyFunction] as Any[]) {
    await assertBoth(() => call(() => [1], [], ["float32"]), [1]);
    await assertBoth(() => call(() => ({ b: 1, a: 2 }), [], { a: "int32", b: "float32" }), {
      a: 2,
      b: 1,
    });
    assertThrows(
      () => call(() => new Float64Array(1), [], "float32"),
      tf.errors.InvalidArgumentError,
      "is double, but expects float",
    );
    assertThrows(
      () => call(() => [1, 2], [], ["float32"]),
      tf.errors.InvalidArgumentError,
      "returns 2 values, but expects to see 1 values",
    );
    assertThrows(
      () =>
        call(
          () => {
            throw new TypeError("t");
          },
          [],
          "float32",
        ),
      tf.errors.InvalidArgumentError,
      "TypeError: t",
    );
  }
});

testOnDevices("J6 a decorated body runs once per call", async () => {
  let n = 0;
  const f = tf.numpyFunction({ Tout: "float32" })((x: N) => (n++, x));
  await assertBoth(() => f(tf.scalar(1)), 1);
  assertEquals(n, 2);
});

testOnDevices("J7 async bodies run eagerly through promises, which overlap", async () => {
  await assertFlat(async () => {
    const gates = [deferred<number>(), deferred<number>()];
    using x = tf.scalar(1);
    const a = tf.numpyFunctionAsync(() => gates[0].promise, [x], "float32");
    const b = tf.pyFunctionAsync(async (x: T) => tf.mul(x, await gates[1].promise), [x], "float32");
    gates[1].resolve(3);
    assertEquals((await b).item(), 3);
    gates[0].resolve(2);
    assertEquals((await a).item(), 2);
    tf.dispose([await a, await b]);
  });
  const error = await errorOf(() =>
    tf.pyFunction(async () => await Promise.resolve(1), [], "float32")
  );
  assert(error instanceof tf.errors.FailedPreconditionError);
  assertMatch(error.message, /pyFunctionAsync/);
});

testOnDevices("J7 an error of an async eager call is a rejection with its class", async () => {
  await assertFlat(async () => {
    for (const call of [tf.numpyFunctionAsync, tf.pyFunctionAsync] as Any[]) {
      using x = tf.scalar(1);
      const body = async () => {
        await Promise.resolve();
        throw new tf.StopIteration("end");
      };
      assert(await errorOf(() => call(body, [x], "float32")) instanceof tf.errors.OutOfRangeError);
      assertMatch(
        (await errorOf(() => call(async () => await Promise.resolve([1, 2]), [x], ["float32"])))
          .message,
        /returns 2 values/,
      );
    }
  });
});

testOnDevices(
  "K1 K4 numpy-style ops and strings are the host's; eager-style ops stay on the device where all dtypes are",
  async (device) => {
    const seen: string[] = [];
    const look = (x: T) => (seen.push(x.device.split("/").at(-1)!), x);
    await using g = open(() => {
      const x = tf.placeholder("float32", [2], "x");
      return [
        tf.pyFunction(look, [tf.add(x, 1)], "float32"),
        tf.pyFunction((x: T, s: T) => (look(s), look(x)), [
          tf.add(x, 1),
          tf.constant("s", "string"),
        ], "float32"),
        tf.pyFunction(look, [tf.cast(x, "int32")], "int32"),
        tf.pyFunction(look, [tf.constant([1, 2], "float64")], "float64"),
      ];
    });
    const metadata: Partial<tf.RunMetadata> = {};
    await g.sess.run(g.parts[0].op as Any, { feeds: { "x:0": [1, 2] }, metadata });
    assertEquals([metadata.readbacks, metadata.hostCalls], [0, 1]);
    assertEquals(plain(await g.sess.run(g.parts.slice(1), { feeds: { "x:0": [1, 2] } })), [[2, 3], [
      1,
      2,
    ], [1, 2]]);
    const own = device === "cpu" ? "device:CPU:0" : "device:GPU:0";
    assertEquals(seen.sort(), [own, own, "device:CPU:0", "device:CPU:0", "device:CPU:0"].sort());
  },
);

testOnDevices(
  "K2 what a body returns from elsewhere is brought to the op's device",
  async (device) => {
    await using g = open(() => {
      const y = tf.pyFunction(() => tf.device("/CPU:0", () => tf.tensor([1, 2])), [
        tf.placeholder("float32", [2], "x"),
      ], "float32");
      return tf.mul(y, 2);
    });
    const metadata: Partial<tf.RunMetadata> = {};
    assertEquals(plain(await g.sess.run(g.parts, { feeds: { "x:0": [0, 0] }, metadata })), [2, 4]);
    assertEquals(metadata.readbacks, device === "cpu" ? 0 : 1);
  },
);

testOnDevices(
  "K6 a numpy-style op pinned to a GPU is refused without soft placement, and runs on the host with it",
  async () => {
    const build = () =>
      tf.device(
        "/GPU:0",
        () => tf.numpyFunction((x: N) => x, [tf.constant(1)], "float32", { name: "pinned" }),
      );
    await using soft = open(build);
    assertEquals(await soft.sess.run(soft.parts), 1);
    assertEquals(soft.parts.device, "/device:GPU:0");
    await using hard = open(build, { allowSoftPlacement: false });
    const error = await errorOf(() => hard.sess.run(hard.parts));
    assert(error instanceof tf.errors.InvalidArgumentError);
    assertMatch(
      error.message,
      /Cannot assign a device for operation pinned: .* was explicitly assigned to \/device:GPU:0 but available devices are \[ .*CPU:0/,
    );
  },
);

Deno.test({
  name:
    "one readback brings the inputs of all scripts that are ready, in graphs and eagerly [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    await tf.setBackend("webgpu");
    await using g = open(() => {
      const x = tf.placeholder("float32", [4], "x");
      const [a, b, c] = [1, 2, 3].map((n) => tf.mul(x, n));
      const s = [
        tf.numpyFunction((x: N) => x, [a], "float32"),
        tf.numpyFunction((x: N, y: N) => [x, y], [b, c], ["float32", "float32"]),
        tf.device("/CPU:0", () => tf.pyFunction((x: T) => x, [c], "float32")),
      ].flat() as T[];
      // A second boundary behind the first, and an async body in between.
      const t = tf.numpyFunction(async (x: N, y: N) => (await Promise.resolve(), [x, y]), [
        tf.add(s[0], a),
        tf.add(s[1], b),
      ], ["float32", "float32"]);
      return [...s, ...t];
    });
    const feeds = { "x:0": [1, 2, 3, 4] };
    const metadata: Partial<tf.RunMetadata> = {};
    const x = (n: number) => [1, 2, 3, 4].map((v) => v * n);
    assertEquals(plain(await g.sess.run(g.parts, { feeds, metadata })), [
      x(1),
      x(2),
      x(3),
      x(3),
      x(2),
      x(4),
    ]);
    assertEquals([metadata.readbacks, metadata.hostCalls], [2, 4]);
    using a = tf.tensor([1, 2]), b = tf.add(a, 1), c = tf.tensor([5], undefined, "float64");
    const p = await tf.profile(() =>
      tf.dispose(
        tf.numpyFunction((x: N, y: N, z: N) => [x, y, z], [a, b, c], [
          "float32",
          "float32",
          "float64",
        ]),
      )
    );
    assertEquals([p.readbacks, p.hostCalls], [1, 1]);
    const q = await tf.profile(async () =>
      tf.dispose(
        await tf.numpyFunctionAsync((x: N, y: N) => [x, y], [a, b], ["float32", "float32"]),
      )
    );
    assertEquals([q.readbacks, q.hostCalls], [1, 1]);
  },
});

Deno.test({
  name:
    "a device that can only be read by awaiting gives the same results with as many readbacks [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    await tf.setBackend("webgpu");
    await using g = open(() => {
      const x = tf.placeholder("float32", [2], "x");
      const a = tf.numpyFunction((x: N) => x, [tf.mul(x, 2)], "float32");
      const b = tf.numpyFunction((x: N) => x, [tf.mul(x, 3)], "float32");
      return {
        sum: tf.numpyFunction((x: N) => x, [tf.add(a, b)], "float32"),
        double: tf.mul(x, 2),
      };
    });
    const device = gpuDevice()!;
    const { readSync, read } = device;
    let reads = 0;
    Object.assign(device, {
      readSync: () => null,
      read: (list: Any) => {
        reads++;
        return read.call(device, list);
      },
    });
    try {
      assertEquals(plain(await g.sess.run(g.parts, { feeds: { "x:0": [1, 2] } })), {
        sum: [5, 10],
        double: [2, 4],
      });
      assertEquals(reads, 2);
      using x = tf.tensor([1, 2]), y = tf.tensor([3]);
      const error = await errorOf(() => tf.numpyFunction((x: N) => x, [x], "float32"));
      assert(error instanceof tf.errors.FailedPreconditionError);
      assertMatch(error.message, /numpyFunctionAsync/);
      const z = await tf.numpyFunctionAsync((x: N, y: N) => [x, y], [x, y], ["float32", "float32"]);
      assertEquals(reads, 3);
      tf.dispose(z);
      await assertFlat(async () => {
        const stop = new AbortController();
        const run = g.sess.run(g.parts, { feeds: { "x:0": [1, 2] }, signal: stop.signal });
        stop.abort();
        assert(await errorOf(() => run) instanceof tf.errors.CancelledError);
        await tick();
        await tick();
      });
    } finally {
      Object.assign(device, { readSync, read });
      delete (device as Any).readSync;
      delete (device as Any).read;
    }
  },
});

testOnDevices("L1 a hundred bodies of one run wait at the same time", async () => {
  let waiting = 0;
  const all = deferred();
  const body = async (x: N) => {
    if (++waiting === 100) all.resolve();
    await all.promise;
    return x;
  };
  const sum = await evaluate(() => {
    const x = tf.constant(1);
    return tf.addN(Array.from({ length: 100 }, () => tf.numpyFunction(body, [x], "float32")));
  });
  assertEquals(sum, 100);
});

testOnDevices("L1 a body that waits does not hold up what needs no waiting", async () => {
  const gate = deferred();
  const log: string[] = [];
  await using g = open(() => {
    const x = tf.placeholder("float32", [], "x");
    const slow = tf.numpyFunction(
      async (x: N) => (await gate.promise, log.push("slow"), x),
      [x],
      "float32",
    );
    const after = tf.numpyFunction(
      (x: N) => (log.push("after slow"), x),
      [tf.add(slow, 1)],
      "float32",
    );
    const quick = tf.numpyFunction((x: N) => (log.push("quick"), x), [tf.mul(x, 2)], "float32");
    const then = tf.pyFunction(
      (x: T) => (log.push("after quick"), gate.resolve(), x),
      [quick],
      "float32",
    );
    return [after, then];
  });
  assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": 1 } }), [2, 2]);
  assertEquals(log, ["quick", "after quick", "slow", "after slow"]);
});

testOnDevices("L1 very many runs with gradients in flight at once are all right", async () => {
  await using g = open(() => {
    const x = tf.placeholder("float32", [], "x");
    const y = tf.pyFunction(
      async (x: T) => {
        const [v] = await x.data();
        if ((v as number) % 2) await Promise.resolve();
        return tf.mul(x, v as number);
      },
      [x],
      "float32",
    );
    return [y, tf.gradients(y, [x])[0]!, tf.gradients(y, [x], { gradYs: [2] })[0]!];
  });
  await g.sess.run(g.parts, { feeds: { "x:0": 1 } });
  const before = totals();
  let wrong = 0, failed = 0;
  await Promise.all(Array.from({ length: effort(500, 5000) }, async (_, i) => {
    const v = i % 1000;
    try {
      const [y, dx, dx2] = await g.sess.run(g.parts, { feeds: { "x:0": v } });
      if (y !== v * v || dx !== v || dx2 !== 2 * v) wrong++;
    } catch {
      failed++;
    }
  }));
  assertEquals({ wrong, failed }, { wrong: 0, failed: 0 });
  assertEquals(totals(), before);
});

testOnDevices(
  "L3 a run inside a body does not deadlock, on the same graph and session, three deep",
  async () => {
    const g = open(() => {
      const x = tf.placeholder("float32", [], "x");
      const depth: T = tf.numpyFunction(
        async (x: N): Promise<number> => {
          const v = x.item() as number;
          return v <= 0 ? 0 : 1 + (await g.sess.run(depth, { feeds: { "x:0": v - 1 } }) as number);
        },
        [x],
        "float32",
      );
      return depth;
    });
    assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": 3 } }), 3);
    await g.sess.close();
  },
);

testOnDevices("L3 an error of a run inside a body names both nodes", async () => {
  await using inner = open(() =>
    tf.numpyFunction(
      () => {
        throw new TypeError("inside");
      },
      [],
      "float32",
      { name: "inner_node" },
    )
  );
  await using outer = open(() =>
    tf.numpyFunction(() => inner.sess.run(inner.parts), [], "float32", { name: "outer_node" })
  );
  const error = await errorOf(() => outer.sess.run(outer.parts));
  assert(error instanceof tf.errors.InvalidArgumentError);
  assertEquals([error.node, (error.cause as Any).node], ["outer_node", "inner_node"]);
  for (const name of ["inner_node", "outer_node"]) {
    assert(error.message.includes(`{{node ${name}}}`));
  }
});

testOnDevices("L4 scripts and functions inside scripts", async () => {
  const inner = (x: T) => tf.pyFunction((x: T) => tf.add(x, 1), [x], "float32");
  const host = (x: T) =>
    tf.numpyFunction((v: N) => v.map((e) => (e as number) * 2), [x], "float32");
  const traced = tf.function((x: T) => tf.square(x)) as (x: T) => T;
  await assertBoth(
    () => tf.pyFunction((x: T) => traced(host(inner(x))), [tf.scalar(2)], "float32"),
    36,
  );
});

testOnDevices(
  "L5 timeoutMs of an op ends it with the op's name, and drops what comes late",
  async () => {
    const gate = deferred();
    const late = async () => {
      await gate.promise;
      return tf.tensor([1, 2]);
    };
    for (
      const call of [
        () =>
          evaluate(() =>
            tf.numpyFunction(() => gate.promise, [1], "float32", { timeoutMs: 1, name: "slow" })
          ),
        () =>
          evaluate(() =>
            tf.pyFunction(late, [tf.constant([1, 2])], "float32", { timeoutMs: 1, name: "slow" })
          ),
        () =>
          tf.numpyFunctionAsync(() => gate.promise, [1], "float32", { timeoutMs: 1, name: "slow" }),
        () => tf.pyFunctionAsync(late, [1], "float32", { timeoutMs: 1, name: "slow" }),
      ]
    ) {
      await assertFlat(async () => {
        const error = await errorOf(call);
        assert(error instanceof tf.errors.DeadlineExceededError, error.message);
        assertMatch(error.message, /its body took longer than 1 ms/);
      });
    }
    await assertFlat(async () => {
      gate.resolve();
      await tick();
    });
    assertEquals(
      await evaluate(() =>
        tf.numpyFunction(async () => await Promise.resolve(3), [], "int32", { timeoutMs: 60_000 })
      ),
      3,
    );
  },
);

testOnDevices("L6 close() ends runs in flight at once, and later ones are refused", async () => {
  await assertFlat(async () => {
    const g = open(() => [
      tf.numpyFunction(() => deferred().promise, [1], "float32"),
      tf.pyFunction(
        () => deferred().promise,
        [],
        "float32",
      ),
    ]);
    const runs = g.parts.map((t) => errorOf(() => g.sess.run(t)));
    await g.sess.close();
    for (const run of runs) {
      const error = await run;
      assert(error instanceof tf.errors.CancelledError);
      assertMatch(error.message, /Session has been closed/);
    }
    assertMatch(
      (await errorOf(() => g.sess.run(g.parts[0]))).message,
      /Attempted to use a closed Session/,
    );
  });
});

testOnDevices("L6 close() from inside a body ends its run", async () => {
  const g = open(() => tf.add(tf.numpyFunction(() => (void g.sess.close(), 1), [], "float32"), 1));
  assert(await errorOf(() => g.sess.run(g.parts)) instanceof tf.errors.CancelledError);
});

testOnDevices("L7 ctx tells a body its node, its run and when to stop", async () => {
  const seen: [string, number, boolean][] = [];
  const note = (...args: Any[]) => {
    const ctx = args.at(-1) as tf.ScriptContext;
    seen.push([ctx.node, ctx.run, ctx.signal.aborted]);
    return 1;
  };
  await using g = open(
    () => [
      tf.numpyFunction(note, [], "float32", { name: "a" }),
      tf.pyFunction(note, [1], "float32", { name: "b" }),
    ],
  );
  await g.sess.run(g.parts);
  await g.sess.run(g.parts[0]);
  tf.tidy(() => tf.numpyFunction(note, [], "float32", { name: "eager" }));
  assertEquals(seen.map(([node, , aborted]) => [node, aborted]), [["a", false], ["b", false], [
    "a",
    false,
  ], ["PyFunc", false]]);
  assertEquals(seen[0][1], seen[1][1]);
  assert(seen[2][1] > seen[0][1]);
  assertEquals(seen[3][1], 0);
});

testOnDevices("L7 when one body fails the others of the run are told", async () => {
  const told = deferred<unknown>();
  const waits = (ctx: tf.ScriptContext) =>
    new Promise((_, reject) => {
      ctx.signal.addEventListener("abort", () => {
        told.resolve(ctx.signal.reason);
        reject(ctx.signal.reason);
      });
    });
  const fails = async () => {
    await Promise.resolve();
    throw new Error("first");
  };
  await using g = open(
    () => [
      tf.numpyFunction(waits, [], "float32"),
      tf.numpyFunction(fails, [], "float32", { name: "fails" }),
    ],
  );
  const error = await errorOf(() => g.sess.run(g.parts));
  assertEquals(error.node, "fails");
  assertEquals(await told.promise, error);
});

testOnDevices(
  "L7 a signal that is aborted before the run stops it before any body runs",
  async () => {
    let n = 0;
    await using g = open(() => tf.numpyFunction(() => ++n, [], "float32"));
    assert(
      await errorOf(() => g.sess.run(g.parts, { signal: AbortSignal.abort() })) instanceof
        tf.errors.CancelledError,
    );
    assertEquals(n, 0);
  },
);
