/** The playground and what it shows of plans and runs, driven in Chromium. */
// Functions that run in pages see what pages have.
/// <reference lib="dom" />

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Page } from "playwright-core";
import { LESSONS } from "../../examples/site/lessons.ts";
import { read } from "../../tools/files.ts";
import { ofTheDay } from "../effort.ts";
import { home, runProgram, test, textOf, write } from "./served.ts";

for (const [device, where] of [["cpu", "the CPU"], ["webgpu", "WebGPU"]] as const) {
  const tag = device === "webgpu" ? " [webgpu]" : "";
  test(`the playground runs lessons on ${where}${tag}`, async (page) => {
    assertEquals(LESSONS.length, 20);
    await page.goto(`${home}/playground.html?device=${device}`);
    for (const { name } of ofTheDay(LESSONS, 4)) {
      await page.evaluate((name) => location.hash = name, name);
      const text = read(`examples/site/lessons/${name}.js`);
      await page.waitForFunction(
        (text) => document.querySelector("textarea")!.value === text,
        text,
      );
      assertMatch(await textOf(page, "status", / ms on /), new RegExp(` ms on ${where}`), name);
      assertMatch((await page.textContent("#output"))!, /\d/, name);
      assertEquals(await page.locator("#output .error").count(), 0, name);
      const hasGraph = /tf\.(function|Graph)\(|numpyFunction/.test(text);
      // What folds scopes is loaded for a large graph, whose picture comes after the status.
      if (hasGraph) await page.waitForSelector("#picture svg");
      assertEquals(await page.locator("#picture svg").count(), hasGraph ? 1 : 0, name);
    }
  });
}

test("the playground shows what is read back from the GPU [webgpu]", async (page) => {
  await page.goto(`${home}/playground.html?device=webgpu#numpy_function`);
  assertMatch(await textOf(page, "status", / ms on /), /on WebGPU, .*readbacks: 2/);
  assertEquals(await page.locator("#picture path.readback").count(), 1);
  assertEquals(
    await page.locator("#picture g.script").textContent(),
    "PyFunc on CPUsortRows()PyFunc",
  );
});

test("Stop ends a program that never would, and the next one runs", async (page) => {
  await page.goto(`${home}/playground.html?device=cpu#tensors`);
  await textOf(page, "status", / ms on /);
  await runProgram(page, 'console.log("begun"); while (true);');
  await textOf(page, "output", /begun/);
  await page.click("#stop");
  await textOf(page, "status", /^stopped$/);
  await runProgram(page, 'let n = 0; setInterval(() => console.log("tick", n++), 1);');
  await textOf(page, "output", /tick 9/);
  await page.click("#stop");
  const ticks = await page.textContent("#output");
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
  assertEquals(await page.textContent("#output"), ticks);
  await runProgram(page, 'import { scalar } from "@weft/weft"; console.log(scalar(3));');
  await textOf(page, "output", /^Tensor\(float32\[\]\) 3$/);
});

test("the playground has the library's classes by the names that they are exported by", async (page) => {
  await page.goto(`${home}/playground.html?device=cpu#tensors`);
  await textOf(page, "status", / ms on the CPU, CPU kernels: [1-9]/);
  await runProgram(
    page,
    `import * as tf from "@weft/weft";
    const { Graph, Tensor, Variable, data, errors, train } = tf;
    console.log(Graph.name, Tensor.name, Variable.name, errors.NotFoundError.name, train.Checkpoint.name);
    console.log(new Graph().constructor.name, data.range(2).constructor.name, tf.scalar(1) instanceof Tensor);
    try { tf.add(new Graph(), 1); } catch (error) { console.log(error.message); }`,
  );
  await textOf(page, "output", /Graph Tensor Variable NotFoundError Checkpoint/);
  await textOf(page, "output", /Graph Dataset true/);
  await textOf(page, "output", /of type Graph$/);
});

test("the playground names the line of an error, and cuts endless output", async (page) => {
  await page.goto(`${home}/playground.html?device=cpu#tensors`);
  await textOf(page, "status", / ms on /);
  const bad = 'import * as tf from "@weft/weft";\n\ntf.add(tf.zeros([2]), tf.zeros([3]));';
  await runProgram(page, bad);
  await textOf(page, "status", /^failed/);
  assertMatch(await page.textContent("#output") ?? "", /\[2\].*\[3\].* \(line 3\)$/s);
  await runProgram(page, "for (let i = 0; i < 9999; i++) console.log(i);");
  await textOf(page, "status", / ms on /);
  assertEquals(await page.locator("#output div").count(), 2001);
});

test("a link holds a program, which waits to be read before it runs", async (page) => {
  const program = 'console.log("żółw", 1 + 1);\n';
  await page.goto(`${home}/playground.html?device=cpu#tensors`);
  await textOf(page, "status", / ms on /);
  await write(page, program);
  await page.click("#share");
  await page.waitForFunction(() => location.hash.startsWith("#code="));
  const link = page.url();
  await page.goto("about:blank");
  await page.goto(link);
  await textOf(page, "status", /came with the link/);
  assertEquals(await page.inputValue("#code"), program);
  assertEquals(await page.textContent("#output"), "");
  await page.click("#run");
  await textOf(page, "output", /^żółw 2$/);
});

/** Opens the playground with its editor loaded. */
async function openEditor(page: Page): Promise<void> {
  await page.goto(`${home}/playground.html?device=cpu#tensors`);
  await textOf(page, "status", / ms on /);
  assertEquals(await page.locator(".code-view").count(), 0);
  await page.hover("#code");
  await page.waitForSelector(".code-view .cm-content");
}

test("the editor indents with Tab, and the keyboard gets out of it", async (page) => {
  await openEditor(page);
  await write(page, "");
  await page.focus(".cm-content");
  for (const key of ["Tab", "a", "Enter", "b", "Shift+Tab"]) await page.keyboard.press(key);
  assertEquals(await page.inputValue("#code"), "  a\nb");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  assertEquals(await page.evaluate(() => document.activeElement?.id), "output");
  await write(page, 'console.log("by key")');
  await page.focus(".cm-content");
  await page.keyboard.press("Control+Enter");
  await textOf(page, "output", /^by key$/);
});

/** Names that the editor proposes behind what is typed at the end of the program. */
async function proposed(page: Page, typed: string): Promise<string[]> {
  await page.focus(".cm-content");
  await page.keyboard.press("Control+End");
  await page.keyboard.type(typed);
  await page.waitForSelector(".cm-tooltip-autocomplete li");
  const names = await page.locator(".cm-completionLabel").allTextContents();
  await page.keyboard.press("Escape");
  return names;
}

test("the editor colours and numbers lines, completes from our types, and documents names", async (page) => {
  await openEditor(page);
  const lines = (await page.inputValue("#code")).split("\n").length;
  assert(await page.locator(".cm-lineNumbers .cm-gutterElement").count() >= lines);
  await write(
    page,
    'import * as tf from "@weft/weft";\nconst d = tf.data.range(3), x = tf.tensor([1]);\nconst y = x.mul(2).square();\n',
  );
  const colour = (text: string) =>
    page.locator(".cm-line span", { hasText: text }).first().evaluate((e) =>
      getComputedStyle(e).color
    );
  assert(await colour("import") !== await colour("@weft/weft"));
  for (
    const [typed, wanted] of [
      ["tf.linal", "linalg"],
      [";\ntf.image.resizeBil", "resizeBilinear"],
      [";\nd.shuf", "shuffle"],
      [";\ny.matM", "matMul"],
      [";\n((z: tf.Variable) => z.assignA", "assignAdd"],
    ] as const
  ) assertEquals((await proposed(page, typed))[0], wanted, typed);
  await page.locator(".cm-line span", { hasText: "square" }).first().hover();
  assertMatch((await page.textContent(".cm-help"))!, /square.*x \* x\..*Reference/s);
});

test("the playground takes TypeScript, and underlines the line of an error", async (page) => {
  await openEditor(page);
  const program = `import * as tf from "@weft/weft";
interface Pair { readonly a: number }
const twice = <T extends Pair>(pair: T): number => pair.a * 2;
console.log(twice({ a: 21 }) as number);
tf.add(tf.zeros([2]), tf.zeros([3]));
`;
  const marked = () => page.locator(".cm-lintRange-error").allTextContents();
  await runProgram(page, program);
  await textOf(page, "status", /^failed/);
  assertMatch((await page.textContent("#output"))!, /^42InvalidArgumentError: .* \(line 5\)$/s);
  await page.waitForSelector(".cm-lintRange-error");
  assertEquals(await marked(), ["tf.add(tf.zeros([2]), tf.zeros([3]));"]);
  await runProgram(page, "let a = 1;\nlet b: number = ;\n");
  await textOf(page, "output", /^SyntaxError: Unexpected token \(line 2\)$/);
  await page.waitForFunction(() =>
    document.querySelector(".code-view")!.shadowRoot!.querySelector(".cm-lintRange-error")
      ?.textContent === "let b: number = ;"
  );
  await runProgram(page, "console.log(JSON.parse('{'));");
  // An error of a program that ran: it does not run twice.
  await textOf(page, "output", /^SyntaxError: .*JSON.* \(line 1\)$/);
  await runProgram(page, "console.log(7);");
  await textOf(page, "output", /^7$/);
  assertEquals(await marked(), []);
});

test("edits outlive a reload, and can be undone together", async (page) => {
  await openEditor(page);
  const lesson = await page.inputValue("#code");
  assertEquals(await page.isEnabled("#again"), false);
  await write(page, "console.log(8);");
  await page.reload();
  await textOf(page, "output", /^8$/);
  assertEquals(await page.inputValue("#code"), "console.log(8);");
  await page.click("#again");
  await textOf(page, "output", /float32/);
  assertEquals(await page.inputValue("#code"), lesson);
  assertEquals(await page.isEnabled("#again"), false);
});

const joined = (page: Page) => page.locator("#picture g.joined").count();

test("Inside shows a plan's joined ops and scripts on the CPU", async (page) => {
  await page.goto(`${home}/inside.html?device=cpu`);
  await textOf(page, "status", / ms on the CPU/);
  assertMatch((await page.textContent("#plans"))!, /^Plan 1: \d+ steps, all on the CPU, 1 script$/);
  assert(await joined(page) > 0);
  assertEquals(await page.locator("#picture g.script").count(), 1);
  assertMatch((await page.textContent("#text"))!, /PyFunc/);
});

test("Inside shows what runs on the GPU and what is read back [webgpu]", async (page) => {
  await page.goto(`${home}/inside.html?device=webgpu`);
  await textOf(page, "status", / ms on WebGPU/);
  const [gpu, reads] = /(\d+) on the GPU, 1 script, (\d+) values read back/
    .exec((await page.textContent("#plans"))!)!.slice(1);
  assertEquals(await page.locator("#picture g.gpu").count(), Number(gpu));
  assertEquals(await page.locator("#picture path.readback").count(), Number(reads));
  assert(await joined(page) > 0);
});

for (const width of [390, 820, 1280]) {
  test(`marks of the timeline lie within it, ${width} pixels wide`, async (page) => {
    await page.goto(`${home}/inside.html?device=cpu#training`);
    await textOf(page, "status", / ms on /);
    for (let zoom = 0; zoom < 3; zoom++) {
      const [outside, all] = await page.evaluate(() => {
        const picture = document.querySelector(".timeline")!.getBoundingClientRect();
        const marks = [...document.querySelectorAll(".timeline > text")]
          .map((mark) => mark.getBoundingClientRect());
        const isOut = (r: DOMRect): boolean => r.left < picture.left || r.right > picture.right;
        return [marks.filter(isOut).length, marks.length];
      });
      assert(all! > 2, `${all} marks`);
      assertEquals(outside, 0, `zoom ${zoom}`);
      await page.getByRole("button", { name: "Closer" }).click();
    }
  }, { viewport: { width, height: 800 } });
}

for (const [device, where] of [["cpu", "the CPU"], ["webgpu", "WebGPU"]] as const) {
  const tag = device === "webgpu" ? " [webgpu]" : "";
  test(`the timeline of a run on ${where} has spans, times and bytes of nodes${tag}`, async (page) => {
    await page.goto(`${home}/inside.html?device=${device}#training`);
    await textOf(page, "status", / ms on /);
    for (const kind of ["run", "plan", "step", ...(tag ? ["dispatch", "readback", "gpu"] : [])]) {
      assert(await page.locator(`.timeline g.${kind}`).count() > 0, kind);
    }
    const row = page.locator("#timeline tbody tr", {
      has: page.getByRole("button", { name: "MatMul", exact: true }),
    });
    const cells = await row.first().locator("td").allTextContents();
    assertEquals([cells[0], cells[3]], ["101", "12.8 kB"]);
    assertMatch(cells[1]!, /^[\d.]+ (µs|ms|s)$/);
    assertMatch(cells[2]!, tag ? /^[\d.]+ (µs|ms|s)$/ : /^–$/);
    await row.first().locator("button").click();
    const code = page.locator("#timeline pre");
    if (tag) assertStringIncludes((await code.textContent())!, "@compute @workgroup_size");
    else assertEquals(await code.isVisible(), false);
  });
}

test("a plan's scopes become boxes, and open again", async (page) => {
  const program = `import * as tf from "@weft/weft";
const graph = new tf.Graph();
const y = graph.asDefault(() => tf.nameScope("layer", () => {
  const x = tf.placeholder("float32", [2], "x");
  return tf.sort(tf.cumsum(tf.mul(x, 2)));
}));
await new tf.Session({ graph }).run(y, { feeds: new Map([[graph.getTensorByName("layer/x:0"), [1, 2]]]) });`;
  await page.goto(`${home}/playground.html?device=cpu#tensors`);
  await textOf(page, "status", / ms on /);
  await write(page, program);
  await page.click("#inside");
  await textOf(page, "status", / ms on /);
  const open = await page.locator("#picture g[class^=cpu]").count();
  await page.check("#fold");
  await page.waitForSelector("#picture g.scope");
  const shut = await page.locator("#picture g[class^=cpu]").count();
  assert(shut < open, `${shut} boxes instead of ${open}`);
  assertMatch((await page.textContent("#picture"))!, /\d in layer/);
  await page.uncheck("#fold");
  await page.waitForFunction(() => document.querySelector("#picture g.scope") === null);
  assertEquals(await page.locator("#picture g[class^=cpu]").count(), open);
});

test("many nodes are boxes of scopes at first, which open and shut by clicks and buttons", async (page) => {
  const program = `import * as tf from "@weft/weft";
const graph = new tf.Graph();
const y = graph.asDefault(() => {
  let x = tf.placeholder("float32", [2], "x");
  for (const name of ["one", "two"]) {
    x = tf.nameScope(name, () => {
      for (const inner of ["a", "b"]) {
        x = tf.nameScope(inner, () => {
          for (let i = 0; i < 12; i++) x = tf.sort(tf.cumsum(x));
          return x;
        });
      }
      return x;
    });
  }
  return x;
});
await new tf.Session({ graph }).run(y, { feeds: new Map([[graph.getTensorByName("x:0"), [1, 2]]]) });`;
  await page.goto(`${home}/playground.html?device=cpu#tensors`);
  await textOf(page, "status", / ms on /);
  await runProgram(page, program);
  await page.waitForSelector("#picture g.scope");
  const boxes = () => page.locator("#picture g[class^=cpu]").count();
  const names = () => page.locator("#scopes button").allTextContents();
  // There is room for the inner scopes, and not for what is in them.
  const inner = ["two", "two/a", "two/b"], all = ["one", "one/a", "one/b", ...inner];
  assertEquals([await boxes(), await names()], [5, all]);
  await page.click("#scopes >> text=one/a");
  await page.waitForFunction(() => document.querySelectorAll("#picture g[class^=cpu]").length > 20);
  assertEquals(await page.evaluate(() => document.activeElement!.textContent), "one/a");
  assertEquals(await page.getAttribute("#scopes button >> nth=1", "aria-pressed"), "true");
  // An outer scope shuts the inner ones with it.
  await page.focus("#scopes button");
  await page.keyboard.press("Enter");
  await page.waitForSelector('#picture g[data-scope="one"]');
  assertEquals([await boxes(), await names()], [4, ["one", ...inner]]);
  await page.click('#picture g[data-scope="one"] text');
  await page.waitForSelector('#picture g[data-scope="one/b"]');
  assertEquals([await boxes(), await names()], [5, all]);
});

test("a program loads the parts of the library that it names", async (page) => {
  const loaded: string[] = [];
  page.context().on("response", (r) => loaded.push(new URL(r.url()).pathname.slice(1)));
  const parts = () => loaded.splice(0).filter((file) => /^weft_\w+\.js$/.test(file)).sort();
  await page.goto(`${home}/playground.html?device=cpu#tensors`);
  await textOf(page, "status", / ms on /);
  assertEquals(parts(), []);
  const head = 'import * as tf from "@weft/weft";\n';
  for (
    const [program, wanted, files] of [
      [
        "const x = tf.sparse.reorder(new tf.SparseTensor([[1], [0]], [5, 7], [2]));\nconsole.log(await tf.sparse.toDense(x).data());",
        /7, 5/,
        ["weft_more.js"],
      ],
      [
        "const d = tf.data.range(4).batch(2);\nfor await (const x of d) console.log(await tf.image.adjustBrightness(tf.cast(tf.reshape(x, [1, 2, 1]), 'float32'), 1).data());",
        /1, 2.*3, 4/s,
        ["weft_data.js", "weft_more.js"],
      ],
      [
        'const g = new tf.Graph();\ng.asDefault(() => tf.importGraphDef({ node: [{ name: "x", op: "Const", attr: { dtype: { type: "DT_FLOAT" }, value: { tensor: { dtype: "DT_FLOAT", tensorShape: {}, floatVal: [3] } } } }, { name: "y", op: "Erf", input: ["x"], attr: { T: { type: "DT_FLOAT" } } }] }, { prefix: "" }));\nconsole.log(g.operations.map((o) => o.type).join());',
        /Const,Erf/,
        ["weft_graphs.js"],
      ],
      ["console.log(typeof tf.compat.v2.data.range);", /^function$/, ["weft_v1.js"]],
      [
        'const name = "lin" + "alg";\nconsole.log(await tf[name].det([[2, 0], [0, 3]]).data(), Object.keys(tf).length);',
        /6.* \d{3}/,
        [...["data", "graphs", "more", "train", "v1"].map((part) => `weft_${part}.js`)],
      ],
    ] as const
  ) {
    await runProgram(page, head + program);
    await textOf(page, "output", wanted);
    assertEquals(parts(), [...files], program);
  }
});
