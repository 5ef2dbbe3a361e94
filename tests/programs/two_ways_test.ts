/**
 * Lines that say the same in two ways, with sparse tensors and without, with complex numbers and with their parts, for all rows at once and
 * for each, give the same in every mode.
 */
import { assert, assertEquals } from "@std/assert";
import { faultsOf } from "../../tools/fuzz_programs/check.ts";
import { generate } from "../../tools/fuzz_programs/generator.ts";
import { modesFor } from "../../tools/fuzz_programs/modes.ts";
import { BATCHED } from "../../tools/fuzz_programs/ops_batched.ts";
import { COMPLEX } from "../../tools/fuzz_programs/ops_complex.ts";
import { SPARSE } from "../../tools/fuzz_programs/ops_sparse.ts";
import { SCANS } from "../../tools/fuzz_programs/ops_states.ts";
import { inOtherWords } from "../../tools/fuzz_programs/program.ts";
import { testOnDevices, testRowOnDevices } from "../devices.ts";
import { effort, some } from "../effort.ts";

[...SPARSE, ...BATCHED, ...some([...COMPLEX, ...SCANS], 24)].forEach((template, i) => {
  testRowOnDevices(`a program of line ${i}, ${template[1].slice(0, 60)},`, async (device) => {
    for (let seed = 1; seed <= effort(1, 8); seed++) {
      const program = generate(seed, template);
      assert(program !== null, "no such program can be run");
      assertEquals(await faultsOf(program, device), [], JSON.stringify(program));
    }
  });
});

testOnDevices(
  "a line that means something else than the one beside it is a fault",
  async (device) => {
    const line = { code: "tf.square($0)", operands: [0], other: "tf.abs($0)" };
    const inputs = [{ dtype: "float32" as const, shape: [2], data: [3, -1] }];
    const program = { inputs, lines: [line], outputs: [1] };
    const modes = (await faultsOf(program, device)).map((fault) => fault.mode);
    assertEquals(modes, ["other words", "gradient, other words"]);
    const plain = { ...program, lines: [{ code: line.code, operands: [0] }] };
    assertEquals(inOtherWords(plain), null);
    assert(!modesFor(plain, device).some(({ name }) => name.includes("other words")));
  },
);
