/** Eager loops and lists leave what they give, and nothing else; writes to a list copy no list. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { PersistentList } from "../../../src/engine/core/collections/persistent_list.ts";
import { testOnDevices } from "../../devices.ts";

/** Loops over a vector, and how many tensors each gives. */
const LOOPS: Readonly<Record<string, readonly [number, (x: tf.Tensor) => unknown]>> = {
  "that computes": [
    2,
    (x) =>
      tf.whileLoop((i) => tf.less(i, 3), (i, a) => [tf.add(i, 1), tf.add(tf.sin(a), 1)], [0, x]),
  ],
  "without a turn": [
    1,
    (x) => tf.whileLoop((i) => tf.less(i, 0), (i, a) => [tf.add(i, 1), tf.sin(a)], [0, x])[0],
  ],
  "that carries a variable on": [
    1,
    (x) => tf.whileLoop((i) => tf.less(i, 3), (i, a) => [tf.add(i, 1), a], [0, x])[0],
  ],
  "of a nest": [2, (x) =>
    tf.whileLoop(
      ({ i }) => tf.less(i, 3),
      ({ i, a }) => [{ i: tf.add(i, 1), a: tf.mul(a, 2) }],
      [{ i: 0, a: tf.neg(x) }],
    )],
  "that ends by its limit": [
    1,
    () => tf.whileLoop(() => true, (i) => [tf.add(i, 1)], [0], { maximumIterations: 3 }),
  ],
  "without gradients": [
    2,
    (x) =>
      tf.whileLoop((i) => tf.less(i, 3), (i, a) => [tf.add(i, 1), tf.mul(a, 2)], [0, tf.neg(x)], {
        backProp: false,
      }),
  ],
  "that fails": [0, (x) => {
    const body = (a: tf.Tensor): tf.Tensor[] => {
      tf.sin(a);
      throw new Error(`a turn that fails of ${a}`);
    };
    assertThrows(
      () => tf.whileLoop((a) => tf.less(tf.sum(a), 99), body, [x]),
      Error,
      "a turn that fails",
    );
  }],
};

for (const [name, [given, loop]] of Object.entries(LOOPS)) {
  testOnDevices(`an eager loop ${name} leaves ${given} tensors`, () => {
    using x = tf.tensor([1, 2]);
    const before = tf.memory().numTensors;
    const results = tf.scope();
    const left = loop(x);
    // The scope has what the test made for the loop as well.
    const seen = tf.memory().numTensors - before;
    results[Symbol.dispose]();
    assertEquals(tf.memory().numTensors, before);
    const made = name === "of a nest" || name === "without gradients" ? 1 : 0;
    assertEquals(seen, given + made, String(left));
  });
}

/** Loops of a number of turns, which end by themselves; `seen` is called in each. */
const LONG: Readonly<Record<string, (x: tf.Tensor, n: number, seen: () => void) => void>> = {
  "over tensors": (x, n, seen) =>
    void tf.whileLoop(
      (i) => tf.less(i, n),
      (i, a) => (seen(), [tf.add(i, 1), tf.add(tf.sin(a), 1)]),
      [0, x],
    ),
  "on a tape that watches nothing": (x, n, seen) => {
    using _tape = new tf.GradientTape({ watchAccessedVariables: false });
    LONG["over tensors"](x, n, seen);
  },
};

for (const [name, loop] of Object.entries(LONG)) {
  testOnDevices(`an eager loop ${name} frees at each turn what the turn before made`, () => {
    using _scope = tf.scope();
    const x = tf.tensor([1, 2]), counts: number[] = [];
    loop(x, 20, () => counts.push(tf.memory().numTensors));
    // The first turns still have what was there before the loop.
    assertEquals(new Set(counts.slice(2)).size, 1, String(counts));
  });
}

testOnDevices("TensorArray of eager code copies no list when it is written", () => {
  const turns = 64, width = 16;
  for (const dynamicSize of [false, true]) {
    for (const elementShape of [null, [width]]) {
      using _scope = tf.scope();
      const x = tf.ones([width]), size = dynamicSize ? 0 : turns;
      const before = tf.memory().numBytes;
      // Nothing is freed before the scope ends: copies of the list would be there still.
      let list = new tf.TensorArray("float32", size, { dynamicSize, elementShape });
      for (let i = 0; i < turns; i++) list = list.write(i, i % 2 === 0 ? x : tf.neg(x));
      const taken = tf.memory().numBytes - before;
      assert(taken <= 4 * turns * width, `${taken} bytes, of a known shape: ${elementShape}`);
      assertEquals(tf.sum(list.stack(), 0).arraySync(), Array(width).fill(0));
    }
  }
});

testOnDevices("TensorArray of eager code keeps each element once, in loops too", () => {
  using _scope = tf.scope();
  const x = tf.tensor([1, 2]), before = tf.memory().numBytes;
  const [, list] = tf.whileLoop(
    (i) => tf.less(i, 50),
    (i, list) => [tf.add(i, 1), list.write(i, x)],
    [tf.scalar(0, "int32"), new tf.TensorArray("float32", 50, { elementShape: [2] })],
  );
  // An element that is written is the tensor that was given, and one list of 50 stacked ones takes 400 bytes.
  assertEquals(tf.memory().numBytes - before <= 450, true);
  assertEquals((list as tf.TensorArray).stack().shape, [50, 2]);
});

testOnDevices(
  "TensorArray leaves older lists as they are, and older ones may be written too",
  () => {
    using _scope = tf.scope();
    for (const dynamicSize of [false, true]) {
      const a = new tf.TensorArray("int32", dynamicSize ? 0 : 3, { dynamicSize, elementShape: [] });
      const b = a.write(0, 1), c = b.write(2, 3), d = b.write(1, 7), e = c.write(0, 9);
      const rows = (list: tf.TensorArray): unknown => list.stack().arraySync();
      assertEquals(rows(e), [9, 0, 3]);
      assertEquals(rows(a), dynamicSize ? [] : [0, 0, 0]);
      assertEquals(rows(d), dynamicSize ? [1, 7] : [1, 7, 0]);
      assertEquals(rows(b), dynamicSize ? [1] : [1, 0, 0]);
      assertEquals(rows(c), [1, 0, 3]);
      assertEquals([c.read(1).item(), c.read(2).item(), c.size().item()], [0, 3, 3]);
      assertEquals(c.gather([2, 0]).arraySync(), [3, 1]);
    }
  },
);

testOnDevices("TensorArray of eager code has the gradients of its elements", () => {
  using _scope = tf.scope();
  const x = tf.tensor([1, 2]), y = tf.tensor([3, 4]);
  using tape = new tf.GradientTape({ persistent: true });
  tape.watch([x, y]);
  const list = new tf.TensorArray("float32", 3).write(0, x).write(1, tf.square(y)).write(0, y);
  const loss = tf.add(tf.sum(tf.mul(list.stack(), [[1], [2], [3]])), tf.sum(list.read(1)));
  const [dx, dy] = tape.gradient(loss, [x, y]) as (tf.Tensor | null)[];
  assertEquals([dx === null || tf.sum(dx).item() === 0, dy!.arraySync()], [true, [19, 25]]);
  const unstacked = new tf.TensorArray("float32", 0, { dynamicSize: true }).unstack(
    tf.stack([x, y]),
  );
  const written = unstacked.write(2, tf.mul(x, y));
  assertEquals((tape.gradient(written.stack(), x) as tf.Tensor).arraySync(), [4, 5]);
});

testOnDevices("TensorArray of eager code checks every index that it knows", () => {
  using _scope = tf.scope();
  const list = new tf.TensorArray("float32", 2, { elementShape: [1] });
  assertThrows(() => list.write(2, [1]), tf.errors.OutOfRangeError, "index 2 but array is not");
  assertThrows(() => list.write(-1, [1]), tf.errors.OutOfRangeError, "negative indices");
  assertThrows(() => list.read(2), tf.errors.OutOfRangeError, "array size is: 2");
  assertThrows(() => list.write(0, [1, 2]), tf.ValueError, "Incompatible shape");
  assertThrows(() => list.write(0, tf.tensor([1], [1], "int32")), TypeError, "dtype is float32");
});

Deno.test("PersistentList gives every version back, whichever is used", () => {
  let seed = 7;
  const random = (n: number): number => (seed = (seed * 1103515245 + 12345) % 2 ** 31) % n;
  const versions = [{ list: new PersistentList<number>([]), items: [] as (number | undefined)[] }];
  for (let k = 0; k < 300; k++) {
    const { list, items } = versions[random(versions.length)]!, at = random(items.length + 3);
    const next = items.slice();
    while (next.length <= at) next.push(undefined);
    next[at] = k;
    versions.push({ list: list.with(at, k), items: next });
    const seen = versions[random(versions.length)]!;
    assertEquals(Array.from(seen.list.items), seen.items);
  }
});
