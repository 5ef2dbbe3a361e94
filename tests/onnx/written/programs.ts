/** Whole programs that are written as ONNX. */
import * as tf from "@weft/weft";
import type { Case } from "./cases.ts";

type Spec = readonly [shape: readonly (number | null)[], dtype?: tf.DType];

interface Program {
  readonly specs: Readonly<Record<string, Spec>>;
  readonly feeds: Readonly<Record<string, tf.NdArray>>;
  readonly body: (...xs: tf.Tensor[]) => unknown;
  readonly opset?: number;
}

/** Numbers that look drawn, and are the same each time. */
function drawn(shape: readonly number[], scale = 1): tf.NdArray {
  const size = shape.reduce((n, d) => n * d, 1);
  const data = Float32Array.from({ length: size }, (_, i) => scale * Math.sin(12.9898 * (i + 1)));
  return new tf.NdArray("float32", shape, data);
}

function ints(shape: readonly number[], most: number): tf.NdArray {
  const size = shape.reduce((n, d) => n * d, 1);
  return new tf.NdArray("int32", shape, Int32Array.from({ length: size }, (_, i) => i * 7 % most));
}

const variables = new Map<string, tf.Variable>();

/** Returns the variable of a name, made at its first use. */
function weight(name: string, shape: readonly number[], scale = 0.3): tf.Variable {
  let v = variables.get(name);
  if (v === undefined) {
    variables.set(name, v = tf.variable(tf.tensor(drawn(shape, scale)), true, name));
  }
  return v;
}

function dense(x: tf.Tensor, name: string, from: number, to: number): tf.Tensor {
  return tf.add(tf.matMul(x, weight(`${name}/kernel`, [from, to])), weight(`${name}/bias`, [to]));
}

function convNet(x: tf.Tensor): tf.Tensor {
  let y = tf.relu(
    tf.add(tf.conv2d(x, weight("c1", [3, 3, 1, 4]), 1, "same") as tf.Tensor, weight("b1", [4])),
  );
  y = tf.maxPool(y, 2, 2, "valid") as tf.Tensor;
  y = tf.batchNorm(
    tf.conv2d(y, weight("c2", [3, 3, 4, 8]), 2, "same") as tf.Tensor,
    weight("mean", [8], 0.1),
    tf.abs(weight("variance", [8], 2)),
    weight("offset", [8]),
    weight("scale", [8], 1),
  ) as tf.Tensor;
  y = tf.relu6(tf.depthwiseConv2d(y, weight("d", [3, 3, 8, 1]), 1, "same") as tf.Tensor);
  y = tf.add(y, tf.avgPool(y, 3, 1, "same") as tf.Tensor);
  return tf.softmax(dense(tf.reshape(y, [-1, 4 * 4 * 8]), "head", 128, 10));
}

function transformer(ids: tf.Tensor, mask: tf.Tensor): tf.Tensor {
  const width = 16, heads = 4;
  let x = tf.gather(weight("embedding", [50, width], 1), ids) as tf.Tensor;
  const [batch, length] = [0, 1].map((i) => tf.gather(tf.shape(ids), i) as tf.Tensor);
  const split = (t: tf.Tensor): tf.Tensor =>
    tf.transpose(
      tf.reshape(
        t,
        tf.stack([
          batch,
          length,
          tf.scalar(heads, "int32"),
          tf.scalar(width / heads, "int32"),
        ]) as unknown as number[],
      ),
      [0, 2, 1, 3],
    );
  const project = (name: string): tf.Tensor =>
    tf.einsum("btc,cd->btd", x, weight(name, [width, width], 1));
  const seen = tf.expandDims(tf.expandDims(tf.notEqual(mask, 0), 1), 1);
  const scores = tf.div(tf.matMul(split(project("q")), split(project("k")), false, true), 2);
  const attended = tf.matMul(
    tf.softmax(tf.where(seen, scores, tf.scalar(-1e9))),
    split(project("v")),
  );
  const joined = tf.reshape(
    tf.transpose(attended, [0, 2, 1, 3]),
    tf.stack([batch, length, tf.scalar(width, "int32")]) as unknown as number[],
  );
  x = tf.layerNorm(tf.add(x, joined), weight("ln/scale", [width], 1), weight("ln/offset", [width]));
  const hidden = tf.gelu(tf.einsum("btc,cd->btd", x, weight("up", [width, 32])));
  x = tf.add(x, tf.einsum("btd,dc->btc", hidden, weight("down", [32, width])));
  return tf.mean(x, 1);
}

function lstm(x: tf.Tensor): readonly tf.Tensor[] {
  const units = 5;
  const kernel = weight("lstm/kernel", [3, 4 * units]),
    state = weight("lstm/state", [units, 4 * units]);
  const steps = tf.gather(tf.shape(x), 1) as tf.Tensor;
  const batch = tf.gather(tf.shape(x), 0) as tf.Tensor;
  const zeros = tf.fill(tf.stack([batch, tf.scalar(units, "int32")]) as unknown as number[], 0);
  const [, h, c] = tf.whileLoop(
    (t) => tf.less(t, steps),
    (t, h, c) => {
      const gates = tf.add(tf.matMul(tf.gather(x, t, 1) as tf.Tensor, kernel), tf.matMul(h, state));
      const [i, f, g, o] = tf.split(gates, 4, 1);
      const next = tf.add(tf.mul(tf.sigmoid(f), c), tf.mul(tf.sigmoid(i), tf.tanh(g)));
      return [tf.add(t, 1), tf.mul(tf.sigmoid(o), tf.tanh(next)), next];
    },
    [tf.scalar(0, "int32"), zeros, zeros],
    { shapeInvariants: [undefined, [null, units], [null, units]] as never },
  ) as unknown as tf.Tensor[];
  return [h, c];
}

function detection(image: tf.Tensor): Record<string, tf.Tensor> {
  const small = tf.image.resizeBilinear(image, [8, 8], false, true) as tf.Tensor;
  const found = tf.reshape(
    tf.conv2d(small, weight("det", [1, 1, 3, 5], 2), 1, "valid") as tf.Tensor,
    [-1, 5],
  );
  const [centers, sizes, scores] = tf.split(found, [2, 2, 1], 1);
  const half = tf.div(tf.abs(sizes), 2);
  const boxes = tf.concat([tf.sub(centers, half), tf.add(centers, half)], 1);
  const score = tf.sigmoid(tf.reshape(scores, [-1]));
  const kept = tf.image.nonMaxSuppression(boxes, score, 10, 0.5, 0.3);
  return {
    boxes: tf.gather(boxes, kept) as tf.Tensor,
    scores: tf.gather(score, kept) as tf.Tensor,
  };
}

/** Filters of all kinds, pools of both, and the gradients of their weights and images. */
function convTraining(image: tf.Tensor): readonly tf.Tensor[] {
  const weights = [
    weight("step/c", [3, 3, 2, 4]),
    weight("step/wide", [3, 2, 4, 6]),
    weight("step/depth", [2, 2, 6, 2]),
  ] as const;
  const loss = (x: tf.Tensor): tf.Tensor => {
    let y = tf.tanh(tf.conv2d(x, weights[0], 2, "same") as tf.Tensor);
    y = tf.tanh(tf.conv2d(y, weights[1], 1, "valid", "NHWC", [2, 1]) as tf.Tensor);
    y = tf.maxPool(y, 2, 1, "same") as tf.Tensor;
    y = tf.depthwiseConv2d(y, weights[2], 1, "same") as tf.Tensor;
    y = tf.avgPool(y, 3, 2, "same") as tf.Tensor;
    y = tf.image.resizeBilinear(y, [5, 3], false, true) as tf.Tensor;
    return tf.sum(tf.square(tf.slice(y, [0, 1, 0, 0], [-1, 3, -1, -1])));
  };
  return tf.gradients(loss(image), [image, ...weights]) as readonly tf.Tensor[];
}

/** A logarithmic spectrogram in bands, and the samples that its spectrum gives back. */
function spectrogram(samples: tf.Tensor): Record<string, tf.Tensor> {
  const spectrum = tf.signal.stft(samples, 16, 8, 20);
  const bands = tf.matMul(tf.square(tf.abs(spectrum)), tf.abs(weight("bands", [11, 5], 1)));
  return {
    bands: tf.log(tf.add(bands, 1e-3)),
    turned: tf.mul(tf.cos(tf.atan2(tf.imag(spectrum), tf.real(spectrum))), tf.abs(spectrum)),
    frames: tf.irfft(spectrum),
  };
}

/** Rows convolved around by products of their spectra, and the gradient of that. */
function frequencyFilter(x: tf.Tensor): readonly tf.Tensor[] {
  const filter = tf.complex(weight("filter/real", [5], 1), weight("filter/imag", [5], 1));
  const filtered = (x: tf.Tensor): tf.Tensor => tf.irfft(tf.mul(tf.rfft(x), filter), 9);
  const plane = tf.real(tf.ifft2d(tf.mul(tf.fft2d(tf.cast(x, "complex64")), tf.complex(2, -1))));
  const [dx] = tf.gradients(tf.sum(tf.square(filtered(x))), [x]) as tf.Tensor[];
  return [filtered(x), plane, dx];
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  "a convolutional network": {
    specs: { image: [[null, 16, 16, 1]] },
    feeds: { image: drawn([2, 16, 16, 1]) },
    body: convNet,
  },
  "gradients of filters and pools": {
    specs: { image: [[2, 11, 9, 2]] },
    feeds: { image: drawn([2, 11, 9, 2]) },
    body: convTraining,
  },
  "a spectrogram": {
    specs: { samples: [[null, 60]] },
    feeds: { samples: drawn([2, 60]) },
    body: spectrogram,
  },
  "a filter of frequencies": {
    specs: { x: [[null, 9]] },
    feeds: { x: drawn([3, 9]) },
    body: frequencyFilter,
  },
  "a transformer block": {
    specs: { ids: [[null, null], "int32"], mask: [[null, null], "int32"] },
    feeds: { ids: ints([2, 7], 50), mask: ints([2, 7], 3) },
    body: transformer,
  },
  "attention as one op": {
    specs: { x: [[2, 4, 6, 8]] },
    feeds: { x: drawn([2, 4, 6, 8]) },
    body: (x) => tf.scaledDotProductAttention(x, tf.neg(x), x, { causal: true }),
  },
  "an LSTM in a loop": {
    specs: { x: [[null, null, 3]] },
    feeds: { x: drawn([2, 6, 3]) },
    body: lstm,
  },
  "detection": {
    specs: { image: [[1, 16, 16, 3]] },
    feeds: { image: drawn([1, 16, 16, 3]) },
    body: detection,
  },
  "branches within branches": {
    specs: { x: [[null, 3]] },
    feeds: { x: drawn([2, 3]) },
    body: (x) =>
      tf.cond(
        tf.greater(tf.sum(x), 0),
        () => tf.mul(x, weight("w", [3])),
        () => tf.cond(tf.less(tf.max(x), 5), () => tf.neg(x), () => x),
      ),
  },
  "rows mapped and folded": {
    specs: { x: [[null, 3]], y: [[3]] },
    feeds: { x: drawn([4, 3]), y: drawn([3]) },
    body: (x, y) => ({
      mapped: tf.mapFn((r) => tf.mul(r, y), x),
      pairs: tf.mapFn((r) => tf.mapFn((v) => tf.mul(v, v), r), x),
      folded: tf.foldl((a, r) => tf.add(tf.mul(a, 0.5), r), x, { initializer: y }),
      scanned: tf.scan((a, r) => tf.sub(r, a), x, { initializer: y, reverse: true }),
    }),
  },
  "no rows mapped": {
    specs: { x: [[null, 3]] },
    feeds: { x: drawn([0, 3]) },
    body: (x) => tf.mapFn((r) => tf.mul(r, 2), x),
  },
  "an array written in a loop": {
    specs: { x: [[2, 3]] },
    feeds: { x: drawn([2, 3]) },
    body: (x) =>
      tf.whileLoop((i) => tf.less(i, 4), (i, rows) => [
        tf.add(i, 1),
        rows.write(i, tf.mul(tf.sum(x, 0), tf.cast(i, "float32"))),
      ], [
        tf.scalar(0, "int32"),
        new tf.TensorArray("float32", 4, { elementShape: [3] }),
      ] as [tf.Tensor, tf.TensorArray])[1].stack(),
  },
  "a loop of no turns": {
    specs: { x: [[3]] },
    feeds: { x: drawn([3]) },
    body: (x) =>
      tf.whileLoop((i) => tf.less(i, 0), (i, y) => [tf.add(i, 1), tf.mul(y, 2)], [
        tf.scalar(0, "int32"),
        x,
      ])[1],
  },
  "functions of functions": {
    specs: { x: [[null, 3]] },
    feeds: { x: drawn([2, 3]) },
    body: (x) => {
      const inner = tf.function((t: tf.Tensor) => tf.softmax(tf.mul(t, weight("w", [3]))));
      const outer = tf.function((t: tf.Tensor) => [tf.sum(inner(t) as tf.Tensor), inner(t)]);
      return outer(x);
    },
  },
  "inputs and constants as outputs": {
    specs: { x: [[null]] },
    feeds: { x: drawn([3]) },
    body: (x) => ({
      x2: x,
      again: x,
      one: tf.scalar(1),
      twice: tf.mul(x, 2),
      doubled: tf.mul(x, 2),
    }),
  },
  "one of several branches": {
    specs: { x: [[2, 3]], i: [[], "int32"] },
    feeds: { x: drawn([2, 3]), i: new tf.NdArray("int32", [], Int32Array.of(1)) },
    body: (x, i) =>
      tf.switchCase(i, [() => tf.sum(x), () => tf.mean(x), () => tf.logSumExp(tf.mul(x, 2))]),
  },
  "slices of open extents": {
    specs: { x: [[null, null]] },
    feeds: { x: drawn([4, 5]) },
    body: (x) => {
      const rows = tf.gather(tf.shape(x), 0) as tf.Tensor;
      return {
        last: tf.slice(
          x,
          tf.stack([tf.sub(rows, 1), tf.scalar(0, "int32")]) as unknown as number[],
          [1, -1],
        ),
        odd: tf.stridedSlice(x, [1, 0], [0, 0], [2, -1], 0, 3),
        head: tf.stridedSlice(x, [0], [0], [1], 0, 0, 0, 0, 1),
        padded: tf.pad(x, [[1, 0], [0, 2]]),
        mirrored: tf.mirrorPad(x, [[1, 1], [2, 0]], "symmetric"),
      };
    },
  },
  "gradients": {
    specs: { x: [[null, 3]] },
    feeds: { x: drawn([2, 3]) },
    body: (x) => {
      const w = weight("w", [3]);
      return tf.gradients(
        tf.sum(tf.square(tf.softmax(tf.mul(tf.gelu(x), w)))),
        [x],
      ) as readonly tf.Tensor[];
    },
  },
};

/** Names of programs. */
export const PROGRAM_NAMES: readonly string[] = Object.keys(PROGRAMS);

/** A program as a case. */
export function program(name: string): Case {
  const { specs, feeds, body, opset } = PROGRAMS[name];
  const f = tf.function((...xs: tf.Tensor[]) => body(...xs), {
    inputSignature: Object.entries(specs).map(([key, [shape, dtype = "float32"]]) =>
      tf.TensorSpec([...shape], dtype, key)
    ),
  });
  return {
    name,
    op: name,
    f,
    feeds,
    run: () => f(...Object.values(feeds).map((a) => tf.tensor(a))),
    ...(opset !== undefined && { opset }),
  };
}
