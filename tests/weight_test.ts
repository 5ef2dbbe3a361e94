/** What pages load of the package, and that it is enough: programs are bundled as pages are, weighed and run. */

import { assert, assertEquals } from "@std/assert";
import { capture } from "../tools/command.ts";
import { installPackage, PAGES, weigh, type Weight } from "../tools/package/weigh.ts";
import { HAS_WEBGPU } from "./devices.ts";

/** KiB, compressed, that a page may begin with, and that a page on a GPU may load in all. */
const MOST = { add: 92, mlp: 120, mlp_webgpu: 120, all: 340 }, MOST_ON_GPU = 185;

let home = "";

Deno.test.beforeAll(async () => {
  home = await installPackage();
});

Deno.test.afterAll(() => Deno.remove(home, { recursive: true }));

/** Runs the files of a page, and gives what it wrote. */
async function runPage({ files }: Weight): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "weft_page_" });
  try {
    for (const [name, bytes] of files) await Deno.writeFile(`${folder}/${name}`, bytes);
    const args = ["run", "-A", "--no-config", "--no-prompt", `${folder}/page.js`];
    const { code, stdout, stderr } = await capture(Deno.execPath(), args, { timeoutMs: 120_000 });
    assertEquals(code, 0, stderr);
    return stdout.trim();
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

for (const [name, most] of Object.entries(MOST)) {
  const onGpu = name.endsWith("webgpu");
  Deno.test({
    name: `a page of "${name}" begins with at most ${most} KiB and runs${onGpu ? " [webgpu]" : ""}`,
    ignore: onGpu && !HAS_WEBGPU,
    async fn() {
      const { program, writes } = PAGES[name];
      const page = await weigh(program + (onGpu ? "\nDeno.exit(0);" : ""), home);
      assert(page.first <= most * 1024, `${page.first} bytes`);
      assertEquals(await runPage(page), writes);
    },
  });
}

Deno.test("a page on a GPU loads no more than the device beside what it begins with", async () => {
  const { first, later } = await weigh(PAGES.mlp_webgpu.program, home);
  const [device] = [...later].filter(([name]) => name.startsWith("webgpu_device"));
  assert(first + device[1] <= MOST_ON_GPU * 1024, `${first + device[1]} bytes`);
});

Deno.test("a page of the whole library shares tensors with eager code, and has ops that it only names", async () => {
  const program = `import * as eager from "@weft/weft/eager";
    import * as tf from "@weft/weft";
    console.log(eager.scalar(2).add(1) instanceof tf.Tensor);
    const graph = new tf.Graph(), node = [{ name: "x", op: "StringUpper", input: ["s"] }];
    const s = { name: "s", op: "Const", attr: { dtype: { type: "DT_STRING" },
      value: { tensor: { dtype: "DT_STRING", tensorShape: {}, stringVal: [btoa("abc")] } } } };
    graph.asDefault(() => tf.importGraphDef({ node: [s, ...node] }, { prefix: "" }));
    console.log(new TextDecoder().decode(await new tf.Session({ graph }).run("x:0")));`;
  assertEquals(await runPage(await weigh(program, home)), "true\nABC");
});
