import { assertEquals } from "@std/assert";

/** Examples that check what they print. They must run without any permission. */
const EXAMPLES = ["log_huber", "sinh", "contrib_py_func", "tf_function", "numpy", "tfjs"];

for (const name of EXAMPLES) {
  Deno.test(`examples/${name}.ts runs without permissions and finds what it expects`, async () => {
    const path = new URL(`../../examples/${name}.ts`, import.meta.url);
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      // Quiet is Deno alone: where its cache is empty it writes what it fetches, and what it thinks of it.
      args: ["run", "--quiet", "--no-prompt", "--no-check", path.href],
      stderr: "piped",
      stdout: "null",
    }).output();
    assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
  });
}
