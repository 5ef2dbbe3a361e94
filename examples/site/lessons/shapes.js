// Shapes: elements stay where they are or move, and no loop is written.
import * as tf from "@weft/weft";

const table = tf.reshape(tf.range(0, 24), [2, 3, 4]);
console.log("shape", table.shape, "rank", table.rank);
console.log("a slice", await tf.slice(table, [0, 1, 1], [2, 1, 2]).array());
console.log(
  "every second column",
  await tf.stridedSlice(table, [0, 0, 0], [1, 3, 4], [1, 1, 2]).array(),
);

// Rows are picked by their numbers, and put together along an axis.
const rows = tf.reshape(table, [6, 4]);
console.log("rows 5 and 0", await tf.gather(rows, [5, 0]).array());
console.log("joined", (await tf.concat([rows, rows], 1).array())[0]);

// einsum names axes: what is named twice is multiplied, what is left out is summed.
const a = tf.tensor([[1, 2], [3, 4]]);
console.log("trace", await tf.einsum("ii->", a).array());
console.log("outer product of rows", (await tf.einsum("bi,bj->bij", a, a).array())[1]);
