/** Distances, fingerprints, formats, roots of matrices, draws from distributions and samples of classes beside TensorFlow 2.21. */

import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import * as tf from "@weft/weft";
import { difference } from "../../src/library/testing/compare.ts";
import { testOnDevices } from "../devices.ts";
import { arrayOf, type GoldenCase, runCases } from "./golden_cases.ts";
import MORE from "./more.json" with { type: "json" };

// deno-lint-ignore no-explicit-any
type Any = any;

const CASES = MORE as unknown as readonly GoldenCase[];
const of = (start: string) => CASES.filter(({ fn }) => fn.startsWith(start));
const LISTED = ["editDistance", "fingerprint", "strings.", "linalg.", "random.", "nn."];

testOnDevices(
  "distances, fingerprints and texts are TensorFlow's",
  () => runCases(["editDistance", "fingerprint", "strings."].flatMap(of)),
);

testOnDevices(
  "roots, logarithms and few diagonals of matrices are TensorFlow's",
  () => runCases(of("linalg."), { ulps: 256 }),
);

testOnDevices(
  "draws of seeds are TensorFlow's numbers",
  () => runCases(of("random."), { ulps: 16 }),
);

testOnDevices("all classes and accidental hits are TensorFlow's", () => runCases(of("nn.")));

/** Arguments of a call, which the cases have as lists and arrays. */
const argsOf = ({ args }: GoldenCase): Any[] =>
  args.map((a: Any) => a?.list ?? (a?.t === undefined ? a : tf.tensor(arrayOf(a) as Any)));

async function same(got: tf.Tensor, want: tf.NdArray, name: string, ulps = 4): Promise<void> {
  const x = await got.ndarray();
  assertEquals(x.dtype, want.dtype, name);
  assertEquals(difference(x, want, want.dtype, { ulps, ulpsOfLargest: ulps }), null, name);
}

testOnDevices("samples of classes are expected as often as TensorFlow says", async () => {
  using _s = tf.scope();
  const cases = CASES.filter((row) => row.fn.startsWith("expected."));
  assert(cases.length >= 5);
  for (const row of cases) {
    const sample = (tf.random as Any)[row.fn.slice("expected.".length)];
    await same(sample(...argsOf(row))[1], arrayOf(row.want[0]), row.fn);
    const compiled = tf.function(() => sample(...argsOf(row))[1]);
    await same(await compiled.async() as tf.Tensor, arrayOf(row.want[0]), `${row.fn} compiled`);
  }
});

testOnDevices("generators draw TensorFlow's binomial numbers", async () => {
  using _s = tf.scope();
  for (const row of CASES.filter(({ fn }) => fn === "binomial")) {
    const [seed, ...given] = argsOf(row);
    const draws = (g: tf.random.Generator) => [
      g.binomial(...given as Parameters<typeof g.binomial>),
      g.binomial(...given as Parameters<typeof g.binomial>),
      tf.identity(g.state),
    ];
    const eager = tf.random.Generator.fromSeed(seed), other = tf.random.Generator.fromSeed(seed);
    const compiled = await tf.function(() => draws(other)).async() as tf.Tensor[];
    for (const all of [draws(eager), compiled]) {
      for (const [i, x] of all.entries()) await same(x, arrayOf(row.want[i]), row.fn);
    }
    eager.dispose(), other.dispose();
  }
});

testOnDevices("compressed strings are read", async () => {
  using _s = tf.scope();
  for (const row of CASES.filter(({ fn }) => fn === "compressed")) {
    const [text, kind] = argsOf(row), want = arrayOf(row.want[0]);
    const read = (x: tf.Tensor) => tf.io.decodeCompressed(tf.strings.decodeBase64(x), kind);
    await same(read(text), want, `eager ${kind}`);
    await same(await tf.function(read).async(text) as tf.Tensor, want, `compiled ${kind}`);
  }
});

testOnDevices("samples repeat with their seed, and unique ones are all different", async () => {
  using _s = tf.scope();
  const { random } = tf, truth = [[1, 2], [0, 3]];
  const samplers = {
    uniform: (unique: boolean, seed?: number) =>
      random.uniformCandidateSampler(truth, 2, 9, unique, 10, seed),
    log: (unique: boolean, seed?: number) =>
      random.logUniformCandidateSampler(truth, 2, 9, unique, 10, seed),
    fixed: (unique: boolean, seed?: number) =>
      random.fixedUnigramCandidateSampler(truth, 2, 9, unique, 10, {
        unigrams: [9, 8, 7, 6, 5, 4, 3, 2, 1, 1],
        seed: seed ?? null,
      }),
  };
  for (const [name, sample] of Object.entries(samplers)) {
    const first = await tf.cast(sample(false, 5)[0], "int32").array();
    assertEquals(await tf.cast(sample(false, 5)[0], "int32").array(), first, name);
    const unique = await tf.cast(sample(true)[0], "int32").array() as number[];
    assertEquals(new Set(unique).size, 9, name);
    assert(unique.every((id) => id >= 0 && id < 10), name);
    tf.setRandomSeed(3);
    const drawn = await tf.cast(sample(false)[0], "int32").array();
    tf.setRandomSeed(3);
    assertEquals(await tf.cast(sample(false)[0], "int32").array(), drawn, name);
    tf.setRandomSeed(null);
    // In a function each run goes on.
    const f = tf.function(() => tf.cast(sample(false, 5)[0], "int32"));
    const runs = [
      await (await f.async() as tf.Tensor).array(),
      await (await f.async() as tf.Tensor).array(),
    ];
    assert(String(runs[0]) !== String(runs[1]), name);
  }
  const drawn = await random.uniformCandidateSampler([[0]], 1, 4000, false, 4)[0].data();
  const share = Array.from(drawn as unknown as BigInt64Array).filter((v) => v === 2n).length / 4000;
  assertAlmostEquals(share, 0.25, 0.05);
});

testOnDevices("samplers learn which classes are true", async (device) => {
  using _s = tf.scope();
  // What is learnt stays with the seed.
  const seed = device === "cpu" ? 77 : 78;
  const sample = () => tf.random.learnedUnigramCandidateSampler([[1, 1, 1]], 3, 50, false, 4, seed);
  const counts: number[] = [];
  for (let i = 0; i < 3; i++) counts.push((await sample()[1].data())[0] as number / 50);
  assertAlmostEquals(counts[0], 1 / 4, 1e-6);
  assertAlmostEquals(counts[1], 4 / 7, 1e-6);
  assertAlmostEquals(counts[2], 7 / 10, 1e-6);
});

testOnDevices("means of draws are those of their distributions", async () => {
  using _s = tf.scope();
  const poisson = tf.random.poisson([4000], [2, 50]);
  assertEquals([poisson.shape, poisson.dtype], [[4000, 2], "float32"]);
  const means = await tf.mean(poisson, 0).data();
  assertAlmostEquals(means[0] as number, 2, 0.15);
  assertAlmostEquals(means[1] as number, 50, 0.6);
  assertEquals(
    await tf.random.poisson([5], 3, "int32", 8).array(),
    await tf.random.poisson([5], 3, "int32", 8).array(),
  );
  const f = tf.function((n: tf.Tensor) => tf.random.poisson(n, [1, 2]), {
    inputSignature: [tf.TensorSpec([1], "int32")],
  });
  assertEquals((await f.async(tf.tensor([3], [1], "int32")) as tf.Tensor).shape, [3, 2]);
  const cut = tf.random.statelessParameterizedTruncatedNormal([4000], [1, 2], 0, 1, 1, Infinity);
  assert((await tf.min(cut).data())[0] as number >= 1);
  assertAlmostEquals((await tf.mean(cut).data())[0] as number, 1.525, 0.03);
});

testOnDevices("eigenvectors of three diagonals give the matrix again", async () => {
  using _s = tf.scope();
  const a = tf.tensor([[1, 2, 3], [0, -1, 4]]), b = tf.tensor([[4, 5], [1, 0.5]]);
  const [e, v] = tf.linalg.eighTridiagonal(a, b, { eigvalsOnly: false }) as tf.Tensor[];
  const again = tf.matMul(tf.mul(v, tf.expandDims(e, -2)), v, false, true);
  const full = tf.add(
    tf.linalg.diag(a),
    tf.add(tf.linalg.diag(b, { k: 1 }), tf.linalg.diag(b, { k: -1 })),
  );
  assert((await tf.max(tf.abs(tf.sub(again, full))).data())[0] as number < 1e-5);
  const z = tf.complex([4, 0], [1, 5]), r = tf.complex([1, 2, 3], [0, 0, 0]);
  const [ez, vz] = tf.linalg.eighTridiagonal(r, z, { eigvalsOnly: false }) as tf.Tensor[];
  const scaled = tf.mul(vz, tf.complex(tf.expandDims(ez, 0), tf.zeros([1, 3])));
  const back = tf.matMul(scaled, tf.linalg.adjoint(vz));
  const upper = await tf.real(back).array() as number[][],
    im = await tf.imag(back).array() as number[][];
  assertAlmostEquals(upper[0][1], 4, 1e-4);
  assertAlmostEquals(im[0][1], 1, 1e-4);
  assertAlmostEquals(im[1][2], 5, 1e-4);
  assertAlmostEquals(im[2][1], -5, 1e-4);
});

testOnDevices("eigenvalues of three diagonals have gradients, those of one row too", async () => {
  using _s = tf.scope();
  const slopes = (a: tf.Tensor, b: tf.Tensor) =>
    tf.grads((a, b) => tf.sum(tf.square(tf.linalg.eighTridiagonal(a, b) as tf.Tensor)))([a, b]);
  const inputSignature = [new tf.TensorSpec([null]), new tf.TensorSpec([null])];
  const compiled = tf.function(slopes, { inputSignature });
  for (const n of [1, 2, 3]) {
    const a = tf.tensor([1, 2, 3].slice(0, n)), b = tf.tensor([0.5, 0.25].slice(0, n - 1));
    // The sum of squares of the eigenvalues is that of all elements.
    const wanted = [tf.mul(a, 2), tf.mul(b, 4)];
    for (
      const [i, g] of [...slopes(a, b), ...await compiled.async(a, b) as tf.Tensor[]].entries()
    ) {
      const want = wanted[i % 2];
      assertEquals(g.shape, want.shape);
      if (g.size > 0) assert(await tf.max(tf.abs(tf.sub(g, want))).item() < 1e-4);
    }
  }
});

/** Programs that join the names with scripts, loops and rows, each with what it gives. */
const JOINED: Readonly<Record<string, [() => unknown, unknown]>> = {
  "a loop of roots with a script": [
    () =>
      tf.function((x: tf.Tensor) => {
        const [, y] = tf.whileLoop(
          (i: tf.Tensor) => tf.less(i, 2),
          (i: tf.Tensor, y: tf.Tensor) => [
            tf.add(i, 1),
            tf.numpyFunction((a: tf.NdArray) => a, [tf.linalg.sqrtm(y)], "float32", {
              shapeFn: (spec) => spec,
            }),
          ],
          [tf.scalar(0, "int32"), x],
        ) as tf.Tensor[];
        return tf.round(y);
      })(tf.tensor([[16, 0], [0, 81]])),
    [[2, 0], [0, 3]],
  ],
  "rows of roots": [
    () =>
      tf.round(tf.vectorizedMap((x: tf.Tensor) => tf.linalg.sqrtm(x), [
        [[4, 0], [0, 9]],
        [[1, 0], [0, 25]],
      ]) as tf.Tensor),
    [[[2, 0], [0, 3]], [[1, 0], [0, 5]]],
  ],
  "rows of systems of few diagonals that share right sides": [
    () =>
      tf.vectorizedMap(
        (b: tf.Tensor) => tf.linalg.bandedTriangularSolve(b, [2, 5, 10]),
        [[[2, 4, 8], [0, 1, 2]], [[1, 1, 1], [0, 0, 0]]],
      ),
    [[1, 1, 1], [2, 5, 10]],
  ],
  "rows of places in an order": [
    () =>
      tf.vectorizedMap(
        (i: tf.Tensor) => tf.random.indexShuffle(i, [1, 2], 4),
        tf.tensor([0, 1, 2, 3, 4], [5], "int32"),
      ),
    [2, 0, 1, 4, 3],
  ],
  "a map of distances between texts of a script": [
    () =>
      tf.mapFn(
        (x: tf.Tensor) => {
          const said = tf.numpyFunction(
            (a: tf.NdArray) => a.map((v) => Number(v) + 1),
            [x],
            "float32",
            {
              shapeFn: (spec) => spec,
            },
          );
          return tf.editDistance(
            tf.sparse.fromDense(tf.expandDims(said, 0)),
            tf.sparse.fromDense([[1, 2, 3]]),
            false,
          );
        },
        tf.tensor([[0, 1, 2], [5, 6, 7]]),
      ),
    [[0], [3]],
  ],
  "a loss of sampled classes, its sample drawn in the function": [
    () =>
      tf.function((x: tf.Tensor) => {
        const sampledValues = tf.nn.allCandidateSampler([[1], [0]], 1, 3, true);
        return tf.round(tf.nn.sampledSoftmaxLoss({
          ...{ weights: [[0], [0], [0]], biases: [0, 0, 0], labels: [[1], [0]], inputs: x },
          sampledValues,
        }));
      })(tf.tensor([[1], [2]])),
    [1, 1],
  ],
  "a dataset of compressed texts": [
    () =>
      tf.strings.length(
        tf.io.decodeCompressed(
          Uint8Array.from([120, 156, 203, 72, 205, 201, 201, 7, 0, 6, 44, 2, 21]),
          "ZLIB",
        ),
      ),
    5,
  ],
};

for (const [name, [run, want]] of Object.entries(JOINED)) {
  testOnDevices(`joined: ${name}`, async () => {
    using _s = tf.scope();
    assertEquals(await (await run() as tf.Tensor).array() as unknown, want);
  });
}

testOnDevices("what has no distance, root or sample is refused", async () => {
  using _s = tf.scope();
  const { ValueError, random, linalg, strings, io, nn } = tf, n = tf as Any;
  const sp = (rank: number, dtype: tf.DType = "float32") =>
    new tf.SparseTensor(tf.zeros([1, rank], "int32"), tf.ones([1], dtype), new Array(rank).fill(2));
  const { InvalidArgumentError, DataLossError, UnimplementedError } = tf.errors;
  const refusals: [() => unknown, Any, string][] = [
    [() => n.editDistance([[1]], sp(2)), TypeError, "must be a SparseTensor"],
    [() => tf.editDistance(sp(2), sp(2, "int32")), TypeError, "wanted one dtype"],
    [() => tf.editDistance(sp(2), sp(3)), ValueError, "wanted one rank"],
    [() => tf.editDistance(sp(1), sp(1)), ValueError, "from 2 on"],
    [() => n.editDistance(sp(2), sp(2), 1), TypeError, "'normalize'"],
    [() => tf.fingerprint(1), ValueError, "it has no rows"],
    [() => tf.fingerprint([1], "md5"), UnimplementedError, "farmhash64"],
    [() => n.fingerprint(), TypeError, "'data'"],
    [() => strings.format("{}", []), ValueError, "1 places for 0 tensors"],
    [() => n.strings.format(1, []), TypeError, "'template'"],
    [() => strings.format("{}", [1], { summarize: -2 }), ValueError, "from -1 on"],
    [() => n.strings.format("{}", [1], { places: 1 }), TypeError, "placeholder"],
    [() => strings.unicodeScript(tf.tensor(["a"])), TypeError, "wanted int32"],
    [() => strings.unicodeScript([0.5]), TypeError, "0.5"],
    [() => linalg.sqrtm([[1, 2, 3], [4, 5, 6]]), ValueError, "wanted square matrices"],
    [() => linalg.sqrtm([1]), ValueError, "wanted square matrices"],
    [() => linalg.sqrtm(tf.tensor(["a"])), TypeError, "string"],
    [() => linalg.logm([[1]]), TypeError, "wanted complex64"],
    [() => linalg.bandedTriangularSolve([[1, 2]], [1, 2, 3]), ValueError, "do not fit"],
    [() => linalg.bandedTriangularSolve([1, 2], [1, 2]), ValueError, "do not fit"],
    [() => linalg.bandedTriangularSolve([[0, 1]], [1, 2]), InvalidArgumentError, "not invertible"],
    [() => n.linalg.bandedTriangularSolve([[1]], [1], { lower: 1 }), TypeError, "'lower'"],
    [() => n.linalg.bandedTriangularSolve([[1]], [1], { upper: 1 }), TypeError, "lower"],
    [() => linalg.eighTridiagonal([1, 2], [1, 2]), ValueError, "[..., n - 1]"],
    [() => n.linalg.eighTridiagonal([1], [], { select: "x" }), ValueError, '"a", "i" or "v"'],
    [() => linalg.eighTridiagonal([1], [], { select: "i" }), TypeError, "'selectRange'"],
    [
      () => linalg.eighTridiagonal([1], [], { select: "v", selectRange: [2, 1] }),
      ValueError,
      "two rising numbers",
    ],
    [() => random.statelessPoisson([3], [1, 2], [3, 20]), ValueError, "must end with [2]"],
    [() => random.statelessPoisson([3], [1, 2, 3], 1), ValueError, "wanted [2]"],
    [() => random.statelessPoisson([3], [1, 2], 1, "bool"), TypeError, "Cannot draw bool"],
    [() => random.statelessPoisson([-3], [1, 2], 1), ValueError, "non-negative"],
    [() => random.poisson([3], tf.tensor(["a"])), TypeError, "real numbers"],
    [() => random.statelessBinomial([3], [1, 2], [1, 2], 0.5), ValueError, "must end with [2]"],
    [() => n.random.statelessBinomial([3], [1, 2]), TypeError, "'probs'"],
    [
      () => random.statelessParameterizedTruncatedNormal([3], [1, 2], 0, 1, 2, 1),
      InvalidArgumentError,
      "bounds",
    ],
    [
      () => random.statelessParameterizedTruncatedNormal([3], [1, 2], tf.tensor(1, [], "int32")),
      TypeError,
      "wanted floats",
    ],
    [() => random.indexShuffle(5, [1, 2], 4), InvalidArgumentError, "not in [0, 4]"],
    [() => random.indexShuffle(5, [1, 2, 3], 4), ValueError, "wanted [2] or [n, 2]"],
    [() => random.indexShuffle(tf.scalar(1.5), [1, 2], 4), TypeError, "wanted int32"],
    [() => random.Generator.fromSeed(1).binomial([2], 5, 0.5, "uint8"), TypeError, "uint8"],
    [() => random.uniformCandidateSampler([[9]], 1, 2, true, 4), InvalidArgumentError, "has 9"],
    [() => random.uniformCandidateSampler([[1]], 2, 2, true, 4), ValueError, "2 columns"],
    [() => random.uniformCandidateSampler([[1]], 1, 9, true, 4), InvalidArgumentError, "too small"],
    [() => random.uniformCandidateSampler([[1.5]], 1, 9, true, 4), TypeError, "1.5"],
    [() => random.logUniformCandidateSampler([[1]], 1, 0, true, 4), ValueError, "from 1 on"],
    [() => n.random.logUniformCandidateSampler([[1]], 1, 2, 1, 4), TypeError, "'unique'"],
    [
      () => random.fixedUnigramCandidateSampler([[1]], 1, 2, true, 4, { unigrams: [1, 2] }),
      InvalidArgumentError,
      "for 2 weights",
    ],
    [
      () => random.fixedUnigramCandidateSampler([[1]], 1, 2, true, 2, { unigrams: [1, -2] }),
      InvalidArgumentError,
      "is -2",
    ],
    [() => n.random.fixedUnigramCandidateSampler([[1]], 1, 2, true, 4), TypeError, "'unigrams'"],
    [() => nn.computeAccidentalHits([[1, 2]], [1], 1), ValueError, "1 columns"],
    [() => nn.computeAccidentalHits([[1]], [[1]], 1), ValueError, "a vector"],
    [() => io.decodeCompressed("hello", "ZLIB"), DataLossError, "begin as zlib"],
    [() => io.decodeCompressed("hello", "GZIP"), DataLossError, "begin as gzip"],
    [() => n.io.decodeCompressed("hello", "BZ"), TypeError, "'compressionType'"],
    [() => n.io.decodeCompressed([1]), TypeError, "string"],
    [
      () => io.decodeCompressed(Uint8Array.from([120, 156, 203, 72, 205, 201]), "ZLIB"),
      DataLossError,
      "cut off",
    ],
    [
      () =>
        io.decodeCompressed(
          Uint8Array.from([120, 156, 203, 72, 205, 201, 201, 7, 0, 6, 44, 2, 22]),
          "ZLIB",
        ),
      DataLossError,
      "checksum",
    ],
  ];
  for (const [run, error, text] of refusals) {
    const read = async (): Promise<void> => {
      for (const x of [await run()].flat()) if (x instanceof tf.Tensor) await x.data();
    };
    await assertRejects(read, error, text, String(run));
  }
});

Deno.test("the recorded names are tested", () => {
  const rest = /^(expected\.|binomial$|compressed$)/;
  const left = CASES.filter(({ fn }) => !rest.test(fn) && !LISTED.some((s) => fn.startsWith(s)));
  assertEquals(left, []);
});
