/** Mutated files of models are read or refused; `deno task fuzz` tries a million of them. */
import { assert } from "@std/assert";
import * as tf from "@weft/weft";
import { effort } from "../effort.ts";
import { KINDS, MutatedFiles } from "./model_files.ts";

for (const kind of Object.keys(KINDS)) {
  Deno.test(`mutations of ${kind} are read or refused by the file's name`, async () => {
    await tf.setBackend("cpu");
    await using files = await MutatedFiles.create(kind);
    const n = effort(150, 9000);
    let refused = 0;
    for (let seed = 0; seed < n; seed++) if (!await files.read(seed)) refused++;
    // Not all are broken: mutations get past the first check.
    assert(refused > 0 && refused < n, `${refused} of ${n} were refused`);
  });
}
