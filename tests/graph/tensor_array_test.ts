/** tf.TensorArray: sizes, shapes that are learnt from what is written, growth, and what is refused. */

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

testOnDevices("a TensorArray is as long as it was made, or as what was put into it", () => {
  tf.tidy(() => {
    const empty = new tf.TensorArray("float32");
    assertEquals([empty.size().item(), empty.elementShape, empty.dynamicSize], [0, null, false]);
    assertEquals(new tf.TensorArray("int32", 3).size().item(), 3);
    assertEquals(new tf.TensorArray("int32", tf.scalar(3, "int32")).size().item(), 3);
    const rows = new tf.TensorArray("float32", 3, { elementShape: [2] });
    assertEquals([rows.size().item(), rows.elementShape], [3, [2]]);
    assertEquals(rows.stack().arraySync(), [[0, 0], [0, 0], [0, 0]]);
    assertEquals(rows.unstack([[1, 2], [3, 4]]).size().item(), 2);
    assertThrows(() => empty.flow, tf.ValueError, "nothing was written yet, pass { elementShape }");
    assertThrows(() => empty.stack(), tf.ValueError, "The shape of the elements");
  });
});

testOnDevices("a TensorArray learns the shape of its elements from the first", () => {
  tf.tidy(() => {
    for (const size of [2, tf.scalar(2, "int32")]) {
      const list = new tf.TensorArray("float32", size).write(1, [5, 6]);
      assertEquals([list.elementShape, list.stack().arraySync()], [[2], [[0, 0], [5, 6]]]);
      assertEquals(list.read(1).arraySync(), [5, 6]);
      assertEquals(list.concat().arraySync(), [0, 0, 5, 6]);
      assertEquals(list.gather([1, 1]).arraySync(), [[5, 6], [5, 6]]);
    }
    const scattered = new tf.TensorArray("int32", 3).scatter([2, 0], [7, 8]);
    assertEquals(scattered.stack().arraySync(), [8, 0, 7]);
    assertThrows(() => scattered.concat(), tf.ValueError, "Cannot concat a TensorArray of scalars");
    const squares = new tf.TensorArray("float32", 2).unstack(tf.ones([2, 3, 4]));
    assertEquals(squares.concat().shape, [6, 4]);
  });
});

testOnDevices("a TensorArray grows where it may, and only there", () => {
  tf.tidy(() => {
    const growing = new tf.TensorArray("float32", 0, { dynamicSize: true });
    const two = growing.write(0, 1).write(2, 3);
    assertEquals([two.dynamicSize, two.stack().arraySync()], [true, [1, 0, 3]]);
    assertEquals(two.scatter([4, 1], [9, 8]).stack().arraySync(), [1, 8, 3, 0, 9]);
    const fixed = new tf.TensorArray("float32", 2);
    const refusals: [() => unknown, string][] = [
      [
        () => fixed.write(2, 1),
        "Tried to write to index 2 but array is not resizeable and size is: 2",
      ],
      [() => fixed.write(-1, 1), "Writing to negative indices (index -1) is not allowed"],
      [() => two.read(3), "Tried to read from index 3 but array size is: 3"],
      [() => two.read(-2), "Reading from negative indices (index -2) is not allowed"],
    ];
    for (const [call, says] of refusals) assertThrows(call, tf.errors.OutOfRangeError, says);
    const rows = new tf.TensorArray("float32", 2, { elementShape: [2] });
    const shape = "Incompatible shape for value ((3,)), expected ((2,))";
    assertThrows(() => rows.write(0, [1, 2, 3]), tf.ValueError, shape);
    assertThrows(
      () => rows.scatter([0], [[1, 2, 3]]),
      tf.ValueError,
      "Incompatible shape for value",
    );
    const other = tf.scalar(1, "int32");
    assertThrows(
      () => fixed.write(0, other),
      TypeError,
      "float32 but Op is trying to write dtype int32",
    );
    assertThrows(() => new tf.TensorArray("float32", -1), tf.ValueError, "of -1 elements");
    assertThrows(() => new tf.TensorArray("float32", 1.5), tf.ValueError, "of 1.5 elements");
  });
});

testOnDevices("a TensorArray takes indices of int32 and int64 alone", () => {
  tf.tidy(() => {
    const list = new tf.TensorArray("float32", 2).write(tf.scalar(1, "int64"), 5);
    assertEquals(list.read(tf.scalar(1, "int64")).arraySync(), 5);
    for (const dtype of ["float32", "bool", "uint8"] as const) {
      const index = tf.cast(tf.scalar(1), dtype);
      assertThrows(() => list.read(index), TypeError, dtype);
      assertThrows(() => list.write(index, 7), TypeError, dtype);
    }
  });
});

testOnDevices(
  "a TensorArray frees its elements when it is closed, and is read in graphs",
  async () => {
    const before = tf.memory().numTensors;
    const list = new tf.TensorArray("float32", 2).unstack([1, 2]);
    list.close();
    new tf.TensorArray("float32", 2).close();
    assertEquals(tf.memory().numTensors, before);
    const graph = new tf.Graph();
    const fetches = graph.asDefault(() => {
      const x = tf.placeholder("float32", [null, null], "x");
      const rows = tf.TensorArray.fromFlow(x);
      return [rows.size(), rows.concat(), rows.read(1)];
    });
    await using session = new tf.Session({ graph });
    const [size, all, row] = await session.run(fetches, { feeds: { "x:0": [[1, 2], [3, 4]] } }) as [
      number,
      tf.NdArray,
      tf.NdArray,
    ];
    assertEquals([size, all.toArray(), row.toArray()], [2, [1, 2, 3, 4], [3, 4]]);
  },
);
