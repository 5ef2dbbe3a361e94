/** The package's declarations in the oldest TypeScript that knows them, with its libraries checked: no `skipLibCheck`. */

import { assertEquals } from "@std/assert";
import oldest from "npm:typescript@5.7.3";
import { putPackage } from "./built.ts";

const CONSUMER = `
import * as tf from "@weft/weft";
import { createHandler } from "@weft/weft/serve";
const x: tf.Tensor = tf.tensor([[1, 2], [3, 4]]);
const f = tf.function((y: tf.Tensor) => tf.sum(tf.square(y)));
export const slope: tf.Tensor = tf.grad((y: tf.Tensor) => f(y) as tf.Tensor)(x);
export const device: object = tf.webgpuDevice();
// @ts-expect-error Models are needed.
createHandler({});
`;

Deno.test("TypeScript 5.7 knows the package's types, without skipLibCheck and without types of WebGPU", async () => {
  const home = await Deno.realPath(await Deno.makeTempDir({ prefix: "weft_types_" }));
  try {
    await putPackage(`${home}/node_modules/@weft/weft`);
    await Deno.writeTextFile(`${home}/consumer.ts`, CONSUMER);
    const { CommonJS, ESNext } = oldest.ModuleKind;
    // Node10 is the default of CommonJS, and knows no exports of packages.
    for (const [module, resolution] of [[ESNext, "Bundler"], [CommonJS, "Node10"]] as const) {
      const program = oldest.createProgram([`${home}/consumer.ts`], {
        module,
        moduleResolution: oldest.ModuleResolutionKind[resolution],
        target: oldest.ScriptTarget.ESNext,
        strict: true,
        noEmit: true,
        types: [],
      });
      const found = oldest.getPreEmitDiagnostics(program).map(({ file, messageText }) =>
        `${file?.fileName.slice(home.length)}: ${
          oldest.flattenDiagnosticMessageText(messageText, "\n")
        }`
      );
      assertEquals(found, [], resolution);
    }
  } finally {
    await Deno.remove(home, { recursive: true });
  }
});
