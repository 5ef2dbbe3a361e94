/**
 * Has Netron's own readers parse what we write: a SavedModel, a checkpoint, a GraphDef with a script and a branch.
 * Not a test, as Netron is no package of npm's:
 *
 *     deno run -A tests/tf/netron_reads.ts FOLDER
 *
 * FOLDER is a checkout of Netron; its reader runs in Node.
 */
import * as tf from "@weft/weft";
import { encodeGraphDef, saveModel, writeCheckpoint } from "@weft/weft/tf";

/** Opens each file as Netron does, and prints its format and what its graphs hold. */
const READER = `(async () => {
  const { Target } = await import(process.argv[1] + "/test/worker.js");
  for (const path of process.argv.slice(2)) {
    const target = new Target({ targets: [path], name: path });
    await target.execute();
    const graphs = target.model.modules.map(({ nodes }) => nodes.map((n) => n.type.name));
    console.log(JSON.stringify({ path, format: target.model.format, graphs }));
  }
  process.exit(0);
})()`;

const folder = await Deno.makeTempDir();
try {
  await tf.setBackend("cpu");
  const kernel = tf.variable([[1, 2], [3, 4]], true, "dense/kernel");
  const layer = tf.function((x: tf.Tensor) => ({ y: tf.relu(tf.matMul(x, kernel)) }), {
    inputSignature: [tf.TensorSpec([null, 2], "float32", "x")],
  });
  await saveModel(`${folder}/model`, { signatures: { serving_default: layer } });
  await writeCheckpoint(`${folder}/plain`, { w: kernel, step: tf.scalar(3, "int32") });
  const edges = tf.registerScript("netron.edges@1", (v: tf.NdArray) => v);
  const graph = new tf.Graph();
  graph.asDefault(() => {
    const x = tf.placeholder("float32", [null, 28, 28, 1], "image");
    const filter = tf.constant(tf.NdArray.zeros("float32", [3, 3, 1, 4]));
    const y = tf.relu(tf.conv2d(x as tf.Tensor4D, filter as tf.Tensor4D, 1, "same"));
    const script = tf.numpyFunction(edges, [y], tf.TensorSpec([null, 28, 28, 4]));
    tf.cond(tf.greater(tf.sum(script), 0), () => tf.mul(script, 2), () => script);
  });
  const def = graph.toGraphDef();
  await Deno.writeFile(`${folder}/graph.pb`, encodeGraphDef(def));
  const files = ["model/saved_model.pb", "plain.index", "graph.pb"].map((f) => `${folder}/${f}`);
  const args = ["-e", READER, Deno.args[0]!, ...files];
  const { code, stdout, stderr } = await new Deno.Command("node", { args, cwd: Deno.args[0]! })
    .output();
  const text = new TextDecoder();
  console.log(text.decode(stdout) + (code === 0 ? "" : text.decode(stderr)));
  Deno.exitCode = code;
} finally {
  await Deno.remove(folder, { recursive: true });
}
