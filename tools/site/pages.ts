/**
 * The pages' texts: each file of examples/site/ is what stands between the head and the end of its page, which are the same for all.
 *
 * @module
 */

import { PAGES, type SitePage } from "../../examples/site/pages.ts";
import { exists, read } from "../files.ts";

/** Where the pages are made of. */
export const SOURCE = "examples/site";

/** The pages by the names of their files. */
export function pages(): Map<string, string> {
  const layout = read(`${SOURCE}/layout.html`);
  return new Map(PAGES.map((page) => [`${page.name}.html`, filled(layout, page)]));
}

function filled(layout: string, page: SitePage): string {
  const [first] = PAGES;
  const { name, title, about } = page;
  const hasScript = exists(`${SOURCE}/${name}.ts`);
  const parts: Readonly<Record<string, string>> = {
    about,
    title: page === first ? title : `${title} – ${first!.title}`,
    script: hasScript ? `<script type="module" src="./${name}.js"></script>` : "",
    links: PAGES.map((other) => link(other, other === page)).join("\n"),
    main: read(`${SOURCE}/${name}.html`).trimEnd(),
    cards: PAGES.slice(1).map(card).join("\n"),
    device: read(`${SOURCE}/parts/device.html`).trimEnd(),
    key: read(`${SOURCE}/parts/key.html`).trimEnd(),
  };
  // Twice: what stands in the middle has parts of its own.
  return fill(fill(layout, parts), parts);
}

function fill(text: string, parts: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{\{ *(\w+) *\}\}/g, (_, name) => parts[name]!);
}

function link({ name, title }: SitePage, isHere: boolean): string {
  return `<a href="./${name}.html"${isHere ? ' aria-current="page"' : ""}>${title}</a>`;
}

function card({ name, title, about }: SitePage): string {
  return `<a class="panel" href="./${name}.html"><h2>${title}</h2><p>${about}</p></a>`;
}
