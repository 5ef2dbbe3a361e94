/** The reference is whole: every name that an entry exports has its declaration, its words and its place, and all links lead somewhere. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { type Entry, search } from "../../examples/site/reading/search.ts";
import { exists, read, readConfig, ROOT } from "../../tools/files.ts";
import { type ApiEntry, readApi } from "../../tools/reference/api.ts";
import { firstSentence, parseDoc } from "../../tools/reference/docs.ts";
import { html } from "../../tools/reference/markdown.ts";
import { opRows } from "../../tools/reference/op_matrix.ts";
import { referencePages } from "../../tools/reference/pages.ts";
import { referenceText } from "../../tools/reference/texts.ts";
import { pages } from "../../tools/site/pages.ts";
import { writeDocuments } from "../../tools/site/documents.ts";

let cached: readonly ApiEntry[] | undefined;
const api = (): readonly ApiEntry[] => cached ??= readApi();
const names = ({ groups }: ApiEntry): string[] =>
  groups.flatMap(({ symbols }) => symbols.map(({ name }) => name));

/** Names of a module and of the namespaces in it. */
function exportedNames(module: object, above: readonly object[] = [], prefix = ""): string[] {
  return Object.entries(module).flatMap(([key, value]) => {
    const isNamespace = Object.prototype.toString.call(value) === "[object Module]";
    if (!isNamespace) return [prefix + key];
    if (above.includes(value)) return [];
    return exportedNames(value, [...above, value], `${prefix}${key}.`);
  });
}

Deno.test("the reference has every name that entries export, those of namespaces too", async () => {
  const { exports } = readConfig();
  for (const [i, path] of Object.values(exports).entries()) {
    const module = await import(new URL(path, ROOT).href);
    const listed = new Set(names(api()[i]!));
    // A module that is a value, such as `np`, is one name.
    const missing = exportedNames(module, [module])
      .filter((name) => !listed.has(name) && !listed.has(name.split(".")[0]!));
    assertEquals(missing, [], `${path} exports these`);
  }
});

Deno.test("every name of the main entry says what it is, and stands at a line that declares it", () => {
  const [main] = api();
  const symbols = main!.groups.flatMap(({ symbols }) => symbols);
  assertEquals(symbols.filter(({ doc }) => doc === "").map(({ name }) => name), []);
  for (const { name, file, line, kind, signatures } of symbols) {
    assert(exists(file), `${name}: ${file}`);
    if (kind !== "function") continue;
    assert(read(file).split("\n")[line - 1]!.includes("function"), `${name}: ${file}:${line}`);
    assert(signatures.every((text) => text.includes(name.split(".").at(-1)!)), signatures[0]);
  }
});

Deno.test("types of the engine's inside are no names of the main entry", () => {
  const listed = new Set(names(api()[0]!));
  const inner = ["Storage", "VariableState", "Interpreter", "GraphInterpreter"];
  assertEquals(inner.filter((name) => listed.has(name)), []);
  assert(listed.has("NamedTensorMap"));
});

Deno.test("pages have namespaces whole, and one text has all", () => {
  const { pages, index } = referencePages(api());
  const text = referenceText(api());
  for (const name of ["io.readNpy", "image.resize", "linalg.svd", "data.csv", "softmax"]) {
    const [, , place] = index.find(([found]) => found === `tf.${name}`)!;
    const [page, anchor] = place.slice("./".length).split(".html#");
    const { main } = pages.find((other) => other.name === page)!;
    assertStringIncludes(main, `id="${anchor}"`);
    assertStringIncludes(text, `\n### tf.${name}\n`);
  }
});

Deno.test("links of the pages to read lead to pages and places that are there", async () => {
  const folder = await Deno.makeTempDir({ prefix: "weft-documents-" });
  try {
    const parts = await writeDocuments(folder);
    for (const [name, text] of pages({ ...parts })) {
      await Deno.writeTextFile(`${folder}/${name}`, text);
    }
    const texts = new Map<string, string>(), broken: string[] = [];
    const textOf = (file: string): string | null => {
      try {
        if (!texts.has(file)) texts.set(file, Deno.readTextFileSync(`${folder}/${file}`));
        return texts.get(file)!;
      } catch {
        return null;
      }
    };
    const files = [...Deno.readDirSync(folder)].map(({ name }) => name)
      .filter((name) => /^(?:api|entry|guide|reference|guides)\w*\.html$/.test(name));
    assert(files.length > 80, `${files.length} pages`);
    for (const file of files) {
      for (const [, href] of textOf(file)!.matchAll(/ href="([^"]+)"/g)) {
        if (/^https?:|\.(?:css|svg)$/.test(href!)) continue;
        const [path, anchor] = href!.replace(/^\.\//, "").split("#") as [string, string?];
        const target = textOf(path === "" ? file : path);
        const found = target !== null &&
          (!anchor || anchor.startsWith(":~:") ||
            target.includes(` id="${decodeURIComponent(anchor)}"`));
        if (!found) broken.push(`${file}: ${href}`);
      }
    }
    assertEquals(broken, []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the table of ops says what the registries say", async () => {
  const rows = new Map((await opRows(api())).map((row) => [row.op, row]));
  assert(rows.size > 400, `${rows.size} rows`);
  const softmax = rows.get("Softmax")!;
  assertEquals([softmax.functions, softmax.tfjs], [["softmax", "nn.softmax"], ["softmax"]]);
  assertEquals([softmax.cpu, softmax.gpu, softmax.tensorflow], ["kernel", "kernel", "Softmax"]);
  assertMatch(softmax.dtypes, /^f32 f16 bf16 f64$/);
  assertEquals(softmax.onnx, "read by this name, written");
  assertEquals(rows.get("PyFunc")!.gpu, "host");
  assertEquals(rows.get("Floor")!.dtypes.includes("i32"), false);
  const named = [...rows.values()].filter(({ functions }) => functions.length > 0);
  assert(named.length > 220, `${named.length} ops have functions`);
});

Deno.test("search() puts the name itself first, then names, then sentences", () => {
  const entries: Entry[] = [
    ["tf.reduceSum", "function", "a", "The sum."],
    ["tf.cumsum", "function", "b", "Running totals."],
    ["@weft/weft/tf sum", "function", "c", ""],
    ["tf.sum", "function", "d", ""],
    ["tf.mean", "function", "e", "The sum divided."],
  ];
  const found = (text: string) => search(entries, text).map(([name]) => name);
  assertEquals(found("SUM"), [
    "tf.sum",
    "@weft/weft/tf sum",
    "tf.cumsum",
    "tf.reduceSum",
    "tf.mean",
  ]);
  assertEquals(found("sum running"), ["tf.cumsum"]);
  assertEquals(found("nothing"), []);
  assertEquals(found("("), []);
});

Deno.test("parseDoc() parts a comment into words and examples", () => {
  const { doc, examples } = parseDoc(`/**
   * Adds {@linkcode Tensor}s. Throws.
   *
   * @example Two
   * \`\`\`ts
   * // @example inside
   * add(1);
   * \`\`\`
   * @internal
   */`);
  assertEquals(doc, "Adds {@linkcode Tensor}s. Throws.");
  assertEquals(firstSentence(doc), "Adds `Tensor`s.");
  assertEquals(examples, [{ title: "Two", text: "```ts\n// @example inside\nadd(1);\n```" }]);
});

Deno.test("html() leads names and files to their places, and leaves out links to nothing", () => {
  const links = {
    ofName: (name: string) => name === "Tensor" ? "./t.html#Tensor" : null,
    ofFile: (path: string) => path === "a.md" ? "./guide_a.html" : null,
  };
  assertEquals(
    html("{@linkcode Tensor} {@linkcode Other} [a](a.md) [b](b.ts)", links).trim(),
    '<p><a href="./t.html#Tensor"><code>Tensor</code></a> <code>Other</code> <a href="./guide_a.html">a</a> b</p>',
  );
  assertStringIncludes(html("```ts\na < b\n```"), "a &lt; b");
});
