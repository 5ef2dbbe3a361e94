/** Mistakes that people make, and what they are told: the class, and the words that lead on. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";

// deno-lint-ignore no-explicit-any -- programs without types are where most of these come from.
type Untyped = any;
const untyped: Untyped = tf;

const x = [tf.tensor([1, 2])];
const graphWith = <T>(build: () => T): [tf.Session, T] => {
  const graph = new tf.Graph();
  const built = graph.asDefault(build);
  return [new tf.Session({ graph }), built];
};
const placeholderRun = (options: Untyped): unknown => {
  const [session, x] = graphWith(() => tf.placeholder("float32", [2], "x"));
  return session.run(x, options);
};

/** A mistake, the class of the error, and words of its message. */
const MISTAKES: Readonly<Record<string, readonly [() => unknown, string, ...string[]]>> = {
  // Scripts
  "a body without return": [
    () => tf.numpyFunction(function score() {} as Untyped, x, "float32"),
    "InvalidArgumentError",
    "'score' returned undefined: is a return missing?",
  ],
  "an eager body without return": [
    () => tf.pyFunction(function score() {} as Untyped, x, "float32"),
    "InvalidArgumentError",
    "'score' returned undefined: is a return missing?",
  ],
  "no Tout": [() => untyped.numpyFunction((a: Untyped) => a, x), "TypeError", "of numpyFunction"],
  "no Tout of an eager body": [
    () => untyped.pyFunction((a: Untyped) => a, x),
    "TypeError",
    "Missing required argument: 'Tout'",
  ],
  "inputs that are no list": [
    () => untyped.numpyFunction((a: Untyped) => a, x[0], "float32"),
    "TypeError",
    "inp of PyFunc must be a list of tensors",
  ],
  "function and inputs exchanged": [
    () => untyped.numpyFunction(x, (a: Untyped) => a, "float32"),
    "ValueError",
    "Expected func to be callable. Received func=an array of 1",
  ],
  "an unknown dtype": [
    () => untyped.numpyFunction((a: Untyped) => a, x, "floot"),
    "TypeError",
    '"floot" to a TensorFlow DType',
  ],
  "fractions for integers": [
    () => tf.numpyFunction(() => [0.5], x, "int32"),
    "InvalidArgumentError",
    "Cannot convert 0.5 of type number to int32",
  ],
  "two results for one": [
    () => tf.numpyFunction(((a: tf.NdArray) => [a, a]) as Untyped, x, "float32"),
    "InvalidArgumentError",
    "returns 2 values, but expects to see 1 values",
  ],
  "a body that throws": [
    () =>
      tf.numpyFunction(
        function load() {
          throw new Error("No such picture: cat.png");
        } as Untyped,
        x,
        "float32",
      ),
    "UnknownError",
    "Error: No such picture: cat.png",
    "at ",
  ],
  "an async body eagerly": [
    () => tf.numpyFunction(((a: tf.NdArray) => Promise.resolve(a)) as Untyped, x, "float32"),
    "FailedPreconditionError",
    "await numpyFunctionAsync instead",
  ],
  "a gradient through a body without vjp": [
    () =>
      tf.grad((a) =>
        tf.sum(
          tf.numpyFunction(
            function score(b: tf.NdArray) {
              return b;
            },
            [a],
            "float32",
          ) as tf.Tensor,
        )
      )(tf.tensor([1, 2])),
    "ValueError",
    "PyFunc 'score' has no vjp: give one, use pyFunction, or stopGradient",
  ],
  "arithmetic on an array of many": [
    () => tf.numpyFunction(((a: Untyped) => a * 2) as Untyped, x, "float32"),
    "InvalidArgumentError",
    ".map",
  ],
  "a script's name without a version": [
    () => tf.registerScript("score", (a: tf.NdArray) => a),
    "ValueError",
    'wanted a name and a version, as in "acme.nms@1"',
  ],
  "an unknown option of a script": [
    () => untyped.numpyFunction((a: Untyped) => a, x, "float32", { statefull: false }),
    "TypeError",
    'did you mean "stateful"?',
  ],
  // Sessions and graphs
  "feedDict": [() => placeholderRun({ feedDict: {} }), "TypeError", 'did you mean "feeds"?'],
  "nothing fed": [
    () => placeholderRun({}),
    "InvalidArgumentError",
    "You must feed a value for placeholder tensor 'x'",
  ],
  "a feed of another shape": [
    () => placeholderRun({ feeds: { "x:0": [1, 2, 3] } }),
    "ValueError",
    "Cannot feed value of shape (3,) for Tensor x:0, which has shape (2,)",
  ],
  "a feed of an unknown name": [
    () => placeholderRun({ feeds: { "y:0": [1, 2] } }),
    "TypeError",
    "Cannot interpret feeds key as Tensor",
    "y:0",
  ],
  "an operation's name for a tensor's": [
    () => placeholderRun({ feeds: { x: [1, 2] } }),
    "TypeError",
    '"<op_name>:<output_index>"',
  ],
  "an unknown fetch": [
    () => graphWith(() => tf.placeholder("float32", [2], "x"))[0].run("z:0"),
    "ValueError",
    "The operation, 'z', does not exist in the graph",
  ],
  "a variable not initialised": [
    () => {
      const [session, v] = graphWith(() => tf.variable([1], true, "w"));
      return session.run(v);
    },
    "FailedPreconditionError",
    "Could not find variable w",
    "It can also mean that it is uninitialized",
  ],
  "a tensor of another graph": [
    () => {
      const [, a] = graphWith(() => tf.placeholder("float32", []));
      return graphWith(() => tf.add(a, 1));
    },
    "ValueError",
    "tensors must be from the same graph",
  ],
  "reading in a graph": [
    () => graphWith(() => tf.placeholder("float32", []).dataSync()),
    "OperatorNotAllowedInGraphError",
    "it is symbolic, so it has no value before the graph runs; return it",
  ],
  "JavaScript's if in a function": [
    () => tf.function((a: Untyped) => (a > 0 ? a : tf.neg(a)))(tf.scalar(1)),
    "OperatorNotAllowedInGraphError",
    "as a JavaScript number is not allowed: use tf ops",
  ],
  "an async function traced": [
    () => tf.function((a: Untyped) => Promise.resolve(a))(tf.scalar(1)),
    "TypeError",
    "put awaits into a script op",
  ],
  "branches of different dtypes": [
    () =>
      tf.function((p: tf.Tensor) =>
        tf.cond(p, () => tf.scalar(1), () => tf.scalar(1, "int32") as Untyped)
      )(tf.scalar(true)),
    "TypeError",
    "must have the same number, type, and overall structure",
  ],
  "a predicate of many": [
    () => tf.cond(tf.tensor([true, false]), () => tf.scalar(1), () => tf.scalar(2)),
    "ValueError",
    "Cannot branch on pred of shape [2] in cond: wanted a scalar",
  ],
  "a device that is not there": [
    () => tf.device("/gpu:7", () => tf.ones([1])),
    "InvalidArgumentError",
    "available devices are",
  ],
  "a device's name of no form": [() => tf.device("gpu0", () => tf.ones([1])), "ValueError", "gpu0"],
  // Tensors and ops
  "undefined for a tensor": [
    () => untyped.add(undefined, 1),
    "TypeError",
    "Argument 'a' passed to 'add' must be a Tensor or TensorLike, but got undefined",
  ],
  "a promise for a tensor": [
    () => untyped.add(Promise.resolve(1), 1),
    "TypeError",
    "but got a value of type Promise",
  ],
  "shapes that do not broadcast": [
    () => tf.add(tf.ones([2, 3]), tf.ones([2, 4])),
    "InvalidArgumentError",
    "[2,3] vs. [2,4]",
  ],
  "inner dimensions that differ": [
    () => tf.matMul(tf.ones([2, 3]), tf.ones([2, 4])),
    "InvalidArgumentError",
    "inner dimensions must be equal, received 3 and 2",
  ],
  "a vector for a matrix": [
    () => tf.matMul(tf.ones([3]), tf.ones([3, 4])),
    "InvalidArgumentError",
    "at least rank 2 but is rank 1",
  ],
  "a reshape of another size": [
    () => tf.reshape(tf.ones([2, 3]), [4]),
    "InvalidArgumentError",
    "Cannot reshape a tensor with 6 elements to shape [4] (4 elements)",
  ],
  "ragged lists": [
    () => tf.tensor([[1, 2], [3]]),
    "ValueError",
    "Cannot convert a ragged nested array",
  ],
  "flat values without a shape": [
    () => untyped.tensor2d([1, 2, 3]),
    "ValueError",
    "a shape must be provided",
  ],
  "a disposed tensor": [
    () => {
      const t = tf.ones([2]);
      t.dispose();
      return tf.add(t, 1);
    },
    "RuntimeError",
    "it is disposed",
  ],
  "joining different shapes": [
    () => tf.concat([tf.ones([2, 3]), tf.ones([2, 4])]),
    "InvalidArgumentError",
    "they must be equal elsewhere",
  ],
  "one tensor for a list": [
    () => untyped.concat(tf.ones([2])),
    "TypeError",
    "must be a list of tensors",
  ],
  "a slice beyond the end": [
    () => tf.slice(tf.ones([2, 2]), [0, 0], [3, 1]),
    "InvalidArgumentError",
    "Cannot slice 3 elements from 0 along axis 0: it has 2 elements",
  ],
  "an index beyond the end": [
    () => tf.gather(tf.ones([2]), [5]),
    "InvalidArgumentError",
    "indices[0] = 5 is not in [0, 2)",
  ],
  "an axis beyond the rank": [() => tf.sum(tf.ones([2, 2]), 2), "ValueError", "range [-2, 2)"],
  "channels that do not fit": [
    () => untyped.conv2d(tf.ones([1, 4, 4, 3]), tf.ones([3, 3, 1, 8]), 1, "same"),
    "ValueError",
    "depth of input must match input depth for filter, received 3 and 1",
  ],
  "an unknown padding": [
    () => untyped.conv2d(tf.ones([1, 4, 4, 3]), tf.ones([3, 3, 3, 8]), 1, "SAMEE"),
    "ValueError",
    'unknown padding "SAMEE", wanted "same", "valid"',
  ],
  "an image without channels": [
    () => untyped.conv2d(tf.ones([4, 4]), tf.ones([3, 3, 3, 8]), 1, "same"),
    "ValueError",
    "x must be rank 3 or 4, received rank 2",
  ],
  "a label that no class has": [
    () => untyped.sparseSoftmaxCrossEntropyWithLogits({ labels: [5], logits: [[1, 2, 3]] }),
    "InvalidArgumentError",
    "label value of 5 which is outside the valid range of [0, 3)",
  ],
  "parts that are not equal": [
    () => tf.split(tf.ones([5]), 2),
    "InvalidArgumentError",
    "received 5 elements and 2 splits",
  ],
  "stacking different shapes": [
    () => tf.stack([tf.ones([2]), tf.ones([3])]),
    "InvalidArgumentError",
    "Shapes are [2] and [3]",
  ],
  "too few paddings": [
    () => untyped.pad(tf.ones([2, 2]), [[1, 1]]),
    "InvalidArgumentError",
    "wanted one for each axis",
  ],
  "an axis twice": [
    () => tf.transpose(tf.ones([2, 3]), [0, 0]),
    "InvalidArgumentError",
    "it is not a permutation",
  ],
  "an einsum with a letter too many": [
    () => tf.einsum("ij,jk->il", tf.ones([2, 3]), tf.ones([3, 4])),
    "ValueError",
    "the label l not present in the input subscripts",
  ],
  "a step of zero": [() => tf.range(0, 10, 0), "ValueError", "step of zero"],
  "a negative dimension": [() => tf.fill([-1], 0), "ValueError", "[-1]"],
  "a rate above one": [() => tf.dropout([1, 2], 1.5), "ValueError", "rate must be in [0, 1)"],
  // Training
  "a loss without variables": [
    () => tf.train.sgd(0.1).minimize(() => tf.scalar(1)),
    "ValueError",
    "Cannot find a connection between any variable and the result of the loss function",
  ],
  "a loss of many values": [
    () => tf.variableGrads(() => tf.mul(tf.variable([1, 2]), 2)),
    "ValueError",
    "must return a scalar, but it returned a rank-1 tensor",
  ],
  "a loss that is computed already": [
    () => untyped.train.sgd(0.1).minimize(tf.scalar(1)),
    "ValueError",
    "it has forgotten what it was computed from, pass a function",
  ],
  "an object of options for a rate": [
    () => untyped.train.adam({ learningRate: 0.1 }),
    "ValueError",
    "learningRate must be defined as a number",
  ],
  "a text for a rate": [() => untyped.train.sgd("0.1"), "ValueError", 'received "0.1"'],
  "another shape assigned": [
    () => tf.variable([1, 2], true, "mistakes/w").assign(tf.ones([3])),
    "ValueError",
    "'mistakes/w': Shape mismatch. The variable shape (2,)",
  ],
  "a promise out of tidy": [
    () => untyped.tidy(() => Promise.resolve(tf.ones([1]))),
    "TypeError",
    "Cannot return a Promise inside of tidy",
  ],
};

/** Those of programs that have files. */
const FILE_MISTAKES: typeof MISTAKES = {
  "a model that is not there": [
    () => tf.loadGraphModel("/nonexistent/model.json"),
    "NotFoundError",
    "Cannot read /nonexistent/model.json: there is no such file",
  ],
  "a folder that is not there": [
    () => tf.io.saveVariables("/nonexistent/w.safetensors", { w: tf.variable([1]) }),
    "NotFoundError",
    "Cannot write /nonexistent/w.safetensors: there is no such folder",
  ],
};

const ALL: readonly (readonly [string, typeof MISTAKES])[] = [
  ["mistakes that people make are told in words that lead on", MISTAKES],
  ["mistakes with files are told in words that lead on", FILE_MISTAKES],
];

for (const [what, mistakes] of ALL) {
  Deno.test(what, async (t) => {
    await tf.setBackend("cpu");
    for (const [name, [make, kind, ...words]] of Object.entries(mistakes)) {
      await t.step(name, async () => {
        let error: Error | null = null;
        try {
          await make();
        } catch (e) {
          error = e as Error;
        }
        assert(error !== null, "nothing was thrown");
        assertEquals(error.name, kind, error.message);
        for (const word of words) assert(error.message.includes(word), error.message);
      });
    }
  });
}

Deno.test("at least sixty mistakes are known", () => {
  assert(ALL.reduce((sum, [, mistakes]) => sum + Object.keys(mistakes).length, 0) >= 60);
});

Deno.test("an error of a loss without variables tells of no script of an earlier one", () => {
  const cut = (f: () => unknown): string => {
    try {
      f();
    } catch (e) {
      return (e as Error).message;
    }
    return "";
  };
  assert(cut(MISTAKES["a gradient through a body without vjp"][0]).includes("has no vjp"));
  const message = cut(() => tf.train.sgd(0.1).minimize(() => tf.scalar(1)));
  assert(message.endsWith("passed to minimize()"), message);
});
