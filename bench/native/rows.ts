// Rows beside TensorFlow's and JAX's own programs: transformations of functions, decompositions, texts, tables, sparse products, CTC,
// attention with masks, changes of images, optimizers and metrics. native.py has each by its id.

import type * as Whole from "../../mod.ts";
import type { Tensor } from "../../mod.ts";
import type { Case, Row } from "../row.ts";
import type { WeftPeer } from "../peers/weft.ts";
import { normals, sizeOf, uniform } from "../random.ts";

type Tf = typeof Whole;
/** Makes inputs, and gives the call over them. */
type Make = (tf: Tf) => () => unknown;

function row(id: string, what: string, make: Make): Row {
  return {
    id,
    what,
    devices: ["cpu"],
    weft({ tf: peer }: WeftPeer): Case {
      const tf = peer as unknown as Tf, call = make(tf);
      return {
        call() {
          const value = call();
          return {
            data: () => Promise.resolve([]),
            dispose: () => tf.dispose(value as Tensor),
          };
        },
      };
    },
  };
}

let seed = 1;
const real = (tf: Tf, ...shape: number[]): Tensor =>
  tf.tensor(normals(sizeOf(shape), seed++), shape);

/** A compiled call of a function of tensors. */
function compiled(tf: Tf, f: (...x: Tensor[]) => unknown, ...inputs: Tensor[]): () => unknown {
  const run = tf.function(f as (...x: Tensor[]) => Tensor);
  return () => run(...inputs);
}

/** Layers of a small network. */
const layers = (tf: Tf, count: number, width: number): Tensor[] =>
  Array.from({ length: count }, () => tf.mul(real(tf, width, width), 1 / Math.sqrt(width)));
const network = (tf: Tf, ws: readonly Tensor[], x: Tensor): Tensor =>
  ws.reduce((x, w) => tf.tanh(tf.matMul(x, w)), x);

/** Rows of transformations: of a network of some layers, over a batch. */
function ofNetwork(
  id: string,
  what: string,
  make: (tf: Tf, net: (x: Tensor) => Tensor, x: Tensor) => () => unknown,
): Row {
  return row(id, `${what}, 4 layers of 64, batch 64`, (tf) => {
    const ws = layers(tf, 4, 64);
    return make(tf, (x) => network(tf, ws, x), real(tf, 64, 64));
  });
}
const ofRow = (tf: Tf, net: (x: Tensor) => Tensor) => (x: Tensor): Tensor =>
  tf.sum(tf.square(net(tf.expandDims(x, 0))));

const TRANSFORMS: readonly Row[] = [
  ofNetwork(
    "vmap_gradients",
    "gradients of each example by vmap",
    (tf, net, x) => compiled(tf, (x) => tf.vmap(tf.grad(ofRow(tf, net)))(x), x),
  ),
  ofNetwork(
    "loop_gradients",
    "the same by a loop over the rows",
    (tf, net, x) =>
      compiled(tf, (x) => tf.mapFn(tf.grad(ofRow(tf, net)) as (x: Tensor) => Tensor, x), x),
  ),
  ofNetwork(
    "jvp",
    "a value and its tangent",
    (tf, net, x) => compiled(tf, (x) => tf.jvp(net, [x], [tf.onesLike(x)])[1], x),
  ),
  ofNetwork(
    "hessian_vector",
    "a Hessian times a vector, forward over reverse",
    (tf, net, x) =>
      compiled(
        tf,
        (x) => tf.jvp(tf.grad((x: Tensor) => tf.sum(tf.square(net(x)))), [x], [tf.onesLike(x)])[1],
        x,
      ),
  ),
  ofNetwork(
    "recompute",
    "a gradient with recomputeGrad",
    (tf, net, x) =>
      compiled(
        tf,
        tf.grad((x: Tensor) => tf.sum(tf.square(tf.recomputeGrad(net)(x)))) as (
          x: Tensor,
        ) => Tensor,
        x,
      ),
  ),
];

const matrices = (
  id: string,
  what: string,
  shape: number[],
  f: (tf: Tf, x: Tensor) => unknown,
): Row =>
  row(id, `${what} [${shape}]`, (tf) => {
    const x = real(tf, ...shape);
    return () => f(tf, x);
  });
const even = (tf: Tf, x: Tensor): Tensor => tf.add(x, tf.linalg.matrixTranspose(x));

const MATRICES: readonly Row[] = [
  matrices("svd64", "singular values and vectors", [64, 64], (tf, x) => tf.linalg.svd(x)),
  matrices("svd8_batch", "singular values and vectors", [256, 8, 8], (tf, x) => tf.linalg.svd(x)),
  matrices(
    "eigh64",
    "eigenvalues and vectors, symmetric",
    [64, 64],
    (tf, x) => tf.tidy(() => tf.linalg.eigh(even(tf, x))),
  ),
  matrices("eig32", "eigenvalues and vectors", [32, 32], (tf, x) => tf.linalg.eig(x)),
  matrices("qr128", "orthogonal and triangular factors", [128, 128], (tf, x) => tf.linalg.qr(x)),
  matrices("pinv64", "pseudoinverse", [96, 64], (tf, x) => tf.linalg.pinv(x)),
  matrices(
    "expm64",
    "exponential",
    [64, 64],
    (tf, x) => tf.tidy(() => tf.linalg.expm(tf.mul(x, 0.1))),
  ),
];

/** Words of random letters. */
function words(count: number, most = 8): string[] {
  const next = uniform(7);
  return Array.from(
    { length: count },
    () =>
      Array.from(
        { length: 1 + Math.floor(next() * most) },
        () => String.fromCharCode(97 + Math.floor(next() * 26)),
      ).join(""),
  );
}
const texts = (
  id: string,
  what: string,
  make: (tf: Tf, x: Tensor) => () => unknown,
  of = () => words(10_000),
): Row => row(id, what, (tf) => make(tf, tf.tensor(of())));
const sentences = (): string[] => {
  const all = words(12_000);
  return Array.from({ length: 1000 }, (_, i) => all.slice(12 * i, 12 * i + 12).join(" "));
};

const TEXTS: readonly Row[] = [
  texts("lower", "lower case of 10,000 words", (tf, x) => () => tf.strings.lower(x)),
  texts(
    "split",
    "1,000 sentences split into 12 words each",
    (tf, x) => () => tf.strings.split(x),
    sentences,
  ),
  texts(
    "regex_replace",
    "a pattern replaced in 10,000 words",
    (tf, x) => () => tf.strings.regexReplace(x, "[aeiou]+", "_"),
  ),
  texts(
    "hash_bucket",
    "hashes of 10,000 words",
    (tf, x) => () => tf.strings.toHashBucketFast(x, 1000),
  ),
  texts("lookup", "10,000 words looked up in a table of 1,000", (tf, x) => {
    const keys = [...new Set(words(10_000))].slice(0, 1000);
    const table = tf.lookup.StaticVocabularyTable.of(keys, 1);
    return () => table.lookup(x);
  }),
];

const OTHERS: readonly Row[] = [
  row("sparse_matmul", "a sparse matrix of 10,000 elements [1000,1000] times [1000,64]", (tf) => {
    const places = Array.from(
      { length: 10_000 },
      (_, i) => [Math.floor(i / 10), i * 37 % 100 * 10 + i % 10],
    );
    const a = tf.sparse.reorder(new tf.SparseTensor(places, real(tf, 10_000), [1000, 1000]));
    const b = real(tf, 1000, 64);
    return compiled(tf, (b) => tf.sparse.matMul(a, b), b);
  }),
  row(
    "ctc_gradient",
    "ctcLoss and its gradient, 100 steps, batch 16, 32 classes, labels of 20",
    (tf) => {
      const labels = tf.tensor(
        Array.from({ length: 320 }, (_, i) => 1 + i * 7 % 31),
        [16, 20],
        "int32",
      );
      const lengths = [tf.fill([16], 20, "int32"), tf.fill([16], 100, "int32")] as const;
      const loss = (x: Tensor): Tensor =>
        tf.sum(tf.ctcLoss(labels, x, ...lengths, { blankIndex: 0 }));
      return compiled(tf, tf.grad(loss) as (x: Tensor) => Tensor, real(tf, 100, 16, 32));
    },
  ),
  ...[false, true].map((isGradient) =>
    row(
      isGradient ? "attention_gradient" : "attention_masked",
      `attention with a mask, groups and a window${
        isGradient ? ", gradients of all three" : ""
      }, 2 × 256 steps, 8 heads of 64 over 4`,
      (tf) => {
        const [q, k, v] = [
          real(tf, 2, 256, 8, 64),
          real(tf, 2, 256, 4, 64),
          real(tf, 2, 256, 4, 64),
        ];
        const mask = tf.less(
          tf.range(0, 256, 1, "int32"),
          tf.reshape(tf.tensor([200, 256], [2], "int32"), [2, 1, 1, 1]),
        );
        const attend = (q: Tensor, k: Tensor, v: Tensor): Tensor =>
          tf.scaledDotProductAttention(q, k, v, { mask, causal: true, window: [64, 0] });
        if (!isGradient) return compiled(tf, attend as (...x: Tensor[]) => Tensor, q, k, v);
        const slopes = tf.grads((...x: Tensor[]) => tf.sum(tf.square(attend(x[0]!, x[1]!, x[2]!))));
        return compiled(tf, (...x) => slopes(x), q, k, v);
      },
    )
  ),
  row(
    "extract_patches",
    "patches of 3 × 3 of images [8,64,64,16]",
    (tf) =>
      compiled(
        tf,
        (x) => tf.extractPatches(x, [3, 3], [1, 1], [1, 1], "same"),
        real(tf, 8, 64, 64, 16),
      ),
  ),
  row(
    "adjust_hue",
    "hues of images [8,128,128,3]",
    (tf) => compiled(tf, (x) => tf.image.adjustHue(x, 0.2), tf.sigmoid(real(tf, 8, 128, 128, 3))),
  ),
  row("fft3d", "fft3d [32,32,32]", (tf) => {
    const x = tf.complex(real(tf, 32, 32, 32), real(tf, 32, 32, 32));
    return () => tf.fft3d(x);
  }),
  row("auc", "an update of AUC by 10,000 predictions", (tf) => {
    const metric = tf.metrics.auc(), p = tf.sigmoid(real(tf, 10_000));
    const y = tf.cast(tf.greater(real(tf, 10_000), 0), "float32");
    const step = tf.function((y: Tensor, p: Tensor) => void metric.updateState(y, p));
    return () => step(y, p) ?? [];
  }),
];

/** A step of an optimizer over 8 matrices. */
const optimizer = (id: string, make: (tf: Tf) => Whole.Optimizer): Row =>
  row(`step_${id}`, `a step of ${id}, 8 matrices [128,128]`, (tf) => {
    const own = make(tf);
    const pairs = Array.from(
      { length: 8 },
      () => [real(tf, 128, 128), tf.variable(real(tf, 128, 128))] as const,
    );
    const step = tf.function(() => void own.applyGradients(pairs));
    return () => step() ?? [];
  });

const OPTIMIZERS: readonly Row[] = [
  optimizer("adamw", ({ train }) => train.adamw(1e-3)),
  optimizer("lion", ({ train }) => train.lion(1e-4)),
  optimizer("lamb", ({ train }) => train.lamb(1e-3)),
  optimizer("adafactor", ({ train }) => train.adafactor(1e-3)),
  optimizer("muon", ({ train }) => train.muon(1e-3)),
];

/** Rows of this file. */
export const NATIVE_ROWS: readonly Row[] = [
  ...TRANSFORMS,
  ...MATRICES,
  ...TEXTS,
  ...OTHERS,
  ...OPTIMIZERS,
];
