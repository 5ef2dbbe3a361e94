/** complex64 on both devices: values beside NumPy's, in compiled code of unknown extents, through scripts, and without a readback. */
import * as tf from "@weft/weft";
import { assertEquals, fail } from "@std/assert";
import { cpuDevice, gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { testOnDevices, testRowOnDevices } from "../devices.ts";

type Args = readonly tf.Tensor[];
type Op = (...args: Args) => tf.Tensor;

/** Numbers that are on no cut of a function. */
const Z = [[1, 2], [-0.5, 0.25], [0.3, -3], [2.5, 0.1], [-1.5, -0.5], [1e-3, 1.2]] as const;

function complex(pairs: readonly (readonly [number, number])[], shape: number[]): tf.Tensor {
  const part = (i: 0 | 1): tf.Tensor => tf.tensor(pairs.map((p) => p[i]), shape, "float32");
  return tf.complex(part(0), part(1));
}

/** Numbers that look random, the same every time. */
function noise(shape: readonly number[], seed = 1): tf.Tensor {
  const n = shape.reduce((a, b) => a * b, 1);
  const pairs = Array.from({ length: n }, (_, i): [number, number] => [
    Math.sin((i + seed) * 12.9898),
    Math.cos((i + seed) * 78.233),
  ]);
  return complex(pairs, [...shape]);
}

/** Real and imaginary parts, side by side. */
async function partsOf(t: tf.Tensor): Promise<number[]> {
  return Array.from(await t.data() as Float32Array, Number);
}

function assertNear(own: readonly number[], wanted: readonly number[], what: string): void {
  assertEquals(own.length, wanted.length, what);
  const largest = Math.max(1, ...wanted.filter(Number.isFinite).map(Math.abs));
  own.forEach((x, i) => {
    const w = wanted[i];
    const near = Object.is(x, w) || x === w || Math.abs(x - w) <= 4e-6 * largest;
    if (!near) fail(`${what}: element ${i} is ${x}, wanted ${w}`);
  });
}

/** Functions of Z, with the values of NumPy 2.4. */
const VALUES = `
exp -1.131204 2.471727 0.5876751 0.1500581 -1.33635 -0.1904921 12.12163 1.21622 0.1958151 -0.1069743 0.3627203 0.9329716
log 0.804719 1.107149 -0.5815754 2.677945 1.103587 -1.471128 0.9170901 0.03997869 0.4581454 -2.819842 0.1823219 1.569963
sqrt 1.27202 0.7861514 0.1717804 0.7276733 1.287432 -1.16511 1.581455 0.03161646 0.2014185 -1.241197 0.7749195 0.774274
rsqrt 0.5688645 -0.3515776 0.3072901 -1.301702 0.4270143 0.3864426 0.6320765 -0.01263648 0.1273882 0.7850018 0.645766 -0.6452281
sin 3.165779 1.959601 -0.4944858 0.2216882 2.975198 -9.570441 0.601467 -0.08024795 -1.124801 -0.03686082 0.001810655 1.509461
cos 2.032723 -3.051898 0.9051502 0.1211088 9.618005 2.960484 -0.8051527 -0.05994701 0.07976511 -0.51979 1.810655 -0.001509461
tan 0.03381283 1.014794 -0.5045007 0.3124207 0.002787794 -0.9959129 -0.7355243 0.1544309 -0.2551492 -2.124799 0.0003050199 0.8336549
sinh -0.4890563 1.403119 -0.5048957 0.2789791 -0.3014728 -0.1475182 6.019979 0.6122074 -1.868619 -1.127805 0.0003623578 0.9320396
cosh -0.6421481 1.068607 1.092571 -0.128921 -1.034877 -0.04297391 6.101654 0.6040126 2.064434 1.020831 0.3623579 0.0009320392
tanh 1.166736 -0.2434582 -0.4854873 0.1980554 0.2967203 0.1302251 0.9868759 0.00264223 -0.944373 -0.07932445 0.007615911 2.572132
asin 0.4270786 1.528571 -0.5016089 0.2813961 0.09462725 -1.822701 1.527188 1.567837 -1.171157 -1.069311 0.0006401844 1.015973
acos 1.143718 -1.528571 2.072405 -0.2813961 1.476169 1.822701 0.04360802 -1.567837 2.741954 1.069311 1.570156 -1.015973
atan 1.338973 0.4023595 -0.4842545 0.2005866 1.533781 -0.3424132 1.190765 0.01377759 -1.017222 -0.1469467 1.568524 1.198941
asinh 1.469352 1.06344 -0.4926757 0.2243285 1.76867 -1.465198 1.647871 0.03712553 -1.226457 -0.2734873 0.6223646 1.569289
acosh 1.528571 1.143718 0.2813961 2.072405 1.822701 -1.476169 1.567837 0.04360802 1.069311 -2.741954 1.015973 1.570156
atanh 0.1732868 1.178097 -0.50037 0.3143981 0.02976753 -1.251726 0.4227443 1.551794 -0.6412373 -1.276795 0.000409836 0.8760583
expm1 -2.131204 2.471727 -0.4123249 0.1500581 -2.33635 -0.1904921 11.12163 1.21622 -0.8041849 -0.1069743 -0.6372797 0.9329716
log1p 1.039721 0.7853982 -0.5815754 0.4636476 1.184654 -1.161888 1.253171 0.02856366 -0.3465736 -2.356194 0.4464089 0.8755664
reciprocal 0.2 -0.4 -1.6 -0.8 0.0330033 0.330033 0.399361 -0.01597444 -0.6 0.2 0.000694444 -0.8333328
sign 0.4472136 0.8944272 -0.8944272 0.4472136 0.09950372 -0.9950372 0.999201 0.03996804 -0.9486833 -0.3162278 0.000833333 0.9999997
`;

/** Computations, and the shapes of the complex tensors that they are given. */
const CASES: readonly (readonly [string, Op, readonly (readonly number[])[]])[] = [
  ["mul", (a, b) => tf.mul(a, b), [[3, 4], [4]]],
  ["div", (a, b) => tf.div(a, b), [[3, 4], [3, 1]]],
  ["pow", (a, b) => tf.pow(a, b), [[7], [7]]],
  ["abs", (a) => tf.abs(a), [[33]]],
  ["angle", (a) => tf.math.angle(a), [[33]]],
  ["exp of imag", (a) => tf.exp(tf.complex(tf.imag(a), tf.real(a))), [[5, 3]]],
  ["where", (a, b) => tf.where(tf.greater(tf.real(a), 0), a, b), [[9], [9]]],
  ["cast from float", (a) => tf.mul(tf.cast(tf.abs(a), "complex64"), a), [[9]]],
  ["addN", (a, b) => tf.addN([a, b, a]), [[5], [5]]],
  ["transpose", (a) => tf.transpose(a, [0, 2, 1]), [[2, 17, 9]]],
  ["reshape and slice", (a) => tf.slice(tf.reshape(a, [6, 10]), [1, 3], [4, 5]), [[3, 20]]],
  ["strided slice", (a) => tf.stridedSlice(a, [0, 7], [3, 0], [2, -2]), [[3, 8]]],
  ["concat", (a, b) => tf.concat([a, b, a], 1), [[2, 3], [2, 5]]],
  ["stack and unstack", (a, b) => tf.unstack(tf.stack([a, b]))[1], [[3, 2], [3, 2]]],
  ["gather", (a) => tf.gather(a, [2, 0, 2], 1), [[2, 3, 4]]],
  ["pad", (a) => tf.pad(a, [[1, 0], [2, 3]]), [[2, 3]]],
  ["tile", (a) => tf.tile(a, [2, 2]), [[2, 3]]],
  ["roll", (a) => tf.roll(a, 2, 1), [[2, 5]]],
  ["sum", (a) => tf.sum(a, [0, 2]), [[3, 4, 5]]],
  ["mean of all", (a) => tf.mean(a), [[40, 50]]],
  ["prod", (a) => tf.prod(a, 1), [[3, 4]]],
  ["cumsum", (a) => tf.cumsum(a, 0), [[7, 3]]],
  ["matMul", (a, b) => tf.matMul(a, b), [[7, 5], [5, 3]]],
  ["adjoints", (a, b) => tf.matMul(tf.linalg.adjoint(a), b), [[2, 5, 7], [2, 5, 3]]],
  ["fft2d", (a) => tf.fft2d(a), [[2, 6, 15]]],
  ["ifft of a prime", (a) => tf.ifft(a), [[2, 67]]],
  ["fft of a great prime", (a) => tf.fft(a), [[2, 2053]]],
  ["irfft", (a) => tf.irfft(a, 31), [[3, 16]]],
  ["stft", (a) => tf.signal.stft(tf.real(a), 16, 4), [[2, 64]]],
  ["dct", (a) => tf.signal.dct(tf.imag(a)), [[2, 24]]],
  ["zeros and ones", (a) => tf.sub(tf.onesLike(a), tf.zerosLike(a)), [[5]]],
];

testOnDevices("functions of complex numbers have NumPy's values", async () => {
  const z = complex(Z, [6]);
  for (const row of VALUES.trim().split("\n")) {
    const [name, ...wanted] = row.split(" ");
    const f = (tf as unknown as Record<string, Op>)[name];
    assertNear(await partsOf(f(z)), wanted.map(Number), name);
  }
});

testOnDevices("complex numbers at the ends of the range", async () => {
  const big = 3e38, z = complex([[big, big], [0, 0], [-0, 0], [0, Infinity], [NaN, 1]], [5]);
  // NumPy's: hypot() of a float32 overflows only where the result does.
  assertNear(await partsOf(tf.abs(tf.mul(z, 0.5))), [2.1213203e38, 0, 0, Infinity, NaN], "abs");
  assertNear(await partsOf(tf.conj(z)), [big, -big, 0, -0, -0, -0, 0, -Infinity, NaN, -1], "conj");
  assertEquals((await tf.equal(z, z).data()).map(Number).join(), "1,1,1,1,0");
  assertNear(
    await partsOf(tf.sqrt(z)).then((p) => p.slice(2, 8)),
    [0, 0, 0, 0, Infinity, Infinity],
    "sqrt",
  );
  assertNear(
    await partsOf(tf.div(complex([[big, big]], [1]), complex([[big, -big]], [1]))),
    [0, 1],
    "div",
  );
});

testOnDevices(
  "great complex numbers have finite functions, and those of NaN are none",
  async () => {
    const great = complex([[3e38, 3e38], [-3e38, 1], [0, 2e38]], [3]);
    // Those of Python, in float64.
    const wanted: Readonly<Record<string, number[]>> = {
      sqrt: [1.9029767e19, 7.8823876e18, 2.8867513e-20, 1.7320508e19, 1e19, 1e19],
      log: [88.943419, 0.78539816, 88.596846, 3.1415927, 88.191381, 1.5707963],
      sign: [0.70710678, 0.70710678, -1, 0, 0, 1],
    };
    for (const [name, values] of Object.entries(wanted)) {
      const own = await partsOf((tf as unknown as Record<string, Op>)[name](great));
      const shares = own.map((x, i) => x / (Math.abs(values[i]) || 1));
      assertNear(shares, values.map(Math.sign), name);
    }
    const logs = await partsOf(tf.log(complex([[1, NaN], [NaN, 1]], [2])));
    assertEquals(logs.every(Number.isNaN), true, String(logs));
  },
);

const SPECTRAL = /ff?t|dct/;

for (const [name, op, shapes] of CASES) {
  testRowOnDevices(`${name} of complex numbers is what the host's kernels compute`, async () => {
    const inputs = shapes.map((shape, i) => noise(shape, i + 1));
    const wanted = await tf.device(
      "/CPU:0",
      () => partsOf(op(...inputs.map((x) => tf.identity(x)))),
    );
    assertNear(await partsOf(op(...inputs)), wanted, "eagerly");
    // Transforms must know the length.
    const keeps = (i: number, s: readonly number[]): boolean =>
      SPECTRAL.test(name) && i === s.length - 1;
    const inputSignature = shapes.map((s) =>
      tf.TensorSpec(s.map((n, i) => keeps(i, s) ? n : null), "complex64")
    );
    const forms = {
      compiled: tf.function(op),
      "of unknown extents": tf.function(op, { inputSignature }),
    };
    for (const [form, f] of Object.entries(forms)) {
      assertNear(await partsOf(await f(...inputs) as tf.Tensor), wanted, form);
    }
  });
}

/** Gradients, of real results. */
const GRADIENTS: readonly (readonly [string, Op, number[]])[] = [
  ["abs", (z) => tf.sum(tf.abs(z)), [7]],
  ["matMul", (z) => tf.sum(tf.square(tf.abs(tf.matMul(z, z, false, true)))), [3, 4]],
  ["fft", (z) => tf.sum(tf.real(tf.mul(tf.fft(z), tf.fft(z)))), [2, 12]],
  ["rfft", (z) => tf.sum(tf.abs(tf.rfft(tf.real(z), 20))), [2, 18]],
  ["irfft", (z) => tf.sum(tf.square(tf.irfft(z, 13))), [2, 7]],
  ["gather", (z) => tf.sum(tf.abs(tf.gather(z, [1, 1, 0]))), [3, 2]],
];

for (const [name, f, shape] of GRADIENTS) {
  testRowOnDevices(`the gradient of ${name} flows through complex numbers`, async () => {
    const z = noise(shape), grad = tf.grad(f as (z: tf.Tensor) => tf.Tensor);
    const wanted = await tf.device("/CPU:0", () => partsOf(grad(tf.identity(z))));
    assertNear(await partsOf(grad(z)), wanted, "eagerly");
    const compiled = tf.function((z: tf.Tensor) => grad(z));
    assertNear(await partsOf(compiled(z) as tf.Tensor), wanted, "compiled");
  });
}

testOnDevices("a script in the middle of complex numbers has its pairs", async () => {
  const seen: string[] = [];
  const f = tf.function((z: tf.Tensor) => {
    const turned = tf.numpyFunction(
      (a: tf.NdArray) => {
        seen.push(`${a.dtype} ${a.shape}`);
        return a.map((v) =>
          [-(v as unknown as number[])[1], (v as unknown as number[])[0]] as never
        );
      },
      [tf.fft(z)],
      "complex64",
    ) as tf.Tensor;
    return tf.ifft(tf.ensureShape(turned, [2, 6]));
  });
  const z = noise([2, 6]), times = await partsOf(tf.mul(z, complex([[0, 1]], [1])));
  assertNear(await partsOf(f(z) as tf.Tensor), times, "turned by a quarter");
  assertEquals(seen, ["complex64 2,6"]);
});

testOnDevices("branches and loops carry complex numbers", async () => {
  const f = tf.function((z: tf.Tensor, n: tf.Tensor) =>
    tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, n),
      (i: tf.Tensor, z: tf.Tensor) => [
        tf.add(i, 1),
        tf.cond(tf.equal(tf.mod(i, 2), 0), () => tf.mul(z, z), () => tf.conj(z)),
      ],
      [tf.scalar(0, "int32"), z],
    )[1] as tf.Tensor
  );
  const z = complex([[1, 1], [0, 2]], [2]);
  // ((z²)*)² conjugated: (1 + i)⁴ = -4, (2i)⁴ = 16.
  assertNear(await partsOf(f(z, tf.scalar(4, "int32")) as tf.Tensor), [-4, 0, 16, 0], "four turns");
});

testOnDevices("a variable holds complex numbers", async () => {
  const v = tf.variable(noise([4])), before = await partsOf(tf.identity(v));
  v.assign(tf.mul(v, complex([[0, 2]], [1])));
  const wanted = before.map((_, i) => i % 2 === 0 ? -2 * before[i + 1] : 2 * before[i - 1]);
  assertNear(await partsOf(tf.identity(v)), wanted, "assigned");
});

testOnDevices(
  "a spectrogram, its inverse and their gradients stay on the device",
  async (device) => {
    const { counters } = device === "webgpu" ? gpuDevice()! : cpuDevice();
    const weights = tf.signal.linearToMelWeightMatrix(8, 33, {
      sampleRate: 1000,
      lowerEdgeHertz: 20,
      upperEdgeHertz: 480,
    });
    const mel = (x: tf.Tensor): tf.Tensor =>
      tf.log(tf.add(tf.matMul(tf.abs(tf.signal.stft(x, 64, 16)), weights), 1e-6));
    const there = (x: tf.Tensor): tf.Tensor =>
      tf.signal.inverseStft(tf.signal.stft(x, 64, 16), 64, 16);
    const x = tf.real(noise([2, 400]));
    for (const f of [mel, there, (x: tf.Tensor) => tf.grad((x) => tf.sum(mel(x)))(x)]) {
      for (const run of [f, tf.function(f)]) {
        await (run(x) as tf.Tensor).data();
        const before = { ...counters };
        const y = run(x) as tf.Tensor;
        assertEquals(counters.readbacks - before.readbacks, 0);
        assertEquals(y.device.endsWith(device === "webgpu" ? "GPU:0" : "CPU:0"), true);
        await y.data();
      }
    }
  },
);

testOnDevices("what the device has no kernel for is computed on the host", async () => {
  const z = noise([2, 3, 3]);
  const wide = tf.cast(z, "complex128");
  assertEquals(wide.dtype, "complex128");
  const [own, cast] = [await partsOf(tf.matMul(z, z)), await partsOf(tf.matMul(wide, wide))];
  assertNear(own, cast, "matMul in complex128");
  const product = tf.function((z: tf.Tensor) => tf.abs(tf.prod(tf.neg(z), [1, 2])));
  const sizes = await partsOf(tf.prod(tf.abs(z), [1, 2]));
  assertNear(await partsOf(product(z) as tf.Tensor), sizes, "a product of all");
});
