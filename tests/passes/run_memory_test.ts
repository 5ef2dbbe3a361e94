/** Memory of compiled runs: the owners of values, writes onto inputs, uploads, and what is freed. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { canRead } from "../../src/engine/core/device.ts";
import type { CpuDevice } from "../../src/engine/devices/cpu/cpu_device.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { executeOn } from "../../src/engine/runtime/eager/eager.ts";
import { cpuDevice, findDevice, gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { ConcreteFunction } from "../../src/engine/runtime/functions/concrete_function.ts";
import { execute } from "../../src/engine/runtime/plan/execute.ts";
import { releasePlan } from "../../src/engine/runtime/plan/slots.ts";
import { newRunContext } from "../../src/engine/runtime/run/run_context.ts";
import type { EagerTensor } from "../../src/engine/runtime/eager/tensor.ts";
import { testOnDevices, testOnGpu } from "../devices.ts";
import { testAwaited } from "../script/helpers.ts";

const live = (): number => (cpuDevice() as CpuDevice).engine?.heap.liveBytes ?? 0;
const onCpu = <T>(fn: () => T): T => tf.device("/CPU:0", fn);

Deno.test("a prepared run frees what its kernels made for each other", async () => {
  await tf.setBackend("cpu");
  using _scope = tf.scope();
  const x = tf.fill([64, 64], 0.1);
  const f = tf.function((x: tf.Tensor) => tf.cumsum(tf.matMul(tf.cumsum(tf.matMul(x, x)), x)));
  for (let i = 0; i < 3; i++) f(x).dispose();
  const before = live();
  for (let i = 0; i < 5; i++) f(x).dispose();
  assertEquals(live(), before);
});

Deno.test("a plan that is released while it runs keeps none of its constants", async () => {
  await tf.setBackend("cpu");
  const weights = tf.NdArray.zeros("float32", [64, 64]), x = tf.ones([64, 64]) as EagerTensor;
  // The first run also makes what kernels share.
  for (const isReleased of [null, false, true]) {
    let go = () => {};
    const gate = new Promise<void>((done) => go = done);
    const body = (x: tf.Tensor) => {
      const wait = async (a: tf.NdArray) => {
        await gate;
        return a;
      };
      const y = tf.numpyFunction(wait, [x], tf.TensorSpec([64, 64], "float32"));
      // A kernel of one op, and one whose form is kept.
      return [tf.cumsum(tf.concat([y, weights], 0)), tf.matMul(y, weights)];
    };
    const { graph } = tf.function(body).getConcreteFunction(tf.TensorSpec([64, 64], "float32"));
    const plan = new ConcreteFunction(graph).plan(), before = live();
    const running = execute(plan, [x], newRunContext());
    if (isReleased) releasePlan(plan);
    go();
    tf.dispose(await running as tf.Tensor[]);
    const kept = live() - before;
    releasePlan(plan);
    if (isReleased === null) continue;
    assert(isReleased ? kept === 0 : kept > 0, `${kept} bytes are kept`);
    assertEquals(live(), before);
  }
  x.dispose();
});

testOnDevices("an op writes onto an input that is spent, and onto no other", async (device) => {
  using _scope = tf.scope();
  const def = lookupOp("TensorScatterUpdate")!,
    on = findDevice(device === "cpu" ? "/CPU:0" : "/GPU:0");
  const indices = new tf.NdArray("int32", [2, 1], Int32Array.of(1, 0));
  const rows = () => tf.neg(tf.tensor([[1, 2], [3, 4]])) as EagerTensor;
  const run = (start: EagerTensor, updates: EagerTensor, spent: EagerTensor | null) =>
    executeOn(def, [start, indices, updates], {}, { device: on, spent })[0];
  const cases: Record<string, () => [tf.Tensor, ...EagerTensor[]]> = {
    "a start that is spent": () => {
      const start = rows(), y = run(start, rows(), start);
      assertEquals(start.isDisposed, true);
      return [y];
    },
    "none": () => {
      const start = rows();
      return [run(start, rows(), null), start];
    },
    "updates": () => {
      const start = rows(), updates = rows();
      return [run(start, updates, updates), start, updates];
    },
    "a start with a view": () => {
      const start = rows(), view = tf.reshape(start, [2, 2]) as EagerTensor;
      return [run(start, rows(), start), view, start];
    },
    "a start that is its updates": () => {
      const start = rows();
      return [run(start, start, start), start];
    },
    "a start on the CPU": () => {
      const start = onCpu(rows);
      return [run(start, rows(), device === "cpu" ? null : start), start];
    },
  };
  for (const [name, make] of Object.entries(cases)) {
    const [y, ...kept] = make();
    assertEquals(await y.array(), [[-3, -4], [-1, -2]], name);
    for (const t of kept) assertEquals(await t.array(), [[-1, -2], [-3, -4]], name);
  }
});

/** Updates of tensors that nothing reads afterwards, or that something does. */
const UPDATES: Readonly<Record<string, (x: tf.Tensor) => tf.Tensor[]>> = {
  "its last reader": (x) => [tf.tensorScatterUpdate(tf.cumsum(x), [[0]], [[7, 7]])],
  "a tensor that has its own updates": (x) => {
    const h = tf.cumsum(x);
    return [tf.tensorScatterUpdate(h, [[1], [2], [0]], h)];
  },
  "a tensor of which there is a view": (x) => {
    const h = tf.cumsum(x), view = tf.reshape(h, [6]);
    return [tf.tensorScatterUpdate(h, [[0]], [[7, 7]]), view];
  },
  "another tensor, with updates that end": (x) => {
    const h = tf.cumsum(x), updates = tf.cumsum(tf.slice(x, [0, 0], [1, 2]), 1);
    return [tf.tensorScatterUpdate(h, [[2]], updates), tf.neg(h)];
  },
  "an argument": (x) => [tf.tensorScatterUpdate(x, [[0]], [[7, 7]]), tf.cumsum(x)],
};

for (const [name, update] of Object.entries(UPDATES)) {
  testOnDevices(`a compiled scatter writes in the memory of ${name} where it may`, async () => {
    using _scope = tf.scope();
    const x = tf.tensor([[1, 2], [3, 4], [5, 6]]), f = tf.function((x: tf.Tensor) => update(x));
    const want = await Promise.all(update(x).map((t) => t.array()));
    for (let run = 0; run < 4; run++) {
      const got = await f.async(x) as tf.Tensor[];
      assertEquals(await Promise.all(got.map((t) => t.array())), want, `run ${run}`);
    }
    // Alone, each op is run by itself.
    const graph = new tf.Graph();
    const [p, fetches] = graph.asDefault(() => {
      const p = tf.placeholder("float32", null);
      return [p, update(p)];
    });
    await using session = new tf.Session({ graph });
    for (let run = 0; run < 3; run++) {
      const got = await session.run(fetches, { feeds: new Map([[p, x]]) as never }) as tf.NdArray[];
      assertEquals(got.map((a) => a.toArray()), want, `session's run ${run}`);
    }
    assertEquals(await x.array(), [[1, 2], [3, 4], [5, 6]]);
  });
}

testOnGpu(
  "what a function is given on the CPU stays the caller's, and may come again",
  async () => {
    using _scope = tf.scope();
    const x = onCpu(() => tf.neg(tf.tensor([1, 2, 3])));
    const f = tf.function((
      x: tf.Tensor,
    ) => [tf.cumsum(x), tf.matMul(tf.reshape(x, [1, 3]), [[1], [2], [3]])]);
    for (let run = 0; run < 4; run++) {
      const [sums, product] = await f.async(x) as tf.Tensor[];
      assertEquals(await sums.array(), [-1, -3, -6]);
      assertEquals(await product.array(), [[-14]]);
      assertEquals([x.isDisposed, await x.array()], [false, [-1, -2, -3]]);
    }
  },
);

testOnGpu("what a run makes on the CPU is uploaded once for all kernels that read it", async () => {
  using _scope = tf.scope();
  const x = onCpu(() => tf.neg(tf.ones([1000]))), { counters } = gpuDevice()!;
  const onGpu = <T>(fn: () => T): T => tf.device("/GPU:0", fn);
  const f = tf.function((x: tf.Tensor) => {
    const h = onCpu(() => tf.cumsum(x));
    return [onGpu(() => tf.cumsum(h)), onGpu(() => tf.reverse(h)), onGpu(() => tf.softmax(h))];
  });
  for (let run = 0; run < 3; run++) {
    const before = counters.bytesToDevice, [sums] = await f.async(x) as tf.Tensor[];
    assertEquals((await sums.data())[2], -6);
    const bytes = counters.bytesToDevice - before;
    assert(bytes >= 4000 && bytes < 8000, `${bytes} bytes in run ${run}`);
  }
});

testOnGpu("an op of the CPU runs there where its inputs can be read", async () => {
  using _scope = tf.scope();
  const y = onCpu(() =>
    tf.neg(tf.device("/GPU:0", () => tf.neg(tf.tensor([1, 2]))))
  ) as EagerTensor;
  assertEquals(y.storage.device.type, canRead(gpuDevice()!) ? "CPU" : "GPU");
  assertEquals([...await y.data()], [1, 2]);
});

testAwaited("an op of the CPU runs where an input lies that must be waited for", async () => {
  using _scope = tf.scope();
  using _waits = {
    [Symbol.dispose]: () => void Reflect.deleteProperty(gpuDevice()!, "canReadUrgently"),
  };
  Object.defineProperty(gpuDevice(), "canReadUrgently", { value: false, configurable: true });
  const x = tf.neg(tf.tensor([1, 2, 3])), y = onCpu(() => tf.tensor([10, 20, 30]));
  const sum = onCpu(() => tf.add(x, y)) as EagerTensor;
  assertEquals([sum.storage.device.type, ...await sum.data()], ["GPU", 9, 18, 27]);
  const own = onCpu(() => tf.add(y, y)) as EagerTensor;
  assertEquals([own.storage.device.type, ...await own.data()], ["CPU", 20, 40, 60]);
  // What a script is given has been read for it: an op of the CPU takes that.
  const places: string[] = [];
  const f = tf.function((x: tf.Tensor) =>
    tf.pyFunction(
      (a: tf.Tensor) => {
        const more = onCpu(() => tf.mul(a, 2)) as EagerTensor;
        const made = onCpu(() => tf.neg(tf.device("/GPU:0", () => tf.mul(a, 3)))) as EagerTensor;
        places.push(more.storage.device.type, made.storage.device.type);
        return tf.add(more, made);
      },
      [x],
      tf.TensorSpec([3], "float32"),
    ) as tf.Tensor
  );
  for (let run = 0; run < 2; run++) {
    assertEquals([...await (await f.async(x) as tf.Tensor).data()], [1, 2, 3]);
  }
  assertEquals(places, ["CPU", "GPU", "CPU", "GPU"]);
});

Deno.test("rows in lockstep keep nothing of a loop's earlier turns", async () => {
  await tf.setBackend("cpu");
  using _scope = tf.scope();
  const counts: number[] = [];
  const half = (a: tf.NdArray): tf.NdArray => {
    counts.push(live());
    return a.map((v) => Number(v) / 2);
  };
  const f = tf.function((x: tf.Tensor) =>
    tf.mapFn((row) =>
      tf.whileLoop(
        (i) => tf.less(i as tf.Tensor, 8),
        (i, v) => [
          tf.add(i as tf.Tensor, 1),
          tf.numpyFunction(
            half,
            [tf.cumsum(tf.cumsum(v as tf.Tensor))],
            tf.TensorSpec([1000], "float32"),
            {
              vectorized: true,
            },
          ),
        ],
        [tf.scalar(0, "int32"), row as tf.Tensor],
      )[1] as tf.Tensor, x)
  );
  (await f.async(tf.ones([3, 1000])) as tf.Tensor).dispose();
  assert(counts.length === 8, `${counts.length} calls`);
  // Three rows of 4000 bytes for each value that would stay.
  assert(counts[7] - counts[2] < 12_000, String(counts));
});

testOnDevices(
  "a large array that is fed is uploaded where kernels of one device alone read it",
  async (device) => {
    const size = 300_000, array = tf.NdArray.zeros("float32", [size]);
    (array.data as Float32Array).forEach((_, i, data) => data[i] = i % 7);
    const readers: Readonly<Record<string, readonly [(x: tf.Tensor) => tf.Tensor, number]>> = {
      kernel: [(x) => tf.max(tf.cumsum(tf.sub(x, 3))), 0],
      "other kernel": [(x) => tf.max(tf.reverse(x)), 6],
      script: [
        (x) =>
          tf.numpyFunction((a: tf.NdArray) => tf.NdArray.zeros("float32", []).map(() => a.size), [
            x,
          ], "float32"),
        size,
      ],
      "op of the host": [(x) => tf.size(tf.unique(x).values), 7],
      "op of the CPU": [(x) => onCpu(() => tf.max(tf.cumsum(tf.sub(x, 3)))), 0],
    };
    const copies = async (p: tf.Tensor, fetches: tf.Tensor[], graph: tf.Graph, want: number[]) => {
      await using session = new tf.Session({ graph });
      const { counters } = findDevice(device === "cpu" ? "/CPU:0" : "/GPU:0");
      let bytes = 0, back = 0;
      for (let run = 0; run < 2; run++) {
        const { bytesToDevice, bytesToHost } = counters;
        const got = await session.run(fetches, {
          feeds: new Map([[p, array]]) as never,
        }) as unknown[];
        assertEquals(got.map((v) => Math.round(Number(v))), want);
        [bytes, back] = [
          counters.bytesToDevice - bytesToDevice,
          counters.bytesToHost - bytesToHost,
        ];
      }
      return [bytes, back].map((n) => Math.round(n / (4 * size)));
    };
    for (const [first, [a, one]] of Object.entries(readers)) {
      for (const [second, [b, two]] of Object.entries(readers)) {
        const graph = new tf.Graph();
        const [p, fetches] = graph.asDefault(() => {
          const p = tf.placeholder("float32", [size]);
          return [p, [a(p), b(p)]];
        });
        const counts = await copies(p, fetches, graph, [one, two]);
        if (device === "cpu") continue;
        const isRead = [first, second].some((name) => name.endsWith("kernel"));
        assertEquals(counts, [isRead ? 1 : 0, 0], `${first} and ${second}`);
      }
    }
  },
);
