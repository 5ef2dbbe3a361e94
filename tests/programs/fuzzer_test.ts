/** The fuzzer of programs goes on where a mode refuses a program, and makes failing programs small. */
import { assert, assertEquals } from "@std/assert";
import { faultIn, faultsOf } from "../../tools/fuzz_programs/check.ts";
import { modesFor } from "../../tools/fuzz_programs/modes.ts";
import type { Program } from "../../tools/fuzz_programs/program.ts";
import { shrink } from "../../tools/fuzz_programs/shrink.ts";
import { testOnDevices } from "../devices.ts";

/** A program whose last line asks for a shape that only a run knows, with lines before it that add up to a mode with datasets. */
function asking(more: number): Program {
  const code = 'tf.pyFunction((a) => a, [$0], tf.TensorSpec(null, "float32"))';
  const lines = [{ code, operands: [0] }];
  for (let i = 0; i < more; i++) lines.push({ code: "tf.neg($0)", operands: [1 + i] });
  lines.push({ code: "tf.zeros($0.shape)", operands: [1 + more] });
  const inputs = [{ dtype: "float32" as const, shape: [3], data: [1, -2, 3] }];
  return { inputs, lines, outputs: [lines.length] };
}

testOnDevices(
  "a program that asks for an unknown shape is refused in every mode",
  async (device) => {
    const seen = new Set<string>();
    for (let more = 0; more < 4; more++) {
      const program = asking(more);
      for (const { name } of modesFor(program, device)) seen.add(name);
      assertEquals(await faultsOf(program, device), [], JSON.stringify(program));
    }
    assertEquals([...seen].filter((name) => name.endsWith("of a dataset")).length, 4);
  },
);

testOnDevices("a failing program is shrunk to the line that fails", async (device) => {
  const program: Program = {
    inputs: [
      { dtype: "float32", shape: [2, 3], data: [0.5, -1.25, 3, 2, -0.75, 4] },
      { dtype: "int32", shape: [3], data: [1, 2, 3] },
      { dtype: "float32", shape: [3], data: [2, 0.5, -3] },
    ],
    lines: [
      { code: "tf.mul($0, $1)", operands: [0, 2] },
      { code: 'tf.add(tf.sin($0), tf.cast($1, "float32"))', operands: [3, 1] },
      { code: "tf.square($0)", operands: [4], other: "tf.mul($0, 3)" },
      { code: "tf.sum($0, 1)", operands: [5] },
      { code: "tf.neg($0)", operands: [3] },
    ],
    outputs: [6, 7],
  };
  const fault = (await faultsOf(program, device)).find(({ mode }) => mode === "other words");
  assert(fault !== undefined);
  const { program: small, fault: left } = await shrink(program, fault, { device });
  assertEquals(small.lines, [{ ...program.lines[2]!, operands: [0] }]);
  assertEquals(small.inputs.map(({ dtype, shape }) => [dtype, shape]), [["float32", [1, 1]]]);
  assertEquals([small.outputs, left.mode], [[1], "other words"]);
  const mode = modesFor(small, device).find(({ name }) => name === left.mode)!;
  assertEquals(await faultIn(small, mode), left);
});
