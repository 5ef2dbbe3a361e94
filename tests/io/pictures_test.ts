/** BMP and GIF: the pixels TensorFlow 2.21 decodes (make_picture_fixtures.py), and files that are damaged. */
import { assertEquals, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import "@weft/weft/image";
import { testOnDevices } from "../devices.ts";

interface Picture {
  readonly name: string;
  readonly kind: "bmp" | "gif";
  readonly file: string;
  readonly shape: readonly number[];
  readonly pixels: string;
}

const PICTURES: readonly Picture[] = JSON.parse(
  Deno.readTextFileSync(new URL("./fixtures/pictures.json", import.meta.url)),
);
const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const fileOf = (name: string): Uint8Array<ArrayBuffer> =>
  bytesOf(PICTURES.find((p) => p.name === name)!.file);
const { InvalidArgumentError } = tf.errors;

testOnDevices(
  "decodeBmp() and decodeGif() give TensorFlow's pixels, eagerly and in functions",
  () => {
    for (const { name, kind, file, shape, pixels } of PICTURES) {
      const decode = kind === "bmp" ? tf.io.decodeBmp : tf.io.decodeGif;
      const compiled = tf.function((contents: tf.Tensor) => decode(contents));
      tf.tidy(() => {
        const contents = tf.constant(new tf.NdArray("string", [], [bytesOf(file)]));
        for (const y of [decode(bytesOf(file)), compiled(contents)]) {
          assertEquals([y.dtype, y.shape], ["uint8", shape], name);
          assertEquals(Uint8Array.from(y.dataSync() as Uint8Array), bytesOf(pixels), name);
        }
      });
    }
  },
);

Deno.test("decodeImage() takes BMP and the first frame of GIF", async () => {
  await tf.setBackend("cpu");
  for (const { name, kind, file, shape, pixels } of PICTURES) {
    tf.tidy(() => {
      const y = tf.io.decodeImage(bytesOf(file));
      const own = kind === "gif" ? shape.slice(1) : shape;
      assertEquals(y.shape, own, name);
      const size = own.reduce((a, b) => a * b);
      assertEquals(
        Uint8Array.from(y.dataSync() as Uint8Array),
        bytesOf(pixels).slice(0, size),
        name,
      );
    });
  }
  const gray = tf.io.decodeImage(fileOf("colors"), { channels: 1 });
  assertEquals(gray.shape, [4, 3, 1]);
  gray.dispose();
});

Deno.test("decodeBmp() and decodeGif() in a graph have the shapes that are known", async () => {
  const graph = new tf.Graph();
  const [bmp, gray, gif] = graph.asDefault(() => {
    const contents = tf.placeholder("string", [], "contents");
    return [
      tf.io.decodeBmp(contents),
      tf.io.decodeBmp(contents, { channels: 1 }),
      tf.io.decodeGif(contents),
    ];
  });
  assertEquals([bmp, gray, gif].map((y) => y.staticShape), [
    [null, null, null],
    [null, null, 1],
    [null, null, null, 3],
  ]);
  const contents = new tf.NdArray("string", [], [fileOf("gray")]);
  const y = await new tf.Session({ graph }).run(gray, { feeds: { "contents:0": contents } });
  assertEquals((y as unknown as tf.NdArray).shape, [3, 5, 1]);
});

Deno.test("decodeBmp() and decodeGif() refuse what is damaged", async () => {
  await tf.setBackend("cpu");
  const changed = (name: string, at: number, ...bytes: number[]): Uint8Array => {
    const file = fileOf(name);
    file.set(bytes, at);
    return file;
  };
  for (
    const [decode, bytes, text] of [
      [
        tf.io.decodeBmp,
        new Uint8Array(3),
        "incomplete content, received 3 bytes, wanted at least 32",
      ],
      [tf.io.decodeBmp, new Uint8Array(60), "does not begin as a BMP does"],
      [tf.io.decodeBmp, changed("colors", 28, 16), "wanted 8, 24 or 32 bits a pixel, received 16"],
      [tf.io.decodeBmp, changed("colors", 18, 0), "its extents are 0 and 4"],
      [tf.io.decodeBmp, changed("colors", 22, 0, 1), "incomplete content"],
      [tf.io.decodeBmp, changed("colors", 10, 255, 255, 255, 255), "incomplete content"],
      [tf.io.decodeBmp, fileOf("colors").slice(0, -4), "incomplete content"],
      [tf.io.decodeGif, fileOf("colors"), "does not begin as a GIF does"],
      [tf.io.decodeGif, fileOf("flat").slice(0, 12), "does not begin as a GIF does"],
      [tf.io.decodeGif, fileOf("flat").slice(0, 40), "ends too early"],
      [tf.io.decodeGif, fileOf("flat").slice(0, -1), "it ends too early"],
      [tf.io.decodeGif, changed("one frame", 10, 0), "begins no part of it"],
    ] as const
  ) assertThrows(() => decode(bytes), InvalidArgumentError, text);
  assertThrows(
    () => tf.io.decodeBmp(fileOf("gray"), { channels: 3 }),
    InvalidArgumentError,
    "channels 3 does not match the bits a pixel of the file, 8",
  );
  assertThrows(() => tf.io.decodeBmp(fileOf("gray"), { channels: 2 }), tf.ValueError);
  // Each file cut off anywhere, or with any byte changed, is decoded or refused by name.
  for (const name of ["one frame", "frames over each other", "opacity"]) {
    const file = fileOf(name), decode = name === "opacity" ? tf.io.decodeBmp : tf.io.decodeGif;
    for (let i = 0; i < file.length; i++) {
      for (const bytes of [file.slice(0, i), file.with(i, 255), file.with(i, file[i] ^ 1)]) {
        try {
          decode(bytes).dispose();
        } catch (error) {
          if (!(error instanceof InvalidArgumentError)) throw error;
        }
      }
    }
  }
});
