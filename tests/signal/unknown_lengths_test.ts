/** Signals whose length, or number of frames, is known only when a function runs. */
import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { inSession } from "../in_session.ts";

const { signal } = tf;
type Fn = (x: tf.Tensor) => tf.Tensor;

const magnitude = (x: tf.Tensor): tf.Tensor => tf.abs(x);
const OF_SIGNALS: Readonly<Record<string, Fn>> = {
  "frame": (x) => signal.frame(x, 4, 3),
  "frame, longer than the signal": (x) => signal.frame(x, 40, 3),
  "frame, padded": (x) => signal.frame(x, 4, 3, true, 2),
  "frame, padded, longer than the signal": (x) => signal.frame(x, 40, 3, true),
  "frame, apart": (x) => signal.frame(x, 2, 5),
  "stft": (x) => magnitude(signal.stft(x, 4, 2)),
  "stft and back": (x) => {
    const window = signal.inverseStftWindowFn(2);
    return signal.inverseStft(signal.stft(x, 4, 2), 4, 2, null, window);
  },
  "mdct and back": (x) => signal.inverseMdct(signal.mdct(x, 8)),
  "fftshift": (x) => signal.fftshift(x),
  "ifftshift of the last axis": (x) => signal.ifftshift(x, -1),
};
const OF_FRAMES: Readonly<Record<string, Fn>> = {
  "overlapAndAdd": (x) => signal.overlapAndAdd(x, 2),
  "overlapAndAdd, apart": (x) => signal.overlapAndAdd(x, 7),
};

function same(found: tf.Tensor, wanted: tf.Tensor, name: string): void {
  assertEquals(found.shape, wanted.shape, name);
  const [a, b] = [found, wanted].map((t) => t.dataSync() as Float32Array);
  a.forEach((x, i) => assertAlmostEquals(x, b[i], 2e-5, name));
}

function compare(fn: Fn, x: tf.Tensor, shapes: readonly (number | null)[][], name: string): void {
  const slope: Fn = (y) => tf.grad((z) => tf.sum(tf.square(fn(z))))(y);
  const wanted = fn(x), wantedSlope = slope(x);
  for (const shape of shapes) {
    const inputSignature = [tf.TensorSpec(shape, "float32")];
    same(tf.function(fn, { inputSignature })(x), wanted, `${name} of [${shape}]`);
    same(tf.function(slope, { inputSignature })(x), wantedSlope, `gradient, ${name} of [${shape}]`);
  }
}

for (const [name, fn] of Object.entries(OF_SIGNALS)) {
  testOnDevices(`signals of unknown length: ${name}`, () => {
    for (const shape of [[13], [3, 16], [2, 1, 9]]) {
      tf.tidy(() => {
        const x = tf.randomNormal(shape, 0, 1, "float32", 4);
        const last = shape.map((n, i) => i === shape.length - 1 ? null : n);
        compare(fn, x, [last, shape.map(() => null)], `${name} of ${shape}`);
      });
    }
  });
}
for (const [name, fn] of Object.entries(OF_FRAMES)) {
  testOnDevices(`frames of unknown number: ${name}`, () => {
    for (const shape of [[5, 4], [2, 3, 4], [2, 2, 1, 4], [0, 4]]) {
      tf.tidy(() => {
        const x = tf.randomNormal(shape, 0, 1, "float32", 4);
        const open = shape.map((_, i) => i === shape.length - 1 ? 4 : null);
        const outer = shape.map((n, i) => i < shape.length - 2 ? null : n);
        compare(fn, x, [open, outer], `${name} of ${shape}`);
      });
    }
  });
}

testOnDevices(
  "signals whose length is fed, and frames whose number is, run in sessions",
  async () => {
    const rows = [
      ...Object.entries(OF_SIGNALS).map(([name, fn]) => [name, fn, [13]] as const),
      ...Object.entries(OF_FRAMES).map(([name, fn]) => [name, fn, [5, 4]] as const),
    ];
    for (const [name, fn, shape] of rows) {
      using _ = tf.scope();
      const x = tf.randomNormal([...shape], 0, 1, "float32", 4);
      same(await inSession(fn, x), fn(x), name);
    }
  },
);

testOnDevices("signals that cannot be framed are refused", () => {
  const run = (fn: Fn, shape: (number | null)[] | null): tf.Tensor =>
    tf.function(fn, { inputSignature: [tf.TensorSpec(shape, "float32")] })(tf.ones([3, 4]));
  tf.tidy(() => {
    assertThrows(
      () => run((x) => signal.frame(x, 2, 1), null),
      tf.ValueError,
      "rank must be known",
    );
    assertThrows(() => signal.frame(1, 2, 1), tf.ValueError, "1 or more");
    assertThrows(
      () => run((x) => signal.frame(x, 0, 1), [null, null]),
      tf.ValueError,
      "at least 1",
    );
    const open = [null, null];
    assertThrows(() => run((x) => signal.overlapAndAdd(x, 1), open), tf.ValueError, "known length");
  });
});
