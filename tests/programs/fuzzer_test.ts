/** The fuzzer of programs goes on where a mode refuses a program. */
import { assertEquals } from "@std/assert";
import { faultsOf } from "../../tools/fuzz_programs/check.ts";
import { modesFor } from "../../tools/fuzz_programs/modes.ts";
import type { Program } from "../../tools/fuzz_programs/program.ts";
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
