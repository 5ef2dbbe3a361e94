/** Splits a function's source text into tokens, as far as needed to recognize names. */

/** A token: a name (or keyword), a string, number, regular expression or piece of a template, or punctuation. */
export interface Token {
  readonly kind: "name" | "value" | "mark";
  /** Empty for values. */
  readonly text: string;
}

const SPACE = /(?:\s|\/\/.*|\/\*[^]*?\*\/)+/y;
const NAME = /#?[\p{ID_Start}$_\\][\p{ID_Continue}$\u200c\u200d\\]*/uy;
const NUMBER = /0[xXoObB][\da-fA-F_]+n?|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?[\d_]+)?n?/y;
const STRING = /"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'/y;
const REGEXP = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const MARK = /=>|\.\.\.|\?\.(?!\d)|\?\?|[^]/y;
const TEMPLATE_PART = /(?:[^`\\$]|\\[^]|\$(?!\{))*/y;

/** Keywords before an expression. */
const BEFORE_EXPRESSION = new Set(
  "return typeof instanceof in of new delete void throw case do else yield await".split(" "),
);
/** Keywords whose parentheses precede a statement. */
const BEFORE_PARENTHESES = new Set(["if", "while", "for", "with"]);

/** Returns the tokens of a source text; null if they cannot be determined. */
export function tokensOf(source: string): Token[] | null {
  const tokens: Token[] = [];
  /** Open brackets, with true if a statement follows, and templates. */
  const open: { readonly mark: string; readonly isHead: boolean }[] = [];
  let at = 0, startsLine = true, closedHead = false;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    if (found === null) return null;
    at += found[0].length;
    return found[0];
  };
  const add = (kind: Token["kind"], text: string): void => {
    tokens.push({ kind, text });
    startsLine = false;
  };
  /** Reads a template up to its end or its next expression; false if it does not end. */
  const template = (): boolean => {
    take(TEMPLATE_PART);
    if (source.startsWith("${", at)) {
      at += 2;
      // Its expressions are treated as in parentheses.
      open.push({ mark: "${", isHead: false });
      add("mark", "(");
      return true;
    }
    if (source[at++] !== "`") return false;
    add("value", "");
    return true;
  };
  /** Returns the pattern of the literal that begins here; undefined if there is none. */
  const literal = (): RegExp | undefined => {
    const char = source[at];
    if (char === '"' || char === "'") return STRING;
    if (char === "/" && beginsRegExp(tokens.at(-1), closedHead, startsLine)) return REGEXP;
    return /^\.?\d/.test(source.slice(at, at + 2)) ? NUMBER : undefined;
  };
  while (at < source.length) {
    const space = take(SPACE);
    if (space !== null) {
      startsLine ||= space.includes("\n");
      continue;
    }
    const last = tokens.at(-1), pattern = literal();
    if (pattern !== undefined) {
      if (take(pattern) === null) return null;
      add("value", "");
    } else if (source[at] === "`") {
      at++;
      if (!template()) return null;
    } else {
      const name = take(NAME);
      if (name !== null) {
        add(name.startsWith("#") ? "value" : "name", name.startsWith("#") ? "" : name);
        continue;
      }
      const mark = take(MARK)!;
      if (mark === "(" || mark === "[" || mark === "{") {
        const isHead = mark === "(" && last?.kind === "name" && BEFORE_PARENTHESES.has(last.text);
        open.push({ mark, isHead });
      } else if (mark === ")" || mark === "]" || mark === "}") {
        const closed = open.pop();
        if (closed === undefined) return null;
        if (closed.mark === "${" && mark === "}") {
          add("mark", ")");
          if (!template()) return null;
          continue;
        }
        if (!["()", "[]", "{}"].includes(closed.mark + mark)) return null;
        closedHead = closed.isHead;
      }
      add("mark", mark);
    }
  }
  return open.length === 0 ? tokens : null;
}

/** True where a slash begins a regular expression; false where it divides. */
function beginsRegExp(last: Token | undefined, closedHead: boolean, startsLine: boolean): boolean {
  if (last === undefined) return true;
  if (last.kind === "value") return false;
  if (last.kind === "name") return BEFORE_EXPRESSION.has(last.text);
  if (last.text === ")") return closedHead;
  if (last.text === "}") return startsLine;
  return last.text !== "]";
}
