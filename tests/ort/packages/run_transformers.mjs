// Runs the programs over transformers.js: its name, the folder of models, the device, and names of programs for some of them.
import { runPrograms } from "./transformers.mjs";

const [name, models, device, ...some] = process.argv.slice(2);
console.log(
  JSON.stringify(
    await runPrograms(await import(name), {
      models,
      device,
      only: some.length > 0 ? some : undefined,
    }),
  ),
);
process.exit(0);
