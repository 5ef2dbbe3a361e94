/** A whole process on the GPU: what the memory of the system says, which other tests beside it would change. */

import { assert } from "@std/assert";
import { HAS_WEBGPU } from "../../devices.ts";
import { effort } from "../../effort.ts";

const WEFT = JSON.stringify(new URL("../../../mod.ts", import.meta.url).href);

/** Steps that make 3 MB each: had any of it stayed, the process would grow by more than {@linkcode MOST}. */
const COUNT = effort(110, 1000), MOST = 256;

/** Steps after which what is kept for further ones is there. */
const WARM_UP = effort(50, 100);

/** An update of 3 MB in compiled steps, none of them waited for; prints by how many MiB the process grew. */
const STEPS = `
  import * as tf from ${WEFT};
  await tf.setBackend("webgpu");
  const w = tf.variable(tf.zeros([784, 1024])), x = tf.ones([16, 784]);
  const optimizer = tf.train.adam(0.001);
  const step = tf.function((x) =>
    optimizer.minimize(() => tf.mean(tf.square(tf.matMul(x, w))), true, [w])
  );
  const run = async (count) => {
    for (let k = 1; k < count; k++) step(x).dispose();
    const last = step(x);
    await last.data();
    last.dispose();
  };
  await run(${WARM_UP});
  const before = Deno.memoryUsage().rss;
  await run(${COUNT});
  console.log((Deno.memoryUsage().rss - before) / 2 ** 20);
  Deno.exit(0);`;

Deno.test({
  name: "many compiled steps leave the process as large as it was [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-check", "--no-config", STEPS],
      signal: AbortSignal.timeout(240_000),
    }).output();
    assert(success, new TextDecoder().decode(stderr));
    const grown = Number(new TextDecoder().decode(stdout));
    assert(grown < MOST, `the process grew by ${grown} MiB`);
  },
});
