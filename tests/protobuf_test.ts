/** The wire format that the bench writes its ONNX models in, by the examples of its specification. */

import { assertEquals } from "@std/assert";
import { bytes, type Field, float, integer, message, text } from "../bench/peers/protobuf.ts";

const CASES: readonly { name: string; field: Field; hex: string }[] = [
  { name: "integer() writes seven bits a byte", field: integer(1, 150), hex: "089601" },
  { name: "integer() writes a field above 15", field: integer(20, 1), hex: "a00101" },
  { name: "integer() writes 64 bits of -1", field: integer(3, -1), hex: "18ffffffffffffffffff01" },
  { name: "integer() writes large numbers", field: integer(1, 2n ** 40n), hex: "08808080808020" },
  { name: "float() writes little-endian", field: float(2, 1.5), hex: "150000c03f" },
  { name: "text() writes its length in bytes", field: text(2, "tést"), hex: "120574c3a97374" },
  { name: "bytes() writes nothing", field: bytes(9, new Uint8Array()), hex: "4a00" },
  { name: "message() nests", field: message(3, [integer(1, 150)]), hex: "1a03089601" },
];

for (const { name, field, hex } of CASES) {
  Deno.test(name, () => assertEquals(field.toHex(), hex));
}
