/**
 * The pages' texts: each file of examples/site/ is what stands between the head and the end of its page, which are the same for all.
 *
 * @module
 */

import { PAGES, type SitePage } from "../../examples/site/pages.ts";
import { exists, read } from "../files.ts";

/** Where the pages are made of. */
export const SOURCE = "examples/site";

/** The pages by the names of their files; `more` are parts that they name. */
export function pages(more: Readonly<Record<string, string>> = {}): Map<string, string> {
  return new Map(
    PAGES.map((page) => {
      const hasScript = ["", "home/", "reading/", "models/"].some((folder) =>
        exists(`${SOURCE}/${folder}${page.name}.ts`)
      );
      const script = hasScript ? `<script type="module" src="./${page.name}.js"></script>` : "";
      return [
        `${page.name}.html`,
        fill(framed(page, read(`${SOURCE}/${page.name}.html`), script), {
          ...more,
          cards: PAGES.slice(1).map(card).join("\n"),
          device: read(`${SOURCE}/parts/device.html`).trimEnd(),
          key: read(`${SOURCE}/parts/key.html`).trimEnd(),
        }),
      ];
    }),
  );
}

/** A page around what stands in its middle. */
export function framed(page: SitePage, main: string, script = ""): string {
  const [first] = PAGES;
  const { about, title, name } = page;
  return fill(read(`${SOURCE}/layout.html`), {
    about: attribute(about),
    title: page === first ? title : `${attribute(title)} – ${first!.title}`,
    script,
    links: PAGES.map((other) => link(other, whereIs(other.name, name))).join("\n"),
    main: main.trimEnd(),
  });
}

function attribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

function fill(text: string, parts: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{\{ *(\w+) *\}\}/g, (all, name) => parts[name] ?? all);
}

/** Parts of the site by how names of their pages begin. */
const PART_OF: Readonly<Record<string, string>> = { guides: "guide_", reference: "api_" };

/** The text of `aria-current` of a link on a page: that it leads there, or to what the page is a part of. */
function whereIs(linked: string, page: string): "page" | "true" | null {
  if (linked === page) return "page";
  const start = PART_OF[linked];
  return start !== undefined && page.startsWith(start) ? "true" : null;
}

function link({ name, title, short = title }: SitePage, current: string | null): string {
  const mark = current === null ? "" : ` aria-current="${current}"`;
  return `<a href="./${name}.html"${mark}>${short}</a>`;
}

function card({ name, title, about }: SitePage): string {
  return `<a class="panel" href="./${name}.html"><h2>${title}</h2><p>${about}</p></a>`;
}
