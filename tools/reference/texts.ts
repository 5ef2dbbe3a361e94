/**
 * The reference and the guides as text, for programs that read them: `llms.txt` lists what there is, and `llms-full.txt` holds it.
 *
 * @module
 */

import type { ApiEntry, ApiSymbol } from "./api.ts";
import { withoutLinks } from "./docs.ts";

/** A guide, as its file has it. */
export interface Guide {
  readonly name: string;
  readonly title: string;
  readonly text: string;
}

/** The whole reference as Markdown. */
export function referenceText(api: readonly ApiEntry[]): string {
  const seen = new Map<unknown, string>();
  const lines: string[] = ["# Weft: reference", ""];
  for (const [i, { name, doc, groups }] of api.entries()) {
    lines.push(`## ${name}`, "", withoutLinks(doc), "");
    for (const group of groups) {
      for (const symbol of group.symbols) {
        const full = i === 0 ? `tf.${symbol.name}` : symbol.name;
        const other = seen.get(symbol.id);
        if (other === undefined) lines.push(...symbolLines(full, symbol));
        else if (other !== full || i > 0) {
          lines.push(`### ${full}`, "", `The same as ${other} above.`, "");
        }
        seen.set(symbol.id, other ?? full);
      }
    }
  }
  return lines.join("\n");
}

function symbolLines(full: string, symbol: ApiSymbol): string[] {
  const { kind, category, signatures, doc, examples, members, file, line } = symbol;
  const declaration = members.length === 0 ? signatures : [
    ...signatures,
    ...members.map(({ signature, doc }) =>
      `  ${signature.replaceAll("\n", "\n  ")}${doc === "" ? "" : ` // ${oneLine(doc)}`}`
    ),
  ];
  return [
    `### ${full}`,
    "",
    `${kind}, ${category}, ${file}:${line}`,
    "",
    "```ts",
    ...declaration,
    "```",
    "",
    withoutLinks(doc),
    "",
    ...examples.flatMap(({ title, text }) => [...(title === "" ? [] : [title, ""]), text, ""]),
  ];
}

function oneLine(doc: string): string {
  return withoutLinks(doc).replaceAll(/\s+/g, " ");
}

/** `llms.txt`: the library in a few lines, and links to the guides and the reference. */
export function llmsText(api: readonly ApiEntry[], guides: readonly Guide[]): string {
  const entries = api.map(({ name, doc }) => `- \`${name}\`: ${oneLine(doc.split("\n\n")[0]!)}`);
  return `# Weft

> Arrays, graphs and your own functions inside them, on WebGPU and on WebAssembly: TensorFlow's graph runtime and its script ops in
> TypeScript, for Deno, Node and browsers.

Ops have TensorFlow.js's names, arguments and results. \`tf.function\` compiles, \`tf.pyFunction\` and \`tf.numpyFunction\` put functions of
the host into graphs, \`tf.grad\` differentiates them. Reading is asynchronous: \`await t.data()\`, \`await t.array()\`.

## Guides

${guides.map(({ name, title }) => `- [${title}](./guides/${name}.md)`).join("\n")}

## Reference

- [All names with declarations and examples](./llms-full.txt)
- [The same as pages](./reference.html)

## Entries

${entries.join("\n")}
`;
}
