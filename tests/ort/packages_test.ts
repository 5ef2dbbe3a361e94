/**
 * Packages that run models by onnxruntime, unmodified over Weft. What they tell is what they told over onnxruntime's own packages:
 * `WEFT_ORT_UPDATE=1` asks these, and writes fixtures/packages.json anew.
 */
import { assertEquals } from "@std/assert";
import { findNode } from "../../tools/node.ts";
import { HAS_WEBGPU } from "../devices.ts";
import { ofTheDay } from "../effort.ts";
import { differences } from "./differences.ts";
import { install, type Installed } from "./packages/installed.ts";

const EXPECTED = new URL("fixtures/packages.json", import.meta.url);
const UPDATES = Deno.env.get("WEFT_ORT_UPDATE") === "1";

/** Results of programs by their names. */
type Told = Record<string, unknown>;

/** Programs, with their arguments after the folder of models. */
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  "transformers.js 4": ["run_transformers.mjs", "@huggingface/transformers"],
  "transformers.js 3": ["run_transformers.mjs", "transformers-3"],
  "vad-web and openwakeword": ["audio.mjs"],
  "fastembed and kokoro-js": ["speaking.mjs"],
};

const node = await findNode();
let installed: Installed, expected: Told;

Deno.test.beforeAll(async () => {
  if (UPDATES) {
    const theirs = await install({ original: true }), told: Told = {};
    for (const name of Object.keys(PROGRAMS)) told[name] = await run(theirs, name, node!, "cpu");
    await Deno.writeTextFile(EXPECTED, `${JSON.stringify(told)}\n`);
    await Deno.remove(theirs.home, { recursive: true });
  }
  expected = JSON.parse(await Deno.readTextFile(EXPECTED));
  installed = await install();
});
Deno.test.afterAll(() => Deno.remove(installed.home, { recursive: true }));

function run(
  from: Installed,
  name: string,
  runtime: string,
  ...rest: readonly string[]
): Promise<unknown> {
  const [program, ...args] = PROGRAMS[name];
  return from.run(program, runtime, ...args, `${from.home}/models`, ...rest);
}

/** Programs for a GPU, whose shaders take their time where it is emulated. */
const ON_GPU = ["feature-extraction", "text-generation-llama"];

/** Programs and the ways to run them. */
const RUNS = Object.keys(PROGRAMS).flatMap((name) => [
  { name, where: "Deno", device: "cpu" },
  { name, where: "Node", device: "cpu" },
  { name, where: "Deno", device: "webgpu" },
]);

for (const { name, where, device } of ofTheDay(RUNS, 2)) {
  const isTransformers = name.startsWith("transformers");
  const onGpu = device === "webgpu";
  Deno.test({
    name: `${name} in ${where} over Weft tells the same [${device}]`,
    ignore: where === "Node" && node === null || onGpu && (!HAS_WEBGPU || !isTransformers),
    async fn() {
      const some = onGpu ? ON_GPU : [], wanted = expected[name] as Told;
      // Outside of pages transformers.js 3 knows a GPU by this name alone.
      const asked = onGpu && name.endsWith(" 3") ? "cuda" : device;
      const told = await run(installed, name, where === "Deno" ? "deno" : node!, asked, ...some);
      const compared = onGpu ? Object.fromEntries(some.map((n) => [n, wanted[n]])) : wanted;
      assertEquals(differences(told, compared, name), []);
    },
  });
}
