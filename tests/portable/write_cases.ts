/**
 * Writes every graph of `graphs.ts` for TensorFlow to run: a line of JSON each, to standard output. See `ask_tensorflow.py`.
 */
import * as tf from "@weft/weft";
import { allCases, type Case, run } from "./graphs.ts";

await tf.setBackend("cpu");

const plain = (a: tf.NdArray): unknown => ({
  dtype: a.dtype,
  shape: a.shape,
  data: Array.from(
    a.data as ArrayLike<unknown>,
    (v) => (typeof v === "bigint" || typeof v === "number" && !Number.isFinite(v) ? String(v) : v),
  ),
});

async function line(c: Case): Promise<string> {
  const values = await run(c.graph, c.fetches.map((f) => c.graph.getTensorByName(f)), c);
  return JSON.stringify({
    name: c.name,
    op: c.op,
    graph: c.graph.toGraphDef(),
    init: c.init,
    feeds: Object.fromEntries(Object.entries(c.feeds).map(([name, a]) => [name, plain(a)])),
    fetches: c.fetches,
    values: values.map(plain),
  });
}

for (const c of allCases()) console.log(await line(c));
