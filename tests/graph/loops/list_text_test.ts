/** Lists in eager code: the ones whose elements lie apart, and what reads and writes of each kind of index give. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";

const list = (size = 3) => new tf.TensorArray("float32", size, { elementShape: [] });

Deno.test("a list keeps its elements apart where an index is known", () => {
  const apart = "<tf.TensorArray 3 of float32[]>", joined = "<tf.TensorArray float32[]>";
  const int = (value: number | number[]) => tf.tensor(value, undefined, "int32");
  const cases: [string, () => tf.TensorArray, string][] = [
    ["new", () => list(), apart],
    ["a number", () => list().write(1, 5), apart],
    ["a host array", () => list().write(new tf.NdArray("int32", [], Int32Array.of(1)), 5), apart],
    ["a tensor", () => list().write(int(1), 5), apart],
    ["unstacked", () => list().unstack([1, 2, 3]), joined],
    ["unstacked, then written", () => list().unstack([1, 2, 3]).write(0, 5), apart],
    ["scattered", () => list().scatter([0, 2], [1, 2]), joined],
  ];
  tf.tidy(() => {
    for (const [what, make, text] of cases) assertEquals(make().toString(), text, what);
    const traced: string[] = [];
    tf.function(() => {
      traced.push(list().toString(), list().write(1, 5).toString());
      return tf.scalar(1);
    })();
    assertEquals(traced, [joined, joined]);
  });
});

Deno.test("a list's elements are those that were written, and zeros", () => {
  tf.tidy(() => {
    const written = list().write(1, 5), again = written.write(1, 6).write(0, 7);
    assertEquals(written.stack().arraySync(), [0, 5, 0]);
    assertEquals(again.stack().arraySync(), [7, 6, 0]);
    assertEquals([0, 1, 2].map((i) => again.read(i).item()), [7, 6, 0]);
    assertEquals(again.gather([2, 1]).arraySync(), [0, 6]);
    assertEquals(again.size().item(), 3);
    assertEquals(list(0).stack().shape, [0]);
    assertThrows(() => again.read(3), tf.errors.OutOfRangeError, "array size is: 3");
    assertThrows(
      () => again.write(3, 1),
      tf.errors.OutOfRangeError,
      "not resizeable and size is: 3",
    );
    assertThrows(
      () => again.write(-1, 1),
      tf.errors.OutOfRangeError,
      "negative indices (index -1)",
    );
    const grown = new tf.TensorArray("float32", 0, { dynamicSize: true, elementShape: [] });
    assertEquals(grown.write(2, 4).stack().arraySync(), [0, 0, 4]);
    assertThrows(() => grown.read(0), tf.errors.OutOfRangeError, "array size is: 0");
  });
});
