/**
 * Has real TensorFlow load and run what we write: SavedModels, with a table, branches and a script; checkpoints; a GraphDef. Not a test, as it needs Python:
 *
 *     deno run -A tests/tf/tensorflow_loads.ts PYTHON
 *
 * PYTHON is an interpreter that has TensorFlow; load_in_tensorflow.py is what it runs.
 */
import * as tf from "@weft/weft";
import { encodeGraphDef, saveModel, writeCheckpoint } from "@weft/weft/tf";
import { convertModel } from "../../src/tensorflow/files/convert.ts";

const folder = await Deno.makeTempDir();
try {
  await tf.setBackend("cpu");
  const kernel = tf.variable([[1, 2], [3, 4]], true, "dense/kernel");
  const count = tf.variable(0, false, "count", "int32");
  const layer = tf.function((x: tf.Tensor, scale: tf.Tensor) => {
    count.assignAdd(1);
    return { y: tf.relu(tf.mul(tf.matMul(x, kernel), scale)), count, x };
  }, {
    inputSignature: [
      tf.TensorSpec([null, 2], "float32", "x"),
      tf.TensorSpec([], "float32", "scale"),
    ],
  });
  const power = tf.function((s: tf.Tensor) => {
    const [, y] = tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 5),
      (i: tf.Tensor, y: tf.Tensor) => [tf.add(i, 1), tf.mul(y, 2)],
      [tf.scalar(0, "int32"), s],
    ) as tf.Tensor[];
    return { y };
  }, { inputSignature: [tf.TensorSpec([], "float32", "class")] });
  await saveModel(`${folder}/model`, { signatures: { serving_default: layer, power } });
  // A table that is filled by the model itself, and a branch.
  const fixture = new URL("fixtures/module", import.meta.url).pathname;
  await convertModel(fixture, `${folder}/table`, { signature: "look" });
  await convertModel(fixture, `${folder}/branch`, { signature: "loop" });
  const choice = tf.function((x: tf.Tensor) => {
    const y = tf.cond(tf.greater(tf.sum(x), 0), () => tf.matMul(x, kernel), () => tf.neg(x));
    return { y: y as tf.Tensor };
  }, { inputSignature: [tf.TensorSpec([null, 2], "float32", "x")] });
  await saveModel(`${folder}/choice`, { signatures: { serving_default: choice } });
  const double = tf.registerScript(
    "tensorflow_loads.double@1",
    (x: tf.NdArray) => x.map((v) => 2 * Number(v)),
  );
  const script = tf.function((x: tf.Tensor) => ({
    y: tf.add(tf.numpyFunction(double, [x], "float32") as tf.Tensor, 1),
  }), { inputSignature: [tf.TensorSpec([2], "float32", "x")] });
  await saveModel(`${folder}/script`, { signatures: { serving_default: script } });
  const values = {
    w: kernel,
    "scope/names": tf.tensor(["a", "é"], [2], "string"),
    long: tf.tensor([1n, -(2n ** 40n)], [2], "int64"),
    brief: tf.cast(tf.tensor([1.5, -256, 3e38]), "bfloat16"),
    half: tf.cast(tf.tensor([1.5, -0.1]), "float16"),
    wide: tf.cast(tf.tensor([1.5, -3]), "float64"),
    flags: tf.tensor([true, false]),
    bytes: tf.cast(tf.tensor([0, 255]), "uint8"),
    none: tf.zeros([0, 3]),
  };
  await writeCheckpoint(`${folder}/plain`, values);
  // What takes the place of another stands in as many files as that did not.
  for (const w of [tf.zeros([2, 2]), kernel]) {
    await writeCheckpoint(`${folder}/sharded`, { ...values, w });
  }
  await new tf.train.Checkpoint({ kernel, count }).save(`${folder}/objects`);
  const graph = new tf.Graph();
  const y = graph.asDefault(() => {
    const x = tf.placeholder("float32", [null, 2], "x");
    return tf.softmax(tf.matMul(x, tf.constant([[1, 2], [3, 4]]))) as tf.SymbolicTensor;
  });
  await Deno.writeFile(`${folder}/graph.pb`, encodeGraphDef(graph.toGraphDef()));
  const program = new URL("load_in_tensorflow.py", import.meta.url).pathname;
  const { code } = await new Deno.Command(Deno.args[0]!, { args: [program, folder, y.name] })
    .output()
    .then(({ code, stdout, stderr }) => {
      const text = new TextDecoder();
      console.log(text.decode(stdout) + (code === 0 ? "" : text.decode(stderr)));
      return { code };
    });
  Deno.exitCode = code;
} finally {
  await Deno.remove(folder, { recursive: true });
}
