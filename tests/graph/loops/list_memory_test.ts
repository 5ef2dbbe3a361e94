/** Compiled loops write lists in place, and copy those with other readers. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { cpuDevice, gpuDevice } from "../../../src/engine/runtime/devices/devices.ts";
import { appendRow } from "../../../src/engine/runtime/control/growing_rows.ts";
import { assertClose } from "../../tf/close.ts";
import { testOnDevices, testOnGpu } from "../../devices.ts";
import { randomOf, randomProgram, runByTensors, runPlainly } from "./list_programs.ts";

/** Programs for each device; the seeds are their numbers. */
const PROGRAMS = 8;
const TOLERANCE = 1e-5;

function check(seed: number, grows: boolean): void {
  const program = randomProgram(randomOf(seed)), text = `${seed}: ${JSON.stringify(program)}`;
  const values = [0.5, -0.25], wanted = values.map((x) => runPlainly(program, x, { grows }));
  using _scope = tf.scope();
  const x = tf.tensor(values);
  const all = (x: tf.Tensor): tf.Tensor => runByTensors(program, x, { grows });
  // Weights that differ tell elements apart.
  const weights = tf.expandDims(tf.range(1, 1 + wanted[0].length, 1, "float32"), 1);
  const loss = (x: tf.Tensor): tf.Tensor => tf.sum(tf.mul(tf.square(all(x)), weights));
  const compiled = tf.function(all), slope = tf.function((x: tf.Tensor) => tf.grad(loss)(x));
  const bend = (x: tf.Tensor): tf.Tensor => tf.grad((x) => tf.sum(tf.square(tf.grad(loss)(x))))(x);
  const same = (actual: tf.Tensor, expected: unknown, what: string): void =>
    assertClose(actual.arraySync(), expected, TOLERANCE, `${what} ${text}`);
  // Plans are prepared in the first runs, and what they did is given again from the third on.
  for (let k = 0; k < 4; k++) same(tf.transpose(compiled(x) as tf.Tensor), wanted, `run ${k}`);
  same(tf.transpose(tf.tidy(() => all(x))), wanted, "eager");
  const slopes = tf.tidy(() => tf.grad(loss)(x)).arraySync();
  for (let k = 0; k < 4; k++) same(slope(x) as tf.Tensor, slopes, `gradient ${k}`);
  using tape = new tf.GradientTape();
  tape.watch(x);
  const taped = tf.sum(tf.mul(tf.square(compiled(x) as tf.Tensor), weights));
  same(tape.gradient(taped, x) as tf.Tensor, slopes, "taped");
  if (seed % 4 > 0) return;
  const bends = tf.function(bend)(x) as tf.Tensor;
  same(bends, tf.tidy(() => bend(x)).arraySync(), "second gradient");
}

for (const grows of [false, true]) {
  testOnDevices(
    `programs of lists${
      grows ? " that grow" : ""
    } give the same compiled, eagerly, as gradients and by numbers`,
    () => {
      const before = tf.memory().numTensors;
      for (let seed = 0; seed < PROGRAMS; seed++) check(seed, grows);
      assertEquals(tf.memory().numTensors, before);
    },
  );
}

const WIDTH = 64;
/** Makes the list that a loop writes `n` times. */
type Make = (n: number) => tf.TensorArray;
const MAKES: Readonly<Record<string, Make>> = {
  "of known size": (n) => new tf.TensorArray("float32", n, { elementShape: [WIDTH] }),
  "of a size that a tensor tells": (n) =>
    new tf.TensorArray("float32", tf.identity(tf.scalar(n, "int32")), { elementShape: [WIDTH] }),
  "that grows": () =>
    new tf.TensorArray("float32", 1, { elementShape: [WIDTH], dynamicSize: true }),
};
type Lists = (x: tf.Tensor, n: number, make: Make) => tf.Tensor;
function filled(
  n: number,
  write: (list: tf.TensorArray, i: tf.Tensor) => tf.TensorArray,
  make: Make = MAKES["of known size"],
): tf.Tensor {
  const [, list] = tf.whileLoop(
    (i) => tf.less(i, n),
    (i, list) => [tf.add(i, 1), write(list, i)],
    [tf.scalar(0, "int32"), make(n)],
  );
  return list.stack();
}
const before = (list: tf.TensorArray, i: tf.Tensor): tf.Tensor =>
  list.read(tf.maximum(tf.sub(i, 1), 0));
const writing: Lists = (x, n, make) => filled(n, (list, i) => list.write(i, tf.mul(x, x)), make);
/** Loops that write lists of `n` elements. */
const LOOPS: Readonly<Record<string, Lists>> = {
  "that writes": writing,
  "that reads and writes": (x, n, make) =>
    filled(n, (list, i) => list.write(i, tf.add(before(list, i), x)), make),
  "that writes in a condition": (x, n, make) =>
    filled(
      n,
      (list, i) =>
        tf.cond(tf.equal(tf.mod(i, 3), 0), () => list.write(i, x), () => list.write(i, tf.neg(x))),
      make,
    ),
  "that writes in a called function": (x, n, make) => {
    const put = tf.function((flow: tf.Tensor, i: tf.Tensor, x: tf.Tensor) =>
      tf.TensorArray.fromFlow(flow, make(n)).write(i, x).flow
    );
    return filled(
      n,
      (list, i) => tf.TensorArray.fromFlow(put(list.flow, i, x) as tf.Tensor, list),
      make,
    );
  },
  "with a gradient": (x, n, make) => tf.grad((x) => tf.sum(writing(x, n, make)))(x),
  "with a gradient through what it reads": (x, n, make) =>
    tf.grad((x) =>
      tf.sum(filled(n, (list, i) => list.write(i, tf.add(before(list, i), tf.mul(x, x))), make))
    )(x),
};

/** Counts the blocks as large as a list that a run allocates on the CPU. */
function blocksOf(bytes: number, run: () => void): number {
  const { heap } = (cpuDevice() as unknown as { engine: { heap: Heap } }).engine;
  let count = 0;
  const { alloc, allocAll } = heap;
  heap.alloc = (n) => {
    if (n >= bytes) count++;
    return alloc.call(heap, n);
  };
  heap.allocAll = (all) => {
    count += all.filter((n) => n >= bytes).length;
    return allocAll.call(heap, all);
  };
  try {
    run();
  } finally {
    heap.alloc = alloc;
    heap.allocAll = allocAll;
  }
  return count;
}
interface Heap {
  alloc(bytes: number): number;
  allocAll(bytes: readonly number[]): number[];
}

for (const [name, loop] of Object.entries(LOOPS)) {
  for (const [which, make] of Object.entries(MAKES)) {
    Deno.test(`a compiled loop ${name} copies a list ${which} a few times, however often it writes`, async () => {
      await tf.setBackend("cpu");
      using _scope = tf.scope();
      const x = tf.ones([WIDTH]);
      const counts = [10, 20, 40, 80].map((n) => {
        const f = tf.function((x: tf.Tensor) => loop(x, n, make)), run = (): unknown => f(x);
        run();
        run();
        // What grows lies in smaller blocks before.
        return blocksOf(4 * n * WIDTH / (which === "that grows" ? 4 : 1), run);
      });
      assertEquals(counts.every((n) => n <= 12), true, `${counts}`);
    });
  }
}

testOnGpu("a compiled loop copies a list only where an older one is read", () => {
  using _scope = tf.scope();
  const x = tf.ones([WIDTH]), n = 20;
  const list = (): tf.TensorArray => new tf.TensorArray("float32", n, { elementShape: [WIDTH] });
  const loop = (isRead: boolean) =>
    tf.function((x: tf.Tensor) =>
      tf.whileLoop(
        (i) => tf.less(i, n),
        (i, { now, older }) => {
          const next = now.write(i, tf.mul(x, x));
          return [tf.add(i, 1), { now: next, older: isRead ? now : older }];
        },
        [tf.scalar(0, "int32"), { now: list(), older: list() }],
      )[1].now.stack()
    );
  const [apart, copied] = [false, true].map((isRead) => {
    const f = loop(isRead), { counters } = gpuDevice()!;
    for (let k = 0; k < 3; k++) f(x);
    const before = counters.dispatches;
    assertEquals((tf.sum(f(x) as tf.Tensor)).item(), n * WIDTH);
    return counters.dispatches - before;
  });
  // The first write copies the list that was there before the loop.
  assertEquals(copied - apart, n - 1);
});

testOnDevices(
  "rows appended in a compiled loop share memory that doubles, and give their gradient",
  () => {
    using _scope = tf.scope();
    const x = tf.tensor([1, 2]), n = 9;
    const all = (x: tf.Tensor): tf.Tensor => {
      const [, rows] = tf.whileLoop(
        (i) => tf.less(i, n),
        (i, rows) => [tf.add(i, 1), appendRow(rows, tf.mul(x, tf.cast(i, "float32")))],
        [tf.scalar(0, "int32"), tf.zeros([0, 2])],
        { shapeInvariants: [undefined, [null, 2]] },
      );
      return rows;
    };
    const wanted = [...Array(n).keys()].map((i) => [i, 2 * i]);
    assertEquals(tf.function(all)(x).arraySync(), wanted);
    assertEquals(tf.tidy(() => all(x)).arraySync(), wanted);
    const slope = (x: tf.Tensor): tf.Tensor => tf.grad((x) => tf.sum(tf.square(all(x))))(x);
    const sums = 2 * Array.from({ length: n }, (_, i) => i * i).reduce((a, b) => a + b, 0);
    assertEquals(tf.function(slope)(x).arraySync(), [sums, 2 * sums]);
  },
);

for (const [which, make] of Object.entries(MAKES)) {
  Deno.test(`a loop that fails in the middle of its writes to a list ${which} leaves no tensors, and runs again`, async () => {
    await tf.setBackend("cpu");
    using x = tf.ones([WIDTH]);
    const fill = tf.function((x: tf.Tensor, last: tf.Tensor) =>
      filled(
        6,
        (list, i) =>
          list.write(tf.where(tf.equal(i, 4), last, i), tf.mul(x, tf.cast(i, "float32"))),
        make,
      )
    );
    const slope = tf.function((x: tf.Tensor, last: tf.Tensor) =>
      tf.grad((x) => tf.sum(fill(x, last) as tf.Tensor))(x)
    );
    const good = tf.scalar(4, "int32"), bad = tf.scalar(-9, "int32"), before = tf.memory();
    for (let k = 0; k < 3; k++) {
      for (const f of [fill, slope]) {
        assertThrows(() => f(x, bad), tf.errors.OpError, "9");
        const y = f(x, good) as tf.Tensor;
        assertEquals(tf.tidy(() => tf.sum(y).item()), 15 * WIDTH);
        y.dispose();
      }
    }
    const { numTensors, numBytes } = tf.memory();
    assertEquals([numTensors, numBytes], [before.numTensors, before.numBytes]);
    good.dispose();
    bad.dispose();
  });
}
