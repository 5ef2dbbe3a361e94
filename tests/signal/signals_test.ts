/** Transforms of several axes, patches and inverse short-time transforms beside TensorFlow: see `make_tensorflow_signals.py`. */
import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { inSession } from "../in_session.ts";
import TENSORFLOW from "./tensorflow_signals.json" with { type: "json" };

const real = (...shape: number[]): tf.Tensor => {
  const size = shape.reduce((a, b) => a * b, 1);
  return tf.tensor(Array.from({ length: size }, (_, i) => i * 37 % 101 / 50 - 1), shape, "float32");
};
const both = (x: tf.Tensor): tf.Tensor => tf.complex(x, tf.reverse(x, 0));

type Make = (x: tf.Tensor) => tf.Tensor;
const S = tf.signal;
const TYPES = [1, 2, 3, 4] as const, NORMED = [2, 3, 4] as const;
/** Cases of a transform's types. */
function of<T extends number>(
  types: readonly T[],
  before: string,
  shape: number[],
  f: (x: tf.Tensor, type: T) => tf.Tensor,
  after = "",
): Record<string, readonly [number[], Make]> {
  return Object.fromEntries(
    types.map((t) => [`${before} ${t}${after}`, [shape, (x: tf.Tensor) => f(x, t)]]),
  );
}
/** Real numbers, and the function of them. */
const CASES: Record<string, readonly [number[], Make]> = {
  "fft2d": [[2, 3, 4], (x) => tf.fft2d(both(x))],
  "ifft2d": [[2, 3, 4], (x) => tf.ifft2d(both(x))],
  "fft3d": [[2, 3, 4], (x) => tf.fft3d(both(x))],
  "ifft3d": [[2, 3, 4], (x) => tf.ifft3d(both(x))],
  "rfft2d": [[2, 3, 6], (x) => tf.rfft2d(x)],
  "rfft2d, lengths": [[2, 3, 6], (x) => tf.rfft2d(x, [4, 5])],
  "irfft2d": [[2, 3, 4], (x) => tf.irfft2d(both(x))],
  "irfft2d, lengths": [[2, 3, 4], (x) => tf.irfft2d(both(x), [2, 5])],
  "overlapAndAdd": [[2, 4, 5], (x) => tf.signal.overlapAndAdd(x, 2)],
  "inverseStft": [[2, 6, 5], (x) => S.inverseStft(both(x), 8, 3, null, S.inverseStftWindowFn(3))],
  "inverseStft, Hann": [[2, 6, 5], (x) => S.inverseStft(both(x), 7, 3)],
  "inverseStft, long frames": [
    [2, 6, 5],
    (x) => S.inverseStft(both(x), 12, 5, 8, S.inverseStftWindowFn(5, S.hammingWindow)),
  ],
  "inverseStft, no window": [[2, 6, 5], (x) => S.inverseStft(both(x), 8, 4, undefined, null)],
  "stft, no window": [[2, 20], (x) => S.stft(x, 6, 3, 8, null)],
  "stft, Kaiser": [[2, 20], (x) => S.stft(x, 6, 3, 8, (n) => S.kaiserWindow(n, 5))],
  ...of(TYPES, "dct, type", [2, 3, 6], (x, type) => S.dct(x, { type })),
  ...of(NORMED, "dct, type", [2, 3, 5], (x, type) => S.dct(x, { type, norm: "ortho" }), ", ortho"),
  ...of(TYPES, "dct, type", [2, 6], (x, type) => S.dct(x, { type, n: 4 }), ", shorter"),
  ...of(TYPES, "dct, type", [2, 6], (x, type) => S.dct(x, { type, n: 9 }), ", longer"),
  ...of(TYPES, "idct, type", [2, 3, 6], (x, type) => S.idct(x, { type })),
  ...of(NORMED, "idct, type", [7], (x, type) => S.idct(x, { type, norm: "ortho" }), ", ortho"),
  "mdct": [[2, 26], (x) => S.mdct(x, 8)],
  "mdct, end": [[2, 26], (x) => S.mdct(x, 8, { padEnd: true, norm: "ortho" })],
  "mdct, no window": [[26], (x) => S.mdct(x, 12, { windowFn: null })],
  "mdct, Kaiser": [[26], (x) => S.mdct(x, 12, { windowFn: S.kaiserBesselDerivedWindow })],
  "inverseMdct": [[2, 5, 4], (x) => S.inverseMdct(x)],
  "inverseMdct, ortho": [[2, 5, 4], (x) => S.inverseMdct(x, { norm: "ortho", windowFn: null })],
  "mfccsFromLogMelSpectrograms": [[2, 3, 20], (x) => S.mfccsFromLogMelSpectrograms(x)],
  "mel": [
    [2, 33],
    (x) =>
      tf.matMul(
        x,
        S.linearToMelWeightMatrix(5, 33, {
          sampleRate: 16000,
          lowerEdgeHertz: 80,
          upperEdgeHertz: 7600,
        }),
      ),
  ],
  "mel of a voice": [[2, 129], (x) => tf.matMul(x, S.linearToMelWeightMatrix())],
  "fftshift": [[3, 4, 5], (x) => S.fftshift(x)],
  "fftshift, an axis": [[3, 4, 5], (x) => S.fftshift(x, -1)],
  "ifftshift": [[3, 4, 5], (x) => S.ifftshift(x)],
  "ifftshift, axes": [[3, 4, 5], (x) => S.ifftshift(x, [0, 2])],
  "windows": [[2], (x) =>
    tf.concat([
      x,
      ...[1, 2, 5, 8].flatMap((n) => [
        S.vorbisWindow(n),
        S.kaiserWindow(n),
        S.kaiserWindow(n, 0),
        S.kaiserWindow(n, 200),
        S.hannWindow(n),
        S.hannWindow(n, { periodic: false }),
        S.hammingWindow(n),
        S.hammingWindow(n, { periodic: false }),
      ]),
      ...[2, 8, 10].flatMap((n) => [4, 12].map((beta) => S.kaiserBesselDerivedWindow(n, beta))),
    ])],
  "extractPatches": [[2, 6, 5, 2], (x) => tf.extractPatches(x, [2, 3], [2, 1])],
  "extractPatches, same": [
    [2, 6, 5, 2],
    (x) => tf.extractPatches(x, [3, 2], [2, 2], [1, 1], "same"),
  ],
  "extractPatches, rates": [[2, 7, 8, 1], (x) => tf.extractPatches(x, [2, 2], [1, 3], [2, 3])],
  "extractPatches, rates, same": [
    [2, 7, 8, 1],
    (x) => tf.extractPatches(x, [3, 2], [2, 3], [2, 2], "same"),
  ],
  "extractPatches, volumes": [[1, 4, 4, 3, 2], (x) => tf.extractPatches(x, [2, 2, 2], [2, 1, 1])],
  "extractPatches, volumes, same": [
    [1, 3, 4, 3, 2],
    (x) => tf.extractPatches(x, [2, 3, 2], [2, 2, 1], [1, 1, 1], "same"),
  ],
};

/** Complex numbers as pairs. */
const flat = (x: tf.Tensor): tf.Tensor =>
  x.dtype.startsWith("complex") ? tf.stack([tf.real(x), tf.imag(x)], -1) : x;

Deno.test("every signal of TensorFlow's has its case", () => {
  assertEquals(Object.keys(CASES).sort(), Object.keys(TENSORFLOW).sort());
});

for (const [name, [shape, f]] of Object.entries(CASES)) {
  testOnDevices(
    `${name} is TensorFlow's, eager, compiled, in sessions and with gradients`,
    async () => {
      const wanted = TENSORFLOW[name as keyof typeof TENSORFLOW], x = real(...shape);
      const fetched = await inSession(() => f(real(...shape)));
      for (const y of [f(x), tf.function(f)(x), fetched]) {
        assertEquals(y.shape, wanted.shape);
        [...flat(y).dataSync() as Float32Array].forEach((v, i) =>
          assertAlmostEquals(v, wanted.data[i], 1e-4)
        );
      }
      const loss = (t: tf.Tensor): tf.Tensor => tf.sum(tf.square(flat(f(t))));
      const along = tf.randomNormal(shape, 0, 1, "float32", 4);
      const slope = tf.sum(tf.mul(tf.grad(loss)(x), along)).item();
      const moved = (e: number): number => loss(tf.add(x, tf.mul(along, e))).item();
      const limit = 0.02 * Math.max(1, Math.abs(slope));
      assert(Math.abs(slope - (moved(0.01) - moved(-0.01)) / 0.02) < limit, `${slope}`);
    },
  );
}

testOnDevices("inverse transforms undo transforms", () => {
  const x = real(2, 4, 6), y = tf.irfft2d(tf.rfft2d(x));
  assert(tf.max(tf.abs(tf.sub(x, y))).item() < 1e-5);
  const z = tf.ifft3d(tf.fft3d(both(x)));
  assert(tf.max(tf.abs(tf.sub(x, tf.real(z)))).item() < 1e-5);
});

testOnDevices(
  "transforms of frames undo themselves, also in float64 and of unknown batches",
  () => {
    const x = tf.cast(real(2, 64), "float64"),
      inner = (y: tf.Tensor): tf.Tensor => tf.slice(y, [0, 16], [2, 32]);
    const away = (a: tf.Tensor, b: tf.Tensor): number =>
      tf.max(tf.abs(tf.sub(tf.cast(a, "float64"), tf.cast(b, "float64")))).item();
    const round = {
      stft: (y: tf.Tensor) =>
        S.inverseStft(S.stft(y, 12, 3), 12, 3, null, S.inverseStftWindowFn(3)),
      mdct: (y: tf.Tensor) => S.inverseMdct(S.mdct(y, 16)),
      ortho: (y: tf.Tensor) =>
        S.inverseMdct(S.mdct(y, 8, { norm: "ortho", windowFn: null }), {
          norm: "ortho",
          windowFn: null,
        }),
    };
    for (const [name, f] of Object.entries(round)) {
      const y = f(x);
      assertEquals(y.dtype, "float64", name);
      assert(away(inner(x), inner(y)) < 1e-6, name);
      const unknown = tf.function(f, { inputSignature: [tf.TensorSpec([null, 64], "float32")] });
      assert(away(inner(x), inner(unknown(tf.cast(x, "float32")) as tf.Tensor)) < 1e-5, name);
    }
    for (const type of TYPES) {
      const y = S.idct(S.dct(x, { type }), { type });
      assert(away(tf.mul(x, type === 1 ? 126 : 128), y) < 1e-10, `type ${type}`);
    }
    assertEquals(S.linearToMelWeightMatrix(3, 9, { dtype: "float64" }).dtype, "float64");
  },
);

Deno.test("transforms of several axes and patches refuse what they cannot use", () => {
  const cases: [() => unknown, string][] = [
    [() => tf.fft3d(tf.complex([[1]], [[0]])), "rank 3 or more"],
    [() => tf.fft2d([[1]]), "complex64"],
    [() => tf.rfft2d([[1, 2]], [2] as never), "2 lengths"],
    [() => tf.extractPatches([[1]], [1, 1]), "rank 4 or 5"],
    [() => tf.extractPatches(tf.zeros([1, 2, 2, 1]), [1]), "sizes must be 2"],
    [() => tf.extractPatches(tf.zeros([1, 2, 2, 1]), [1, 1], [1, 0]), "strides must be 2"],
    [() => tf.signal.overlapAndAdd([[1]], 0), "a step of 0"],
    [() => S.dct(1), "received shape []"],
    [() => S.dct([[]]), "received shape [1,0]"],
    [() => S.dct([1, 2], { type: 5 as 4 }), "type must be 1, 2, 3 or 4, received 5"],
    [() => S.dct([1, 2], { norm: "backward" as "ortho" }), 'norm must be "ortho" or null'],
    [() => S.dct([1, 2], { type: 1, norm: "ortho" }), "type 1 has no norm"],
    [() => S.dct([1, 2], { type: 1, n: 1 }), "type 1 wants 2 elements, received 1"],
    [() => S.dct([1, 2], { n: 0 }), "n must be a whole number"],
    [() => S.dct([1, 2], { kind: 2 } as never), 'Unknown option "kind" of dct'],
    [() => S.idct([1, 2], { n: 2 } as never), 'Unknown option "n" of idct'],
    [() => S.mdct([1, 2, 3, 4, 5, 6], 6), "frameLength must be a multiple of 4, received 6"],
    [() => S.inverseMdct([[1, 2, 3]]), "must be even, received 3"],
    [() => S.inverseMdct([1, 2]), "Cannot add frames up"],
    [() => S.mfccsFromLogMelSpectrograms([[]]), "logMelSpectrograms must be known and 1 or more"],
    [() => S.linearToMelWeightMatrix(0), "numMelBins must be a whole number"],
    [() => S.linearToMelWeightMatrix(2, -1), "numSpectrogramBins must be a whole number"],
    [() => S.linearToMelWeightMatrix(2, 9, { sampleRate: 0 }), "sampleRate must be positive"],
    [() => S.linearToMelWeightMatrix(2, 9, { lowerEdgeHertz: -1 }), "lowerEdgeHertz must be 0"],
    [() => S.linearToMelWeightMatrix(2, 9, { lowerEdgeHertz: 3800 }), "above lowerEdgeHertz"],
    [() => S.linearToMelWeightMatrix(2, 9, { upperEdgeHertz: 5000 }), "half the sampleRate 8000"],
    [() => S.linearToMelWeightMatrix(2, 9, { dtype: "int32" }), "dtype must be floating"],
    [() => S.hannWindow(-1), "windowLength must be a whole number of 0 or more, received -1"],
    [() => S.hannWindow("4" as never), "must be a number"],
    [() => S.hannWindow(4, { periodical: true } as never), 'did you mean "periodic"'],
    [() => S.kaiserWindow(4, -1), "beta must be 0 or more"],
    [() => S.kaiserBesselDerivedWindow(5), "windowLength must be even, received 5"],
    [() => S.inverseStftWindowFn(0), "frameStep must be a whole number"],
    [() => S.inverseStftWindowFn(2, 3 as never), "must be a function"],
    [() => S.fftshift([1, 2], 1), "axes must lie in a rank of 1, received 1"],
    [() => S.ifftshift([1, 2], [0, -2]), "received -2"],
  ];
  for (const [call, text] of cases) assertThrows(call, Error, text);
});
