/**
 * Has real TensorFlow load and run what we write: a SavedModel, checkpoints, a GraphDef. Not a test, as it needs Python:
 *
 *     deno run -A tests/tf/tensorflow_loads.ts PYTHON
 *
 * PYTHON is an interpreter that has TensorFlow; load_in_tensorflow.py is what it runs.
 */
import * as tf from "@weft/weft";
import { encodeGraphDef, saveModel, writeCheckpoint } from "@weft/weft/tf";

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
  const names = tf.tensor(["a", "é"], [2], "string");
  await writeCheckpoint(`${folder}/plain`, { w: kernel, "scope/names": names });
  await new tf.train.Checkpoint({ kernel, count }).save(`${folder}/objects`);
  const graph = new tf.Graph();
  const y = graph.asDefault(() => {
    const x = tf.placeholder("float32", [null, 2], "x");
    return tf.softmax(tf.matMul(x, tf.constant([[1, 2], [3, 4]]))) as tf.SymbolicTensor;
  });
  await Deno.writeFile(`${folder}/graph.pb`, encodeGraphDef(graph.toGraphDef()));
  const script = new URL("load_in_tensorflow.py", import.meta.url).pathname;
  const { code } = await new Deno.Command(Deno.args[0]!, { args: [script, folder, y.name] })
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
