/**
 * The programs of some seeds as tests, for faults that are planted:
 *
 *     deno task mutate --near=tools/fuzz_programs/planted_faults.ts --files=src/engine/graph/passes
 *
 * `WEFT_PROGRAMS` is their number, 60 if not said.
 *
 * @module
 */

import { attentionOptions } from "../../src/engine/graph/passes/attention.ts";
import { faultsOf } from "./check.ts";
import { generate } from "./generator.ts";

const COUNT = Number(Deno.env.get("WEFT_PROGRAMS") ?? 60);

// Attentions of programs are small: one op is made of them all the same.
attentionOptions.leastOnCpu = 0;

for (let seed = 1; seed <= COUNT; seed++) {
  Deno.test(`the program of seed ${seed} gives the same in every mode`, async () => {
    const program = generate(seed);
    const [fault] = program === null ? [] : await faultsOf(program, "cpu");
    if (fault) throw new Error(`${fault.mode}: ${fault.message}`);
  });
}
