/** convertOnnx: what it writes computes the same. */
import * as tf from "@weft/weft";
import { inspectOnnx, loadOnnx } from "@weft/weft/onnx";
import { loadSavedModel } from "@weft/weft/tf";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { convertOnnx } from "../../src/onnx/convert.ts";
import { freezeModel } from "../../src/tensorflow/files/convert.ts";
import { difference, Pack } from "./pack.ts";

const NAMES = ["resnet", "bert_dynamo", "lstm_bidirectional"];

Deno.test("convertOnnx() writes a SavedModel with variables, a GraphDef without, and ONNX again", async () => {
  const pack = await Pack.read("models"), folder = await Deno.makeTempDir();
  try {
    for (const c of pack.cases.filter(({ n }) => NAMES.includes(n))) {
      const from = `${folder}/${c.n}.onnx`;
      await Deno.writeFile(from, pack.model(c));
      await convertOnnx(from, `${folder}/${c.n}`);
      await convertOnnx(from, `${folder}/${c.n}.pb`);
      const { signatures: { serving_default: f } } = await loadSavedModel(`${folder}/${c.n}`);
      const { inputs, outputs, def } = await freezeModel(`${folder}/${c.n}.pb`);
      assert(!def.node.some(({ op }) => op === "VarHandleOp"), c.n);
      const [given, wanted] = c.sets[0];
      const xs = given.map((r) => pack.arrays(r) as tf.NdArray);
      const ys = wanted.map((r) => pack.arrays(r) as tf.NdArray);
      const names = Object.keys((await inspectOnnx(pack.model(c))).inputs);
      const results = Object.values(await f(Object.fromEntries(xs.map((x, i) => [names[i], x]))));
      for (const [i, want] of ys.entries()) {
        const wrong = await Promise.all(
          results.map(async (y) => difference(await y.ndarray(), want, { scale: c.scale! })),
        );
        assert(wrong.includes(null), `${c.n}: output ${i}: ${wrong.join("; ")}`);
      }
      assertEquals(Object.keys(inputs).length, xs.length);
      assert(Object.keys(outputs).length > 0);
      if (c.n !== "resnet") continue;
      await convertOnnx(`${folder}/${c.n}`, `${folder}/again.onnx`);
      const again = await loadOnnx(`${folder}/again.onnx`);
      const [y] = Object.values(await again.run({ [again.inputs[0].name]: xs[0] }));
      assertEquals(difference(await (y as tf.Tensor).ndarray(), ys[0], { scale: c.scale! }), null);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("convertOnnx() refuses other endings", async () => {
  await assertRejects(() => convertOnnx("a.onnx", "b.json"), tf.ValueError, "wanted FILE.onnx");
});
