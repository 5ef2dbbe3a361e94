/**
 * Lines of programs with complex numbers and Fourier transforms, mostly beside the same for real and imaginary parts. The table's language is
 * explained in templates.ts.
 *
 * @module
 */

import { SAME, type Template } from "./templates.ts";

/** Numbers on no cut of a function. */
const AWAY = "tf.complex(tf.add(tf.abs(tf.real($x)), 0.5), tf.imag($x))";
const SMALL = "tf.mul($x, 0.25)";
const CONJ = "tf.conj(tf.linalg.matrixTranspose($x))";

/** A line in which `@` stands for x, beside the same of each part. */
function byParts(operands: string, code: string, weight = 1): Template {
  const of = (x: string): string => code.replaceAll("@", x);
  const parts = `tf.complex(${of("tf.real($x)")}, ${of("tf.imag($x)")})`;
  return [operands, of("$x") + SAME + parts, weight];
}

const MADE: readonly Template[] = [
  ["x:float32 y=x", "tf.complex($x, $y)", 5],
  ["x:float32", 'tf.cast($x, "complex64")', 2],
  ["x:float32", "tf.complex(tf.sin($x), tf.zerosLike($x))"],
];

/** Numbers of numbers. */
const NUMBERS: readonly Template[] = [
  ["x:complex y~x", "tf.#pick(add|mul|sub)($x, tf.conj($y))", 3],
  ["x:complex y:float32~x", 'tf.#pick(add|mul|sub)($x, tf.cast($y, "complex64"))', 2],
  ["x:complex y~x", "tf.div($x, tf.add(tf.mul($y, tf.conj($y)), 1))", 2],
  ["x:complex", `tf.#pick(exp|sin|cos|sinh|cosh|square|neg|expm1)(${SMALL})`, 3],
  ["x:complex", `tf.#pick(sqrt|log|rsqrt|reciprocal|log1p|abs)(${AWAY})`, 3],
  ["x:complex", `tf.math.angle(${AWAY})`],
  ["x:complex y~x", `tf.pow(${AWAY}, tf.mul($y, 0.25))`],
  ["x:complex y~x", "tf.addN([$x, tf.mul($x, $y)])"],
  ["x:complex y~x m:bool~x", "tf.where($m, $x, $y)", 3],
  ["x:complex y~x", "tf.where(tf.greater(tf.real($x), tf.imag($y)), $x, tf.conj($x))", 2],
  ["x:complex m:bool~x", 'tf.mul($x, tf.cast($m, "complex64"))'],
  ["x:complex y~x", "tf.#pick(equal|notEqual)($x, $y)"],
  ["x:complex", 'tf.cast(tf.#pick(conj|neg|identity)($x), "#pick(float32|int32|bool|complex128)")'],
  [
    "x:complex y=x",
    "tf.mul($x, $y) ≡ ((a, b, c, d) => tf.complex(tf.sub(tf.mul(a, c), tf.mul(b, d)), tf.add(tf.mul(a, d), tf.mul(b, c))))(tf.real($x), tf.imag($x), tf.real($y), tf.imag($y))",
    2,
  ],
  [
    "x:complex",
    `tf.exp(${SMALL}) ≡ ((a, b) => tf.complex(tf.mul(tf.exp(a), tf.cos(b)), tf.mul(tf.exp(a), tf.sin(b))))(tf.real(${SMALL}), tf.imag(${SMALL}))`,
  ],
  ["x:complex", `tf.exp(tf.log(${AWAY})) ≡ ${AWAY}`],
  ["x:complex", `tf.square(tf.sqrt(${AWAY})) ≡ ${AWAY}`],
  [
    "x:complex",
    "tf.real(tf.mul($x, tf.conj($x))) ≡ tf.add(tf.square(tf.real($x)), tf.square(tf.imag($x)))",
  ],
];

const IDS = 'tf.mod(tf.mul(tf.range(0, #rows(x), 1, "int32"), 2), 3)';

/** Sums and moved numbers. */
const MOVED: readonly Template[] = [
  byParts("x:complex", "tf.#pick(sum|mean)(@, #axes(x), #bool)", 5),
  byParts("x:complexRows", "tf.cumsum(@, #axis(x), #bool, #bool)", 2),
  ["x:complex", "tf.prod($x, #axes(x), #bool)"],
  ["x:complexRows", "tf.cumprod($x, #axis(x), #bool, #bool)"],
  ["x:complex", `tf.euclideanNorm(${AWAY}, #axes(x), #bool)`],
  byParts("x:complex", "tf.transpose(@, #perm(x))", 2),
  byParts("x:complexRows", "tf.reverse(@, [#axis(x)])"),
  byParts("x:complexRows", "tf.roll(@, #int(0,3), #axis(x))"),
  byParts("x:complexRows", "tf.pad(@, #paddings(x))", 2),
  byParts("x:complex", "tf.tile(@, #tiles(x))"),
  byParts("x:complex", "tf.slice(@, #begin(x))", 2),
  byParts("x:complex", "tf.stridedSlice(@, #begin(x), #tiles(x).map(() => 9), #tiles(x))"),
  byParts("x:complexRows", "tf.concat([@, tf.neg(@)], #axis(x))", 2),
  byParts("x:complex", "tf.stack([@, tf.neg(@)], #pick(0|-1))"),
  byParts("x:complex", "tf.repeat(@, 2)"),
  byParts("x:complexRows", "tf.gather(@, [#index(x), 0, #index(x)])", 2),
  byParts("x:complexRows", `tf.math.unsortedSegmentSum(@, ${IDS}, 3)`, 2),
  byParts("x:complexRows", "tf.tensorScatterAdd(@, [[#index(x)], [0]], tf.gather(@, [0, 0]))"),
  byParts("x:complexRows", "tf.tensorScatterUpdate(@, [[#index(x)]], tf.gather(@, [0]))"),
  byParts("x:complexRows", "tf.RaggedTensor.fromRowLengths(@, [#split(x)]).toTensor()"),
  byParts("x:complexRows", "tf.gatherND(@, [[0], [#index(x)]])"),
];

/** Products and systems. */
const PRODUCTS: readonly Template[] = [
  byParts("x:complexMatrices", "tf.linalg.matrixTranspose(@)"),
  byParts("x:complexMatrices", "tf.linalg.#pick(trace|diagPart)(@)"),
  ["x:complexMatrices", `tf.matMul($x, ${CONJ})`, 3],
  [
    "x:complexMatrices",
    'tf.matMul($x, tf.linalg.adjoint($x)) ≡ tf.einsum("...ij,...kj->...ik", $x, tf.conj($x))',
    2,
  ],
  ["x:complexMatrices y=x", "tf.matMul($x, $y, #pick(false, true|true, false))", 2],
  [
    "x:complexMatrices y=x",
    "tf.matMul($x, $y, true) ≡ ((a, b, c, d) => tf.complex(tf.sub(tf.matMul(a, c, true), tf.matMul(b, d, true)), tf.add(tf.matMul(a, d, true), tf.matMul(b, c, true))))(tf.real($x), tf.imag($x), tf.real($y), tf.imag($y))",
    2,
  ],
];

/** Fourier transforms. */
const SPECTRA: readonly Template[] = [
  ["x:complexRows", "tf.#pick(fft|ifft)($x)", 4],
  ["x:complexRows", "tf.ifft(tf.fft($x)) ≡ tf.identity($x)", 2],
  [
    "x:complexRows",
    'tf.fft($x) ≡ tf.conj(tf.mul(tf.ifft(tf.conj($x)), tf.cast(tf.gather(tf.reverse(tf.shape($x), [0]), 0), "complex64")))',
    2,
  ],
  ["x:complexMatrices", "tf.#pick(fft2d|ifft2d)($x)", 2],
  [
    "x:complexMatrices",
    "tf.fft2d($x) ≡ tf.fft(tf.linalg.matrixTranspose(tf.fft(tf.linalg.matrixTranspose($x))))",
  ],
  ["x:complexRows", "tf.signal.#pick(fftshift|ifftshift)($x)"],
  ["x:float32", "tf.rfft(tf.expandDims($x, 0), #pick(undefined|3|4|7))", 2],
  ["x:float32", "tf.irfft(tf.rfft(tf.expandDims($x, 0), #int(2,9)), #int(2,9))", 2],
  ["x:complexRows", "tf.irfft($x, #int(1,9))"],
  [
    "x:float32 y=x",
    'tf.real(tf.ifft(tf.mul(...[$x, $y].map((v) => tf.fft(tf.cast(tf.expandDims(v, 0), "complex64"))))))',
  ],
  ["x:float32", "tf.signal.stft(tf.concat([tf.reshape($x, [-1]), tf.ones([6])], 0), 4, #int(1,4))"],
  [
    "x:float32",
    "tf.signal.inverseStft(tf.signal.stft(tf.concat([tf.reshape($x, [-1]), tf.ones([6])], 0), 4, 2), 4, 2)",
  ],
  ["x:float32", "tf.signal.#pick(dct|idct)(tf.expandDims($x, 0))"],
];

const I = 'tf.constant(0, "int32")';

/** Complex numbers in branches, loops, scripts, lists and gradients. */
const CARRIED: readonly Template[] = [
  [
    "x:complex y=x",
    "tf.cond(tf.greater(tf.sum(tf.real($x)), 0.1), () => tf.mul($x, $y), () => tf.conj($y))",
    2,
  ],
  [
    "x:complex y=x",
    `tf.whileLoop((i) => tf.less(i, #int(0,3)), (i, z) => [tf.add(i, 1), tf.mul(tf.mul(z, $y), 0.5)], [${I}, $x])[1]`,
    2,
  ],
  [
    "x:complexRows",
    `tf.whileLoop((i, z) => tf.logicalAnd(tf.less(i, 3), tf.less(tf.sum(tf.abs(z)), 9)), (i, z) => [tf.add(i, 1), tf.fft(z)], [${I}, $x])[#int(0,1)]`,
  ],
  ["x:complexRows", "tf.mapFn((e) => tf.mul(e, tf.conj(tf.sum(e))), $x)"],
  [
    "x:complexMatrices",
    "tf.vectorizedMap((row) => tf.#pick(fft|ifft|conj|square)(row), $x) ≡ tf.mapFn((row) => tf.#pick(fft|ifft|conj|square)(row), $x)",
    2,
  ],
  [
    "x:complexMatrices",
    "tf.vectorizedMap((row) => tf.where(tf.greater(tf.real(row), 0), row, tf.#pick(sum|mean)(row)), $x) ≡ tf.mapFn((row) => tf.where(tf.greater(tf.real(row), 0), row, tf.#pick(sum|mean)(row)), $x)",
  ],
  [
    "x:complexRows",
    "tf.scan((a, e) => tf.add(tf.mul(a, 0.5), tf.conj(e)), $x, { reverse: #bool })",
    2,
  ],
  ["x:complexRows", "tf.foldl((a, e) => tf.mul(tf.mul(a, e), 0.5), $x)"],
  ["x:complex", 'tf.numpyFunction((a) => a, [$x], "complex64")'],
  ["x:complex y=x", 'tf.pyFunction((a, b) => tf.mul(a, tf.conj(b)), [$x, $y], "complex64")', 2],
  ["x:complexRows", 'tf.pyFunction((a) => tf.abs(tf.fft(tf.add(a, 4))), [$x], "float32")'],
  ["x:complex", 'new tf.TensorArray("complex64", 2).write(0, $x).write(1, tf.conj($x)).stack()'],
  ["x:complex y=x", "tf.function((a, b) => tf.sub(tf.mul(a, b), tf.conj(b)))($x, $y)"],
  [
    "x:float32 y=x",
    "tf.grad((a) => tf.sum(tf.real(tf.mul(tf.complex(a, $y), tf.complex($y, tf.sin(a))))))($x)",
    2,
  ],
  [
    "x:float32",
    'tf.grad((a) => ((z) => tf.sum(tf.real(tf.mul(z, tf.conj(z)))))(tf.fft(tf.cast(tf.expandDims(a, 0), "complex64"))))($x)',
  ],
  [
    "x:complex",
    "tf.customGrad((z) => ({ value: tf.mul(z, z), gradFunc: (dy) => tf.mul(dy, 2) }))($x)",
  ],
  ["x:complex", 'tf.io.parseTensor(tf.io.serializeTensor($x), "complex64") ≡ tf.stopGradient($x)'],
];

/** All of them. */
export const COMPLEX: readonly Template[] = [
  ...MADE,
  ...NUMBERS,
  ...MOVED,
  ...PRODUCTS,
  ...SPECTRA,
  ...CARRIED,
];
