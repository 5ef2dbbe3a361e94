import { assert, assertEquals } from "@std/assert";

/** Examples that check what they print, or whose output the README of the folder shows. They must run without any permission. */
const EXAMPLES = [
  "average_precision",
  "cartpole",
  "contrib_py_func",
  "detector",
  "log_huber",
  "looking_inside",
  "numpy",
  "set_loss",
  "sinh",
  "solver_layer",
  "tf_function",
  "tfjs",
  "tokenizer",
];

/** Checks of the numbers that the README does not fix. */
const CHECKS: Readonly<Record<string, (out: string) => boolean>> = {
  // A policy that pushes at random keeps the pole up for about 22 steps; 200 are the most.
  cartpole: (out) => [...out.matchAll(/(\d+) at last/g)].every(([, n]) => Number(n) > 100),
  set_loss: (out) => out.includes("[ 3, 3, 3, 3 ]") && out.includes(" 1 call of the host"),
  solver_layer: (out) =>
    new Set([...out.matchAll(/: +((?:\d\.\d\d ?){8})/g)].map((m) => m[1])).size === 1,
  detector: (out) => out.includes("red at 8, 6") && out.includes("blue at 46, 12"),
  tokenizer: (out) => new Set([...out.matchAll(/(\d+) tokens/g)].map((m) => m[1])).size === 1,
};

const folder = new URL("../../examples/", import.meta.url);
const readme = await Deno.readTextFile(new URL("README.md", folder));

/** Returns the output of an example in the README; null if there is none. */
function shown(name: string): string | null {
  const [, text = null] = new RegExp(
    `^## \\[${name}\\.ts\\].*?^\`\`\`text\n(.*?)^\`\`\`$`,
    "ms",
  ).exec(readme) ?? [];
  return text;
}

/** Speeds differ from machine to machine, and last digits too. */
const withoutNumbers = (text: string): string =>
  text.replaceAll(/-?\d+(\.\d+)?(e[+-]\d+)?/g, "#").replaceAll("webgpu", "cpu");

for (const name of EXAMPLES) {
  Deno.test(`examples/${name}.ts runs without permissions and finds what it expects`, async () => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      // Quiet is Deno alone: where its cache is empty it writes what it fetches, and what it thinks of it.
      args: ["run", "--quiet", "--no-prompt", "--no-check", new URL(`${name}.ts`, folder).href],
      env: { NO_COLOR: "1" },
    }).output();
    const [out, errors] = [stdout, stderr].map((text) => new TextDecoder().decode(text));
    assertEquals([code, errors], [0, ""]);
    assert(CHECKS[name]?.(out!) ?? true, out);
    const text = shown(name);
    if (text !== null) assertEquals(withoutNumbers(out!), withoutNumbers(text));
  });
}

Deno.test("the README of the examples names each of them and shows what most print", async () => {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(folder)) if (name.endsWith(".ts")) names.push(name);
  assertEquals(names.filter((name) => !readme.includes(`](${name})`)), []);
  assert(EXAMPLES.filter((name) => shown(name) !== null).length >= 8);
});
