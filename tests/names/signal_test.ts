// Fourier transforms of tf.signal beside TensorFlow, and what they refuse.

import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import RECORDED from "./fixtures/signal.json" with { type: "json" };
import { type Recorded, type Row, testTable } from "./harness.ts";

const { signal } = tf;
type Norm = "backward" | "forward" | "ortho";

const parts = (z: tf.Tensor): tf.Tensor[] => [tf.real(z), tf.imag(z)];
/** Rows of known lengths, in float32 and float64. */
const row = (body: Row["body"], unknown = false): Row => ({
  body,
  unknown,
  dtypes: ["float64"],
  epsilon: 1e-4,
});

testTable("signal", RECORDED as unknown as Record<string, Recorded>, {
  rfft3d: row((x) => parts(signal.rfft3d(x))),
  "rfft3d lengths": row((x) => parts(signal.rfft3d(x, [4, 3, 6])), true),
  irfft3d: row((a, b) => signal.irfft3d(tf.complex(a, b))),
  "irfft3d lengths": row((a, b) => signal.irfft3d(tf.complex(a, b), [2, 5, 5]), true),
  fftnd: row((a, b) => parts(signal.fftnd(tf.complex(a, b)))),
  ...Object.fromEntries(
    (["backward", "forward", "ortho"] as Norm[]).flatMap((norm): [string, Row][] => [
      [
        `fftnd ${norm}`,
        row((a, b) => parts(signal.fftnd(tf.complex(a, b), { axes: [0, -1], norm }))),
      ],
      [
        `ifftnd ${norm}`,
        row((a, b) => parts(signal.ifftnd(tf.complex(a, b), { axes: [1, 2], norm }))),
      ],
      [`rfftnd ${norm}`, row((a) => parts(signal.rfftnd(a, { norm })))],
      [`irfftnd ${norm}`, row((a, b) => signal.irfftnd(tf.complex(a, b), { norm }))],
    ]),
  ),
  "fftnd lengths": row(
    (a, b) => parts(signal.fftnd(tf.complex(a, b), { fftLength: [5, 2], axes: [0, 2] })),
    true,
  ),
  "rfftnd lengths": row((a) => parts(signal.rfftnd(a, { fftLength: [2, 6] })), true),
});

testOnDevices(
  "the last of the axes has the halves, wherever it is, and transforms undo each other",
  () => {
    using _s = tf.scope();
    const x = tf.reshape(tf.sin(tf.range(0, 60)), [3, 4, 5]);
    const y = signal.rfftnd(x, { axes: [2, 0] });
    assertEquals(y.shape, [2, 4, 5]);
    const back = signal.irfftnd(y, { axes: [2, 0], fftLength: [5, 3] });
    assertAlmostEquals(tf.max(tf.abs(tf.sub(back, x))).item() as number, 0, 1e-5);
    const turned = tf.transpose(signal.rfft3d(tf.transpose(x, [2, 1, 0])), [2, 1, 0]);
    const same = signal.rfftnd(x, { axes: [2, 1, 0] });
    assertAlmostEquals(
      tf.max(tf.abs(tf.sub(tf.real(turned), tf.real(same)))).item() as number,
      0,
      1e-4,
    );
  },
);

testOnDevices("Fourier transforms of several axes check their arguments", () => {
  using _s = tf.scope();
  // deno-lint-ignore no-explicit-any -- of other types than the parameters have
  const s = signal as any;
  const z = tf.complex([[1, 2]], [[0, 0]]);
  for (
    const [call, type, text] of [
      [
        () => s.fftnd([1, 2]),
        TypeError,
        "'input' passed to 'fftnd' must be complex, but got float32",
      ],
      [() => s.rfftnd(z), TypeError, "must be float"],
      [() => s.fftnd(z, { axes: [2] }), tf.ValueError, "out of range"],
      [() => s.fftnd(z, { axes: [0, -2] }), tf.ValueError, "must differ"],
      [() => s.fftnd(z, { axes: [0], fftLength: [1, 2] }), tf.ValueError, "must have 1 lengths"],
      [() => s.fftnd(z, { fftLength: [0, 2] }), tf.ValueError, "above 0"],
      [() => s.fftnd(z, { norm: "half" }), tf.ValueError, '"half"'],
      [() => s.fftnd(z, { axis: 1 }), TypeError, "axes"],
      [() => s.rfft3d([1, 2]), tf.ValueError, "out of range"],
      [() => s.irfft3d(tf.complex([[[1]]], [[[0]]]), [1]), tf.ValueError, "3 lengths"],
    ] as const
  ) {
    assertThrows(call, type as new () => Error, text, `${call}`);
  }
});
