#!/usr/bin/env node
/**
 * The command `weft` of npm's package, which Node runs as well: `inspect MODEL` and `convert MODEL TO`. Names of files choose
 * between ONNX's and TensorFlow's.
 *
 * @module
 */
import { programArguments, runMain } from "../library/io/command.ts";
import { FailedPreconditionError } from "../engine/core/errors.ts";

const isOnnx = programArguments().some((name) => name.endsWith(".onnx"));
const command = isOnnx ? import("./main.ts") : import("../tensorflow/main.ts");
const { runCommand } = await command.catch((error) => {
  if (error?.code !== "ERR_MODULE_NOT_FOUND") throw error;
  return { runCommand: () => runMain("usage: npm install @bufbuild/protobuf", failed) };
});
await runCommand();

function failed(): never {
  throw new FailedPreconditionError(
    "Cannot read models without npm's package @bufbuild/protobuf: npm install @bufbuild/protobuf",
  );
}
