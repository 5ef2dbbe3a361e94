/** `worker`: bodies that run in other threads. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { endIdleWorkers, workerCount } from "../../src/engine/script/workers/worker_pool.ts";
import { threadOptions } from "../../src/engine/script/workers/worker_thread.ts";
import { testOnDevices } from "../devices.ts";
import { type Any, assertFlat, errorOf, evaluate, open, plain } from "./helpers.ts";

type N = tf.NdArray;
const worker = true;
const module = new URL("./bodies/worker_body.ts", import.meta.url);
/** Node-style threads, then Web Workers. */
async function onBothKinds(fn: (kind: string) => Promise<void>): Promise<void> {
  endIdleWorkers();
  await fn("threads");
  endIdleWorkers();
  threadOptions.webWorkers = true;
  try {
    await fn("web workers");
  } finally {
    threadOptions.webWorkers = false;
    endIdleWorkers();
    assertEquals(workerCount(), 0);
  }
}

testOnDevices(
  "a body's source runs in a worker, with arrays in and out, nested, of every dtype",
  async () => {
    await onBothKinds(async () => {
      const dtypes = [
        "float16",
        "float32",
        "float64",
        "int8",
        "int32",
        "int64",
        "uint8",
        "bool",
        "complex64",
        "string",
        "bfloat16",
      ] as const;
      const values = await evaluate(() =>
        dtypes.map((dtype) => {
          const x = dtype === "string"
            ? tf.constant(["a", "é"], "string")
            : tf.cast(tf.constant([0, 1]), dtype);
          return tf.numpyFunction((x: N) => x, [x], tf.TensorSpec([2], dtype), { worker });
        })
      );
      assertEquals(values, [
        ...[1, 2, 3, 4, 5].map(() => [0, 1]),
        [0n, 1n],
        [0, 1],
        [false, true],
        [[0, 0], [1, 0]],
        ["a", "é"],
        [0, 1],
      ]);
      const nested = await evaluate(() =>
        tf.numpyFunction(
          ({ a, b }: { a: N; b: N[] }, ctx: tf.ScriptContext) => ({
            sum: a.map((v, i) => (v as number) + (b[0].at(i) as number)),
            list: [a.at(0), ctx.node, [1, 2]],
          }),
          [{ a: tf.constant([1, 2]), b: [tf.constant([3, 4])] }],
          { sum: "float32", list: ["float32", "string", "int32"] },
          { worker, name: "n" },
        )
      );
      assertEquals(nested, { sum: [4, 6], list: [1, "n", [1, 2]] });
    });
  },
);

testOnDevices("functions of every form can be sent", async () => {
  const o = {
    method(x: N) {
      return x;
    },
    async later(x: N) {
      await Promise.resolve();
      return x;
    },
  };
  function declared(x: N) {
    return x;
  }
  for (
    const f of [
      o.method,
      o.later,
      declared,
      async (x: N) => await Promise.resolve(x),
      (x: N) => ({ x }).x,
    ]
  ) {
    assertEquals(
      await evaluate(() => tf.numpyFunction(f, [tf.constant(3)], "float32", { worker })),
      3,
    );
  }
});

testOnDevices("a module's export runs in a worker", async () => {
  await onBothKinds(async () => {
    const call = (option: tf.WorkerOption) =>
      evaluate(() =>
        tf.numpyFunction(() => 0, [tf.constant([1, 2])], "float32", { worker: option })
      );
    assertEquals(await call({ module, export: "twice" }), [2, 4]);
    assertEquals(await call({ module: module.href }), 2);
    assertEquals(
      await evaluate(() =>
        tf.numpyFunction(() => 0, [tf.constant(["a", "é", ""])], "string", {
          worker: { module, export: "join" },
        })
      ),
      "a+é+",
    );
    const missing = await errorOf(() => call({ module, export: "three" }));
    assert(missing instanceof tf.errors.InvalidArgumentError);
    assertMatch(
      missing.message,
      /Cannot find a function "three" among the exports of .*worker_body\.ts/,
    );
    assert(
      await errorOf(() => call({ module: "file:///nowhere/nothing.js" })) instanceof
        tf.errors.OpError,
    );
  });
});

testOnDevices("eager code awaits workers", async () => {
  using x = tf.scalar(4);
  await assertFlat(async () => {
    using y = await tf.numpyFunctionAsync((v: N) => (v.item() as number) + 1, [x], "float32", {
      worker,
    });
    assertEquals(y.item(), 5);
  });
  const error = await errorOf(() => tf.numpyFunction((v: N) => v, [x], "float32", { worker }));
  assert(error instanceof tf.errors.FailedPreconditionError);
  assertMatch(error.message, /runs in a worker, await numpyFunctionAsync/);
});

testOnDevices("bodies in workers overlap", async () => {
  if (navigator.hardwareConcurrency < 2) return;
  // Each waits until the other has come: one thread alone would never end.
  const meet = () => {
    const all = new BroadcastChannel("weft.tests.meet");
    return new Promise((resolve) => {
      let heard = false;
      all.onmessage = ({ data }) => {
        if (data === "here" && !heard) {
          heard = true;
          all.postMessage("here");
          setTimeout(() => {
            all.close();
            resolve(1);
          });
        }
      };
      const call = () => {
        if (heard) return;
        all.postMessage("here");
        setTimeout(call, 1);
      };
      call();
    });
  };
  assertEquals(
    await evaluate(
      () => [
        tf.numpyFunction(meet, [], "float32", { worker }),
        tf.numpyFunction(meet, [], "float32", { worker }),
      ],
    ),
    [1, 1],
  );
});

testOnDevices("what is thrown in a worker keeps class, text and stack", async () => {
  await onBothKinds(async () => {
    const rows: [() => unknown, Any, RegExp][] = [
      [
        () => {
          throw new TypeError("blah");
        },
        tf.errors.InvalidArgumentError,
        /TypeError: blah\n\s+at .*\n\nTypeError: blah\n\t \[\[\{\{node n\}\}\]\]/,
      ],
      [
        () => {
          throw Object.assign(new Error("done"), { name: "StopIteration" });
        },
        tf.errors.OutOfRangeError,
        /StopIteration: done/,
      ],
      [
        () => {
          throw "text";
        },
        tf.errors.UnknownError,
        /text/,
      ],
      [
        () => Promise.reject(new RangeError("later")),
        tf.errors.InvalidArgumentError,
        /RangeError: later/,
      ],
      [() => () => 1, tf.errors.InternalError, /Unsupported object type/],
      [() => [new Map(), 1], tf.errors.InternalError, /Unsupported object type Map/],
      [
        () => [1, 2, 3],
        tf.errors.InvalidArgumentError,
        /returns 3 values, but expects to see 2 values/,
      ],
      [
        // @ts-expect-error Only a worker could have it.
        () => typeof onlyThere === "undefined" ? onlyThere : 0,
        tf.errors.UnknownError,
        /ReferenceError: onlyThere is not defined: a body that is sent by its source has nothing of the scope around it/,
      ],
    ];
    for (const [body, Class, text] of rows) {
      const error = await errorOf(() =>
        evaluate(() => tf.numpyFunction(body, [], ["float32", "float32"], { worker, name: "n" }))
      );
      assert(error instanceof Class, `${error.name}: ${error.message}`);
      assertMatch(error.message, text);
      assertEquals(error.node, "n");
    }
  });
});

testOnDevices(
  "a worker that breaks is an error of its op alone, and the next call has another",
  async () => {
    const exit = () => (globalThis as Any).process.exit(3);
    await using g = open(() => {
      const bad = tf.numpyFunction(exit, [], "float32", { worker, name: "bad" });
      const good = tf.numpyFunction(() => 5, [], "float32", { worker });
      return { bad, good };
    });
    const [bad, good] = await Promise.allSettled([
      g.sess.run(g.parts.bad),
      g.sess.run(g.parts.good),
    ]);
    assertEquals(good, { status: "fulfilled", value: 5 });
    const error = (bad as PromiseRejectedResult).reason as tf.errors.OpError;
    assert(error instanceof tf.errors.UnknownError);
    assertMatch(error.message, /worker ended with code 3 before the body returned/);
    assertEquals(error.node, "bad");
    assertEquals(await g.sess.run(g.parts.good), 5);
  },
);

testOnDevices("a body that never ends is ended with its run", async () => {
  await onBothKinds(async () => {
    // It waits rather than computes: Deno gives up a worker that computes, but its thread goes on until the process ends.
    const hang = () => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    };
    await assertFlat(async () => {
      await using g = open(() =>
        tf.numpyFunction(hang, [tf.placeholder("float32", [2], "x")], "float32", { worker })
      );
      const error = await errorOf(() =>
        g.sess.run(g.parts, { feeds: { "x:0": [1, 2] }, timeoutMs: 20 })
      );
      assert(error instanceof tf.errors.DeadlineExceededError);
    });
    const error = await errorOf(() =>
      evaluate(() => tf.numpyFunction(hang, [], "float32", { worker, timeoutMs: 20, name: "op" }))
    );
    assert(error instanceof tf.errors.DeadlineExceededError);
    assertEquals(error.node, "op");
    assertEquals(await evaluate(() => tf.numpyFunction(() => 1, [], "float32", { worker })), 1);
  });
});

testOnDevices("inputs are handed over, never taken away from others", async () => {
  const write = (x: N) => ((x.data as Float32Array).fill(9), x);
  await using g = open(() => {
    const c = tf.constant([1, 2]), x = tf.placeholder("float32", [2], "x"), y = tf.mul(x, 2);
    const through = tf.numpyFunction((x: N) => x, [y], "float32");
    return [c, x, y, through].flatMap((
      t,
    ) => [tf.numpyFunction(write, [t], "float32", { worker }), t]);
  });
  const feed = new Float32Array([3, 4]);
  for (let i = 0; i < 2; i++) {
    assertEquals(plain(await g.sess.run(g.parts, { feeds: { "x:0": feed } })), [
      [9, 9],
      [1, 2],
      [9, 9],
      [3, 4],
      [9, 9],
      [6, 8],
      [9, 9],
      [6, 8],
    ]);
  }
  assertEquals([...feed], [3, 4]);
});

Deno.test("a body is refused where the platform has no workers", async () => {
  endIdleWorkers();
  const { Worker } = globalThis;
  threadOptions.webWorkers = true;
  try {
    Object.assign(globalThis, { Worker: undefined });
    const error = await errorOf(() =>
      tf.numpyFunctionAsync((x: N) => x, [1], "float32", { worker })
    );
    assert(error instanceof tf.errors.UnimplementedError);
    assertMatch(error.message, /has neither node:worker_threads nor Web Workers/);
  } finally {
    Object.assign(globalThis, { Worker });
    threadOptions.webWorkers = false;
  }
});

Deno.test("a Web Worker that is called again within its idle time goes on", async () => {
  const { linger } = threadOptions;
  threadOptions.webWorkers = true;
  // Idle time passes while the second call runs, and again after it.
  threadOptions.linger = 30;
  try {
    endIdleWorkers();
    const spin = (ms: N) => {
      for (const end = Date.now() + (ms.item() as number); Date.now() < end;);
      return ms;
    };
    for (const ms of [0, 100, 0]) {
      using y = await tf.numpyFunctionAsync(spin, [ms], "float32", { worker });
      assertEquals([y.item(), workerCount()], [ms, 1]);
    }
    while (workerCount() > 0) await new Promise((resolve) => setTimeout(resolve, 1));
  } finally {
    Object.assign(threadOptions, { webWorkers: false, linger });
    endIdleWorkers();
  }
});

testOnDevices("a body that is sent by its source has NdArray, tf's errors and ctx", async () => {
  const { NdArray } = tf;
  const body = (x: N, ctx: tf.ScriptContext) => {
    if (x.size === 0) throw new tf.errors.OutOfRangeError(`${ctx.node} got nothing`);
    const sum = new NdArray("float32", [1], new Float32Array([x.data.length]));
    return [sum, ctx.array([2, 1], [1, 2]), new tf.NdArray("float32", [], new Float32Array(1))];
  };
  const Tout = ["float32", "float32", "float32"] as const;
  const call = (x: number[]) =>
    evaluate(() =>
      tf.numpyFunction(body, [tf.constant(x, "float32")], Tout, { worker, name: "n" })
    );
  assertEquals(await call([3, 4]), [[2], [[1], [2]], 0]);
  const error = await errorOf(() => call([]));
  assert(error instanceof tf.errors.OutOfRangeError);
  assertMatch(error.message, /n got nothing/);
});

testOnDevices("memory that a body has handed over is named when it comes again", async () => {
  const call = () =>
    tf.numpyFunctionAsync(() => 0, [], "float32", { worker: { module, export: "keepsItsResult" } });
  endIdleWorkers();
  using first = await call();
  assertEquals(first.shape, [5000]);
  const error = await errorOf(call);
  assert(error instanceof tf.errors.InvalidArgumentError);
  assertMatch(error.message, /an array whose memory was handed over before.*return a copy/);
});

Deno.test("idle workers do not keep the process alive", async () => {
  const program = `
    import * as tf from "@weft/weft";
    const y = await tf.numpyFunctionAsync(() => 1, [], "float32", { worker: true });
    console.log(y.item());`;
  const { success, stdout } = await runProgram(program);
  assertEquals([success, stdout.trim()], [true, "1"]);
});

async function runProgram(text: string): Promise<{ success: boolean; stdout: string }> {
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(file, text.replace("@weft/weft", import.meta.resolve("../../mod.ts")));
    const { success, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "--no-config", file],
      // Only what hangs meets this, however busy the machine is.
      signal: AbortSignal.timeout(300_000),
    }).output();
    return { success, stdout: new TextDecoder().decode(stdout) };
  } finally {
    await Deno.remove(file);
  }
}
