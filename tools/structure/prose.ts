/**
 * Finds comments that are riddles: doc comments that begin with a question word instead of their subject, and persons
 * instead of code (an unused value has no reader, not `nobody`).
 *
 * @module
 */

/** Doc comments and line comments that stand on lines of their own. */
const COMMENT = /^[ \t]*(?:\/\*\*(?!\/)[^]*?\*\/|\/\/ .*)/gm;

/** A doc comment whose first word is no subject. */
const OPENING =
  /^\/\*\*\s*(?:\*\s*)?(?:What|How|Who|Whose|Whoever|Where|Whether|Of an?|Reasons\.)(?= |$)/;

/** Persons, which code does not have. */
const PERSON = /\b(?:who|whoever|whom|nobody|somebody|anybody|everybody)\b/i;

/** Returns the comments of a source text that are riddles, each in one line. Code in them is not looked at. */
export function riddlesIn(text: string): string[] {
  return [...text.matchAll(COMMENT)]
    .map(([comment]) => comment.replaceAll(/```[^]*?```|`[^`\n]*`/g, "`…`").trim())
    .filter((comment) => OPENING.test(comment) || PERSON.test(comment))
    .map((comment) => comment.replaceAll(/\s*\n\s*(?:\*(?!\/)\s*)?/g, " "));
}
