import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { noise } from "./values.ts";

type Numbers = Float32Array;
const random = (shape: number[], seed: number): tf.Tensor =>
  tf.tensor(noise("float32", shape, seed));

/** Convolution of `[h, w, c]` by `[fh, fw, c, o]` in float64, element by element. */
function reference(
  x: tf.Tensor,
  f: tf.Tensor,
  stride: number,
  dilation: number,
  [top, bottom, left, right]: readonly number[],
): { shape: number[]; values: number[] } {
  const [h, w, c] = x.shape, [fh, fw, , o] = f.shape;
  const rows = Math.floor((h + top + bottom - ((fh - 1) * dilation + 1)) / stride) + 1;
  const columns = Math.floor((w + left + right - ((fw - 1) * dilation + 1)) / stride) + 1;
  const a = x.dataSync() as Numbers, b = f.dataSync() as Numbers, values: number[] = [];
  for (let y = 0; y < rows; y++) {
    for (let z = 0; z < columns; z++) {
      for (let k = 0; k < o; k++) {
        let s = 0;
        for (let i = 0; i < fh; i++) {
          for (let j = 0; j < fw; j++) {
            const p = y * stride + i * dilation - top, q = z * stride + j * dilation - left;
            if (p < 0 || p >= h || q < 0 || q >= w) continue;
            for (let n = 0; n < c; n++) {
              s += a[(p * w + q) * c + n] * b[((i * fw + j) * c + n) * o + k];
            }
          }
        }
        values.push(s);
      }
    }
  }
  return { shape: [rows, columns, o], values };
}

function close(actual: tf.Tensor, wanted: ArrayLike<number>, tolerance = 1e-5): void {
  const data = actual.dataSync() as Numbers;
  assertEquals(data.length, wanted.length);
  for (let i = 0; i < data.length; i++) assertAlmostEquals(data[i], wanted[i], tolerance);
}

testOnDevices("conv2d() strides, dilates and pads", () => {
  const x = random([7, 9, 3], 1), f = random([3, 2, 3, 4], 2);
  const none = [0, 0, 0, 0];
  const cases: [tf.Tensor, ReturnType<typeof reference>][] = [
    [tf.conv2d(x, f, 1, "valid"), reference(x, f, 1, 1, none)],
    [tf.conv2d(x, f, 2, "valid"), reference(x, f, 2, 1, none)],
    [tf.conv2d(x, f, 1, "same"), reference(x, f, 1, 1, [1, 1, 0, 1])],
    [tf.conv2d(x, f, 1, 2), reference(x, f, 1, 1, [2, 2, 2, 2])],
    [tf.conv2d(x, f, 1, "valid", "NHWC", 2), reference(x, f, 1, 2, none)],
    [tf.conv2d(x, f, 2, [[0, 0], [1, 0], [2, 3], [0, 0]]), reference(x, f, 2, 1, [1, 0, 2, 3])],
  ];
  for (const [actual, { shape, values }] of cases) {
    assertEquals(actual.shape, shape);
    close(actual, values);
  }
});

testOnDevices("conv2d() gives the same with channels first", () => {
  const x = random([2, 5, 6, 3], 1), f = random([3, 3, 3, 4], 2);
  const last = tf.conv2d(x, f, 1, "same");
  const first = tf.conv2d(tf.transpose(x, [0, 3, 1, 2]), f, 1, "same", "NCHW");
  assertEquals(first.shape, [2, 4, 5, 6]);
  close(tf.transpose(first, [0, 2, 3, 1]), last.dataSync() as Numbers);
});

testOnDevices("conv2dTranspose() is the adjoint of conv2d()", () => {
  for (const [stride, pad] of [[1, "same"], [2, "same"], [2, "valid"], [3, 1]] as const) {
    const x = random([1, 8, 7, 3], 1), f = random([3, 2, 3, 4], 2);
    const y = tf.conv2d(x, f, stride, pad);
    const g = random(y.shape, 3);
    const back = tf.conv2dTranspose(g, f, [1, 8, 7, 3], stride, pad);
    const left = tf.sum(tf.mul(y, g)).item(), right = tf.sum(tf.mul(x, back)).item();
    assertAlmostEquals(left, right, 1e-4);
  }
});

testOnDevices("windows go over batches of unknown size", () => {
  const x = random([2, 4, 5, 3], 1), filter = random([2, 2, 4, 3], 2);
  const back = (x: tf.Tensor) =>
    tf.conv2dTranspose(x as tf.Tensor4D, filter as tf.Tensor4D, [8, 10, 4], 2, "same");
  const dilated = (x: tf.Tensor) =>
    tf.dilation2d(x as tf.Tensor4D, random([2, 2, 3], 3) as tf.Tensor3D, 1, "same");
  for (const f of [back, dilated]) {
    const staticShapes: unknown[] = [];
    const g = tf.function((x: tf.Tensor) => {
      const y = f(x);
      staticShapes.push(y.staticShape);
      return y;
    }, { inputSignature: [tf.TensorSpec([null, 4, 5, null])] });
    close(g(x) as tf.Tensor, f(x).dataSync() as Numbers);
    assertEquals(staticShapes, [f === back ? [null, null, null, null] : [null, 4, 5, 3]]);
  }
});

testOnDevices("depthwiseConv2d() convolves each channel, separableConv2d() mixes them", () => {
  const x = random([6, 6, 4], 1), f = random([3, 3, 4, 2], 2), mix = random([1, 1, 8, 3], 3);
  const y = tf.depthwiseConv2d(x, f, 1, "same");
  assertEquals(y.shape, [6, 6, 8]);
  for (let c = 0; c < 4; c++) {
    const one = tf.conv2d(
      x.slice([0, 0, c], [6, 6, 1]),
      f.slice([0, 0, c, 0], [3, 3, 1, 2]),
      1,
      "same",
    );
    close(y.slice([0, 0, 2 * c], [6, 6, 2]), one.dataSync() as Numbers);
  }
  close(
    tf.separableConv2d(x, f, mix, 1, "same"),
    tf.conv2d(y, mix, 1, "valid").dataSync() as Numbers,
  );
});

testOnDevices("conv1d() and conv3d() agree with conv2d() on flat images", () => {
  const x = random([9, 4], 1), f = random([3, 4, 5], 2);
  const flat = tf.conv2d(x.reshape([1, 9, 4]), f.reshape([1, 3, 4, 5]), [1, 2], "same");
  close(tf.conv1d(x, f, 2, "same"), flat.dataSync() as Numbers);
  close(
    tf.conv3d(x.reshape([1, 1, 9, 4]), f.reshape([1, 1, 3, 4, 5]), [1, 1, 2], "same"),
    flat.dataSync() as Numbers,
  );
});

testOnDevices("convolutions and poolings of one image leave only their result", () => {
  const image = random([6, 6, 3], 1), batch = random([1, 6, 6, 3], 1), row = random([9, 4], 1);
  const filter = random([2, 2, 3, 2], 2), mix = random([1, 1, 6, 2], 3), f = random([3, 4, 5], 2);
  const turned = random([2, 2, 2, 3], 4), structure = random([2, 2, 3], 5);
  const calls: (() => tf.Tensor)[] = [
    () => tf.conv1d(row, f, 1, "same"),
    () => tf.conv2d(image, filter, 1, "same"),
    () => tf.conv2dTranspose(image, turned, [6, 6, 2], 1, "same"),
    () => tf.depthwiseConv2d(image, filter, 1, "same"),
    () => tf.separableConv2d(batch, filter, mix, 1, "same"),
    () => tf.dilation2d(image, structure, 1, "same"),
    () => tf.maxPool(image, 2, 1, "same"),
  ];
  for (const call of calls) {
    const before = tf.memory().numTensors;
    call().dispose();
    assertEquals(tf.memory().numTensors, before, String(call));
  }
});

testOnDevices("fused.conv2d() is convolution, bias and activation", () => {
  const x = random([1, 6, 6, 4], 1), filter = random([3, 3, 4, 8], 2), bias = random([8], 3);
  for (const stride of [1, 2]) {
    const plain = tf.relu(tf.add(tf.conv2d(x, filter, stride, "same"), bias));
    const options = { x, filter, strides: stride, pad: "same", bias, activation: "relu" } as const;
    close(tf.fused.conv2d(options), plain.dataSync() as Numbers);
  }
});

testOnDevices("gradients of a dilated convolution are those of its parts", () => {
  const x = random([1, 7, 7, 2], 1), f = random([2, 2, 2, 3], 2);
  // A dilated filter is a larger one with zeros in the gaps.
  const spread = (g: tf.Tensor): tf.Tensor => tf.pad(g, [[0, 0], [0, 0], [0, 0], [0, 0]]);
  const [dx] = tf.grads((a, b) => tf.sum(tf.square(tf.conv2d(a, b, 1, "valid", "NHWC", 2))))([
    x,
    f,
  ]);
  const wide = tf.concat([
    tf.concat([
      f.slice([0, 0, 0, 0], [1, 1, 2, 3]),
      tf.zeros([1, 1, 2, 3]),
      f.slice([0, 1, 0, 0], [1, 1, 2, 3]),
    ], 1),
    tf.zeros([1, 3, 2, 3]),
    tf.concat([
      f.slice([1, 0, 0, 0], [1, 1, 2, 3]),
      tf.zeros([1, 1, 2, 3]),
      f.slice([1, 1, 0, 0], [1, 1, 2, 3]),
    ], 1),
  ], 0);
  const [wanted] = tf.grads((a, b) => tf.sum(tf.square(tf.conv2d(a, b, 1, "valid"))))([
    x,
    spread(wide),
  ]);
  close(dx, wanted.dataSync() as Numbers, 1e-4);
});

Deno.test("conv2d() names what does not fit", () => {
  const x = tf.zeros([5, 5, 3]);
  assertThrows(
    () => tf.conv2d(x, tf.zeros([3, 3, 2, 4]), 1, "same"),
    tf.ValueError,
    "depth of input",
  );
  assertThrows(() => tf.conv2d(x, tf.zeros([7, 7, 3, 4]), 1, "valid"), tf.ValueError, "negative");
  assertThrows(
    () => tf.conv2d(x, tf.zeros([3, 3, 3, 4]), 2, "same", "NHWC", 2),
    tf.ValueError,
    "strides or dilations",
  );
  assertThrows(
    () => tf.conv2d(x, tf.zeros([3, 3, 3, 4]), 1, "full" as "same"),
    tf.ValueError,
    "padding",
  );
});

Deno.test("conv2d() infers what partial shapes allow", () => {
  new tf.Graph().asDefault(() => {
    const x = tf.placeholder("float32", [null, 8, null, 3]);
    assertEquals(tf.conv2d(x, tf.zeros([3, 3, 3, 4]), 2, "same").staticShape, [null, 4, null, 4]);
  });
});

testOnDevices(
  "fused.conv2d() is the convolution, a bias and an activation, in either layout",
  () => {
    const draw = (shape: number[]) => tf.randomUniform(shape, -1, 1, "float32", 6);
    const filter = draw([2, 2, 3, 4]) as tf.Tensor, x = draw([2, 5, 5, 3]);
    for (const dataFormat of ["NHWC", "NCHW"] as const) {
      const first = dataFormat === "NCHW";
      const image = first ? tf.transpose(x, [0, 3, 1, 2]) : x;
      const plain = tf.conv2d(image, filter, 1, "valid", dataFormat);
      // Along the channels, wherever they are.
      const along = (t: tf.Tensor) => first && t.size > 1 ? tf.reshape(t, [-1, 1, 1]) : t;
      for (const bias of [undefined, draw([4]), draw([1])]) {
        const sum = bias ? tf.add(plain, along(bias)) : plain;
        for (const alpha of [null, draw([4]), draw([1])]) {
          const fused = tf.fused.conv2d({
            ...{ x: image, filter, strides: 1, pad: "valid", dataFormat },
            ...(bias ? { bias } : {}),
            ...(alpha ? { activation: "prelu", preluActivationWeights: alpha } : {}),
          });
          const wanted = alpha ? tf.prelu(sum, along(alpha)) : sum, values = wanted.dataSync();
          assertEquals(fused.shape, wanted.shape);
          (fused.dataSync() as Float32Array).forEach((v, i) =>
            assertAlmostEquals(Number(v), Number(values[i]), 1e-5)
          );
        }
      }
    }
  },
);

testOnDevices("conv1d() pads its one axis by a number, by pairs or by name", () => {
  const x = tf.tensor([[1], [2], [3]]), filter = tf.tensor([[[1]], [[10]]]);
  const flat = (pad: unknown) => tf.conv1d(x, filter, 1, pad as "same").arraySync();
  assertEquals(flat("valid"), [[21], [32]]);
  assertEquals(flat("same"), [[21], [32], [3]]);
  assertEquals(flat(0), [[21], [32]]);
  assertEquals(flat(1), [[10], [21], [32], [3]]);
  assertEquals(flat([[0, 0], [1, 0], [0, 0]]), [[10], [21], [32]]);
  assertEquals(flat([[0, 0], [0, 0], [0, 1], [0, 0]]), [[21], [32], [3]]);
  const batch = tf.stack([x, tf.mul(x, 2)]);
  assertEquals(tf.conv1d(batch, filter, 2, "valid").arraySync(), [[[21]], [[42]]]);
});
