import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

testOnDevices("ops on variables leave nothing but their results", () => {
  using v = tf.variable([1, 2]), w = tf.variable([3, 4]);
  const before = tf.memory().numTensors;
  tf.mul(v, w).dispose();
  tf.cast(v, "float32").dispose();
  v.assign(w);
  v.assignAdd(v);
  v.assignSub([1, 1]);
  assertEquals([v.arraySync(), w.arraySync()], [[5, 7], [3, 4]]);
  assertEquals(tf.memory().numTensors, before);
});

testOnDevices("what was computed or read from a variable outlives its next value", () => {
  using v = tf.variable([1, 2]);
  using column = tf.reshape(v, [2, 1]);
  using value = v.readValue();
  using tape = new tf.GradientTape();
  const y = tf.mul(v, v);
  v.assign([7, 8]);
  assertEquals([column.arraySync(), value.arraySync(), v.arraySync()], [[[1], [2]], [1, 2], [
    7,
    8,
  ]]);
  assertEquals((tape.gradient(y, v) as tf.Tensor).arraySync(), [2, 4]);
});

testOnDevices("nobody but the variable frees its value", () => {
  const v = tf.variable([1, 2]);
  tf.tidy(() => {
    tf.add(v, 1);
    tf.identity(v).dispose();
  });
  assertEquals(v.arraySync(), [1, 2]);
  v.dispose();
  assertThrows(() => tf.add(v, 1), tf.errors.FailedPreconditionError, "has been deleted");
});

testOnDevices("a variable's name is its own until it is disposed", () => {
  const v = tf.variable([1], true, "only");
  const before = tf.memory().numTensors;
  assertThrows(
    () => tf.variable([2], true, "only"),
    tf.ValueError,
    "Cannot make variable 'only': a variable of that name was already registered, dispose() it first",
  );
  assertEquals([v.arraySync(), tf.memory().numTensors], [[1], before]);
  // Default names skip those that are taken.
  using first = tf.variable([0]);
  const next = `Variable_${Number(/_(\d+)$/.exec(first.name)?.[1] ?? 0) + 1}`;
  using taken = tf.variable([0], true, next);
  using second = tf.variable([0]);
  assertEquals(new Set([first.name, taken.name, second.name]).size, 3);
  v.dispose();
  using again = tf.variable([2], true, "only");
  assertEquals(again.name, "only");
});

/** A variable that alone holds its memory, as no tensor is left of what it was given. */
function alone(value: number[] | number[][], dtype: tf.DType): tf.Variable {
  using zeros = tf.zeros(Array.isArray(value[0]) ? [value.length, 2] : [value.length], dtype);
  const v = tf.variable(zeros);
  v.assign(value);
  return v;
}

const TABLE = [[1, 2], [3, 4], [5, 6]];

/** Changes of rows that read the variable itself, the values before and after. */
const OWN_ROWS: Readonly<
  Record<string, readonly [number[] | number[][], unknown, (v: tf.Variable) => void]>
> = {
  "rows in another order": [TABLE, [[5, 6], [3, 4], [1, 2]], (v) => {
    v.scatterUpdate(new tf.IndexedSlices(v, tf.tensor([2, 1, 0], [3], "int32")));
  }],
  "rows added in another order": [TABLE, [[6, 8], [6, 8], [6, 8]], (v) => {
    v.scatterAdd(new tf.IndexedSlices(v, tf.tensor([2, 1, 0], [3], "int32")));
  }],
  "rows added to one row": [TABLE, [[10, 14], [3, 4], [5, 6]], (v) => {
    v.scatterAdd(new tf.IndexedSlices(v, tf.tensor([0, 0, 0], [3], "int32")));
  }],
  "rows taken away in another order": [TABLE, [[-4, -4], [0, 0], [4, 4]], (v) => {
    v.scatterSub(new tf.IndexedSlices(v, tf.tensor([2, 1, 0], [3], "int32")));
  }],
  "indices": [[1, 2, 0], [5, 3, 4], (v) => {
    v.scatterUpdate(new tf.IndexedSlices(tf.tensor([3, 4, 5], [3], v.dtype), tf.cast(v, "int32")));
  }],
  "rows and indices": [[1, 2, 0], [0, 1, 2], (v) => {
    v.scatterUpdate(new tf.IndexedSlices(v, tf.cast(v, "int32")));
  }],
};

for (const [what, [before, after, change]] of Object.entries(OWN_ROWS)) {
  testOnDevices(`a variable's own ${what} change it as they were before`, async () => {
    for (const dtype of ["int32", "float32", "float16"] as const) {
      const compiled = (v: tf.Variable): void => {
        tf.function(() => (change(v), tf.identity(v)))();
      };
      const given = (v: tf.Variable): void => {
        tf.function((x: tf.Tensor) => (change(v), tf.mul(x, tf.identity(v))))(v);
      };
      for (const run of [change, compiled, given]) {
        using v = alone(before, dtype);
        run(v);
        assertEquals(await v.array(), after, dtype);
      }
    }
  });
}
