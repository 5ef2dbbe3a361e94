/** RE2's syntax in that of JavaScript's regular expressions with the flag `u`. */
import { InvalidArgumentError } from "../../../core/errors.ts";

const SPACES = "\\t\\n\\f\\r ";

/** Members of POSIX classes, as `[[:alpha:]]`. */
const POSIX: Readonly<Record<string, string>> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\x00-\\x7F",
  blank: "\\t ",
  cntrl: "\\x00-\\x1F\\x7F",
  digit: "0-9",
  graph: "!-~",
  lower: "a-z",
  print: " -~",
  punct: "!-\\/:-@\\[-`\\{-~",
  space: "\\t\\n\\v\\f\\r ",
  upper: "A-Z",
  word: "\\w",
  xdigit: "0-9A-Fa-f",
};

const ESCAPE = "\\\\[pP]\\{\\^?\\w+\\}|\\\\[pP][A-Z]|\\\\x\\{[\\da-fA-F]+\\}|\\\\[^]|[^]";
/** The next part of a pattern, outside and inside of a class; what has no rule of its own is a code point. */
const OUTSIDE = new RegExp(
  `\\[\\^?\\]?|\\\\Q[^]*?(?:\\\\E|$)|\\(\\?P<|\\(\\?[a-zA-Z]+\\)|\\(\\?[a-zA-Z]*:|${ESCAPE}`,
  "uy",
);
const INSIDE = new RegExp(`\\[:\\^?[a-z]+:\\]|${ESCAPE}`, "uy");

/** An escape of RE2 inside or outside of a class. */
function escaped(part: string, isInClass: boolean): string {
  const kind = part[1];
  if (kind === "p" || kind === "P") {
    const named = part.replace(/[\\pP{}]/g, (c, at) => at < 3 || c === "}" ? "" : c);
    const name = named.replace("^", ""), isNot = (kind === "P") !== named.startsWith("^");
    return `\\${isNot ? "P" : "p"}{${name.length > 2 ? `Script=${name}` : name}}`;
  }
  if (part.startsWith("\\x{")) return part.replace("\\x", "\\u");
  if (kind === "s") return isInClass ? SPACES : `[${SPACES}]`;
  if (isInClass) return /[\w^$\\.*+?()[\]{}|/-]/.test(kind) ? part : kind;
  if (kind === "S") return `[^${SPACES}]`;
  if (kind === "A") return "(?<![^])";
  if (kind === "z") return "(?![^])";
  return /[\w^$\\.*+?()[\]{}|/]/.test(kind) ? part : kind;
}

/** A part of a class; throws `InvalidArgumentError` for a POSIX class without a name in the table. */
function classPart(part: string, pattern: string): string {
  if (!part.startsWith("[:") || part.length < 4) return part.replace(/[[(){}/|]/g, "\\$&");
  const name = part.slice(2, -2);
  if (Object.hasOwn(POSIX, name)) return POSIX[name];
  throw new InvalidArgumentError(`Invalid pattern: ${pattern}: class ${part} is not supported`);
}

/** Writes a pattern of RE2 as one that JavaScript reads with the flag `u`; what RE2 has alone, as `\C`, is left to be refused. */
export function patternOfRE2(pattern: string): string {
  const dot = /\(\?[a-z]*s/.test(pattern) ? "." : "[^\\n]";
  // Parentheses that flags of the rest of a group have opened, by group.
  const opened = [0];
  let written = "", isInClass = false, begins = true, at = 0;
  while (at < pattern.length) {
    const parts = isInClass ? INSIDE : OUTSIDE, isStart = begins;
    parts.lastIndex = at;
    const [part] = parts.exec(pattern)!;
    at += part.length;
    begins = false;
    if (part.startsWith("\\Q") && !isInClass) {
      written += part.slice(2).replace(/\\E$/, "").replace(/[\^$\\.*+?()[\]{}|/]/g, "\\$&");
    } else if (part[0] === "\\" && part.length > 1) written += escaped(part, isInClass);
    else if (isInClass) {
      if (part === "]") isInClass = false;
      written += part === "]" ? part : classPart(part, pattern);
    } else if (part[0] === "[") {
      isInClass = true;
      written += part.replace("]", "\\]");
    } else if (part[0] === "(") {
      begins = true;
      if (part.endsWith(")")) {
        if (isStart) opened[opened.length - 1]++;
        written += isStart ? `${part.slice(0, -1)}:` : part;
      } else {
        opened.push(0);
        written += part === "(?P<" ? "(?<" : part;
      }
    } else if (part === ")") {
      written += ")".repeat(1 + (opened.length > 1 ? opened.pop()! : 0));
    } else written += part === "." ? dot : part;
  }
  return written + ")".repeat(opened[0]);
}
