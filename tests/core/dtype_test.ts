/** Facts about dtypes, as TensorFlow's `types.proto` and `tf.dtypes` have them. */

import { assertEquals, assertThrows } from "@std/assert";
import * as dtype from "../../src/engine/core/dtype.ts";

/** Name, number and name in `types.proto`, C++ name, bytes, kind. */
const FACTS: [dtype.DType, number, string, string, number, dtype.DTypeKind][] = [
  ["float32", 1, "DT_FLOAT", "float", 4, "float"],
  ["float64", 2, "DT_DOUBLE", "double", 8, "float"],
  ["int32", 3, "DT_INT32", "int32", 4, "int"],
  ["uint8", 4, "DT_UINT8", "uint8", 1, "uint"],
  ["int16", 5, "DT_INT16", "int16", 2, "int"],
  ["int8", 6, "DT_INT8", "int8", 1, "int"],
  ["string", 7, "DT_STRING", "string", 0, "string"],
  ["complex64", 8, "DT_COMPLEX64", "complex64", 8, "complex"],
  ["int64", 9, "DT_INT64", "int64", 8, "int"],
  ["bool", 10, "DT_BOOL", "bool", 1, "bool"],
  ["bfloat16", 14, "DT_BFLOAT16", "bfloat16", 2, "float"],
  ["uint16", 17, "DT_UINT16", "uint16", 2, "uint"],
  ["complex128", 18, "DT_COMPLEX128", "complex128", 16, "complex"],
  ["float16", 19, "DT_HALF", "half", 2, "float"],
  ["resource", 20, "DT_RESOURCE", "resource", 0, "handle"],
  ["variant", 21, "DT_VARIANT", "variant", 0, "handle"],
  ["uint32", 22, "DT_UINT32", "uint32", 4, "uint"],
  ["uint64", 23, "DT_UINT64", "uint64", 8, "uint"],
];

Deno.test("dtypes have TensorFlow's numbers, names and sizes, and are found by any of their names", () => {
  assertEquals(Object.keys(dtype.DTYPES).length, FACTS.length);
  for (const [name, number, enumName, tfName, bytes, kind] of FACTS) {
    const { tf, tfEnum, tfName: cName, bytes: size, kind: k, array } = dtype.DTYPES[name];
    assertEquals([tf, tfEnum, cName, size, k], [number, enumName, tfName, bytes, kind], name);
    for (const text of [name, enumName, tfName]) assertEquals(dtype.asDType(text), name);
    assertEquals(dtype.isFloating(name), kind === "float");
    assertEquals(dtype.isInteger(name), kind === "int" || kind === "uint");
    assertEquals(dtype.isBigInt(name), name === "int64" || name === "uint64");
    assertEquals(dtype.isTrainable(name), ["float", "complex", "handle"].includes(kind));
    assertEquals(dtype.bytesOf(name, 3), 3 * bytes);
    if (!array) continue;
    const made = dtype.makeData(name, 3) as Float32Array;
    assertEquals([made.length, made.byteLength], [kind === "complex" ? 6 : 3, 3 * bytes], name);
  }
  for (const value of ["float", "DT_FLOAT"]) assertEquals(dtype.isDType(value), true);
  for (const value of ["floats", 1, null]) assertEquals(dtype.isDType(value), false);
  for (const [value, text] of [["floats", '"floats"'], [5, "5"], [Date, "Date"]] as const) {
    const error = `Cannot convert the argument \`type_value\`: ${text} to a TensorFlow DType`;
    assertThrows(() => dtype.asDType(value), TypeError, error);
  }
});

Deno.test("makeData() gives objects that are empty, and refuses what no memory holds", () => {
  assertEquals(dtype.makeData("string", 2), [new Uint8Array(0), new Uint8Array(0)]);
  assertEquals(dtype.makeData("resource", 2), [null, null]);
  for (const name of ["float32", "string"] as const) {
    assertThrows(() => dtype.makeData(name, 2 ** 45), Error, "OOM when allocating an array of");
  }
});

Deno.test("promote() takes the wider of two dtypes, whichever comes first", () => {
  const order: dtype.DType[] = [
    ...["bool", "uint8", "int8", "uint16", "int16", "int32", "uint32"] as const,
    ...["int64", "uint64", "bfloat16", "float16", "float32", "float64"] as const,
    ...["complex64", "complex128"] as const,
  ];
  order.forEach((a, i) =>
    order.forEach((b, j) => assertEquals(dtype.promote(a, b), order[Math.max(i, j)], `${a}, ${b}`))
  );
  for (const other of ["string", "resource"] as const) {
    assertThrows(() => dtype.promote("bool", other), TypeError, `Cannot upcast bool with ${other}`);
    assertThrows(() => dtype.promote(other, "bool"), TypeError, `Cannot upcast ${other} with bool`);
  }
});
