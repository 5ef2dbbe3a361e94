// Images and sounds, against what TensorFlow decodes (tests/io/fixtures/codecs.json), and what is wrong with files.

import * as tf from "@weft/weft";
import { decodeImage as decodeNow, encodeJpeg as encodeNow } from "@weft/weft/image";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import { testOnDevices } from "../devices.ts";
import { crc32 } from "../hostile/files.ts";
import { Random } from "../hostile/mutate.ts";
import codecs from "./fixtures/codecs.json" with { type: "json" };

const { InvalidArgumentError } = tf.errors;
const fromBase64 = (text: string) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const pngs: Record<string, string> = codecs.pngs;
const jpegs: Record<string, string> = codecs.jpegs;

async function inflate(text: string): Promise<Uint8Array> {
  const stream = new Blob([fromBase64(text)]).stream().pipeThrough(
    new DecompressionStream("deflate"),
  );
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

for (const { name, channels, dtype, shape, pixels } of codecs.decoded) {
  Deno.test(`decodePng() gives TensorFlow's pixels: ${name}, ${channels} channels, ${dtype}`, async () => {
    const options = { channels, dtype: dtype as "uint8" };
    using image = tf.io.decodePng(fromBase64(pngs[name]), options);
    assertEquals([image.shape, image.dtype], [shape, dtype]);
    const bytes = await inflate(pixels);
    const wanted = dtype === "uint8" ? bytes : new Uint16Array(bytes.buffer);
    assertEquals(image.ndarraySync().data, wanted as Uint8Array);
  });
}

for (const { name, channels, shape, fast, accurate } of codecs.jpegsDecoded) {
  Deno.test(`decodeJpeg() gives TensorFlow's accurate pixels, close to its fast ones: ${name}, ${channels} channels`, async () => {
    const image = tf.io.decodeJpeg(fromBase64(jpegs[name]), { channels }).ndarraySync();
    assertEquals(image.shape, shape);
    const data = image.data as Uint8Array,
      [exact, near] = [await inflate(accurate), await inflate(fast)];
    const far = (to: Uint8Array) =>
      data.reduce((most, v, i) => Math.max(most, Math.abs(v - to[i])), 0);
    // Gray of colours is computed by another weight's rounding than libjpeg's, which takes it from the file.
    assert(far(exact) <= (channels === 1 && name !== "gray" ? 2 : 0), `${far(exact)}`);
    assert(far(near) <= 8, `${far(near)}`);
  });
}

testOnDevices(
  "images are decoded in graphs and pipelines, with the shape that is known",
  async () => {
    const bytes = tf.constant([fromBase64(pngs["kind 2, 8 bits"])], "string");
    const ds = tf.data.fromTensorSlices(bytes).map((b) => tf.io.decodePng(b, { channels: 3 }), {
      numParallelCalls: 2,
    });
    assertEquals(String(ds.elementSpec), "uint8[?,?,3]");
    for await (using image of ds) assertEquals(image.shape, [7, 9, 3]);
    const f = tf.function((b: tf.Tensor) => tf.io.decodeImage(b, { channels: 1 }));
    using one = f(tf.constant(fromBase64(jpegs.gray), "string")) as tf.Tensor;
    assertEquals(one.shape, [21, 27, 1]);
  },
);

Deno.test("encodePng() writes what decodePng() reads, of every number of channels", () => {
  for (const dtype of ["uint8", "uint16"] as const) {
    for (const channels of [1, 2, 3, 4]) {
      const data = dtype === "uint8"
        ? new Uint8Array(40 * 33 * channels)
        : new Uint16Array(40 * 33 * channels);
      for (let i = 0; i < data.length; i++) data[i] = i * i * 7 + (i >> 4);
      const image = new tf.NdArray(dtype, [33, 40, channels], data);
      const png = tf.io.encodePng(image);
      assertEquals(
        tf.io.decodePng(png, { dtype, channels: channels === 2 ? 0 : channels }).ndarraySync().data,
        data,
      );
    }
  }
  const flat = tf.io.encodePng(tf.zeros([200, 200, 3], "uint8")).ndarraySync()
    .data[0] as Uint8Array;
  assert(flat.length < 2000, `${flat.length} bytes for one colour`);
  for (
    const image of [
      tf.zeros([2, 2], "uint8"),
      tf.zeros([2, 2, 5], "uint8"),
      tf.zeros([0, 2, 3], "uint8"),
      tf.zeros([2, 2, 1], "float32"),
    ]
  ) {
    assertThrows(() => tf.io.encodePng(image), InvalidArgumentError, "wanted uint8 or uint16");
  }
});

Deno.test("encodeJpeg() writes what decodeJpeg() reads, nearly", () => {
  const data = Uint8Array.from({ length: 16 * 16 * 3 }, (_, i) => (i % 48) * 5);
  const image = new tf.NdArray("uint8", [16, 16, 3], data);
  for (const jpeg of [tf.io.encodeJpeg(image, { quality: 98 }), encodeNow(image, 98)]) {
    const back = tf.io.decodeJpeg(jpeg).ndarraySync();
    assertEquals(back.shape, image.shape);
    const off = (back.data as Uint8Array).reduce((sum, v, i) => sum + Math.abs(v - data[i]), 0);
    assert(off / data.length < 8, `${off / data.length}`);
  }
  assertThrows(
    () => tf.io.encodeJpeg(tf.zeros([2, 2, 4], "uint8")),
    InvalidArgumentError,
    "1 or 3 channels",
  );
});

Deno.test("broken images are refused with a word about what is wrong, whatever byte it is", () => {
  const good = fromBase64(pngs["kind 6, 8 bits, interlaced"]);
  for (let i = 0; i < good.length; i++) {
    const broken = good.slice();
    broken[i] ^= 0x41;
    try {
      tf.io.decodePng(broken);
      // The last checksum, of nothing, is looked at as well: nothing may pass.
      assert(false, `byte ${i}`);
    } catch (error) {
      assert(error instanceof InvalidArgumentError, `byte ${i}: ${error}`);
    }
  }
  for (let n = 0; n < good.length; n++) {
    assertThrows(() => tf.io.decodePng(good.subarray(0, n)), InvalidArgumentError);
  }
  assertThrows(
    () => tf.io.decodeImage(Uint8Array.of(1, 2, 3)),
    InvalidArgumentError,
    "its format is not known here",
  );
  const jpeg = fromBase64(jpegs["4:2:0"]);
  assertThrows(
    () => tf.io.decodeJpeg(jpeg.subarray(0, 30)),
    InvalidArgumentError,
    "Cannot decode 30 bytes as an image",
  );
  assertEquals(decodeNow(jpeg).shape, [21, 27, 3], "the codec works after an error");
  assertThrows(() => tf.io.decodePng(good, { channels: 2 }), tf.ValueError, "channels");
  assertThrows(
    () => tf.io.decodePng(tf.constant(["a", "b"], "string")),
    InvalidArgumentError,
    "contents must be scalar",
  );
});

Deno.test("decodeJpeg() without a codec names the entry that has one", async () => {
  const code = `import * as tf from "@weft/weft";
    try { tf.io.decodeJpeg(Uint8Array.of(255, 216, 255)); } catch (e) { console.log(e.name, e.message); }`;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--quiet",
      "--no-check",
      "--ext=ts",
      "--import-map",
      new URL("../npm_only/import_map.json", import.meta.url).pathname,
      `data:application/typescript,${encodeURIComponent(code)}`,
    ],
    stdout: "piped",
  }).output();
  const text = new TextDecoder().decode(stdout);
  assert(text.startsWith("UnimplementedError") && text.includes('import "@weft/weft/image"'), text);
});

for (const { channels, samples, rate, audio } of codecs.sounds) {
  Deno.test(`decodeWav() gives TensorFlow's samples: ${channels} channels, ${samples} samples`, () => {
    const wav = tf.io.decodeWav(fromBase64(codecs.wav), {
      desiredChannels: channels,
      desiredSamples: samples,
    });
    assertEquals(wav.sampleRate.item(), rate);
    assertEquals(wav.audio.arraySync(), audio);
  });
}

Deno.test("decodeWav() in a graph has the shape that was asked for", () => {
  const graph = new tf.Graph();
  const shapes = graph.asDefault(() => {
    const wav = tf.placeholder("string", []);
    const asked = [{}, { desiredChannels: 2 }, { desiredChannels: 1, desiredSamples: 4 }];
    return asked.map((options) => tf.io.decodeWav(wav, options).audio.staticShape);
  });
  assertEquals(shapes, [[null, null], [null, 2], [4, 1]]);
});

Deno.test("decodeWav() refuses what is no sound of 16 bits", () => {
  const good = fromBase64(codecs.wav);
  const cases: [bytes: Uint8Array, text: string][] = [
    [good.subarray(0, 8), "does not begin as a WAV does"],
    [good.subarray(0, good.length - 4), "of its 36 bytes of samples are there"],
    [good.slice(0, 36), "it has no samples"],
    [good.map((b, i) => (i === 34 ? 8 : b)), "of kind 1 and 8 bits"],
  ];
  for (const [bytes, text] of cases) {
    assertThrows(() => tf.io.decodeWav(bytes), InvalidArgumentError, text);
  }
});

Deno.test("decodePng() gives the same with the platform's inflate and without, of sound files and damaged ones", () => {
  const random = new Random(4),
    noise = Uint8Array.from({ length: 60 * 60 * 3 }, () => random.below(200));
  const image = new tf.NdArray("uint8", [60, 60, 3], noise);
  const good = tf.io.encodePng(image).ndarraySync().data[0] as Uint8Array;
  const files = [good, ...Array.from({ length: 60 }, () => mutateData(good, random))];
  const said = (): unknown[] =>
    files.map((file) => {
      try {
        using pixels = tf.io.decodePng(file);
        return pixels.dataSync();
      } catch (error) {
        return String(error);
      }
    });
  const { process } = globalThis as unknown as {
    process: { getBuiltinModule(name: string): unknown };
  };
  const own = process.getBuiltinModule;
  let asked = 0;
  const withBuiltins = (find: typeof own): unknown[] => {
    using _ = stub(
      process,
      "getBuiltinModule",
      (name: string) => name === "node:zlib" ? find(name) : own.call(process, name),
    );
    return said();
  };
  const byPlatform = withBuiltins((name) => (asked++, own.call(process, name)));
  assertEquals(asked, files.length);
  const byUs = withBuiltins(() => undefined);
  assertEquals(byPlatform, byUs);
  assertEquals(byUs[0], noise);
  assert(new Set(byUs.map(String)).size > 3);
});

/** A file with some of its packed pixels changed, and a checksum that says nothing is wrong. */
function mutateData(png: Uint8Array, random: Random): Uint8Array {
  const out = png.slice(),
    view = new DataView(out.buffer),
    start = 33,
    length = view.getUint32(start);
  for (let n = 0; n < 3; n++) out[start + 8 + random.below(length)] ^= 1 << random.below(8);
  view.setUint32(start + 8 + length, crc32(out.subarray(start + 4, start + 8 + length)));
  return out;
}
