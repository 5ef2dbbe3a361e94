/**
 * Documentation comments as they stand in the sources.
 *
 * @module
 */

import ts from "typescript";

/** An example of a documentation comment. */
export interface DocExample {
  /** Its title, which may be empty. */
  readonly title: string;
  /** Markdown: a fence of code and what stands beside it. */
  readonly text: string;
}

/** The documentation of a name. */
export interface Doc {
  /** Markdown with `{@linkcode Name}`; empty where there is none. */
  readonly doc: string;
  readonly examples: readonly DocExample[];
}

/** The documentation before a node: the last comment, or the first that has `tag`, which may stand apart from the node. */
export function docOf(node: ts.Node, source: ts.SourceFile, tag = ""): Doc {
  const comments = (ts.getLeadingCommentRanges(source.text, node.pos) ?? [])
    .map(({ pos, end }) => source.text.slice(pos, end))
    .filter((text) => text.startsWith("/**"));
  const comment = tag === "" ? comments.at(-1) : comments.find((text) => text.includes(tag));
  return comment === undefined ? { doc: "", examples: [] } : parseDoc(comment);
}

/** Parts a comment, stars and all, into text and examples. Other tags are for tools. */
export function parseDoc(comment: string): Doc {
  const text = comment.slice("/**".length, -"*/".length)
    .split("\n").map((line) => line.replace(/^\s*\* ?/, "")).join("\n");
  const [doc, ...tags] = text.split(
    /^@(?=(?:example|module|category|internal|deprecated|param|returns|throws|template)\b)/m,
  );
  return {
    doc: doc!.trim(),
    examples: tags.filter((tag) => tag.startsWith("example")).map((tag) => {
      const [, title, text] = /^example *([^\n]*)\n(.*)$/s.exec(tag) ?? ["", "", ""];
      return { title: title!.trim(), text: text!.trim() };
    }),
  };
}

/** True where a node is documented as internal. */
export function isInternal(node: ts.Node): boolean {
  const source = node.getSourceFile();
  return (ts.getLeadingCommentRanges(source.text, node.pos) ?? [])
    .some(({ pos, end }) => /@internal\b/.test(source.text.slice(pos, end)));
}

/** The first sentence of a documentation, on one line, without links' braces. */
export function firstSentence(doc: string): string {
  const [paragraph] = doc.replaceAll(/\s*\n(?!\n)\s*/g, " ").split("\n\n");
  const plain = withoutLinks(paragraph!);
  return /^.*?[.:](?= [A-Z`]|$)/.exec(plain)?.[0] ?? plain;
}

/** Names in place of `{@linkcode Name}`, in backticks. */
export function withoutLinks(text: string): string {
  return text.replaceAll(
    /\{@link(?:code)? +([\w.#]+)(?:[ |]+([^}]*))?\}/g,
    (_, name, words) => words ?? `\`${name}\``,
  );
}
