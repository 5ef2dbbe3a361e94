// Runs the programs over transformers.js: its name, the folder of models, the device.
import { runPrograms } from "./transformers.mjs";

const [name, models, device] = process.argv.slice(2);
console.log(JSON.stringify(await runPrograms(await import(name), { models, device })));
process.exit(0);
