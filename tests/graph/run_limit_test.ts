/**
 * Time limits and signals where nothing awaits: loops without end are ended, wherever they are, and leave nothing behind.
 * A test that does not end has failed.
 */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import { RunContext, RunLimit } from "../../src/engine/runtime/run/run_context.ts";
import { wholePass } from "../../src/library/data/iterator.ts";
import { testOnDevices } from "../devices.ts";
import { assertFlat, assertFlatLater, open } from "../script/helpers.ts";

type T = tf.Tensor;
const { CancelledError, DeadlineExceededError } = tf.errors;

/** A loop that never ends; its turns call `turn`. */
const endless = (x: T, turn: (x: T) => T = (x) => tf.add(x, 1)): T =>
  tf.whileLoop((v) => tf.greater(v, -1), (v) => [turn(v)], [x])[0];
const script = (body: () => void) => (x: T): T =>
  tf.pyFunction(
    (x: T) => {
      body();
      return tf.add(x, 1);
    },
    [x],
    tf.TensorSpec([], "float32"),
  );
const later = (x: T): T =>
  tf.numpyFunction((x: tf.NdArray) => Promise.resolve(x), [x], tf.TensorSpec([], "float32"));

/** Where a loop may be. */
const PLACES: Readonly<Record<string, (x: T) => T>> = {
  "a graph": (x) => endless(x),
  "a function": (x) => tf.function((x: T) => endless(x))(x),
  "a branch": (x) => tf.cond(tf.greater(x, 0), () => endless(x), () => x),
  "another loop": (x) => endless(x, (x) => endless(x)),
  "mapFn": (x) => tf.mapFn((row: T) => endless(row), tf.stack([x, x])),
  "scan": (x) => tf.scan((a: T, row: T) => endless(tf.add(a, row)), tf.stack([x, x])),
  "a loop over a script": (x) => endless(x, script(() => {})),
  "a loop whose scripts await": (x) => endless(x, later),
  "the body of a script": (x) => tf.pyFunction((x: T) => endless(x), [x], "float32"),
  "a function that a body calls": (x) => {
    const f = tf.function((x: T) => endless(x));
    return tf.pyFunction((x: T) => f(x), [x], "float32");
  },
  "a function that a body awaits": (x) => {
    const f = tf.function((x: T) => endless(x));
    return tf.pyFunction((x: T) => f.async(x), [x], "float32");
  },
  "a loop with a gradient": (x) => tf.gradients(endless(x, (x) => tf.mul(x, 1.0001)), [x])[0]!,
};

for (const [place, build] of Object.entries(PLACES)) {
  testOnDevices(`timeoutMs ends a loop without end in ${place}`, async () => {
    await using g = open(() => {
      const x = tf.placeholder("float32", [], "x");
      return { x, y: build(x), z: tf.add(x, 1) };
    });
    const once = async (): Promise<void> => {
      const run = g.sess.run(g.parts.y, { feeds: { "x:0": 1 }, timeoutMs: 20 });
      const error = await assertRejects(() => run, DeadlineExceededError);
      assert(error.message.includes("the run took longer than 20 ms"), error.message);
      // What the loop was reading comes before what this reads.
      const more = { feeds: { "x:0": tf.exp(0) }, timeoutMs: 1e6 };
      assertEquals(await g.sess.run(g.parts.z, more), 2);
      tf.dispose(more.feeds);
    };
    await once();
    await assertFlat(once);
  });
}

/** Synchronous eager code gives the event loop no turn, from any caller. */
const SYNC = ["the body of a script", "a function that a body calls"];

for (const [place, build] of Object.entries(PLACES)) {
  if (SYNC.includes(place)) continue;
  testOnDevices(`a timer's signal ends a loop without end in ${place}`, async () => {
    await using g = open(() => build(tf.placeholder("float32", [], "x")));
    const once = async (): Promise<void> => {
      const controller = new AbortController();
      setTimeout(() => controller.abort("enough"));
      const run = g.sess.run(g.parts, { feeds: { "x:0": 1 }, signal: controller.signal });
      const error = await assertRejects(() => run, CancelledError, "The run was cancelled");
      assertEquals((error as tf.errors.OpError).cause, "enough");
      // What paused for the timer finds out a moment later.
      await new Promise((done) => setTimeout(done));
    };
    await once();
    await assertFlat(once);
  });
}

/** Keeps the processor for a while; its first call sets a timer. */
class Busy {
  calls = 0;
  /** Calls made when the timer fired; 0 until then. */
  told = 0;
  readonly #onTimer: () => void;

  constructor(onTimer = (): void => {}) {
    this.#onTimer = onTimer;
  }

  readonly body = (x: tf.NdArray): tf.NdArray => {
    if (this.calls++ === 0) {
      setTimeout(() => {
        this.told = this.calls;
        this.#onTimer();
      });
    }
    for (const end = performance.now() + 20; performance.now() < end;);
    return x;
  };
}

const busyOp = (busy: Busy, x: T): T =>
  tf.numpyFunction(busy.body, [x], tf.TensorSpec([], "float32"));
const costly = (busy: Busy, x: T): T =>
  tf.numpyFunction((x: tf.NdArray) => x, [x], tf.TensorSpec([], "float32"), {
    vjp: (_, dy) => busyOp(busy, dy),
  });

/** Programs that call a busy body 64 times. */
const REPEATED: Readonly<Record<string, (busy: Busy, x: T) => T>> = {
  "a loop": (busy, x) =>
    tf.whileLoop((i) => tf.less(i, 64), (i, y) => [tf.add(i, 1), busyOp(busy, y)], [0, x])[1],
  "mapFn": (busy, x) => tf.sum(tf.mapFn((row: T) => busyOp(busy, row), tf.mul(tf.ones([64]), x))),
  "scan": (busy, x) =>
    tf.foldl((a: T, row: T) => busyOp(busy, tf.add(a, row)), tf.mul(tf.ones([64]), x)),
  "a chain": (busy, x) => Array.from({ length: 64 }).reduce<T>((y) => busyOp(busy, y), x),
  "the gradient of a loop": (busy, x) =>
    tf.gradients(
      tf.whileLoop((i) => tf.less(i, 64), (i, y) => [tf.add(i, 1), costly(busy, y)], [0, x])[1],
      [x],
    )[0]!,
};

for (const [place, build] of Object.entries(REPEATED)) {
  testOnDevices(`a signal ends ${place} of busy scripts before its end`, async () => {
    const controller = new AbortController();
    const busy = new Busy(() => controller.abort("enough"));
    await using g = open(() => build(busy, tf.placeholder("float32", [], "x")));
    const run = g.sess.run(g.parts, { feeds: { "x:0": 1 }, signal: controller.signal });
    await assertRejects(() => run, CancelledError);
    assert(busy.told > 0 && busy.calls <= busy.told + 1, `${busy.told} of ${busy.calls}`);
  });
}

testOnDevices("a run without a limit gives the event loop no turn of its own", async () => {
  const busy = new Busy();
  await using g = open(() => REPEATED["a chain"](busy, tf.placeholder("float32", [], "x")));
  assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": 1 } }), 1);
  assertEquals([busy.calls, busy.told], [64, 0]);
});

testOnDevices("limits that no timer can count are kept, Infinity included", async () => {
  for (const timeoutMs of [2 ** 31 - 1, 2 ** 31, 3e9, Infinity]) {
    const slow = async (x: tf.NdArray): Promise<tf.NdArray> => {
      await new Promise((done) => setTimeout(done, 5));
      return x;
    };
    await using g = open(() => tf.numpyFunction(slow, [1], "float32"));
    assertEquals(await g.sess.run(g.parts, { timeoutMs }), 1);
    using y = await tf.numpyFunctionAsync(slow, [2], "float32", { timeoutMs });
    assertEquals([...await y.data() as Float32Array], [2]);
    using z = await tf.pyFunctionAsync(
      async (x: T) => (await x.data(), x),
      [3],
      "float32",
      { timeoutMs },
    );
    assertEquals([...await z.data() as Float32Array], [3]);
  }
});

testOnDevices("a run leaves no listener on its signal", async () => {
  const { signal } = new AbortController();
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (type: string, fn: EventListenerOrEventListenerObject) => {
    listeners++;
    add(type, fn);
  };
  signal.removeEventListener = (type: string, fn: EventListenerOrEventListenerObject) => {
    listeners--;
    remove(type, fn);
  };
  await using g = open(() => {
    const x = later(tf.placeholder("float32", [], "x"));
    const f = tf.function((x: T) => later(tf.add(x, 1)));
    return tf.pyFunction((x: T) => f.async(x), [x], "float32");
  });
  for (let i = 0; i < 3; i++) {
    assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": 1 }, signal }), 2);
  }
  assertEquals(listeners, 0);
});

testOnDevices("limits that are no milliseconds are refused, and lose nothing", async () => {
  await using g = open(() => tf.add(tf.placeholder("float32", [], "x"), 1));
  await assertFlat(async () => {
    for (const timeoutMs of [NaN, -1, "5", null] as number[]) {
      const x = tf.scalar(1);
      const run = () => g.sess.run(g.parts, { feeds: { "x:0": x }, timeoutMs });
      await assertRejects(run, tf.errors.ValueError, "Cannot limit a run to timeoutMs");
      assertThrows(
        () => tf.numpyFunction((x: tf.NdArray) => x, [x], "float32", { timeoutMs }),
        tf.errors.ValueError,
        "to timeoutMs",
      );
      assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": x } }), 2);
      x.dispose();
    }
  });
});

testOnDevices("what is no signal is refused before a run begins", async () => {
  await using g = open(() => later(tf.placeholder("float32", [], "x")));
  for (const wrong of [{}, 5, "a", new AbortController()] as unknown[]) {
    const signal = wrong as AbortSignal;
    await assertRejects(
      () => g.sess.run(g.parts, { feeds: { "x:0": 1 }, signal }),
      TypeError,
      "Argument 'signal' passed to 'run' must be an AbortSignal, but got",
    );
    assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": 1 } }), 1);
  }
});

testOnDevices("a signal that a body aborts ends the loop around it", async () => {
  for (const awaits of [false, true]) {
    let turns = 0;
    let controller = new AbortController();
    await using g = open(() => {
      const x = tf.placeholder("float32", [], "x");
      const turn = script(() => {
        if (++turns === 100) controller.abort("enough");
      });
      return endless(x, (x) => (awaits ? later(turn(x)) : turn(x)));
    });
    const once = async (): Promise<void> => {
      turns = 0;
      controller = new AbortController();
      const run = g.sess.run(g.parts, { feeds: { "x:0": 1 }, signal: controller.signal });
      const error = await assertRejects(() => run, CancelledError, "The run was cancelled");
      assertEquals((error as tf.errors.OpError).cause, "enough");
      assert(turns >= 100 && turns <= 164, `${turns}`);
    };
    // A run is over when it is cancelled: the turn that was begun may end later.
    await assertFlatLater(once);
    await assertFlatLater(once);
  }
});

testOnDevices("a signal that a body aborts before its run waits ends the run", async () => {
  const controller = new AbortController();
  await using g = open(() => {
    const x = script(() => controller.abort())(tf.placeholder("float32", [], "x"));
    return tf.numpyFunction(() => new Promise(() => {}), [x], "float32");
  });
  const run = g.sess.run(g.parts, { feeds: { "x:0": 1 }, signal: controller.signal });
  await assertRejects(() => run, CancelledError);
});

testOnDevices("timeoutMs ends a chain of scripts none of which awaits", async () => {
  let calls = 0;
  const busy = script(() => {
    calls++;
    for (const end = performance.now() + 2; performance.now() < end;);
  });
  await using g = open(() => {
    let x: T = tf.placeholder("float32", [], "x");
    for (let i = 0; i < 200; i++) x = busy(x);
    return x;
  });
  await assertFlat(async () => {
    const run = g.sess.run(g.parts, { feeds: { "x:0": 1 }, timeoutMs: 20 });
    await assertRejects(() => run, DeadlineExceededError);
  });
  assert(calls < 200, `${calls}`);
});

testOnDevices("a loop, mapFn or scan whose body throws leaves nothing behind", async () => {
  let turns = 0;
  const failing = script(() => {
    if (++turns % 5 === 0) throw new Error("blah");
  });
  const rows = (x: T): T => tf.stack([x, x, x, x, x, x, x]);
  const cases: readonly ((x: T) => T)[] = [
    (x) => endless(x, failing),
    (x) => endless(x, (x) => later(failing(x))),
    (x) => tf.mapFn((row: T) => failing(row), rows(x)),
    (x) => tf.mapFn((row: T) => later(failing(row)), rows(x)),
    (x) => tf.mapFn((row: T) => pure(later(row)), rows(x)),
    (x) => tf.scan((a: T, row: T) => failing(tf.add(a, row)), rows(x)),
    (x) => tf.gradients(endless(x, failing), [x])[0]!,
  ];
  /** Without effects, so that rows are visited all at once. */
  const pure = (x: T): T =>
    tf.numpyFunction(
      (x: tf.NdArray) => {
        if (++turns % 5 === 0) throw new Error("blah");
        return x;
      },
      [x],
      tf.TensorSpec([], "float32"),
      { stateful: false },
    );
  for (const build of cases) {
    await using g = open(() => build(tf.placeholder("float32", [], "x")));
    const once = async (): Promise<void> => {
      turns = 0;
      const run = g.sess.run(g.parts, { feeds: { "x:0": 1 } });
      await assertRejects(() => run, tf.errors.UnknownError, "blah");
    };
    await once();
    await assertFlat(once);
  }
});

Deno.test("a limit reads the clock after a body, however many short turns came before", () => {
  const controller = new AbortController();
  const limit = RunLimit.of({ signal: controller.signal })!;
  // Short turns are counted, and the clock is read ever more seldom.
  for (let k = 0; k < 1000; k++) assertEquals(limit.due(), null);
  controller.abort("enough");
  limit.look();
  assertEquals(limit.due()?.message, "The run was cancelled");
});

const TURNS: Readonly<Record<string, [(signal: AbortSignal) => RunLimit, number, number]>> = {
  "a run gives the event loop a turn after 20 ms, and then every 10 ms": [
    (signal) => RunLimit.of({ signal })!,
    20,
    10,
  ],
  "a pass over a dataset that no server makes gives the event loop a turn every 50 ms": [
    (signal) => wholePass(signal).limit!,
    50,
    50,
  ],
  "a server's pass over a dataset gives turns as a run does": [
    (signal) => wholePass(signal, { isServed: true }).limit!,
    20,
    10,
  ],
};

for (const [name, [limitOf, first, next]] of Object.entries(TURNS)) {
  Deno.test(name, async () => {
    const clock = { now: 1000 };
    using _ = stub(performance, "now", () => clock.now);
    const limit = limitOf(new AbortController().signal);
    const after = (ms: number): Promise<void> | null => {
      clock.now += ms;
      limit.look();
      limit.due();
      return limit.pause();
    };
    for (const ms of [first, next, next, next]) {
      assertEquals(after(ms - 1), null);
      await after(1)!;
    }
  });
}

Deno.test("a run that was ended tells those who ask later at once, and each once", () => {
  const context = new RunContext(), told: unknown[] = [];
  const tell = (who: string) => (reason: unknown) => void told.push(`${who} ${reason}`);
  context.onAbort(tell("a")), context.onAbort(tell("b"))();
  context.abort("late");
  assertEquals(told.splice(0), ["a late"]);
  context.onAbort(tell("c"))();
  assertEquals(told, ["c late"]);
  context.abort("again");
  assertEquals(told, ["c late"]);
});
