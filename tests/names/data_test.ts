// tf.io, tf.ragged and tf.quantization beside TensorFlow, and what they refuse.

import * as tf from "@weft/weft";
import "@weft/weft/image";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import RECORDED from "./fixtures/data.json" with { type: "json" };
import { type Recorded, type Row, testTable } from "./harness.ts";

const { io, quantization, ragged } = tf;
const { InvalidArgumentError } = tf.errors;

const bytes = (...list: (string | readonly number[])[]): tf.NdArray =>
  new tf.NdArray(
    "string",
    [list.length],
    list.map((s) => typeof s === "string" ? new TextEncoder().encode(s) : Uint8Array.from(s)),
  );
const b64 = (s: tf.Tensor): tf.Tensor => tf.strings.encodeBase64(s, true);
const RAW = bytes([0, 1, 0x80, 0xff, 2, 3, 4, 5], "ABCDEFGH");
const R = ['1,2.5,"a,b"', ",NA,c", "-7,1e3,"];
const int = (v: tf.TensorLike, dtype: "int32" | "int64" = "int32"): tf.Tensor => tf.cast(v, dtype);
const sparse = () => new tf.SparseTensor([[0, 1], [1, 0], [1, 2]], [5, 6, 7], [3, 4]);
const A = () => ragged.constant([["a"], ["b", "c"], []], { dtype: "string" });
const C = () => ragged.constant([["d", "e"], ["f"], ["g"]], { dtype: "string" });
const N = () => ragged.constant([[1, 2], [3], [4]], { dtype: "int32" });

/** Rows that only the host computes, of one value. */
const host = (body: Row["body"]): Row => ({ body, rows: false, dtypes: [] });

testTable("data", RECORDED as unknown as Record<string, Recorded>, {
  ...Object.fromEntries(
    (["uint8", "int8", "int16", "uint16", "int32", "int64"] as const).map((dtype) => [
      `decodeRaw ${dtype}`,
      () => io.decodeRaw(RAW, dtype),
    ]),
  ),
  "decodeRaw bool": () => io.decodeRaw(bytes([0, 1]), "bool"),
  "decodeRaw float32": () => io.decodeRaw(["ABCDEFGH"], "float32"),
  "decodeRaw big": () => io.decodeRaw(RAW, "int16", { littleEndian: false }),
  "decodeRaw fixed": () => io.decodeRaw(["ABC", "ABCDEFGH"], "uint8", { fixedLength: 4 }),
  "decodeRaw fixed big": () =>
    io.decodeRaw(["ABC", "ABCDEFGH"], "int16", { fixedLength: 6, littleEndian: false }),
  decodeCsv: () => io.decodeCsv(R, [int([9]), 0.5, ["none"]], { naValue: "NA" }),
  "decodeCsv columns": () => io.decodeCsv(R, [int([9]), ["none"]], { selectCols: [0, 2] }),
  "decodeCsv delimiter": () =>
    io.decodeCsv(['1;"x"'], [int(1, "int64"), ""], { fieldDelim: ";", useQuoteDelim: false }),
  serializeTensor: host((x) => b64(io.serializeTensor(x))),
  "serializeTensor int32": host((x) => b64(io.serializeTensor(x))),
  parseTensor: host((x) => io.parseTensor(io.serializeTensor(x), "float32")),
  "parseTensor strings": host(() => io.parseTensor(io.serializeTensor(["a", "bc"]), "string")),
  serializeSparse: host(() => b64(io.serializeSparse(sparse()))),
  serializeManySparse: host(() => b64(io.serializeManySparse(sparse()))),
  deserializeManySparse: host(() =>
    io.deserializeManySparse(
      tf.concat([
        io.serializeManySparse(sparse()),
        io.serializeManySparse(new tf.SparseTensor([[0, 5]], [1], [1, 6])),
      ]),
      "float32",
    )
  ),
  encodeWav: host((x) => b64(io.encodeWav(x, 8000))),
  extractJpegShape: host((x) => io.extractJpegShape(tf.strings.decodeBase64(x))),
  "extractJpegShape gray": host((x) => io.extractJpegShape(tf.strings.decodeBase64(x), "int64")),
  isJpeg: host((x) => io.isJpeg(tf.strings.decodeBase64(x))),
  "rowSplitsToSegmentIds int32": host((s) => ragged.rowSplitsToSegmentIds(s)),
  "rowSplitsToSegmentIds int64": host((s) => ragged.rowSplitsToSegmentIds(s)),
  "segmentIdsToRowSplits int32": host((s) => ragged.segmentIdsToRowSplits(s)),
  "segmentIdsToRowSplits int64": host((s) => ragged.segmentIdsToRowSplits(s)),
  "segmentIdsToRowSplits of 7": (s) => ragged.segmentIdsToRowSplits(s, 7),
  "segmentIdsToRowSplits none": (s) => ragged.segmentIdsToRowSplits(s, 2),
  stackDynamicPartitions: (d, p) => ragged.stackDynamicPartitions(d, p, 4),
  "stackDynamicPartitions rows": (d, p) => ragged.stackDynamicPartitions(d, p, 3),
  cross: () => ragged.cross([A(), C()]),
  "cross of three": () => ragged.cross([N(), [["x"], ["y"], ["z"]], C()]),
  crossHashed: () => ragged.crossHashed([A(), C()], { numBuckets: 100 }),
  "crossHashed of numbers": () => ragged.crossHashed([N(), N()], { numBuckets: 1000 }),
  "crossHashed with a key": () => ragged.crossHashed([N(), C()], { numBuckets: 1000, hashKey: 7 }),
  fakeQuantWithMinMaxArgs: single((x) => quantization.fakeQuantWithMinMaxArgs(x)),
  "fakeQuantWithMinMaxArgs narrow": single((x) =>
    quantization.fakeQuantWithMinMaxArgs(x, { min: -2, max: 5, numBits: 4, narrowRange: true })
  ),
  fakeQuantWithMinMaxVars: single((x, min, max) =>
    quantization.fakeQuantWithMinMaxVars(x, { min, max })
  ),
  "fakeQuantWithMinMaxVars narrow": single((x, min, max) =>
    quantization.fakeQuantWithMinMaxVars(x, { min, max, numBits: 3, narrowRange: true })
  ),
  fakeQuantWithMinMaxVarsPerChannel: single((x, min, max) =>
    quantization.fakeQuantWithMinMaxVarsPerChannel(x, { min, max, numBits: 5 })
  ),
});

/** Rows of float32 alone. */
function single(body: Row["body"]): Row {
  return { body, dtypes: [] };
}

testOnDevices("JPEGs are cropped, and images come back from them", async () => {
  using _s = tf.scope();
  const ramp = tf.reshape(tf.range(0, 192, 1, "int32"), [8, 8, 3]);
  const jpeg = io.encodeJpeg(tf.cast(ramp, "uint8"));
  const whole = await io.decodeJpeg(jpeg).array() as number[][][];
  const part = await io.decodeAndCropJpeg(jpeg, [2, 3, 4, 5]).array();
  assertEquals(part, whole.slice(2, 6).map((row) => row.slice(3, 8)));
  const image = tf.div(tf.cast(ramp, "float32"), 255);
  const back = io.adjustJpegQuality(image, 100);
  assertEquals([back.dtype, back.shape], ["float32", [8, 8, 3]]);
  assert(tf.max(tf.abs(tf.sub(back, image))).item() as number < 0.1);
  const worse = await io.adjustJpegQuality(image, 5).array();
  assertEquals(await io.randomJpegQuality(image, 5, 6, 1).array(), worse);
  assertEquals(await io.statelessRandomJpegQuality(image, 5, 6, [1, 2]).array(), worse);
  const bytes = io.adjustJpegQuality(tf.cast(ramp, "uint8"), 5);
  assertEquals([bytes.dtype, bytes.shape], ["uint8", [8, 8, 3]]);
});

testOnDevices("tf.io, tf.ragged and tf.quantization check their arguments", () => {
  using _s = tf.scope();
  // deno-lint-ignore no-explicit-any -- of other types than the parameters have
  const [f, r, q] = [io, ragged, quantization] as any[];
  for (
    const [call, type, text] of [
      [() => f.decodeRaw(["ABC"], "int16"), InvalidArgumentError, "a multiple of 2 bytes"],
      [() => f.decodeRaw(["A", "BC"], "uint8"), InvalidArgumentError, "all be the same size"],
      [() => f.decodeRaw("A", "text"), TypeError, "'outType'"],
      [
        () => f.decodeRaw("AB", "int16", { fixedLength: 3 }),
        InvalidArgumentError,
        "fixed_length (3)",
      ],
      [() => f.decodeRaw("AB", "int16", { bigEndian: true }), TypeError, "littleEndian"],
      [() => f.decodeCsv("1,2", [1]), InvalidArgumentError, "Expect 1 fields but have 2"],
      [() => f.decodeCsv("a", [1]), InvalidArgumentError, "not a valid float: a"],
      [() => f.decodeCsv("", [tf.zeros([0])]), InvalidArgumentError, "Expect 1 fields but have 0"],
      [
        () => f.decodeCsv("1", 1),
        TypeError,
        "'recordDefaults' passed to 'io.decodeCsv' must be a list",
      ],
      [() => f.decodeCsv("1", [1], { fieldDelim: ",," }), InvalidArgumentError, "1 char"],
      [() => f.decodeCsv("1,2", [1, 1], { selectCols: [1, 0] }), tf.ValueError, "rising order"],
      [() => f.decodeCsv("1,2", [1], { selectCols: [0, 1] }), tf.ValueError, "each of 2 columns"],
      [() => f.parseTensor("?", "float32"), InvalidArgumentError, ""],
      [() => f.parseTensor(["a"], "float32"), InvalidArgumentError, "to be a scalar"],
      [() => f.parseTensor(f.serializeTensor([1]), "int32"), InvalidArgumentError, "int32"],
      [() => f.serializeTensor(null), TypeError, "'tensor'"],
      [() => f.serializeSparse([1]), TypeError, "'io.serializeSparse' must be a SparseTensor"],
      [
        () => f.serializeManySparse(new tf.SparseTensor([[0]], [1], [2])),
        InvalidArgumentError,
        "Rank of input SparseTensor should be > 1",
      ],
      [() => f.deserializeManySparse(["a", "b"], "float32"), InvalidArgumentError, "matrix"],
      [
        () => f.deserializeManySparse([["a", "b"]], "float32"),
        InvalidArgumentError,
        "3 as the last",
      ],
      [() => f.encodeWav([1], 8000), InvalidArgumentError, "2-dimensional"],
      [() => f.encodeWav([[1]], 0), InvalidArgumentError, "above 0"],
      [() => f.extractJpegShape("a"), InvalidArgumentError, "Invalid JPEG"],
      [() => f.extractJpegShape("a", "float32"), TypeError, "outputType"],
      [() => f.extractJpegShape(Uint8Array.of(255, 216, 255, 217)), InvalidArgumentError, "frame"],
      [() => f.randomJpegQuality(tf.zeros([1, 1, 3]), 5, 5), tf.ValueError, "in order"],
      [() => f.adjustJpegQuality(tf.zeros([1, 1, 3], "bool"), 5), TypeError, "numbers"],
      [() => r.rowSplitsToSegmentIds([]), tf.ValueError, "may not be empty"],
      [() => r.rowSplitsToSegmentIds([0.5]), TypeError, ""],
      [() => r.segmentIdsToRowSplits([[0]]), tf.ValueError, "rank 1"],
      [() => r.stackDynamicPartitions([1, 2], [0], 1), tf.ValueError, "begin with the shape"],
      [() => r.cross("a"), TypeError, "'inputs' passed to 'ragged.cross' must be a list"],
      [() => r.cross([["a"]]), tf.ValueError, "rank 2"],
      [() => q.fakeQuantWithMinMaxArgs([1], { min: 1, max: 0 }), InvalidArgumentError, "smaller"],
      [
        () => q.fakeQuantWithMinMaxArgs([1], { numBits: 1 }),
        InvalidArgumentError,
        "between 2 and 16",
      ],
      [() => q.fakeQuantWithMinMaxVars([1]), TypeError, "Missing arguments"],
      [() => q.fakeQuantWithMinMaxVars([1], { min: [0], max: 1 }), tf.ValueError, ""],
      [
        () => q.fakeQuantWithMinMaxVarsPerChannel([1, 2], { min: [0], max: [1, 1] }),
        tf.ValueError,
        "",
      ],
    ] as const
  ) {
    assertThrows(call, type as new () => Error, text, `${call}`);
  }
});
