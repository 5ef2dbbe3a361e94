/** The package as programs that `require` it use it, in a Node that cannot require modules. */

import { assertEquals } from "@std/assert";
import { putPackage } from "./built.ts";
import { capture } from "../tools/command.ts";
import { findNode } from "../tools/node.ts";

const node = await findNode();

const PROGRAM = `
const tf = require("@weft/weft"), eager = require("@weft/weft/eager");
const { createHandler } = require("@weft/weft/serve");
(async () => {
  const f = tf.function((x) => tf.sum(tf.pyFunction((y) => tf.mul(y, 2), [x], "float32")));
  const y = await f.async(tf.tensor([1, 2]));
  const z = await tf.numpyFunctionAsync((x) => x.map((v) => 2 * v), [y], "float32", { worker: true });
  console.log((await z.data()).join(), tf.NdArray.name, eager.tensor === tf.tensor, typeof createHandler);
  try {
    tf.matMul(tf.ones([2, 3]), tf.ones([2, 3]));
  } catch (error) {
    console.log(error.name, /program\\.cjs:\\d/.test(error.stack.split("\\n")[1]));
  }
  process.exit(0);
})();
`;

Deno.test({
  name: "programs of Node require the package, whose entries share their registries",
  ignore: node === null,
  fn: async () => {
    const home = await Deno.realPath(await Deno.makeTempDir({ prefix: "weft_require_" }));
    try {
      await putPackage(`${home}/node_modules/@weft/weft`, { types: false });
      await Deno.writeTextFile(`${home}/program.cjs`, PROGRAM);
      const { code, stdout, stderr } = await capture(
        node!,
        ["--no-experimental-require-module", `${home}/program.cjs`],
        { timeoutMs: 300_000 },
      );
      assertEquals(code, 0, stderr);
      assertEquals(stdout.trim().split("\n"), [
        "12 NdArray true function",
        "InvalidArgumentError true",
      ]);
    } finally {
      await Deno.remove(home, { recursive: true });
    }
  },
});
