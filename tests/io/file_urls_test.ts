/** Paths that are URLs of files, as `import.meta.resolve` and TensorFlow write them. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { pathToFileURL } from "node:url";

Deno.test("a text that is a URL of a file names that file, for readers and writers", async () => {
  const folder = await Deno.makeTempDir({ prefix: "a b%ü " });
  try {
    const url = (name: string): string => String(pathToFileURL(`${folder}/${name}`));
    await Deno.writeTextFile(`${folder}/x.txt`, "one\ntwo");
    const texts = (ds: tf.data.Dataset<tf.Tensor>) =>
      Array.fromAsync(ds.asNumpyIterator(), (x) => x.text());
    assertEquals(await texts(tf.data.textLines(url("x.txt"))), ["one", "two"]);
    const read = tf.data.fromTensorSlices([url("x.txt")]).map((file) => tf.io.readFile(file));
    assertEquals(await texts(read), ["one\ntwo"]);

    const writer = new tf.io.TFRecordWriter(url("x.tfrecord"));
    await writer.write(new TextEncoder().encode("record"));
    await writer.close();
    for (const path of [url("x.tfrecord"), `${folder}/x.tfrecord`]) {
      assertEquals(await texts(tf.data.tfrecord(path)), ["record"]);
    }
    const missing = tf.data.fromTensorSlices([url("none")]).map((file) => tf.io.readFile(file));
    await assertRejects(() => texts(missing), tf.errors.NotFoundError, url("none"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
