/** Event files: what is written is read again by the record reader, and TensorBoard reads it (checked when it was written). */
import * as tf from "@weft/weft";
import { createFileWriter } from "@weft/weft/tf";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { testOnDevices } from "../devices.ts";

testOnDevices(
  "createFileWriter() writes events as records, in the order of the calls",
  async () => {
    const folder = await Deno.makeTempDir({ prefix: "weft_events_" });
    const graph = new tf.Graph();
    graph.asDefault(() =>
      tf.numpyFunction((a) => a, [tf.placeholder("float32", [2], "x")], "float32")
    );
    let path: string;
    {
      await using events = await createFileWriter(`${folder}/runs/1`);
      path = events.path;
      using loss = tf.scalar(0.25);
      await events.scalar("loss", loss, 3);
      await events.image("digits", tf.zeros([5, 4, 4, 1]), 3, { maxOutputs: 2 });
      await events.histogram("weights", [1, 2, 2, 4], 3, { buckets: 3 });
      await events.text("note", "**done**", 4);
      await events.graph(graph);
    }
    const records = await tf.data.tfrecord(path).toArray() as tf.Tensor[];
    assertEquals(records.length, 7, "the format, and six events");
    const bytes = await Promise.all(records.map(async (r) => (await r.data<"string">())[0]));
    // One character a byte, so that places in the text are places in the bytes.
    const text = bytes.map((b) => new TextDecoder("latin1").decode(b));
    const words = [
      "brain.Event:2",
      "loss",
      "digits/image/0",
      "digits/image/1",
      "weights",
      "**done**",
      "Placeholder",
    ];
    words.forEach((word, i) => assert(text[i].includes(word), `record ${i} has no "${word}"`));
    // Of the scalar: its tag, then field 2 with the bits of a float.
    const at = text[1].indexOf("loss") + 4;
    assertEquals(bytes[1][at], 2 * 8 + 5);
    assertEquals(
      new DataView(bytes[1].buffer, bytes[1].byteOffset + at + 1, 4).getFloat32(0, true),
      0.25,
    );
    await Deno.remove(folder, { recursive: true });
  },
);

Deno.test("createFileWriter() refuses what TensorBoard could not show", async () => {
  await assertRejects(() => createFileWriter(3 as never), TypeError, "wanted a path");
  const folder = await Deno.makeTempDir({ prefix: "weft_events_" });
  await using events = await createFileWriter(folder);
  for (
    const [call, message] of [
      [() => events.scalar("loss", [1, 2], 1), 'Cannot write scalar "loss": it has 2 values'],
      [() => events.scalar("loss", 1, -1), "Cannot write a summary at step -1"],
      [() => events.image("x", [[1, 2]], 1), 'Cannot write image "x" of shape [1,2]'],
      [() => events.histogram("w", [], 1), 'Cannot write histogram "w": it has no values'],
      [() => events.histogram("w", [NaN], 1), "values that are no numbers"],
    ] as const
  ) await assertRejects(call, tf.ValueError, message);
  await events.close();
  await Deno.remove(folder, { recursive: true });
});
