/** Mutated files of models are read or refused; `deno task fuzz` tries a million of them. */
import { assert } from "@std/assert";
import * as tf from "@weft/weft";
import { effort } from "../effort.ts";
import { KINDS, MutatedFiles } from "./model_files.ts";

/** Seeds that failed once. */
const FOUND: Readonly<Record<string, readonly number[]>> = {
  // A factor of lora() beside one with more than int32 holds.
  "the messages of a model of ONNX": [10040066, 10050457],
};

for (const kind of Object.keys(KINDS)) {
  Deno.test(`mutations of ${kind} are read or refused by the file's name`, async () => {
    await tf.setBackend("cpu");
    await using files = await MutatedFiles.create(kind);
    for (const seed of FOUND[kind] ?? []) await files.read(seed);
    const n = effort(150, 9000);
    let refused = 0;
    for (let seed = 0; seed < n; seed++) if (!await files.read(seed)) refused++;
    // Not all are broken: mutations get past the first check.
    assert(refused > 0 && refused < n, `${refused} of ${n} were refused`);
  });
}
