/**
 * The pages of the reference: the names of the main entry by category, a page for each namespace, and one for each other entry.
 *
 * @module
 */

import type { ApiEntry, ApiGroup, ApiSymbol } from "./api.ts";
import { type Doc, firstSentence } from "./docs.ts";
import { escaped, html, type Links, slug } from "./markdown.ts";

/** A page. */
export interface ReferencePage {
  /** Its file, without an ending. */
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly main: string;
}

/** A name as the search finds it: what to write, its kind, its place, its first sentence. */
export type Found = readonly [name: string, kind: string, place: string, about: string];

/** The reference. */
export interface Reference {
  readonly pages: readonly ReferencePage[];
  /** The list of pages, as HTML. */
  readonly list: string;
  readonly index: readonly Found[];
}

/** A part of the reference before it is printed. */
interface Part extends Doc {
  readonly name: string;
  readonly title: string;
  readonly heading: string;
  readonly symbols: readonly ApiSymbol[];
  readonly prefix: string;
}

/** Makes the pages. */
export function referencePages(api: readonly ApiEntry[]): Reference {
  const parts = api.flatMap(partsOf);
  const places = new Map<unknown, string>(), names = new Map<string, string>();
  for (const part of parts) {
    for (const symbol of part.symbols) {
      const place = `./${part.name}.html#${symbol.name}`;
      // The main entry comes first: other entries lead to what it exports too.
      if (!places.has(symbol.id)) places.set(symbol.id, place);
      if (!names.has(symbol.name)) names.set(symbol.name, place);
    }
  }
  const print = printer(places, names);
  const pages = parts.map((part) => ({
    name: part.name,
    title: part.title,
    about: `${part.title}: ${part.symbols.length} names of Weft's API.`,
    main: print(part),
  }));
  const index = parts.flatMap((part) =>
    part.symbols.filter(({ id, name }) =>
      part.prefix === "tf." || places.get(id) === `./${part.name}.html#${name}`
    ).map(({ name, kind, doc, id }): Found => [
      part.prefix + name,
      kind,
      places.get(id)!,
      firstSentence(doc).replaceAll("`", ""),
    ])
  );
  return { pages, list: listOf(parts), index };
}

function partsOf(entry: ApiEntry, i: number): Part[] {
  const { name, groups, doc, examples } = entry;
  if (i > 0) {
    const file = `entry_${name.split("/").at(-1)!.replaceAll("-", "_")}`;
    return [{
      name: file,
      title: name,
      heading: "Other entries",
      symbols: groups.flatMap(({ symbols }) => symbols),
      prefix: `${name} `,
      doc,
      examples,
    }];
  }
  const [top, ...inner] = groups;
  const spaces = inner.filter((g) => g.symbols.length > 0).map(namespacePart);
  return [...byCategory(top!), ...spaces.sort((a, b) => (a.title < b.title ? -1 : 1))];
}

function namespacePart({ name, doc, symbols }: ApiGroup): Part {
  return {
    name: `api_tf_${slug(name.replaceAll(".", "_"))}`,
    title: `tf.${name}`,
    heading: "Namespaces",
    symbols,
    prefix: "tf.",
    doc,
    examples: [],
  };
}

function byCategory({ symbols }: ApiGroup): Part[] {
  const categories = [...new Set(symbols.map(({ category }) => category))].sort();
  return categories.map((category) => ({
    name: `api_${slug(category).replaceAll("-", "_")}`,
    title: category,
    heading: "tf",
    symbols: symbols.filter((symbol) => symbol.category === category),
    prefix: "tf.",
    doc: "",
    examples: [],
  }));
}

function listOf(parts: readonly Part[]): string {
  const headings = [...new Set(parts.map(({ heading }) => heading))];
  return headings.map((heading) => {
    const links = parts.filter((part) => part.heading === heading).map(({ name, title, symbols }) =>
      `<li><a href="./${name}.html">${
        escaped(title)
      }</a> <span class="quiet">${symbols.length}</span></li>`
    );
    return `<section class="panel"><h2>${escaped(heading)}</h2><ul class="names">${
      links.join("\n")
    }</ul></section>`;
  }).join("\n");
}

/** Kinds in the order in which a page lists them. */
const KINDS = ["function", "class", "value", "enum", "interface", "type"];

/** Prints parts whose names lead to each other. */
function printer(
  places: ReadonlyMap<unknown, string>,
  names: ReadonlyMap<string, string>,
): (part: Part) => string {
  const links: Links = {
    ofName: (name) => names.get(name.split(/[.#]/)[0]!) ?? names.get(name) ?? null,
  };
  const declared = (signature: string): string =>
    `<pre tabindex="0"><code>${
      escaped(signature).replaceAll(/(?<![\w.])[A-Z]\w+/g, (name) => {
        const place = names.get(name);
        return place === undefined ? name : `<a href="${place}">${name}</a>`;
      })
    }</code></pre>`;

  const printSymbol = (symbol: ApiSymbol, { name: page, prefix }: Part): string => {
    const { name, kind, category, file, line, id } = symbol;
    const title = prefix === "tf." ? `tf.${name}` : name;
    const head =
      `<h2 id="${name}"><a href="#${name}">${title}</a> <span class="quiet">${kind}</span></h2>`;
    const place = places.get(id)!;
    if (place !== `./${page}.html#${name}`) {
      return `<section class="name">${head}<p>The same as <a href="${place}">${
        place.split("#")[1]
      }</a>.</p></section>`;
    }
    return `<section class="name">
${head}
${symbol.signatures.map(declared).join("\n")}
${html(symbol.doc, links)}
${examples(symbol)}
${members(symbol)}
<p class="quiet">${escaped(category)} · <a href="./source/${file}.txt#:~:text=${
      encodeURIComponent(firstLine(symbol))
    }">${file}:${line}</a></p>
</section>`;
  };
  const examples = ({ examples }: Doc): string =>
    examples.map(({ title, text }) =>
      (title === "" ? "" : `<p class="quiet">${html(title, links).replaceAll(/<\/?p>/g, "")}</p>`) +
      html(text, links)
    ).join("\n");
  const members = ({ members }: ApiSymbol): string =>
    members.length === 0 ? "" : `<details${members.length <= 12 ? " open" : ""}>
<summary>${members.length} member${members.length === 1 ? "" : "s"}</summary>
<dl>${
      members.map(({ signature, doc }) =>
        `<dt>${declared(signature)}</dt><dd>${html(doc, links)}</dd>`
      ).join("\n")
    }</dl></details>`;

  return (part) => {
    const { title, prefix, doc } = part;
    const symbols = part.symbols.toSorted((a, b) =>
      KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || (a.name < b.name ? -1 : 1)
    );
    const contents = symbols.map(({ name }) =>
      `<li><a href="#${name}">${prefix === "tf." ? name : escaped(name)}</a></li>`
    );
    return `<p class="quiet"><a href="./reference.html">Reference</a></p>
<h1>${escaped(title)}</h1>
<div class="reference">
${html(doc, links)}${examples(part)}
<nav aria-label="Names"><ul class="names">${contents.join("\n")}</ul></nav>
${symbols.map((symbol) => printSymbol(symbol, part)).join("\n")}
</div>`;
  };
}

/** The words by which a browser finds a declaration in its file. */
function firstLine({ signatures, name, kind }: ApiSymbol): string {
  const [signature] = signatures;
  return kind === "function"
    ? `function ${name.split(".").at(-1)}`
    : signature!.split(/[\n<({=:]/)[0]!.trim();
}
