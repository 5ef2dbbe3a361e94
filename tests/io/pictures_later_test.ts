// Runs alone: another file imports the decoders.
/** BMP and GIF where `@weft/weft/image` is not imported: the decoders are loaded when a picture is decoded. */
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";

const GIF = Uint8Array.from([
  ...[71, 73, 70, 56, 57, 97, 1, 0, 1, 0, 128, 0, 0, 1, 2, 3, 4, 5, 6],
  ...[0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x4c, 1, 0, 0x3b],
]);

Deno.test("decodeGif() without decoders is awaited in sessions, functions and datasets", async () => {
  await tf.setBackend("cpu");
  const pixels = [[[[4, 5, 6]]]];
  const graph = new tf.Graph();
  const contents = new tf.NdArray("string", [], [GIF]);
  const y = graph.asDefault(() => tf.io.decodeGif(tf.constant(contents)));
  const run = await new tf.Session({ graph }).run(y) as unknown as tf.NdArray;
  assertEquals(run.toArray(), pixels);
  const files = tf.data.fromTensors(tf.constant(contents)).map((file) => tf.io.decodeGif(file));
  const all = await Array.fromAsync(files.asNumpyIterator(), (x) => x.toArray());
  assertEquals(all, [pixels]);
  await assertRejects(
    async () => {
      const bmp = graph.asDefault(() => tf.io.decodeBmp(tf.constant(contents)));
      await new tf.Session({ graph }).run(bmp);
    },
    tf.errors.InvalidArgumentError,
    "it does not begin as a BMP does",
  );
  assertThrows(
    () => tf.io.decodeGif(GIF),
    tf.errors.FailedPreconditionError,
    "Cannot run DecodeGif at once: here it must be awaited",
  );
});
