// Images are tensors [rows, columns, channels]; a convolution looks at each place's neighbours.
import * as tf from "@weft/weft";

// A disc of ones on a ground of zeros.
const SIDE = 17;
const disc = tf.tidy(() => {
  const line = tf.linspace(-1, 1, SIDE);
  const far = tf.add(tf.square(tf.expandDims(line, 0)), tf.square(tf.expandDims(line, 1)));
  return tf.cast(tf.less(far, 0.5), "float32");
});

async function draw(image) {
  const rows = await image.array();
  for (const row of rows) {
    console.log(row.map((v) => " .:oO@"[Math.min(5, Math.round(v * 5))]).join(" "));
  }
}
console.log("a disc of", (await tf.sum(disc).data())[0], "pixels");
await draw(disc);

// Laplace's filter is zero where nothing changes.
const filter = tf.reshape(tf.tensor([0, -1, 0, -1, 4, -1, 0, -1, 0]), [3, 3, 1, 1]);
const batch = tf.reshape(disc, [1, SIDE, SIDE, 1]);
const edges = tf.conv2d(batch, filter, 1, "same");
console.log("its edge");
await draw(tf.clipByValue(tf.reshape(edges, [SIDE, SIDE]), 0, 1));

const small = tf.image.resizeBilinear(batch, [7, 7]);
console.log("smaller");
await draw(tf.reshape(small, [7, 7]));
