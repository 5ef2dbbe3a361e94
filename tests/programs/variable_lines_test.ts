/** Lines that change variables and generators, in branches, loops, scripts and functions, give the same in every mode: values, gradients and what variables hold then. */
import { assert, assertEquals } from "@std/assert";
import { faultsOf } from "../../tools/fuzz_programs/check.ts";
import { generate } from "../../tools/fuzz_programs/generator.ts";
import { modesFor, REFERENCES } from "../../tools/fuzz_programs/modes.ts";
import { GENERATORS, MODULES } from "../../tools/fuzz_programs/ops_states.ts";
import { WRITES } from "../../tools/fuzz_programs/ops_variables.ts";
import type { Program } from "../../tools/fuzz_programs/program.ts";
import { testOnDevices, testRowOnDevices } from "../devices.ts";
import { effort, some } from "../effort.ts";

[...WRITES, ...MODULES, ...some(GENERATORS, 8)].forEach((template, i) => {
  testRowOnDevices(`a program of line ${i}, ${template[1].slice(0, 60)},`, async (device) => {
    for (let seed = 1; seed <= effort(1, 8); seed++) {
      const program = generate(seed, template);
      assert(program !== null, "no such program can be run");
      assertEquals(await faultsOf(program, device), [], JSON.stringify(program));
    }
  });
});

testOnDevices(
  "the last values of changed variables are results, in a session's call too",
  async (device) => {
    const program: Program = {
      inputs: [
        { dtype: "float32", shape: [2], data: [1, 2], variable: true },
        { dtype: "float32", shape: [2], data: [3, 5] },
      ],
      lines: [{ code: "(tf.identity($0), $0.assignAdd($1), tf.neg($1))", operands: [0, 1] }],
      outputs: [2],
    };
    const changed = { dtype: "float32", shape: [2], data: [4, 7] };
    assertEquals((await REFERENCES.eager(program))[1], changed);
    assertEquals((await REFERENCES.gradient(program)).at(-1), changed);
    const names = modesFor(program, device).map(({ name }) => name);
    assert(names.includes("session of a call") && !names.includes("session"), String(names));
    const session = modesFor(program, device).find(({ name }) => name === "session of a call")!;
    assertEquals((await session.run(program))[1], changed);
  },
);
