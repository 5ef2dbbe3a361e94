import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const fromBase64 = (text: string): Uint8Array =>
  Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

/** A version 1.0 file with this header and body. */
function npy(header: string, body: ArrayLike<number> = []): Uint8Array {
  const text = new TextEncoder().encode(header);
  return Uint8Array.of(
    0x93,
    0x4e,
    0x55,
    0x4d,
    0x50,
    0x59,
    1,
    0,
    text.length & 255,
    text.length >> 8,
    ...text,
    ...Array.from(body),
  );
}

/** Files that NumPy 2.4 wrote, their dtypes, and what is in them. */
const NUMPY: Record<string, [string, tf.DType, unknown]> = {
  "float32": [
    "k05VTVBZAQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAIA/AAAAQAAAQEAAAIBAAACgQAAA0MA=",
    "float32",
    [[1, 2, 3], [4, 5, -6.5]],
  ],
  "Fortran order": [
    "k05VTVBZAQB2AHsnZGVzY3InOiAnPGk0JywgJ2ZvcnRyYW5fb3JkZXInOiBUcnVlLCAnc2hhcGUnOiAoMiwgMyksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAwAAAAEAAAAEAAAAAgAAAAUAAAA=",
    "int32",
    [[0, 1, 2], [3, 4, 5]],
  ],
  "big-endian": [
    "k05VTVBZAQB2AHsnZGVzY3InOiAnPmkyJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDMsKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAf/+ASw=",
    "int16",
    [1, -2, 300],
  ],
  "a scalar": [
    "k05VTVBZAQB2AHsnZGVzY3InOiAnPGY4JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKCksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAAAEQA==",
    "float64",
    2.5,
  ],
  "booleans": [
    "k05VTVBZAQB2AHsnZGVzY3InOiAnfGIxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDEsIDIpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoBAA==",
    "bool",
    [[true, false]],
  ],
  "complex64": [
    "k05VTVBZAQB2AHsnZGVzY3InOiAnPGM4JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAIA/AAAAQAAAAIAAAEDA",
    "complex64",
    [[1, 2], [-0, -3]],
  ],
  "int64": [
    "k05VTVBZAQB2AHsnZGVzY3InOiAnPGk4JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAAEAAP//////////",
    "int64",
    [2n ** 40n, -1n],
  ],
  "float16": [
    "k05VTVBZAQB2AHsnZGVzY3InOiAnPGYyJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAOADA",
    "float16",
    [0.5, -2],
  ],
  "no elements": [
    "k05VTVBZAQB2AHsnZGVzY3InOiAnPGY4JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDAsIDMpLCB9ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAo=",
    "float64",
    [],
  ],
};

Deno.test("readNpy() reads what NumPy writes", () => {
  for (const [what, [file, dtype, wanted]] of Object.entries(NUMPY)) {
    const a = tf.io.readNpy(fromBase64(file));
    assertEquals([what, a.dtype, a.toArray()], [what, dtype, wanted]);
  }
});

Deno.test("readNpy() reads strings of bytes and of code points", () => {
  const S =
    "k05VTVBZAQB2AHsnZGVzY3InOiAnfFMyJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAphYmMA";
  const U =
    "k05VTVBZAQB2AHsnZGVzY3InOiAnPFUyJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIApoAAAA6QAAAAD2AQAAAAAA";
  const texts = (file: string): string[] =>
    (tf.io.readNpy(fromBase64(file)).data as Uint8Array[]).map((s) => new TextDecoder().decode(s));
  assertEquals(texts(S), ["ab", "c"]);
  assertEquals(texts(U), ["hé", "😀"]);
});

testOnDevices("writeNpy() writes what readNpy() reads, in every dtype NumPy has", async () => {
  const dtypes: tf.DType[] = [
    "float32",
    "float64",
    "float16",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "complex64",
    "complex128",
  ];
  for (const dtype of dtypes) {
    for (const shape of [[2, 3], [1], [], [0, 2]]) {
      using x = tf.cast(
        tf.tensor([1, 0, 3, 4, 5, 6].slice(0, shape.reduce((a, b) => a * b, 1)), shape),
        dtype,
      );
      const bytes = await tf.io.writeNpy(x);
      const back = tf.io.readNpy(bytes);
      assertEquals([back.dtype, back.shape, back.toArray()], [
        dtype,
        shape,
        x.ndarraySync().toArray(),
      ]);
      const header = new DataView(bytes.buffer).getUint16(8, true) + 10;
      assertEquals([header % 64, bytes[header - 1]], [0, 10]);
    }
  }
});

Deno.test("writeNpy() writes strings as NumPy's S", async () => {
  const bytes = await tf.io.writeNpy(tf.tensor(["ab", "é", ""]));
  assert(new TextDecoder("latin1").decode(bytes).includes("'|S2'"));
  assertEquals(tf.tensor(tf.io.readNpy(bytes)).arraySync() as unknown, ["ab", "é", ""]);
});

Deno.test("readNpy() refuses what is damaged or not an array", () => {
  const good = fromBase64(NUMPY.float32[0]);
  const { DataLossError, UnimplementedError } = tf.errors;
  const cases: [Uint8Array, new (...args: never[]) => Error, string][] = [
    [new Uint8Array(0), DataLossError, "does not begin"],
    [new TextEncoder().encode("not an npy file"), DataLossError, "does not begin"],
    [good.subarray(0, 60), DataLossError, "the header takes 118 bytes"],
    [good.subarray(0, 150), DataLossError, "takes 24 bytes, received 22"],
    [Uint8Array.of(...good, 0), DataLossError, "received 25"],
    [npy("{'descr': '<f4', 'fortran_order': False}"), DataLossError, "lacks"],
    [
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"),
      DataLossError,
      "no Python literal",
    ],
    [npy("__import__('os')"), DataLossError, "no Python literal"],
    [npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"), UnimplementedError, '"|O"'],
    [
      npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}"),
      UnimplementedError,
      "records",
    ],
  ];
  const version = good.slice();
  version[6] = 9;
  cases.push([version, UnimplementedError, "version 9"]);
  for (const [bytes, kind, text] of cases) assertThrows(() => tf.io.readNpy(bytes), kind, text);
});

Deno.test("writeNpy() refuses what NumPy cannot hold", async () => {
  await assertRejects(() => tf.io.writeNpy(tf.cast([1], "bfloat16")), TypeError, "no such dtype");
  await assertRejects(() => tf.io.writeNpy(tf.tensor(["a\0"])), TypeError, "zero byte");
});

/** `numpy.savez` and `numpy.savez_compressed`. */
const NPZ =
  "UEsDBC0AAAAAAAAAIQCayqvn//////////8FABQAdy5ucHkBABAAiAAAAAAAAACIAAAAAAAAAJNOVU1QWQEAdgB7J2Rlc2NyJzogJzxmNCcsICdmb3J0cmFuX29yZGVyJzogRmFsc2UsICdzaGFwZSc6ICgyLCksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAKAACAPwAAAEBQSwMELQAAAAAAAAAhAAwtsbT//////////wUAFABuLm5weQEAEACEAAAAAAAAAIQAAAAAAAAAk05VTVBZAQB2AHsnZGVzY3InOiAnPGk0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKCksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoHAAAAUEsBAi0DLQAAAAAAAAAhAJrKq+eIAAAAiAAAAAUAAAAAAAAAAAAAAIABAAAAAHcubnB5UEsBAi0DLQAAAAAAAAAhAAwtsbSEAAAAhAAAAAUAAAAAAAAAAAAAAIABvwAAAG4ubnB5UEsFBgAAAAACAAIAZgAAAHoBAAAAAA==";
const NPZ_DEFLATED =
  "UEsDBC0AAAAIAAAAIQAAiJh+//////////8FABQAdy5ucHkBABAAwAAAAAAAAABMAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loG6TZqKuo6Cell9UUpSYF59flJIKEndLzClOBYoXZyQWpAL5GiY6CiaaOgq1CmQDLgaGA/aUYABQSwECLQMtAAAACAAAACEAAIiYfkwAAADAAAAABQAAAAAAAAAAAAAAgAEAAAAAdy5ucHlQSwUGAAAAAAEAAQAzAAAAgwAAAAAA";

Deno.test("readNpz() reads what NumPy writes, compressed or not", async () => {
  const { w, n } = await tf.io.readNpz(fromBase64(NPZ));
  assertEquals([w.dtype, w.toArray(), n.dtype, n.toArray()], ["float32", [1, 2], "int32", 7]);
  const deflated = await tf.io.readNpz(fromBase64(NPZ_DEFLATED));
  assertEquals(deflated.w.toArray(), Array.from({ length: 4 }, () => [1.5, 1.5, 1.5, 1.5]));
});

testOnDevices("writeNpz() writes what readNpz() reads", async () => {
  const bytes = await tf.io.writeNpz({
    "a/b": tf.tensor([[1, 2]]),
    ü: tf.scalar(true),
    empty: tf.zeros([0]),
  });
  const back = await tf.io.readNpz(bytes);
  assertEquals(Object.fromEntries(Object.entries(back).map(([k, v]) => [k, v.toArray()])), {
    "a/b": [[1, 2]],
    "ü": true,
    empty: [],
  });
  assertEquals(
    bytes,
    await tf.io.writeNpz({ "a/b": tf.tensor([[1, 2]]), ü: tf.scalar(true), empty: tf.zeros([0]) }),
  );
});

Deno.test("readNpz() refuses what is damaged", async () => {
  const { DataLossError, UnimplementedError } = tf.errors;
  const good = fromBase64(NPZ);
  const changed = (at: number, value: number, file = NPZ): Uint8Array => {
    const bytes = fromBase64(file);
    bytes[at] = value;
    return bytes;
  };
  const directory = 0x17a;
  const cases: [Uint8Array, new (...args: never[]) => Error, string][] = [
    [new Uint8Array(10), DataLossError, "no zip directory"],
    [good.subarray(0, good.length - 30), DataLossError, "no zip directory"],
    [changed(0, 0), DataLossError, "no local header"],
    [changed(directory, 0), DataLossError, "directory entry 0 of 2 is damaged"],
    [changed(180, 9), DataLossError, "fails its checksum"],
    [changed(directory + 10, 12), UnimplementedError, "compression method 12"],
    [changed(directory + 8, 1), UnimplementedError, "encrypted"],
    [changed(60, 0xff, NPZ_DEFLATED), DataLossError, 'entry "w.npy"'],
  ];
  for (const [bytes, kind, text] of cases) {
    await assertRejects(() => tf.io.readNpz(bytes), kind, text);
  }
});

Deno.test("headers are read with either quotes, in any order, with spaces or long numbers", () => {
  const headers = [
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
    '{"descr": "<f4", "fortran_order": False, "shape": (2,)}',
    "{ 'shape' : ( 2L , ) , 'fortran_order':False,'descr':'<f4' }",
  ];
  for (const header of headers) {
    const body = new Uint8Array(Float32Array.of(1.5, -2).buffer);
    assertEquals(tf.io.readNpy(npy(header, body)).toArray(), [1.5, -2], header);
  }
});
