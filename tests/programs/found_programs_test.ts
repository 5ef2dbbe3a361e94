/** Programs that once gave different results in different modes give the same ones in all. */
import { assertEquals } from "@std/assert";
import { faultsOf } from "../../tools/fuzz_programs/check.ts";
import { testRowOnDevices } from "../devices.ts";
import { FOUND_PROGRAMS } from "./found_programs.ts";

for (const [i, program] of FOUND_PROGRAMS.entries()) {
  const last = program.lines.at(-1)!.code;
  testRowOnDevices(`found program ${i} gives the same in every mode: ${last}`, async (device) => {
    assertEquals(await faultsOf(program, device), []);
  });
}
