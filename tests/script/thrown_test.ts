/** Errors of bodies that threw values which cannot be read, that came through many scripts, and under a changed `Error`. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertInstanceOf, assertMatch } from "@std/assert";
import { userFrames } from "../../src/engine/core/throwing/user_stack.ts";
import { fileName, isBundled, testOnDevices } from "../devices.ts";
import { errorOf, evaluate, open } from "./helpers.ts";

type T = tf.Tensor;

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};
const refusing = (of: object, trap: string): object =>
  new Proxy(of, {
    [trap]() {
      throw new Error("trap");
    },
  });
const withGetter = (error: Error, key: string): Error =>
  Object.defineProperty(error, key, {
    get() {
      throw new Error("getter");
    },
  });

const Unknown = tf.errors.UnknownError, Invalid = tf.errors.InvalidArgumentError;

/** Values that a body may throw, the class of the error that stands for each, and its text. */
const THROWN: Readonly<Record<string, readonly [make: () => unknown, of: object, text: RegExp]>> = {
  "a number": [() => 5, Unknown, /5/],
  "undefined": [() => undefined, Unknown, /undefined/],
  "a symbol": [() => Symbol("odd"), Unknown, /Symbol\(odd\)/],
  "an object without a prototype": [() => Object.create(null), Unknown, /object Object/],
  "a stack that is a number": [
    () => Object.assign(new Error("five"), { stack: 5 }),
    Unknown,
    /five/,
  ],
  "a stack of call sites": [
    () => Object.assign(new Error("six"), { stack: ["f (user.ts:1:2)"] }),
    Unknown,
    /six\n.*at f \(user\.ts:1:2\)/,
  ],
  "a stack that throws": [() => withGetter(new TypeError("seven"), "stack"), Invalid, /seven/],
  "a message that throws": [() => withGetter(new Error("m"), "message"), Unknown, /Error: /],
  "a message that is a symbol": [
    () => Object.defineProperty(new RangeError(), "message", { value: Symbol("odd") }),
    Invalid,
    /RangeError: Symbol\(odd\)/,
  ],
  "a name that is an object": [
    () => Object.defineProperty(new Error("eight"), "name", { value: Object.create(null) }),
    Unknown,
    /eight/,
  ],
  "an OpError whose node throws": [
    () => withGetter(new tf.errors.DataLossError("nine"), "node"),
    tf.errors.DataLossError,
    /nine/,
  ],
  "a proxy without a prototype": [() => refusing({}, "getPrototypeOf"), Unknown, /Error: /],
  "a proxy of an error": [() => refusing(new Error("ten"), "get"), Unknown, /Error: /],
  "a revoked proxy": [revoked, Unknown, /cannot be read/],
};

const HERE = fileName(import.meta.url);
/** Frames in the text of an error that passed scripts: the library's are among them in a bundle. */
const MOST_FRAMES = isBundled(import.meta.url) ? 100 : 20;

/** Ways to run a body that fails. */
const RUNS: Readonly<Record<string, (body: (x: unknown) => unknown) => unknown>> = {
  "in a function": (f) =>
    tf.function((x: T) => tf.numpyFunction(f, [tf.add(x, 1)], "float32")).async(tf.scalar(1)),
  "in a session": (f) => evaluate(() => tf.pyFunction(f, [tf.constant(1)], "float32")),
  "in a branch": (f) =>
    evaluate(() =>
      tf.cond(
        tf.placeholderWithDefault(true, []),
        () => tf.numpyFunction(f, [tf.constant(1)], "float32"),
        () => tf.constant(0),
      )
    ),
  "eagerly": (f) => tf.numpyFunctionAsync(f, [1], "float32"),
  "eagerly, of tensors": (f) => tf.pyFunctionAsync(f, [1], "float32"),
  "in a dataset": (f) =>
    Array.fromAsync(tf.data.range(1).map((x) => tf.numpyFunction(f, [x], "int64"))),
  "in a vjp": (f) =>
    evaluate(() => {
      const x = tf.constant([1]);
      const body = (a: tf.NdArray): tf.NdArray => a;
      const vjp = (_: unknown, dy: T): T => tf.numpyFunction(f, [dy], tf.TensorSpec([1]));
      return tf.gradients(tf.numpyFunction(body, [x], tf.TensorSpec([1]), { vjp }), [x])[0];
    }),
};

for (const [what, [make, Class, text]] of Object.entries(THROWN)) {
  testOnDevices(`a body that throws ${what} ends its run with an OpError`, async () => {
    for (const [way, run] of Object.entries(RUNS)) {
      for (const isAsync of [false, true]) {
        const thrown = make();
        const body = isAsync
          ? async () => {
            await null;
            throw thrown;
          }
          : () => {
            throw thrown;
          };
        const error = await errorOf(() => run(body));
        assertInstanceOf(error, Class as typeof tf.errors.OpError, `${way}: ${error}`);
        assertMatch(error.message, text, way);
      }
    }
  });
}

testOnDevices("a body that returns what cannot be read ends its run with an OpError", async () => {
  const results = [() => refusing({}, "get"), revoked, () => [withGetter(new Error(), "message")]];
  for (const make of results) {
    for (const [way, run] of Object.entries(RUNS)) {
      for (const body of [() => make(), async () => [await null, make()][1]]) {
        assertInstanceOf(await errorOf(() => run(body)), tf.errors.OpError, way);
      }
    }
  }
});

testOnDevices("a body in a worker that throws what cannot be read ends its run", async () => {
  const bodies: Record<string, (x: tf.NdArray) => unknown> = {
    "odd": () => {
      throw Object.defineProperty(new RangeError(), "message", { value: Symbol("odd") });
    },
    "cannot be read": () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      throw proxy;
    },
  };
  for (const [text, body] of Object.entries(bodies)) {
    const run = () => tf.numpyFunctionAsync(body, [1], "float32", { worker: true });
    const error = await errorOf(run);
    assertInstanceOf(error, tf.errors.OpError);
    assertMatch(error.message, new RegExp(text));
  }
});

testOnDevices("a late result that cannot be read is nobody's error", async () => {
  let end = (_: unknown): void => {};
  const late = new Promise((resolve) => end = resolve);
  const run = () => tf.numpyFunctionAsync(() => late, [1], "float32", { timeoutMs: 1 });
  assertInstanceOf(await errorOf(run), tf.errors.DeadlineExceededError);
  // A list, as promises look at what they are resolved with.
  end([revoked()]);
  await late;
  await new Promise((resolve) => setTimeout(resolve));
});

const failing = (depth: number): (x: T) => T => (x) => {
  if (depth === 0) throw new Error("bottom");
  return tf.pyFunction(failing(depth - 1), [x], "float32");
};

testOnDevices("the text of an error grows by one name with each script around it", async () => {
  for (const isGraph of [false, true]) {
    const lengths: number[] = [];
    for (const depth of [1, 2, 3, 50, 51]) {
      const error = await errorOf(() =>
        isGraph
          ? evaluate(() => tf.pyFunction(failing(depth), [tf.constant(1)], "float32"))
          : failing(depth)(tf.scalar(1))
      );
      assertInstanceOf(error, Unknown);
      // The body's own error and the user's two lines, once each.
      assertMatch(error.message, new RegExp(`Error: bottom\n.*${HERE}`));
      assertEquals(error.message.split("Error: bottom").length, 3);
      const places = error.message.match(new RegExp(`${HERE}:\\d+:\\d+`, "g"))!;
      assert(
        new Set(places).size > (depth > 1 ? 1 : 0) && places.length < MOST_FRAMES,
        error.message,
      );
      lengths.push(error.message.length);
    }
    assertEquals(lengths[4] - lengths[3], "UnknownError: ".length);
    assertEquals(lengths[2] - lengths[1], "UnknownError: ".length);
  }
});

testOnDevices("the text of an error that passes many scripts has an end", async () => {
  const texts: [text: string, calls: number, frame: RegExp][] = [
    ["short", 10, new RegExp(HERE)],
    ["long ".repeat(50_000), 10, new RegExp(HERE)],
    [`${"nested ".repeat(9000)}\n    at user (user.ts:1:1)`, 300, /user\.ts/],
  ];
  for (const [text, calls, frame] of texts) {
    let error: Error = new Error(text);
    for (let i = 0; i < calls; i++) {
      const inner = error;
      const body = (): never => {
        throw inner;
      };
      error = await errorOf(() => tf.pyFunction(body, [1], "float32"));
      assert(error.message.length <= 1 << 16, `${error.message.length}`);
    }
    assertMatch(userFrames(error.message), frame);
  }
});

testOnDevices("a script that calls itself without end fails when the stack does", async () => {
  let calls = 0;
  const endless = (x: T): T => {
    calls++;
    return tf.pyFunction(endless, [x], "float32");
  };
  for (
    const run of [
      () => endless(tf.scalar(1)),
      () => evaluate(() => tf.pyFunction(endless, [tf.constant(1)], "float32")),
    ]
  ) {
    calls = 0;
    const error = await errorOf(run);
    assertInstanceOf(error, tf.errors.OpError);
    assertMatch(error.message, /Maximum call stack size exceeded/);
    assertMatch(error.message, new RegExp(HERE));
    assert(error.message.length <= 1 << 16 && calls > 50);
  }
});

testOnDevices("scripts are made and fail as always where Error was changed", async () => {
  const { prepareStackTrace } = Error as { prepareStackTrace?: unknown };
  const limit = Object.getOwnPropertyDescriptor(Error, "stackTraceLimit")!;
  const changes: Record<string, PropertyDescriptorMap> = {
    "call sites": { prepareStackTrace: { value: (_: unknown, sites: unknown) => sites } },
    "a text": { prepareStackTrace: { value: (e: Error) => `${e}` } },
    "no text": { prepareStackTrace: { value: () => 5 } },
    "a trap": {
      prepareStackTrace: {
        value() {
          throw new Error("trap");
        },
      },
    },
    "a limit that stays": { stackTraceLimit: { value: 10, writable: false } },
  };
  for (const [what, change] of Object.entries(changes)) {
    for (const [key, d] of Object.entries(change)) {
      Object.defineProperty(Error, key, { writable: true, ...d, configurable: true });
    }
    let sum: unknown, error: unknown;
    try {
      await using g = open(() => {
        const x = tf.placeholder("float32", [2], "x");
        const y = tf.numpyFunction((a: tf.NdArray) => a, [x], "float32");
        const bad = tf.pyFunction(failing(2), [x], "float32");
        return { y: tf.add(y, 1), bad };
      });
      const feeds = { "x:0": [1, 2] };
      sum = (await g.sess.run(g.parts.y, { feeds }) as tf.NdArray).toArray();
      error = await g.sess.run(g.parts.bad, { feeds }).catch((e) => e);
    } finally {
      Object.defineProperty(Error, "stackTraceLimit", limit);
      if (prepareStackTrace === undefined) Reflect.deleteProperty(Error, "prepareStackTrace");
      else Object.assign(Error, { prepareStackTrace });
    }
    assertEquals(sum, [2, 3], what);
    assertInstanceOf(error, tf.errors.OpError, what);
    assertMatch(error.message, /Error: bottom/, what);
  }
});
