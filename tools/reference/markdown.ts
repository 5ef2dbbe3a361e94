/**
 * Markdown as HTML, for the reference and the guides on the site.
 *
 * @module
 */

import { Marked } from "marked";

/** Places of names and files, null for those that have none. */
export interface Links {
  /** The place of a name in `{@linkcode name}`. */
  readonly ofName?: (name: string) => string | null;
  /** The place of a file that a link names. */
  readonly ofFile?: (path: string) => string | null;
}

/** Makes HTML of Markdown that we wrote. */
export function html(markdown: string, { ofName, ofFile }: Links = {}): string {
  const linked = markdown.replaceAll(
    /\{@link(?:code)?\s+([\w.#]+)(?:[ |]+([^}]*))?\}/g,
    (_, name: string, words?: string) => {
      const place = ofName?.(name);
      const text = words ?? `\`${name}\``;
      return place ? `[${text}](${place})` : text;
    },
  );
  const marked = new Marked({
    gfm: true,
    renderer: {
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens);
        const place = /^(?:https?:|\.\/|#)/.test(href) ? href : ofFile?.(href) ?? null;
        return place === null ? inner : `<a href="${escaped(place)}">${inner}</a>`;
      },
      heading({ tokens, depth, text }) {
        return `<h${depth} id="${slug(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      code: ({ text, lang }) => code(text, lang?.split(/[ ,]/)[0]),
      // A wide table scrolls by itself, and by the keyboard.
      table(token) {
        const cell = (tag: string, cells: typeof token.header) =>
          `<tr>${
            cells.map((c) => {
              // A corner without a text heads nothing.
              const kind = c.text === "" ? "td" : tag;
              return `<${kind}>${this.parser.parseInline(c.tokens)}</${kind}>`;
            }).join("")
          }</tr>`;
        const rows = token.rows.map((row) => cell("td", row)).join("\n");
        return `<div class="wide" tabindex="0"><table><thead>${
          cell("th", token.header)
        }</thead><tbody>${rows}</tbody></table></div>\n`;
      },
    },
  });
  return marked.parse(linked, { async: false });
}

/** A block of code. */
export function code(text: string, language = ""): string {
  const kind = language === "" ? "" : ` class="${escaped(language)}"`;
  return `<pre tabindex="0"><code${kind}>${escaped(text)}</code></pre>\n`;
}

/** The anchor of a heading, as GitHub makes it. */
export function slug(text: string): string {
  return text.toLowerCase().replaceAll(/[^\w\s-]/g, "").trim().replaceAll(/\s/g, "-");
}

/** A text inside HTML. */
export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
