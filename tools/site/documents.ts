/**
 * The pages to read: the reference, the guides, the sources that the reference leads to, and the same as text.
 *
 * @module
 */

import { list, read, ROOT } from "../files.ts";
import { readApi } from "../reference/api.ts";
import { editorNames } from "../reference/editor_names.ts";
import { html, type Links } from "../reference/markdown.ts";
import { opRows, opTable } from "../reference/op_matrix.ts";
import { referencePages } from "../reference/pages.ts";
import { type Guide, llmsText, referenceText } from "../reference/texts.ts";
import { framed } from "./pages.ts";

/** Documents beside those of docs/ that the site shows. */
const MORE = [
  "DIFFERENCES.md",
  "CHANGELOG.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "CODE_OF_CONDUCT.md",
  "RELEASING.md",
  "SECURITY.md",
];

/** The documents that the site shows, by their files. */
function documents(): Map<string, Guide> {
  const files = [
    "README.md",
    ...list("docs", ".md"),
    ...MORE,
    "examples/README.md",
    "bench/RESULTS.md",
  ];
  return new Map(files.map((file) => {
    const text = read(file);
    const name = file.replace(/\.md$/, "").replace(/^docs\//, "").replaceAll("/", "_")
      .toLowerCase();
    return [file, { name, title: /^# (.*)$/m.exec(text)![1]!, text }];
  }));
}

/** Texts of the parts that pages of examples/site/ have from the documents: `{{ reference }}`, `{{ guides }}`. */
export interface DocumentParts {
  readonly reference: string;
  readonly guides: string;
  readonly ops: string;
}

/** Writes the pages to read into a folder; gives the lists of them. */
export async function writeDocuments(folder: string): Promise<DocumentParts> {
  const write = (name: string, text: string) => Deno.writeTextFile(`${folder}/${name}`, text);
  const api = readApi();
  const { pages, list: reference, index } = referencePages(api);
  for (const page of pages) {
    await write(`${page.name}.html`, framed(page, `<div class="document">${page.main}</div>`));
  }
  await write("reference.json", JSON.stringify(index));
  await copySources(folder);
  const all = documents();
  await Deno.mkdir(`${folder}/guides`, { recursive: true });
  for (const [file, { name, title, text }] of all) {
    const main = `<div class="document">${html(text, linksOf(file, all))}</div>`;
    await write(`guide_${name}.html`, framed({ name: `guide_${name}`, title, about: title }, main));
    await write(`guides/${name}.md`, text);
  }
  const guides = [...all].filter(([file]) =>
    file.startsWith("docs/") && !file.endsWith("README.md")
  );
  await write("llms.txt", llmsText(api, guides.map(([, guide]) => guide)));
  await write("llms-full.txt", referenceText(api));
  const place = new Map(index.map(([name, , place]) => [name, place]));
  const names = editorNames(api[0]!, (name) => place.get(`tf.${name}`) ?? "");
  await write("api.json", JSON.stringify(names));
  const ops = opTable(await opRows(api), (name) => place.get(`tf.${name}`) ?? null);
  const text = read("docs/README.md").replace(/^# .*\n/, "");
  return { reference, ops, guides: html(text, linksOf("docs/README.md", all)) };
}

/** The pages of documents by the links of a file; other files of the repository lead to their text. */
function linksOf(file: string, all: ReadonlyMap<string, Guide>): Links {
  return {
    ofFile: (href) => {
      const [path, anchor] = href.split("#") as [string, string?];
      const target = new URL(path, `file:///${file}`).pathname.slice(1);
      const guide = all.get(target);
      if (guide !== undefined) return `./guide_${guide.name}.html${anchor ? `#${anchor}` : ""}`;
      if (target === "docs/plan.svg") return "./plan.svg";
      return target.startsWith("src/") && target.endsWith(".ts") ? `./source/${target}.txt` : null;
    },
  };
}

/** Copies the sources as text: servers of files take `.ts` for films. */
async function copySources(folder: string): Promise<void> {
  for (const file of ["mod.ts", ...list("src", ".ts")]) {
    if (/_(generated|pb)\.ts$/.test(file)) continue;
    const target = `${folder}/source/${file}.txt`;
    await Deno.mkdir(target.slice(0, target.lastIndexOf("/")), { recursive: true });
    await Deno.copyFile(new URL(file, ROOT), target);
  }
}
