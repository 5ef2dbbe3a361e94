/**
 * The programs of some seeds, and one that begins with each line of the tables, as tests, for faults that are planted:
 *
 *     deno task mutate --near=tools/fuzz_programs/planted_faults.ts --files=src/engine/graph/passes
 *
 * `WEFT_PROGRAMS` is their number, 60 if not said.
 *
 * @module
 */

import { attentionOptions } from "../../src/engine/graph/passes/attention.ts";
import { faultsOf } from "./check.ts";
import { generate, TEMPLATES } from "./generator.ts";
import type { Program } from "./program.ts";

const COUNT = Number(Deno.env.get("WEFT_PROGRAMS") ?? 60);

// Attentions of programs are small: one op is made of them all the same.
attentionOptions.leastOnCpu = 0;

function test(name: string, make: () => Program | null): void {
  Deno.test(`${name} gives the same in every mode`, async () => {
    const program = make();
    const [fault] = program === null ? [] : await faultsOf(program, "cpu");
    if (fault) throw new Error(`${fault.mode}: ${fault.message}`);
  });
}

for (let seed = 1; seed <= COUNT; seed++) {
  test(`the program of seed ${seed}`, () => generate(seed));
}
for (const [i, template] of TEMPLATES.entries()) {
  test(`a program that begins with line ${i}, ${template[1]},`, () => generate(i + 1, template));
}
