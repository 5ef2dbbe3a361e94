/**
 * ONNX's own node tests within our dtypes, and small models of many architectures with what onnxruntime computes for them. What does not pass stands in expected_failures.json with the reason, and what passes must not
 * stand there. `WEFT_ONNX_UPDATE=1` writes that file anew from what the devices do.
 */
import { assertEquals } from "@std/assert";
import type { NdArray, Tensor } from "@weft/weft";
import "@weft/weft/image";
import { loadOnnx, type OnnxOutput } from "@weft/weft/onnx";
import { type TestDevice, testOnDevices } from "../devices.ts";
import { some } from "../effort.ts";
import { type Case, difference, Pack } from "./pack.ts";

const EXPECTED = new URL("expected_failures.json", import.meta.url);

/** Reasons by the names of cases: those of all devices, and those of one. */
type Expected = Record<"all" | TestDevice, Record<string, string>>;

const PACKS = ["node_tests", "node_tests_large", "contrib_tests", "ort_tests", "models"] as const;
const UPDATES = Deno.env.get("WEFT_ONNX_UPDATE") === "1";
const found: Partial<Record<TestDevice, Record<string, string>>> = {};

async function read(value: OnnxOutput): Promise<unknown> {
  if (!Array.isArray(value)) return await (value as Tensor).ndarray() as NdArray;
  return await Promise.all(value.map(read));
}

/** Why a case does not pass; null where it does. Ops run one by one, which needs no plan for each; whole models run as graphs. */
async function failure(pack: Pack, one: Case): Promise<string | null> {
  const isWhole = one.scale !== undefined;
  try {
    const model = await loadOnnx(pack.model(one));
    try {
      for (const [inputs, outputs] of one.sets) {
        const feeds = pack.feeds(model, inputs);
        const results = isWhole ? await model.run(feeds) : model.runEagerly(feeds);
        for (const [i, wanted] of outputs.entries()) {
          const { name } = model.outputs[i];
          const differs = difference(await read(results[name]), pack.arrays(wanted), one);
          if (differs !== null) return `output ${i}: ${differs}`;
        }
      }
      return null;
    } finally {
      model.dispose();
    }
  } catch (e) {
    return (e as Error).message.replace(/^Cannot load \d+ bytes: /, "");
  }
}

for (const name of PACKS) {
  testOnDevices(`loadOnnx() passes the cases of ${name}`, async (device) => {
    const expected: Expected = JSON.parse(await Deno.readTextFile(EXPECTED));
    const known = { ...expected.all, ...expected[device] };
    const pack = await Pack.read(name), wrong: string[] = [];
    // A GPU's shaders take their time to compile: the CPU tells of the rules.
    const few = name === "models" ? 4 : 250;
    const cases = device === "cpu" || UPDATES ? pack.cases : some(pack.cases, few);
    for (const one of cases) {
      const why = await failure(pack, one);
      if (why !== null) (found[device] ??= {})[one.n] = why;
      if (why === null && known[one.n] !== undefined) wrong.push(`${one.n} PASSES NOW`);
      if (why !== null && known[one.n] === undefined) wrong.push(`${one.n}: ${why}`);
    }
    if (!UPDATES) assertEquals(wrong, []);
  });
}

Deno.test({
  name: "expected_failures.json is written anew",
  ignore: !UPDATES,
  async fn() {
    const { cpu = {}, webgpu = cpu } = found;
    const sorted = (of: Record<string, string>, where: (name: string) => boolean) =>
      Object.fromEntries(
        Object.entries(of).filter(([n]) => where(n)).sort(([a], [b]) => a < b ? -1 : 1)
          .map(([n, why]) => [n, why.slice(0, 200)]),
      );
    const expected: Expected = {
      all: sorted(cpu, (n) => n in webgpu),
      cpu: sorted(cpu, (n) => !(n in webgpu)),
      webgpu: sorted(webgpu, (n) => !(n in cpu)),
    };
    await Deno.writeTextFile(EXPECTED, `${JSON.stringify(expected, null, 2)}\n`);
  },
});
