/**
 * Writes every case of `cases.ts` for onnxruntime: a line of JSON each, to standard output. See `ask_onnxruntime.py`. Arguments: names
 * of ops, or all, and a version of the operator set.
 */
import * as tf from "@weft/weft";
import { program, PROGRAM_NAMES } from "./programs.ts";
import { type Case, casesOf, sampledOps, write } from "./cases.ts";

await tf.setBackend("cpu");
const [names = "all", version] = Deno.args;
const only = names === "all" ? undefined : names.split(",");
const opset = version === undefined ? undefined : Number(version);

const plain = (a: tf.NdArray): unknown => ({
  dtype: a.dtype,
  shape: a.shape,
  data: Array.from(
    a.data as ArrayLike<unknown>,
    (v) =>
      v instanceof Uint8Array
        ? new TextDecoder().decode(v)
        : typeof v === "bigint" || typeof v === "number" && !Number.isFinite(v)
        ? String(v)
        : Object.is(v, -0)
        ? "-0.0"
        : v,
  ),
});

function results(value: unknown): tf.NdArray[] {
  if (value instanceof tf.Tensor) return [value.ndarraySync()];
  return Object.values(value as Record<string, unknown>).flatMap(results);
}

function line(c: Case): string {
  const { name, op, isRandom = false, near = 1e-5 } = c;
  let values: tf.NdArray[];
  try {
    values = results(c.run());
  } catch (e) {
    return JSON.stringify({ name, op, invalid: (e as Error).message });
  }
  const model = write(opset === undefined ? c : { ...c, opset });
  if (typeof model === "string") return JSON.stringify({ name, op, refused: model });
  return JSON.stringify({
    name,
    op,
    isRandom,
    near,
    model: (model as Uint8Array & { toBase64(): string }).toBase64(),
    feeds: Object.fromEntries(Object.entries(c.feeds).map(([key, a]) => [key, plain(a)])),
    values: values.map(plain),
  });
}

for (const name of PROGRAM_NAMES) {
  if (only !== undefined && !only.includes("programs")) continue;
  const c = program(name), versions = opset === undefined ? [17, 18, 19, 20, 21] : [opset];
  for (const own of versions) console.log(line({ ...c, name: `${name} ${own}`, opset: own }));
}
for (const def of sampledOps()) {
  if (only !== undefined && !only.includes(def.name)) continue;
  for (const c of casesOf(def)) console.log(line(c));
}
